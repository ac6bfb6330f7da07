# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Telling a name's own records from those that a wildcard gives (RFC 4592). Nothing is asked here.

A server's answer does not say where records come from. What comes for names that nobody can have
published does.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

_LONGEST_NAME = 253


class Probes(NamedTuple):
    """Two names that are not there. A wildcard that answers for a name answers for both of them.

    Either may be answered by chance as the name itself is: ``beside`` where somebody published at
    the name what the wildcard says, ``below`` where there is one more wildcard below the name.

    :param below: a name that is there keeps the wildcards above it from this one. Where it would be
        too long for DNS, it is as ``beside``
    :param beside: it is in the same zone, except where the name is its zone's own
    """

    below: str
    beside: str


def probes_of(name: str) -> Probes:
    """Return names to ask for, others each time."""
    label = secrets.token_hex(8)
    _own, _dot, parent = name.partition(".")
    beside = f"{label[: _LONGEST_NAME - len(parent) - 1]}.{parent}"
    below = f"{label}.{name}"
    return Probes(below if len(below) <= _LONGEST_NAME else beside, beside)
