# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tenants of any size: as a definition declares them, and as they go over the wire.

Of a thousand principals one is a domain, ninety are forwarders of three members, and every third of
the mailboxes has an alias.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

PASSWORD = "of no interest"

#: What a definition file holds.
Declared = dict[str, Any]
#: A principal as it is sent to be created.
Body = dict[str, Any]


def definition(principals: int) -> Declared:
    """Return a definition of so many principals."""
    domains = [f"domain{number:03}.example" for number in range(max(principals // 1000, 1))]
    forwarders = principals * 9 // 100
    mailboxes = principals - len(domains) - forwarders
    return {
        "domains": domains,
        "mailboxes": [_mailbox(number, domains) for number in range(mailboxes)],
        "forwarders": [_forwarder(number, domains, mailboxes) for number in range(forwarders)],
    }


def mailboxes_only(count: int, domain: str) -> Declared:
    """Return a definition of so many mailboxes on one domain, none of which has an alias."""
    return {"domains": [domain], "mailboxes": [f"user{n:06}@{domain}" for n in range(count)]}


def _address(kind: str, number: int, domains: list[str]) -> str:
    return f"{kind}{number:06}@{domains[number % len(domains)]}"


def _mailbox(number: int, domains: list[str]) -> dict[str, Any]:
    mailbox: dict[str, Any] = {"name": _address("user", number, domains)}
    if number % 3 == 0:
        mailbox["aliases"] = [_address("alias", number, domains)]
    return mailbox


def _forwarder(number: int, domains: list[str], mailboxes: int) -> dict[str, Any]:
    inside = [_address("user", (number + step) % mailboxes, domains) for step in (0, 1)]
    outside = f"partner{number}@elsewhere.example"
    return {"name": _address("team", number, domains), "members": sorted({*inside, outside})}


def bodies(declared: Declared) -> list[Body]:
    """Return what creates the principals of a definition, in order."""
    made: list[Body] = [{"name": name, "type": "domain"} for name in declared["domains"]]
    for key in ("mailboxes", "forwarders"):
        made += [_individual(entry) for entry in declared.get(key, ())]
    return made


def _individual(entry: Any) -> Body:
    entry = entry if isinstance(entry, dict) else {"name": entry}
    body = {
        "name": entry["name"],
        "type": "individual",
        "emails": [entry["name"], *entry.get("aliases", ())],
    }
    if "members" in entry:
        return {**body, "members": entry["members"]}
    return {**body, "secrets": [PASSWORD]}


def passwords(declared: Declared) -> dict[str, str]:
    """Return a password for each mailbox, none like another."""
    names = [_individual(entry)["name"] for entry in declared["mailboxes"]]
    return {name: f"hQ7-{number:06}-wZ" for number, name in enumerate(names)}


def _as_yaml(declared: Declared) -> str:
    # libyaml, where it is there, takes a tenth of the time.
    return yaml.dump(declared, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))


#: What a definition file may be written in, by the ends of their names.
FORMATS: dict[str, Callable[[Declared], str]] = {"YAML": _as_yaml, "JSON": json.dumps}
