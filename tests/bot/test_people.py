# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""People as Slack and the policy see them, over real HTTP and with a real database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.slack.person import Person as Slacker
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.chat import Chat, ChatDown, ChatRefused, web_client
from postroom_bot.model import Person
from postroom_bot.people import KEPT, People
from postroom_bot.policy.model import Policy
from postroom_bot.store.database import Database


class Scene:
    """A workspace with Alice, a policy for it, and the bot's view of the people in it."""

    def __init__(self, slack: Workspace, database: Database, clock: Clock) -> None:
        self.slack = slack
        self.clock = clock
        self.alice = slack.person("alice", email="alice@example.com")
        self.usergroup = slack.usergroup(self.alice)
        self.identity: dict[str, Any] = {"slack_email": {"domains": ["example.com"]}}
        chat = Chat(web_client(slack.bot_token, base_url=slack.base_url))
        self.people = People(chat, database, clock, self.policy)

    def policy(self) -> Policy:
        """Return the policy in force."""
        groups = {
            "admins": {"users": ["U99999999", self.alice.id]},
            "sales": {"usergroups": [self.usergroup]},
            "others": {"users": ["U99999999"]},
        }
        rule = {"name": "own-password", "actions": ["password"], "own": True, "automatic": True}
        return Policy.model_validate(
            {
                "version": 1,
                "identity": self.identity,
                "groups": groups,
                "approvers": "admins",
                "channels": {"approvals": "C00000001"},
                "rules": [rule],
            }
        )

    def see(self, who: Slacker | None = None, *, fresh: bool = True) -> Person:
        """Return how the bot sees somebody; Alice, unless it is said who."""
        return self.people.person((who or self.alice).id, self.slack.world.team, fresh=fresh)

    def owner_of(self, mailbox: str) -> Person | None:
        """Return whose mailbox the bot believes it to be."""
        return self.people.owner_of(mailbox, self.slack.world.team)


@pytest.fixture
def scene(database: Database, clock: Clock) -> Iterator[Scene]:
    """Give a workspace and the bot's view of it."""
    with Workspace(clock=clock) as slack:
        yield Scene(slack, database, clock)


def test_somebody_has_a_name_a_mailbox_and_groups(scene: Scene) -> None:
    """Groups list users or user groups, and everybody is in the built-in one."""
    assert scene.see() == Person(
        user=scene.alice.id,
        team=scene.slack.world.team,
        name="alice",
        mailbox="alice@example.com",
        groups=frozenset({"everyone", "admins", "sales"}),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"deleted": True},
        {"is_bot": True},
        {"is_restricted": True},
        {"is_ultra_restricted": True},
        {"is_stranger": True},
        {"team": "T0000FAR"},
    ],
)
def test_an_account_that_changes_loses_everything(scene: Scene, change: dict[str, Any]) -> None:
    """A fresh look sees it at once: no mailbox, no groups, and a sentence why."""
    assert not scene.see().obstacle
    scene.slack.change_user(scene.alice, announce=False, **change)
    person = scene.see()
    assert person.obstacle.endswith(".")
    assert (person.mailbox, person.groups) == (None, frozenset())


def test_an_account_that_slack_does_not_show_has_an_obstacle(scene: Scene) -> None:
    """It may belong to nobody any more."""
    person = scene.people.person("U404", scene.slack.world.team)
    assert (person.obstacle, person.mailbox) == ("Slack does not show me your account.", None)


def test_a_changed_address_has_to_cool_down(scene: Scene) -> None:
    """Somebody who takes another's address in Slack does not have that mailbox at once."""
    assert scene.see().mailbox == "alice@example.com"
    scene.slack.change_user(scene.alice, announce=False, email="boss@example.com")
    person = scene.see()
    assert person.mailbox is None
    assert "has changed" in person.mailbox_obstacle
    scene.clock.advance(timedelta(hours=71))
    assert scene.see().mailbox is None
    scene.clock.advance(timedelta(hours=1))
    assert scene.see().mailbox == "boss@example.com"


def test_going_back_does_not_end_the_cooling_down(scene: Scene) -> None:
    """Each change begins it anew."""
    scene.see()
    for email in ("boss@example.com", "alice@example.com"):
        scene.clock.advance(timedelta(hours=71))
        scene.slack.change_user(scene.alice, announce=False, email=email)
        assert scene.see().mailbox is None


def test_a_pinned_mailbox_does_not_depend_on_slack(scene: Scene) -> None:
    """No change of the profile matters."""
    scene.identity = {"pinned": {scene.alice.id: "a.lee@example.com"}}
    scene.slack.change_user(scene.alice, announce=False, email="boss@example.com")
    assert scene.see().mailbox == "a.lee@example.com"


