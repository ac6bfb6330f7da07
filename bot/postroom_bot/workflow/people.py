# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Look up people's accounts, mailboxes and groups in Slack and the policy."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Interaction, Person, Reason, Workspace
from postroom_bot.errors import Forbidden, SlackRejected
from postroom_bot.policy.identity import email_of, obstacle_of, own_mailbox
from postroom_bot.policy.model import EVERYONE, Policy
from postroom_bot.store import profile_email_changes
from postroom_common.database import Database

#: How long Slack's responses are cached. Decisions bypass the cache.
CACHE_TIME = timedelta(seconds=60)
_MAX_CACHED = 10_000
#: The minimum interval between log messages about the same unknown user group.
LOG_INTERVAL = timedelta(hours=1)
_NOT_SHOWN = frozenset({"user_not_found", "user_not_visible"})

_UNKNOWN_USERGROUP = (
    "the policy names the user group %s, which does not exist in Slack; the bot refuses everyone "
    "until groups.*.usergroups is corrected"
)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class _NotCached(Exception):
    """The answer requires a call to Slack."""


class People:
    """A thread-safe service that looks up people.

    All methods may raise SlackUnavailable, or SlackRejected if Slack rejects the bot itself, for
    example because of a missing scope.
    """

    def __init__(
        self,
        slack_api: SlackApi,
        database: Database,
        clock: Callable[[], datetime],
        policy: Callable[[], Policy],
        workspace: Workspace,
    ) -> None:
        self._slack_api = slack_api
        self._database = database
        self._clock = clock
        self._policy = policy
        self._workspace = workspace
        #: Cached answers and their times, keyed by the id of the user or user group.
        self._answers: dict[str, tuple[datetime, Any]] = {}
        self._decision = threading.local()
        #: When each unknown user group was last logged.
        self._logged_at: dict[str, datetime] = {}

    def person(self, user: str, *, fresh: bool = False) -> Person:
        """Return the person with this Slack user id, even if they may not use the bot.

        :param fresh: whether to bypass the cache, whose data may be a minute old
        """
        try:
            profile = self._ask(user, self._slack_api.profile, fresh=fresh)
        except SlackRejected as rejection:
            if rejection.code in _NOT_SHOWN:
                return Person(user, obstacle=Reason("person.hidden"))
            raise
        policy = self._policy()
        if obstacle := obstacle_of(profile, self._workspace.team):
            return Person(user, obstacle=obstacle)
        now, email, changed_at = self._clock(), email_of(profile), None
        if email and policy.identity.slack_email is not None:
            known = self._database.read(lambda c: profile_email_changes.latest(c, user))
            if known is not None and known.email == email:
                changed_at = known.changed_at
            else:
                record = partial(profile_email_changes.record, user=user, email=email, at=now)
                changed_at = self._database.write(record)
        mailbox, mailbox_obstacle = own_mailbox(policy, profile, changed_at, now)
        found = self._groups(policy, user, fresh=fresh)
        # If a group's members are unknown, a rule that denies them something can't be enforced.
        groups, unknown = (frozenset(), found) if isinstance(found, Reason) else (found, None)
        return Person(
            user=user,
            mailbox=mailbox,
            groups=groups,
            obstacle=unknown,
            mailbox_obstacle=mailbox_obstacle,
        )

    def known(self, user: str) -> Person | None:
        """Return the person from the cache, or None if that requires a call to Slack."""
        self._decision.calls_slack = False
        try:
            return self.person(user)
        except _NotCached:
            return None
        finally:
            del self._decision.calls_slack

    def known_obstacle(self, interaction: Interaction) -> Reason | None:
        """Return why the person may not use the bot, as far as is known without calling Slack."""
        if not self._workspace.accepts_team(interaction.team):
            return Reason("person.elsewhere")
        person = self.known(interaction.user)
        return person.obstacle if person else None

    def caller(self, interaction: Interaction, *, fresh: bool = False) -> Person:
        """Return the person who is using the bot.

        :raises Forbidden: if the interaction comes from another workspace, or the person may not
            use the bot
        """
        if not self._workspace.accepts_team(interaction.team):
            raise Forbidden("person.elsewhere")
        person = self.person(interaction.user, fresh=fresh)
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    def owner_of(self, mailbox: str) -> Person | None:
        """Return the person who owns a mailbox, or None if the owner is unknown."""
        identity = self._policy().identity
        user = next((user for user, pin in identity.pinned.items() if pin == mailbox), None)
        if user is None and identity.slack_email is not None:
            user = self._slack_api.find_by_email(mailbox)
        person = self.person(user) if user else None
        return person if person and person.mailbox == mailbox else None

    @contextmanager
    def cached(self) -> Iterator[None]:
        """In the ``with`` block, query Slack at most once per person and user group in this thread.

        A decision needs the same answers several times, and Slack limits the rate of calls.
        """
        self._decision.answers = {}
        try:
            yield
        finally:
            del self._decision.answers

    def forget(self, user: str) -> None:
        """Remove a person from the cache, because their account has changed."""
        self._answers.pop(user, None)

    def _ask(self, key: str, ask: Callable[[str], T], *, fresh: bool) -> T:
        decision: dict[str, T] = getattr(self._decision, "answers", {})
        if key in decision:
            return decision[key]
        now = self._clock()
        known = self._answers.get(key)
        if known and not fresh and now < known[0] + CACHE_TIME:
            answer: T = known[1]
            return answer
        if not getattr(self._decision, "calls_slack", True):
            raise _NotCached
        new = decision[key] = ask(key)
        if len(self._answers) >= _MAX_CACHED:
            self._answers.clear()
        self._answers[key] = (now, new)
        return new

    def _groups(self, policy: Policy, user: str, *, fresh: bool) -> frozenset[str] | Reason:
        """Return a person's groups, or a reason if Slack does not know a user group."""
        groups = {EVERYONE}
        for name, group in policy.groups.items():
            if user in group.users:
                groups.add(name)
                continue
            for usergroup in group.usergroups:
                try:
                    members = self._ask(usergroup, self._slack_api.members, fresh=fresh)
                except SlackRejected as rejection:
                    if rejection.code != "no_such_subteam":
                        raise
                    now, logged_at = self._clock(), self._logged_at.get(usergroup)
                    if logged_at is None or now >= logged_at + LOG_INTERVAL:
                        self._logged_at[usergroup] = now
                        _log.error(_UNKNOWN_USERGROUP, usergroup)
                    return Reason("person.unknown_usergroup", {"usergroup": usergroup})
                if user in members:
                    groups.add(name)
                    break
        return frozenset(groups)
