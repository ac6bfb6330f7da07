# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What Slack and the policy say about users, read over HTTP and stored in a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.policy.policies import policy_of
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot import domain
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Person
from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.policy.model import Policy
from postroom_bot.shared_answers import SharedAnswers
from postroom_bot.workflow.people import DECISION_AGE, QUERY_AGE, People
from postroom_common.database import Database


class Scene:
    """A workspace with Alice in it, the workspace's policy, and the bot's view of its users."""

    def __init__(self, slack: Workspace, database: Database, clock: Clock) -> None:
        self.slack = slack
        self.clock = clock
        self.alice = slack.person("alice", email="alice@example.com")
        self.usergroup = slack.usergroup(self.alice)
        self.identity: dict[str, Any] = {"slack_email": {"domains": ["example.com"]}}
        home = domain.Workspace(slack.state.team)
        slack_api = SlackApi(slack.bot_token, slack.base_url)
        self.people = People(slack_api, database, clock, self.policy, home)

    def policy(self) -> Policy:
        """Return the current policy."""
        groups = {
            "admins": {"users": ["U99999999", self.alice.id]},
            "sales": {"usergroups": [self.usergroup]},
            "others": {"users": ["U99999999"]},
        }
        rule = {"actions": ["password"], "own": True, "automatic": True}
        return policy_of(rule, identity=self.identity, groups=groups)

    def see(self, *, fresh: bool = True) -> Person:
        """Return the bot's view of Alice."""
        return self.people.person(self.alice.id, fresh=fresh)

    def owner_of(self, mailbox: str) -> Person | None:
        """Return the bot's view of a mailbox's owner."""
        return self.people.owner_of(mailbox)


@pytest.fixture
def scene(database: Database, clock: Clock) -> Iterator[Scene]:
    """Provide a workspace and the bot's view of it."""
    with Workspace(clock=clock) as slack:
        yield Scene(slack, database, clock)


@pytest.mark.parametrize("change", [{"deleted": True}, {"is_restricted": True}, {"team": "T0FAR"}])
def test_a_changed_account_loses_its_mailbox_and_groups(
    scene: Scene, change: dict[str, Any]
) -> None:
    """A deactivated, restricted or foreign account loses its mailbox and groups in seconds."""
    assert scene.see() == Person(
        user=scene.alice.id,
        mailbox="alice@example.com",
        groups=frozenset({"everyone", "admins", "sales"}),
    )
    scene.slack.change_user(scene.alice, announce=False, **change)
    scene.clock.advance(seconds=DECISION_AGE)
    for person in (scene.see(), scene.people.person("U404")):
        assert person.obstacle
        assert (person.mailbox, person.groups) == (None, frozenset())


def test_a_changed_address_has_to_cool_down(scene: Scene) -> None:
    """Each change to an address restarts the cool-down, which does not affect a pinned mailbox."""
    assert scene.see().mailbox == "alice@example.com"
    for email in ("boss@example.com", "alice@example.com"):
        scene.slack.change_user(scene.alice, announce=False, email=email)
        scene.clock.advance(seconds=DECISION_AGE)
        assert scene.see().mailbox is None
        scene.clock.advance(timedelta(hours=71))
        assert scene.see().mailbox_obstacle
    scene.clock.advance(timedelta(hours=1))
    assert scene.see().mailbox == "alice@example.com"
    scene.identity = {"pinned": {scene.alice.id: "a.lee@example.com"}}
    assert scene.see().mailbox == "a.lee@example.com"


def test_answers_of_slack_are_shared_for_a_while(scene: Scene) -> None:
    """Slack's answers are used for a minute in queries, and for five seconds in decisions."""
    for fresh, seconds in ((False, QUERY_AGE), (True, DECISION_AGE)):
        asked = [scene.see(fresh=fresh)]
        before = _counted(scene)
        asked += [scene.see(fresh=fresh) for _ in range(3)]
        scene.clock.advance(seconds=seconds - 0.1)
        assert scene.see(fresh=fresh) == asked[0] == asked[-1]
        assert _counted(scene) == before
        scene.slack.set_usergroup(scene.usergroup)
        scene.slack.change_user(scene.alice, announce=False, is_restricted=True)
        scene.clock.advance(seconds=0.1)
        assert scene.see(fresh=fresh).obstacle
        assert _counted(scene)["users.info"] == before["users.info"] + 1
        scene.slack.change_user(scene.alice, announce=False, is_restricted=False)
        scene.clock.advance(seconds=QUERY_AGE)
        assert scene.see(fresh=fresh).groups == {"everyone", "admins"}
        scene.slack.set_usergroup(scene.usergroup, scene.alice)
        scene.clock.advance(seconds=QUERY_AGE)


