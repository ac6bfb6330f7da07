# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whose mailbox is whose, and who may not use the bot at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.policy.policies import policy_of
from postroom_bot.policy.identity import mailbox_of, name_of, obstacle_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
RULE = {"actions": ["password"], "own": True, "automatic": True}
PINNED = {"pinned": {"U0000000A": "boss@example.com"}}
BOTH = policy_of(RULE, identity={**PINNED, "slack_email": {"domains": ["example.com"]}})
PINNED_ONLY = policy_of(RULE, identity=PINNED)


def profile(email: str | None = "bob@example.com", **more: Any) -> dict[str, Any]:
    """Return what Slack says of somebody."""
    about = {"display_name": "", "real_name": "Bob", "email": email}
    return {
        "id": "U0000000B",
        "team_id": "T1",
        "is_email_confirmed": True,
        "profile": about,
        **more,
    }


def test_a_pinned_mailbox_comes_first() -> None:
    """Whatever the Slack profile says, and however fresh its change."""
    changed = profile("other@example.com", id="U0000000A", is_email_confirmed=False)
    assert mailbox_of(BOTH, changed, NOW, NOW) == ("boss@example.com", "")
    assert mailbox_of(PINNED_ONLY, changed, None, NOW) == ("boss@example.com", "")


def test_a_confirmed_address_in_a_listed_domain_is_believed() -> None:
    """As its key, however it is spelled."""
    assert mailbox_of(BOTH, profile("Bob@Example.COM"), None, NOW) == ("bob@example.com", "")


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (profile("boss@example.com"), "is the mailbox of another account"),
        (profile("Boss@EXAMPLE.com"), "is the mailbox of another account"),
        (profile("bob@example.org"), "Slack addresses of your domain do not count"),
        (profile("bob@sub.example.com"), "Slack addresses of your domain do not count"),
        (profile(is_email_confirmed=False), "is not confirmed"),
        (profile(is_email_confirmed="yes"), "is not confirmed"),
        (profile(None), "has no email address that I can use"),
        (profile("b\u043eb@example.com"), "has no email address that I can use"),
        ({"id": "U0000000B"}, "has no email address that I can use"),
    ],
)
def test_what_is_in_doubt_is_not_believed(about: dict[str, Any], said: str) -> None:
    """The sentence says why and whom to ask, and no other's address."""
    mailbox, obstacle = mailbox_of(BOTH, about, None, NOW)
    assert mailbox is None
    assert said in obstacle
    assert obstacle.endswith("Ask admins to enter your mailbox in the policy.")
    assert "boss" not in obstacle


def test_profiles_count_only_where_the_policy_says_so() -> None:
    """Without slack_email, nobody's profile is believed."""
    mailbox, obstacle = mailbox_of(PINNED_ONLY, profile(), None, NOW)
    assert (mailbox, obstacle.split(".")[0]) == (None, "I do not know which mailbox is yours")


@given(st.timedeltas(timedelta(0), timedelta(days=7)))
def test_a_changed_address_has_to_cool_down(since: timedelta) -> None:
    """It counts when the cool-down is over, and the sentence says when."""
    mailbox, obstacle = mailbox_of(BOTH, profile(), NOW - since, NOW)
    assert (mailbox == "bob@example.com") == (since >= timedelta(hours=72))
    assert mailbox or f"from {NOW - since + timedelta(hours=72):%Y-%m-%d %H:%M} UTC on" in obstacle


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"deleted": True}, "Your Slack account is deactivated."),
        ({"is_bot": True}, "Bots may not use this."),
        ({"id": "USLACKBOT"}, "Bots may not use this."),
        ({"is_workflow_bot": True}, "Workflows may not use this."),
        ({"is_restricted": True}, "Guests may not use this."),
        ({"is_restricted": True, "is_ultra_restricted": True}, "Guests may not use this."),
        ({"is_stranger": True}, "People of other organisations may not use this."),
        ({"team_id": "T2"}, "People of other workspaces may not use it."),
        ({"team_id": None}, "People of other workspaces may not use it."),
        ({"team_id": "E1", "enterprise_user": {"teams": ["T2"]}}, "People of other workspaces"),
    ],
)
def test_some_may_not_use_the_bot(more: dict[str, Any], said: str) -> None:
    """They are told why."""
    assert obstacle_of(profile(**more), "T1").startswith(said)


def test_members_may_use_the_bot() -> None:
    """In an organisation, they may belong to several workspaces."""
    assert obstacle_of(profile(), "T1") == ""
    several = profile(team_id="E1", enterprise_user={"teams": ["T2", "T1"]})
    assert obstacle_of(several, "T1") == ""


def test_people_are_called_as_they_want() -> None:
    """By the first name that their profile has, or else by their id."""
    assert name_of(profile()) == "Bob"
    assert name_of(profile(profile={"display_name": "Bobby", "real_name": "Bob"})) == "Bobby"
    assert name_of({"id": "U1"}) == "U1"
