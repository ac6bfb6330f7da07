# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mailbox ownership, users who may not use the bot, and reserved names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.policy.policies import policy_of
from postroom_bot.addresses import InvalidAddress, address, domain, domain_of, local_of
from postroom_bot.domain import Reason
from postroom_bot.policy.identity import obstacle_of, own_mailbox
from postroom_bot.policy.protected_names import RESERVED, is_reserved, is_sensitive, normalized

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
RULE = {"actions": ["password"], "own": True, "automatic": True}
PINNED = {"pinned": {"U0000000A": "boss@example.com"}}
BOTH = policy_of(RULE, identity={**PINNED, "slack_email": {"domains": ["example.com"]}})
PINNED_ONLY = policy_of(RULE, identity=PINNED)


def profile(email: str | None = "bob@example.com", **more: Any) -> dict[str, Any]:
    """Return a user's profile as Slack sends it."""
    about = {"display_name": "", "real_name": "Bob", "email": email}
    return {
        "id": "U0000000B",
        "team_id": "T1",
        "is_email_confirmed": True,
        "profile": about,
        **more,
    }


def test_a_pinned_mailbox_takes_precedence() -> None:
    """A pinned mailbox takes precedence over the Slack profile, even after the profile changes."""
    changed = profile("other@example.com", id="U0000000A", is_email_confirmed=False)
    assert own_mailbox(BOTH, changed, NOW, NOW) == ("boss@example.com", None)
    assert own_mailbox(PINNED_ONLY, changed, None, NOW) == ("boss@example.com", None)


def test_a_confirmed_address_in_a_listed_domain_is_accepted() -> None:
    """A confirmed address in a listed domain is accepted in any spelling."""
    assert own_mailbox(BOTH, profile("Bob@Example.COM"), None, NOW) == ("bob@example.com", None)
    mailbox, obstacle = own_mailbox(PINNED_ONLY, profile(), None, NOW)
    assert mailbox is None
    assert obstacle == Reason("mailbox.not_pinned", {"approvers": "admins"})


@pytest.mark.parametrize(
    ("about", "code"),
    [
        (profile("Boss@EXAMPLE.com"), "mailbox.pinned_to_another"),
        (profile("bob@example.org"), "mailbox.untrusted_domain"),
        (profile(is_email_confirmed=False), "mailbox.unconfirmed"),
        (profile(is_email_confirmed="yes"), "mailbox.unconfirmed"),
        (profile(None), "mailbox.no_email"),
        (profile("b\u043eb@example.com"), "mailbox.no_email"),
    ],
)
def test_a_doubtful_address_is_not_accepted(about: dict[str, Any], code: str) -> None:
    """If an address is doubtful, the refusal names whom to ask, but no other user's address."""
    mailbox, obstacle = own_mailbox(BOTH, about, None, NOW)
    assert mailbox is None
    assert obstacle == Reason(code, {"approvers": "admins"})


@pytest.mark.parametrize(("hours", "counts"), [(0, False), (71.99, False), (72, True), (99, True)])
def test_a_changed_address_has_to_cool_down(hours: float, *, counts: bool) -> None:
    """A changed address counts only after the cool-down, and the refusal states when that ends."""
    mailbox, obstacle = own_mailbox(BOTH, profile(), NOW - timedelta(hours=hours), NOW)
    assert (mailbox == "bob@example.com") is counts
    ends = NOW + timedelta(hours=72 - hours)
    params = {"counts_from": ends.isoformat(), "approvers": "admins"}
    assert obstacle == (None if counts else Reason("mailbox.changed", params))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"deleted": True}, "person.deactivated"),
        ({"is_bot": True}, "person.bot"),
        ({"id": "USLACKBOT"}, "person.bot"),
        ({"is_workflow_bot": True}, "person.workflow"),
        ({"is_restricted": True}, "person.guest"),
        ({"is_ultra_restricted": True}, "person.guest"),
        ({"is_stranger": True}, "person.stranger"),
        ({"team_id": "T2"}, "person.other_workspace"),
        ({"team_id": None}, "person.other_workspace"),
        ({"team_id": "E1", "enterprise_user": {"teams": ["T2"]}}, "person.other_workspace"),
        ({}, None),
        ({"team_id": "E1", "enterprise_user": {"teams": ["T2", "T1"]}}, None),
    ],
)
def test_only_members_of_the_workspace_may_use_the_bot(
    more: dict[str, Any], code: str | None
) -> None:
    """Only full members of the workspace may use the bot."""
    obstacle = obstacle_of(profile(**more), "T1")
    assert obstacle == (Reason(code) if code else None)


