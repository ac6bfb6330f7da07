# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Local parts that need protection, and names that look like them.

A *reserved* name proves to others that its owner runs the domain: for example, certificate
authorities send mail to it. A *sensitive* name is one that colleagues trust. Both are compared
without case, punctuation and ``+tag``, which mail servers ignore, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from string import digits

#: RFC 2142 without the names of departments, the CA/Browser Forum's five names, names that
#: certificate authorities used before, and names that mail systems send from or report to.
RESERVED = frozenset(
    [
        *("abuse", "daemon", "ftp", "mailerdaemon", "news", "nobody", "noc", "postmaster", "root"),
        *("security", "system", "usenet", "uucp", "webmaster", "www"),
        *("admin", "administrator", "hostmaster"),
        *("certmaster", "dnsadmin", "is", "it", "mis", "netadmin", "pki", "registrar", "ssl"),
        *("ssladmin", "ssladministrator", "sslwebmaster", "sysadmin", "tls", "tlsadmin"),
        *("webadmin", "mailmaster", "operator"),
        *("bounce", "bounces", "donotreply", "listserv", "majordomo", "noreply"),
        *("dmarc", "dmarcreports", "mtasts", "rua", "ruf", "smtptlsreporting", "tlsreports"),
        *("tlsrpt",),
    ]
)

#: Patterns of names that colleagues trust.
SENSITIVE = (
    *("ceo", "cfo", "cio", "ciso", "coo", "cso", "cto", "chairman", "chairwoman", "president"),
    *("founder*", "director*", "board", "legal", "hr", "humanresources", "personnel"),
    *("payroll*", "*payroll", "salar*", "payment*", "*payments", "invoice*", "billing*"),
    *("accounting*", "accountspayable", "accountsreceivable", "finance*", "treasur*"),
    *("admin*", "*admin", "*master", "security*", "password*", "helpdesk*", "servicedesk*"),
    *("itsupport*", "ssl*", "tls*", "certificate*"),
)

_SEPARATORS = re.compile(r"[^a-z0-9]+")
_NO_LETTERS = re.compile(r"[^a-z]+")
#: Character sequences that look like other characters, applied to both sides of a comparison.
_LOOKS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LOOKS_LIKE = str.maketrans("01345789i", "oleastbgl")


def normalized(local: str) -> str:
    """Return a local part in lower case, without ``+tag`` and punctuation.

    If the part before the tag is empty, the tag is returned.
    """
    parts = (_SEPARATORS.sub("", part) for part in local.lower().split("+"))
    return next((part for part in parts if part), "")


def is_reserved(local: str, more: Iterable[str] = ()) -> bool:
    """Return whether a local part is a reserved name in any spelling, or is not ASCII.

    :param more: names that a policy adds
    """
    if not local.isascii():
        return True
    name = normalized(local)
    return not name or name in RESERVED or any(name == normalized(one) for one in more)


def is_sensitive(local: str, names: Iterable[str] = (), patterns: Iterable[str] = ()) -> bool:
    """Return whether a local part looks like a reserved name, or is one that colleagues trust.

    :param names: reserved names that a policy adds
    :param patterns: shell-style patterns that a policy adds
    """
    reserved = RESERVED | {normalized(one) for one in names}
    whole = normalized(local)
    words = {whole, *_NO_LETTERS.split(local.lower())} - {""}
    looks = {_skeleton(whole), _skeleton(whole.strip(digits))}
    if not reserved.isdisjoint(words) or not looks.isdisjoint(map(_skeleton, reserved)):
        return True
    wanted = (*SENSITIVE, *patterns)
    return any(fnmatchcase(word, pattern) for word in words for pattern in wanted)


def _skeleton(name: str) -> str:
    """Return what a name looks like: ``adrnin`` and ``adm1n`` look like ``admin``."""
    name = name.translate(_LOOKS_LIKE)
    for seen, meant in _LOOKS:
        name = name.replace(seen, meant)
    return name
