# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Exports: all that a definition can hold, sorted; the rest is named in warnings."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.definition.export import export
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Foreign,
    Forwarder,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import Name, read_name


def names(*texts: str) -> frozenset[Name]:
    """Return names as a service answers them."""
    return frozenset(map(read_name, texts))


TENANT: list[Principal] = [
    Forwarder(read_name("Team@example.com"), names("all@example.com"), names("z@a.example", "a@z")),
    Mailbox(read_name("zoe@example.com")),
    Mailbox(read_name("alice@example.com"), names("sales@example.com", "info@EXAMPLE.org")),
    Domain(read_name("xn--bcher-kva.example")),
    Domain(read_name("example.com")),
]


def test_everything_is_declared_in_order() -> None:
    """Domains as text; lists always there, for an empty one declares that there is nothing."""
    whole: list[Principal] = [one for one in TENANT if not isinstance(one, Forwarder)]
    whole.append(Forwarder(read_name("Team@example.com"), members=names("z@a.example", "b@c.eu")))
    assert export(whole) == (
        {
            "domains": ["example.com", "xn--bcher-kva.example"],
            "mailboxes": [
                {"name": "alice@example.com", "aliases": ["info@EXAMPLE.org", "sales@example.com"]},
                {"name": "zoe@example.com", "aliases": []},
            ],
            "forwarders": [
                {"name": "Team@example.com", "members": ["b@c.eu", "z@a.example"], "aliases": []}
            ],
        },
        (),
    )


def test_an_empty_tenant_is_a_definition_too() -> None:
    """With all of its sections."""
    assert export([]).definition == {"domains": [], "mailboxes": [], "forwarders": []}


@pytest.mark.parametrize(
    ("kinds", "sections"),
    [(["mailbox"], ["mailboxes"]), (["forwarder", "domain"], ["domains", "forwarders"]), ([], [])],
)
def test_only_sections_that_were_asked_for_are_there(kinds: list[str], sections: list[str]) -> None:
    """A missing section says that nothing was looked at, where an empty one says there is none."""
    assert list(export(TENANT, kinds).definition) == sections


#: What can't be declared, and the words about it.
LOST: dict[str, tuple[Principal, str]] = {
    "a foreign kind": (Foreign(read_name("staff@example.com"), "group"), "is a group, which no"),
    "a mailbox of odd name": (Mailbox(read_name('"a b"@example.com')), "its name can't"),
    "a forwarder of odd name": (
        Forwarder(read_name("@example.com"), members=names("a@b.example")),
        "forwarder @example.com: its name can't",
    ),
    "a domain of odd name": (Domain(read_name("localhost")), "domain localhost: its name"),
    "a forwarder with an odd member": (TENANT[0], "its member a@z can't"),
}


@pytest.mark.parametrize("case", LOST)
def test_what_no_definition_can_hold_is_left_out_whole(case: str) -> None:
    """One sentence names it: a forwarder short of a member would lose that member."""
    principal, words = LOST[case]
    definition, (warning,) = export([principal])
    assert not any(definition.values())
    assert words in warning
    assert str(principal.name) in warning
    assert warning.endswith("It is left out, and email_tenant leaves it alone.")


def test_an_alias_that_no_definition_can_hold_is_left_out_alone() -> None:
    """As a catch-all; the warning says how it survives a purge."""
    box = Mailbox(read_name("a@example.com"), names("@example.com", "b@example.com"))
    definition, (warning,) = export([box])
    assert definition["mailboxes"] == [{"name": "a@example.com", "aliases": ["b@example.com"]}]
    assert "its alias @example.com" in warning
    assert "ignore" in warning


def test_what_was_not_asked_for_is_not_warned_of() -> None:
    """A foreign kind has no section of its own, so it is named in any case."""
    _definition, warnings = export([principal for principal, _words in LOST.values()], ["mailbox"])
    assert len(warnings) == 2
