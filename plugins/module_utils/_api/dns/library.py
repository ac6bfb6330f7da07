# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What can be said of dnspython without importing it. Retrieving records does without it."""

from __future__ import annotations

from importlib import import_module

#: Of keys that sign messages (TSIG), the usual one first.
ALGORITHMS = ("hmac-sha256", "hmac-sha384", "hmac-sha512")


def require() -> None:
    """See that dnspython can be imported.

    :raises ImportError: it cannot; its ``name`` is the library's
    """
    try:
        import_module("dns.message")
    except ImportError as error:
        raise ImportError("dnspython is not installed", name="dnspython") from error