def test_answers_are_kept_for_a_minute(scene: Scene) -> None:
    """Unless something depends on them, or Slack has told of a change."""
    asked = [scene.see(fresh=False) for _ in range(3)]
    assert asked[0] == asked[2]
    assert len(scene.slack.calls("users.info")) == 1
    assert len(scene.slack.calls("usergroups.users.list")) == 1
    scene.people.forget(scene.alice.id)
    scene.see(fresh=False)
    assert len(scene.slack.calls("users.info")) == 2
    scene.clock.advance(KEPT)
    scene.see(fresh=False)
    assert len(scene.slack.calls("users.info")) == 3
    assert len(scene.slack.calls("usergroups.users.list")) == 2


def test_who_has_left_a_user_group_is_seen_at_a_fresh_look(scene: Scene) -> None:
    """For a decision, the members are asked anew."""
    assert "sales" in scene.see().groups
    scene.slack.set_usergroup(scene.usergroup)
    assert "sales" in scene.see(fresh=False).groups
    assert "sales" not in scene.see().groups


def test_one_look_asks_once(scene: Scene) -> None:
    """One decision looks several times and Slack is asked once; the next one asks anew."""
    for left in (frozenset[str](), frozenset({"sales"})):
        before = len(scene.slack.calls("usergroups.users.list"))
        with scene.people.one_look():
            seen = [scene.see() for _ in range(3)]
        assert len(scene.slack.calls("usergroups.users.list")) == before + 1
        assert all(("sales" in person.groups) is not bool(left) for person in seen)
        scene.slack.set_usergroup(scene.usergroup)


def test_an_unknown_user_group_stops_everybody(scene: Scene) -> None:
    """Otherwise a rule that denies something to its members would be void."""
    scene.usergroup = "S404"
    person = scene.see()
    assert person.obstacle.startswith("The policy names the user group S404, which Slack does not")
    assert person.groups == frozenset()


def test_an_unknown_user_group_is_logged_once_an_hour(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator hears which it is and what to correct, however many people ask."""
    scene.usergroup = "S404"
    for minutes in (0, 30, 30, 30):
        scene.clock.advance(minutes=minutes)
        scene.see()
    logged = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(logged) == 2
    assert "S404" in logged[0]
    assert "groups.*.usergroups" in logged[0]


def test_the_owner_of_a_mailbox_is_found(scene: Scene) -> None:
    """By the address in Slack, or by what is pinned; the latter counts alone."""
    assert scene.owner_of("alice@example.com") == scene.see()
    assert scene.owner_of("nobody@example.com") is None
    scene.identity = {"pinned": {scene.alice.id: "a.lee@example.com"}}
    owner = scene.owner_of("a.lee@example.com")
    assert owner is not None
    assert owner.user == scene.alice.id
    lookups = len(scene.slack.calls("users.lookupByEmail"))
    assert scene.owner_of("alice@example.com") is None
    assert len(scene.slack.calls("users.lookupByEmail")) == lookups


def test_who_is_not_believed_to_own_a_mailbox_is_not_its_owner(scene: Scene) -> None:
    """Nobody is told of another's mailbox because of an address in a profile."""
    scene.slack.change_user(scene.alice, announce=False, is_email_confirmed=False)
    assert scene.owner_of("alice@example.com") is None
    scene.slack.person("outsider", email="outsider@example.com", team="T0000ELSE")
    assert scene.owner_of("outsider@example.com") is None
    guest = scene.slack.person("guest", email="guest@example.com", is_restricted=True)
    assert scene.owner_of("guest@example.com") is None
    scene.identity = {"pinned": {guest.id: "guest@example.com", "U404": "gone@example.com"}}
    assert scene.owner_of("guest@example.com") is None
    assert scene.owner_of("gone@example.com") is None


def test_what_keeps_slack_from_answering_is_told(scene: Scene) -> None:
    """Whoever asks may ask again; a missing scope is no reason to take somebody for nobody."""
    with scene.slack.down(), pytest.raises(ChatDown):
        scene.see()
    for method in ("users.info", "usergroups.users.list"):
        scene.slack.faults.rate_limit(method, retry_after=7)
        with pytest.raises(ChatDown) as caught:
            scene.see()
        assert caught.value.retry_after == 7
    scene.slack.grant("users:read", "users:read.email")
    with pytest.raises(ChatRefused) as refused:
        scene.see()
    assert refused.value.code == "missing_scope"
    scene.slack.grant("chat:write")
    with pytest.raises(ChatRefused):
        scene.see()
