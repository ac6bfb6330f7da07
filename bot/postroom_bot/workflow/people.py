# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The people in Slack, as the policy sees them: who they are, their mailbox and their groups."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Person, Reason
from postroom_bot.errors import Denied, SlackRejected
from postroom_bot.policy.identity import (
    Mailbox,
    Profile,
    email_of,
    mailbox_of,
    name_of,
    obstacle_of,
)
from postroom_bot.policy.model import EVERYONE, Group, Policy
from postroom_bot.store import identities
from postroom_common.database import Database

#: How long Slack's answers are cached, except for decisions.
CACHE_TIME = timedelta(seconds=60)
_MAX_CACHED = 10_000
#: How often the same unknown user group is logged.
LOG_INTERVAL = timedelta(hours=1)
_NOT_SHOWN = frozenset({"user_not_found", "user_not_visible"})

_log = logging.getLogger(__name__)

T = TypeVar("T")


class People:
    """Looks people up. Threads may share it.

    Methods raise SlackUnavailable, or SlackRejected if Slack refuses the bot itself, such as for a
    missing scope.

    :param clock: the time, aware and in UTC
    :param policy: gives the policy in force now
    """

    def __init__(
        self,
        slack_api: SlackApi,
        database: Database,
        clock: Callable[[], datetime],
        policy: Callable[[], Policy],
    ) -> None:
        self._slack_api = slack_api
        self._database = database
        self._clock = clock
        self._policy = policy
        self._profiles = _Cache[Profile](clock)
        self._members = _Cache[frozenset[str]](clock)
        self._unknown: dict[str, datetime] = {}

    def person(self, user: str, team: str, *, fresh: bool = False) -> Person:
        """Return a person, as seen by Slack and the policy.

        :param team: the workspace that the bot serves; others can't use the bot
        :param fresh: ask Slack now, for a decision; other answers may be a minute old
        """
        profile = self._profile(user, fresh=fresh)
        if profile is None:
            return Person(user, team, user, obstacle=Reason("person.hidden"))
        return self._person(profile, team, fresh=fresh)

    def owner_of(self, mailbox: str, team: str) -> Person | None:
        """Return the owner of a mailbox in Slack, if known.

        :param team: as in ``person``
        """
        user = self._user_of(mailbox)
        profile = self._profile(user, fresh=False) if user else None
        if profile is None:
            return None
        person = self._person(profile, team, fresh=False)
        return person if person.mailbox == mailbox else None

    @contextmanager
    def cached(self) -> Iterator[None]:
        """Ask Slack about each person and user group once at most, in this thread and block.

        A decision needs the same ones several times, and Slack limits the calls.
        """
        with self._profiles.cached(), self._members.cached():
            yield

    def forget(self, user: str) -> None:
        """Ask Slack at the next lookup of this person, whose account has changed."""
        self._profiles.drop(user)

    def _person(self, profile: Profile, team: str, *, fresh: bool) -> Person:
        policy, user = self._policy(), str(profile["id"])
        obstacle = obstacle_of(profile, team)
        if obstacle:
            return Person(user, team, name_of(profile), obstacle=obstacle)
        mailbox = self._mailbox(policy, profile)
        try:
            groups = self._groups(policy, user, fresh=fresh)
        except _UnknownUsergroup as unknown:
            # Without its members, a rule that denies them something could not be kept.
            obstacle, groups = unknown.reason, frozenset()
        return Person(
            user=user,
            team=team,
            name=name_of(profile),
            mailbox=mailbox.address,
            groups=groups,
            obstacle=obstacle,
            mailbox_obstacle=mailbox.obstacle,
        )

    def _profile(self, user: str, *, fresh: bool) -> Profile | None:
        """Return a user's profile, or None if Slack does not show it."""
        try:
            return self._profiles.get(user, lambda: self._slack_api.profile(user), fresh=fresh)
        except SlackRejected as refusal:
            if refusal.code in _NOT_SHOWN:
                return None
            raise

    def _mailbox(self, policy: Policy, profile: Profile) -> Mailbox:
        """Return a person's mailbox, and record their address to detect changes."""
        now, email, changed_at = self._clock(), email_of(profile), None
        if email and policy.identity.slack_email is not None:
            changed_at = self._seen(str(profile["id"]), email, now).changed_at
        return mailbox_of(policy, profile, changed_at, now)

    def _seen(self, user: str, email: str, now: datetime) -> identities.Seen:
        known = self._database.read(lambda c: identities.get(c, user))
        if known is not None and known.email == email:
            return known
        return self._database.write(lambda c: identities.seen(c, user, email, at=now))

    def _groups(self, policy: Policy, user: str, *, fresh: bool) -> frozenset[str]:
        named = {
            name for name, group in policy.groups.items() if self._has(group, user, fresh=fresh)
        }
        return frozenset({EVERYONE, *named})

    def _has(self, group: Group, user: str, *, fresh: bool) -> bool:
        return user in group.users or any(
            user in self._members_of(usergroup, fresh=fresh) for usergroup in group.usergroups
        )

    def _members_of(self, usergroup: str, *, fresh: bool) -> frozenset[str]:
        try:
            return self._members.get(
                usergroup, lambda: self._slack_api.members(usergroup), fresh=fresh
            )
        except SlackRejected as refusal:
            if refusal.code == "no_such_subteam":
                self._log_unknown(usergroup)
                raise _UnknownUsergroup("person.unknown_usergroup", usergroup=usergroup) from None
            raise

    def _log_unknown(self, usergroup: str) -> None:
        now, logged_at = self._clock(), self._unknown.get(usergroup)
        if logged_at is None or now >= logged_at + LOG_INTERVAL:
            self._unknown[usergroup] = now
            _log.error(
                "the policy names the user group %s, which Slack does not know; the bot refuses"
                " everyone until groups.*.usergroups is corrected",
                usergroup,
            )

    def _user_of(self, mailbox: str) -> str | None:
        identity = self._policy().identity
        pinned = {address: user for user, address in identity.pinned.items()}
        if mailbox in pinned or identity.slack_email is None:
            return pinned.get(mailbox)
        return self._slack_api.find_by_email(mailbox)


class _UnknownUsergroup(Denied):
    """The policy names a user group that Slack does not know."""


class _Cache(Generic[T]):
    """A cache of answers."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[str, tuple[datetime, T]] = {}
        self._looks = threading.local()

    @contextmanager
    def cached(self) -> Iterator[None]:
        """Keep the answers of this block until its end, in this thread."""
        self._looks.answers = {}
        try:
            yield
        finally:
            del self._looks.answers

    def get(self, key: str, ask: Callable[[], T], *, fresh: bool) -> T:
        """Return a cached answer, or ask."""
        now = self._clock()
        look: dict[str, T] = getattr(self._looks, "answers", {})
        if key in look:
            return look[key]
        with self._lock:
            asked_at, answer = self._answers.get(key, (None, None))
        if (
            answer is not None
            and asked_at is not None
            and not fresh
            and now < asked_at + CACHE_TIME
        ):
            return answer
        new = look[key] = ask()
        with self._lock:
            if len(self._answers) >= _MAX_CACHED:
                self._answers.clear()
            self._answers[key] = (now, new)
        return new

    def drop(self, key: str) -> None:
        """Ask at the next lookup."""
        with self._lock:
            self._answers.pop(key, None)
