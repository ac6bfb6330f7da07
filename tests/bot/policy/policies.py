# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Small policies, people and wishes for tests; and all kinds of them, for hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from postroom_bot.model import Action, Person, Wish
from postroom_bot.policy.decide import Facts
from postroom_bot.policy.model import Policy
from postroom_bot.policy.names import RESERVED

BASE: dict[str, Any] = {
    "version": 1,
    "groups": {
        "admins": {"users": ["U00000001", "U00000002", "U00000003"]},
        "security": {"usergroups": ["S00000001"], "channel": "C00000009"},
    },
    "approvers": "admins",
    "channels": {"approvals": "C00000001"},
}
OURS = frozenset({"example.com", "example.org"})
FACTS = Facts(own_domains=OURS)
ALICE = Person("U0000000A", "T1", "Alice", "alice@example.com", frozenset({"everyone"}))
ADMIN = Person("U00000001", "T1", "Ann", "ann@example.com", frozenset({"everyone", "admins"}))

ALL_AUTOMATIC = (
    {"name": "all", "automatic": True},
    {"name": "reserved", "reserved": True, "automatic": True},
)


def data_of(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a policy's data with these rules; numbers name those that have no name."""
    named = [{"name": f"rule-{n}", **rule} for n, rule in enumerate(rules, 1)]
    return {**BASE, "rules": named, **more}


def policy_of(*rules: Mapping[str, Any], **more: Any) -> Policy:
    """Return a policy with these rules, also one that a file could not have."""
    return Policy.model_validate(data_of(*rules, **more))


def adding(target: str, mailbox: str | None = None) -> Wish:
    """Return the wish for an alias."""
    return Wish(Action.ALIAS_ADD, target, mailbox)


def forwarding(target: str, *destinations: str) -> Wish:
    """Return the wish for a forwarder."""
    return Wish(Action.FORWARD_ADD, target, destinations=destinations)


# --- all kinds of them ---------------------------------------------------------------------------

locals_ = st.sampled_from(
    [*sorted(RESERVED), "sales", "project-x", "ceo", "it-admin", "adm1n", "alice", "bob"]
)
domains = st.sampled_from(["example.com", "example.org", "other.example"])
addresses = st.builds(lambda local, domain: f"{local}@{domain}", locals_, domains)
groups = st.lists(st.sampled_from(["everyone", "admins", "security"]), min_size=1, max_size=2)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "actions": st.lists(st.sampled_from(list(Action)), min_size=1, unique=True),
        "groups": groups,
        "own": st.booleans(),
        "domains": st.lists(st.sampled_from(["example.*", "*.org", "*"]), max_size=2),
        "addresses": st.lists(st.sampled_from(["s*@*", "*@example.com"]), max_size=2),
        "destinations": st.sampled_from(["internal", "external", "any"]),
        "reserved": st.booleans(),
    },
)
denials = st.just({"deny": "No."})
allowances = st.just({"automatic": True}) | st.fixed_dictionaries(
    {"approvals": st.dictionaries(st.sampled_from(["admins", "security"]), st.integers(1, 3))}
).filter(lambda effect: effect["approvals"])
denying_rules = st.builds(lambda a, b: {**a, **b}, conditions, denials)
allowing_rules = st.builds(lambda a, b: {**a, **b}, conditions, allowances)
rules = st.lists(st.one_of(allowing_rules, allowing_rules, denying_rules), min_size=1, max_size=5)

people = st.builds(
    Person,
    user=st.sampled_from(["U1", "U2"]),
    team=st.just("T1"),
    name=st.just("Alice"),
    mailbox=st.none() | st.sampled_from(["alice@example.com", "admin@example.com"]),
    groups=groups.map(lambda names: frozenset({"everyone", *names})),
    obstacle=st.sampled_from(["", "", "", "", "Guests may not use this."]),
)
wishes = st.builds(
    Wish,
    action=st.sampled_from(list(Action)),
    target=addresses | st.just(""),
    mailbox=st.none() | addresses,
    destinations=st.lists(addresses, max_size=2).map(tuple),
)
facts = st.builds(
    Facts,
    own_domains=st.just(OURS),
    open_requests=st.sampled_from([0, 0, 0, 5]),
    requests_today=st.sampled_from([0, 0, 0, 20]),
    aliases=st.sampled_from([None, 0, 3, 20]),
    tombstone_owner=st.sampled_from([None, None, None, "alice@example.com", "bob@example.com"]),
    mailbox_owner_user=st.none() | st.just("U2"),
)
