# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Whether dnspython is there. Retrieving records does without it."""

from __future__ import annotations

from importlib.util import find_spec


def require() -> None:
    """See that dnspython is installed.

    :raises ImportError: it is not; its ``name`` is the library's
    """
    if find_spec("dns") is None:
        raise ImportError("dnspython is not installed", name="dnspython")