def test_a_change_is_seen_at_once(scene: Scene) -> None:
    """After an event about an account or a user group, the next decision sees the change."""
    assert "sales" in scene.see().groups
    scene.slack.set_usergroup(scene.usergroup)
    scene.people.usergroups_changed()
    assert "sales" not in scene.see().groups
    scene.slack.change_user(scene.alice, announce=False, deleted=True)
    scene.people.account_changed(scene.alice.user.as_slack(with_email=True))
    assert scene.see().obstacle


def test_the_event_itself_says_which_address_is_new(scene: Scene) -> None:
    """A changed address of a known account starts its cool-down without a call to Slack."""
    stranger = scene.slack.person("mallory", email="boss@example.com")
    scene.see()
    before = _counted(scene)
    for person, changes in (
        (scene.alice, {"real_name": "Alice L."}),
        (scene.alice, {"email": "boss@example.com"}),
        (stranger, {"email": "mallory@example.com"}),
    ):
        scene.slack.change_user(person, announce=False, **changes)
        scene.people.account_changed(person.user.as_slack(with_email=True))
    scene.people.account_changed(scene.alice.user.as_slack(with_email=False))
    assert _counted(scene) == before
    scene.clock.advance(hours=71)
    assert scene.see().mailbox_obstacle
    scene.clock.advance(hours=1)
    assert scene.see().mailbox == "boss@example.com"
    assert scene.people.person(stranger.id).mailbox == "mallory@example.com"


def test_threads_share_an_answer(scene: Scene) -> None:
    """Threads that need the same answer at the same time wait for a single call."""
    with ThreadPoolExecutor(8) as pool:
        people = list(pool.map(lambda _: scene.see(), range(8)))
    assert set(people) == {people[0]}
    assert _counted(scene) == {"users.info": 1, "usergroups.list": 1}


def test_an_answer_that_was_on_its_way_during_a_change_is_not_kept() -> None:
    """An answer that was asked for before a change is not used after it. Errors are not kept."""
    answers: SharedAnswers[str] = SharedAnswers(lambda: 0.0)

    def changed() -> str:
        answers.forget()
        return "old"

    def failed() -> str:
        raise SlackUnavailable

    assert answers.get(changed, since=-1) == "old"
    with pytest.raises(SlackUnavailable):
        answers.get(failed, since=-1)
    assert answers.get(lambda: "new", since=-1) == "new"
    assert answers.get(failed, since=-1) == "new"


def test_an_answer_is_not_used_after_the_clock_was_set_back() -> None:
    """An answer whose age is unknown, because the clock was set back, is asked for again."""
    times = iter([100.0, 50.0, 50.0])
    answers: SharedAnswers[str] = SharedAnswers(lambda: next(times))
    assert answers.get(lambda: "old", since=95) == "old"
    assert not answers.knows(since=45)
    assert answers.get(lambda: "new", since=45) == "new"


def _counted(scene: Scene) -> Counter[str]:
    return Counter(call.method for call in scene.slack.state.calls)


def test_an_unknown_user_group_blocks_every_user(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """An unknown user group blocks every user, because rules about that group can't be applied."""
    scene.usergroup = "S404"
    for minutes in (0, 30, 29, 1, 30):
        scene.clock.advance(minutes=minutes)
        person = scene.see()
        assert "S404" in str(person.obstacle)
        assert person.groups == frozenset()
    logged = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(logged) == 2
    assert "S404" in logged[0]
    assert "groups.*.usergroups" in logged[0]
    # A missing scope does not mean that the group is unknown.
    scene.slack.grant("users:read", "users:read.email")
    scene.clock.advance(seconds=DECISION_AGE)
    with pytest.raises(SlackRejected, match="missing_scope"):
        scene.see()


def test_the_owner_of_a_mailbox_is_found(scene: Scene) -> None:
    """A mailbox's owner is found by a pin in the policy or, without one, by the Slack address."""
    assert scene.owner_of("alice@example.com") == scene.see()
    assert scene.owner_of("nobody@example.com") is None
    guest = scene.slack.person("guest", email="guest@example.com", is_restricted=True)
    assert scene.owner_of("guest@example.com") is None
    scene.identity = {
        "pinned": {
            scene.alice.id: "a.lee@example.com",
            guest.id: "guest@example.com",
            "U404": "gone@example.com",
        }
    }
    owner = scene.owner_of("a.lee@example.com")
    assert owner is not None
    assert owner.user == scene.alice.id
    lookups = len(scene.slack.calls("users.lookupByEmail"))
    for mailbox in ("alice@example.com", "guest@example.com", "gone@example.com"):
        assert scene.owner_of(mailbox) is None
    assert len(scene.slack.calls("users.lookupByEmail")) == lookups
