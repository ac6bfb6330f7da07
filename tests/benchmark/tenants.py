# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Definitions of any size, and ways to create and apply them.

Of 1,000 principals, one is a domain and ninety are forwarders with three members. Every third
mailbox has an alias.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import yaml

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.converge_tenant import (
    converge_tenant,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import Passwords
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import Source
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    read_definition,
)
from ansible_collections.postroom.email.plugins.module_utils._passwords import read_passwords
from ansible_collections.postroom.email.tests.benchmark.servers import Server

#: The content of a definition file.
Declared = dict[str, Any]

# With libyaml, writing YAML is ten times as fast.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
#: Functions that write definition files, keyed by format.
FORMATS: dict[str, Callable[[Declared], str]] = {
    "YAML": lambda declared: str(yaml.dump(declared, Dumper=_DUMPER)),
    "JSON": json.dumps,
}


def definition(principals: int) -> Declared:
    """Return a definition with this many principals."""
    domains = [f"domain{number:03}.example" for number in range(max(principals // 1000, 1))]
    forwarders = principals * 9 // 100
    mailboxes = principals - len(domains) - forwarders

    def address(kind: str, number: int) -> str:
        return f"{kind}{number:06}@{domains[number % len(domains)]}"

    def members(number: int) -> list[str]:
        inside = {address("user", (number + step) % mailboxes) for step in (0, 1)}
        return sorted(inside | {f"partner{number}@elsewhere.example"})

    return {
        "domains": domains,
        "mailboxes": [
            {"name": address("user", n)} | ({} if n % 3 else {"aliases": [address("alias", n)]})
            for n in range(mailboxes)
        ],
        "forwarders": [
            {"name": address("team", n), "members": members(n)} for n in range(forwarders)
        ],
    }


def bodies(declared: Declared) -> list[dict[str, Any]]:
    """Return the request bodies that create the principals in a definition, in order."""
    made: list[dict[str, Any]] = [{"name": n, "type": "domain"} for n in declared["domains"]]
    for entry in [*declared["mailboxes"], *declared.get("forwarders", ())]:
        emails = [entry["name"], *entry.get("aliases", ())]
        members = {"members": entry["members"]} if "members" in entry else {"secrets": ["secret"]}
        made.append({"name": entry["name"], "type": "individual", "emails": emails, **members})
    return made


def passwords(declared: Declared) -> dict[str, str]:
    """Return a different password for each mailbox."""
    return {entry["name"]: f"hQ7-{n:06}-wZ" for n, entry in enumerate(declared["mailboxes"])}


def wanted(
    source: Source, passwords: Mapping[str, str] | None = None, concurrency: int = 8
) -> dict[str, Any]:
    """Return the arguments of ``converge_tenant``."""
    return {
        "definition": read_definition([source], datetime.now(timezone.utc)),
        "passwords": Passwords(read_passwords(passwords or {})),
        "concurrency": concurrency,
    }


def applying(server: Server, declared: Declared, concurrency: int) -> Callable[[], object]:
    """Return a function that applies a loaded definition over new connections."""
    want = wanted(Source(None, declared), passwords(declared), concurrency)

    def apply() -> object:
        with contextlib.closing(Transport(server.url, server.token, trust_env=False)) as sender:
            return converge_tenant(Client(sender), **want, dry_run=False)

    return apply
