# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Short forms for record sets on example.com: those that the service requires, and others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import as_dict
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    RecordSet,
    Value,
    txt,
)

DOMAIN = "example.com"
SELECTOR = "service._domainkey.example.com"
TTL = 3600
SPF = "v=spf1 include:spf.example.net ~all"
OURS = Mx(10, "mail.example.net")

CurrentSets = dict[tuple[str, str], RecordSet]


def key(bits: int = 2048, seed: str = "service") -> str:
    """Return a DKIM record with a fake key of realistic length, which depends on the seed."""
    size = bits // 8 + 38
    blocks = (hashlib.sha256(f"{seed} {number}".encode()).digest() for number in range(20))
    return f"v=DKIM1; k=rsa; p={base64.b64encode(b''.join(blocks)[:size]).decode()}"


KEY = key()


def mx(*values: Mx, ttl: int = TTL) -> RecordSet:
    """Return an MX record set for the domain."""
    return RecordSet(DOMAIN, "MX", ttl, values)


def texts(*values: Value | str, name: str = DOMAIN, ttl: int = TTL) -> RecordSet:
    """Return a TXT record set."""
    return RecordSet(name, "TXT", ttl, tuple(txt(v) if isinstance(v, str) else v for v in values))


def keys(*values: Value | str, ttl: int = TTL) -> RecordSet:
    """Return a TXT record set at the service's DKIM selector."""
    return texts(*values, name=SELECTOR, ttl=ttl)


def wanted(bits: int = 2048) -> tuple[RecordSet, ...]:
    """Return the record sets that the service requires."""
    return mx(OURS), texts(SPF), keys(key(bits))


def current(*record_sets: RecordSet) -> CurrentSets:
    """Return record sets by name and type."""
    return {(found.name, found.type): found for found in record_sets}


def neutral(bits: int = 2048) -> list[dict[str, Any]]:
    """Return the required records in the format of the module's result."""
    return [
        {
            "type": "MX",
            "host": "@",
            "fqdn": DOMAIN,
            "ttl": TTL,
            "value": OURS.exchange,
            "priority": OURS.priority,
        },
        {"type": "TXT", "host": "@", "fqdn": DOMAIN, "ttl": TTL, "value": SPF},
        {
            "type": "TXT",
            "host": "service._domainkey",
            "fqdn": SELECTOR,
            "ttl": TTL,
            "value": key(bits),
        },
    ]


def as_plain(record_sets: Iterable[RecordSet]) -> list[dict[str, Any]]:
    """Return record sets as dictionaries."""
    return list(map(as_dict, record_sets))
