# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Protected local parts, and local parts that look like them.

Outsiders assume that the owner of a *reserved* name controls the domain. Certificate authorities,
for example, send mail to reserved names. A *sensitive* name is a name that colleagues trust.
Comparisons ignore case, punctuation and ``+tag``, because mail servers may ignore them as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from string import digits

#: The names in RFC 2142 except for departments, the five names that the CA/Browser Forum permits,
#: names that certificate authorities used in the past, and names that mail systems use to send mail
#: or receive reports.
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
#: Character sequences that look like other characters. Both sides of a comparison are converted.
_LOOKS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LOOKS_LIKE = str.maketrans("01345789i", "oleastbgl")


def normalized(local: str) -> str:
    """Return a local part in lower case, without its ``+tag`` and punctuation.

    If nothing precedes the tag, return the tag.
    """
    parts = (_SEPARATORS.sub("", part) for part in local.lower().split("+"))
    return next((part for part in parts if part), "")


def is_reserved(local: str, more: Iterable[str] = ()) -> bool:
    """Return whether a local part is a reserved name in any spelling, or is not ASCII.

    :param more: reserved names that the policy adds
    """
    if not local.isascii():
        return True
    name = normalized(local)
    return not name or name in RESERVED or any(name == normalized(one) for one in more)


def is_sensitive(local: str, names: Iterable[str] = (), patterns: Iterable[str] = ()) -> bool:
    """Return whether a local part looks like a reserved name or is a sensitive name.

    :param names: reserved names that the policy adds
    :param patterns: shell-style patterns of sensitive names that the policy adds
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
    """Return a key that names share if they look alike, such as ``adrnin`` and ``admin``."""
    name = name.translate(_LOOKS_LIKE)
    for seen, meant in _LOOKS:
        name = name.replace(seen, meant)
    return name
