# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Names that are more than names: those that get certificates or trust, and what looks like them.

A *reserved* name proves to a stranger that its holder runs the domain: certificate authorities
mail it. A *sensitive* one is believed by colleagues. Both are compared by what is left of a local
part without case, signs between letters and ``+tag``, since mail servers ignore those too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from string import digits

#: RFC 2142 without the names of departments, the CA/Browser Forum's five, what certificate
#: authorities once mailed, and what mail systems send from or report to.
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

#: Patterns of what colleagues believe.
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
#: What is read as another sign; both sides of a comparison go through it.
_LOOKS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LOOKS_LIKE = str.maketrans("01345789i", "oleastbgl")


def disguised(local: str) -> str:
    """Return what a local part stands for: lower case, without ``+tag`` and signs in between.

    A part that begins with its tag stands for the tag.
    """
    parts = (_SEPARATORS.sub("", part) for part in local.lower().split("+"))
    return next((part for part in parts if part), "")


def is_reserved(local: str, more: Iterable[str] = ()) -> bool:
    """Return whether a local part is a reserved name in any disguise, or cannot be read at all.

    :param more: names that a policy adds
    """
    if not local.isascii():
        return True
    name = disguised(local)
    return not name or name in RESERVED or any(name == disguised(one) for one in more)


def is_sensitive(local: str, names: Iterable[str] = (), patterns: Iterable[str] = ()) -> bool:
    """Return whether a local part looks like a reserved name or is one that colleagues believe.

    :param names: reserved names that a policy adds
    :param patterns: shell-style patterns that a policy adds
    """
    reserved = RESERVED | {disguised(one) for one in names}
    whole = disguised(local)
    words = {whole, *_NO_LETTERS.split(local.lower())} - {""}
    looks = {_skeleton(whole), _skeleton(whole.strip(digits))}
    if not reserved.isdisjoint(words) or not looks.isdisjoint(map(_skeleton, reserved)):
        return True
    wanted = (*SENSITIVE, *patterns)
    return any(fnmatchcase(word, pattern) for word in words for pattern in wanted)


def _skeleton(name: str) -> str:
    """Return a name as a hasty reader sees it, so that ``adrnin`` and ``adm1n`` are ``admin``."""
    name = name.translate(_LOOKS_LIKE)
    for seen, meant in _LOOKS:
        name = name.replace(seen, meant)
    return name