def test_an_address_has_one_key() -> None:
    """An address has one normalized key, regardless of its case or its domain's spelling."""
    for typed, key in (
        ("Alice@Example.COM", "alice@example.com"),
        (" o'brien+x_1=y.z-1@example.com ", "o'brien+x_1=y.z-1@example.com"),
        ("alice@bücher.example", "alice@xn--bcher-kva.example"),
        ("alice@xn--bcher-kva.example.", "alice@xn--bcher-kva.example"),
    ):
        assert address(typed) == address(key) == key
    assert domain("BÜCHER.example") == "xn--bcher-kva.example"
    with pytest.raises(InvalidAddress, match="not a domain name"):
        domain("http://example.com/")
    assert (local_of("a+b@example.com"), domain_of("a+b@example.com")) == ("a+b", "example.com")


@pytest.mark.parametrize(
    "typed",
    [
        *("", "alice", "@example.com", "alice@", "alice@example", "a@b@example.com"),
        *("<mailto:a@example.com|a@example.com>", '"a b"@example.com', "{a}@example.com"),
        *("alice@example.com\n", "al\u200bice@example.com", "alice@exam\u200bple.com"),
        *("\uff41lice@example.com", "älice@example.com", "al\x00ice@example.com", "\ud800@a.b"),
        *("alice@" + "a" * 250 + ".example", "a" * 65 + "@example.com", "a" * 100_000),
    ],
)
def test_an_invalid_address_is_refused(typed: str) -> None:
    """The error for an invalid address is short and contains no invisible characters."""
    with pytest.raises(InvalidAddress) as caught:
        address(typed)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 600


@given(st.text(max_size=400))
def test_any_text_is_taken_or_refused(typed: str) -> None:
    """Every accepted address or domain is normalized to lower-case ASCII without markup."""
    for read in (address, domain):
        try:
            key = read(typed)
        except InvalidAddress:
            continue
        assert key.isascii()
        assert key == key.lower() == read(key)
        assert not set(key) & set('<>|&`*{}\\"!?;$ ')


def test_names_that_certificate_authorities_mail_are_reserved() -> None:
    """Names to which certificate authorities send mail are reserved in every spelling."""
    listed = {"admin", "administrator", "webmaster", "hostmaster", "postmaster"}
    assert listed | {"root", "abuse", "ssladmin", "dmarc", "tlsrpt"} <= RESERVED
    assert all(normalized(name) == name for name in RESERVED)
    typed = ("Post.Master+news", "a_d-m.i'n", "+root", "++", "sales")
    assert [*map(normalized, typed)] == ["postmaster", "admin", "root", "", "sales"]
    assert is_reserved("s\u0430les")
    assert is_reserved("...")
    assert is_reserved("v.p.n+x", ["V-PN"])
    assert is_sensitive("vpn-team", ["V-PN"])
    assert is_sensitive("press-office", patterns=["press*"])
    assert not is_reserved("vpn")
    assert not is_sensitive("press-office")


def test_names_of_trust_and_lookalikes_are_sensitive() -> None:
    """Names that people trust, and lookalikes of reserved names, are sensitive."""
    trusted = "ceo the.ceo ceo2 payroll hr-payroll invoices it-admin"
    alike = "adm1n adrnin r00t p0stmaster vvebmaster postmaster1 adm1n24"
    ordinary = "alice sales info support ann.lee o'brien project-x m.smith2"
    for names, sensitive in ((trusted, True), (alike, True), (ordinary, False)):
        for local in names.split():
            assert is_sensitive(local) is sensitive, local
            assert not is_reserved(local)
