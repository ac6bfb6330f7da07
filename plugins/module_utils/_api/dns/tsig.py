# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The keys that updates are signed with (TSIG, RFC 8945)."""

from __future__ import annotations

import base64
import contextlib
from dataclasses import dataclass, field

from ..errors import InvalidInput
from .library import ALGORITHMS

with contextlib.suppress(ImportError):
    import dns.exception
    import dns.name


@dataclass(frozen=True)
class Key:
    """A TSIG key.

    :param name: a domain name
    :param secret: base64
    :param algorithm: one of `library.ALGORITHMS`
    :raises InvalidInput: it cannot be a key; the sentence never holds the secret
    """

    name: str
    secret: str = field(repr=False)
    algorithm: str = ALGORITHMS[0]

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise InvalidInput(
                f"tsig_algorithm: {self.algorithm!r} is not one of {', '.join(ALGORITHMS)}."
            )
        if not _is_name(self.name):
            raise InvalidInput(
                f"tsig_name: {self.name!r} cannot be the name of a key. Give the name that the "
                "name server knows the key by."
            )
        if not _is_base64(self.secret):
            raise InvalidInput(
                "tsig_secret: it is not base64. Give the secret as the name server's "
                "configuration has it."
            )


def _is_name(text: str) -> bool:
    try:
        return bool(text.strip(".")) and dns.name.from_text(text) is not None
    except (dns.exception.DNSException, UnicodeError):
        return False


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False
