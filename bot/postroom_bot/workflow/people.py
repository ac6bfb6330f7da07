# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Look up people's accounts, mailboxes and groups in Slack and the policy."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Interaction, Person, Reason, Workspace
from postroom_bot.errors import Forbidden, SlackRejected
from postroom_bot.policy.identity import Profile, email_of, obstacle_of, own_mailbox
from postroom_bot.policy.model import EVERYONE, Policy
from postroom_bot.shared_answers import SharedAnswers
from postroom_bot.store import profile_email_changes
from postroom_common.database import Database

#: How old Slack's answers may be for queries, in seconds.
QUERY_AGE = 60.0
#: How old Slack's answers may be for decisions, in seconds. Slack allows about 20 calls per minute
#: for the user groups, and each request needs several decisions.
DECISION_AGE = 5.0
#: The minimum interval between log messages about the same unknown user group.
LOG_INTERVAL = timedelta(hours=1)
_NOT_SHOWN = frozenset({"user_not_found", "user_not_visible"})

_UNKNOWN_USERGROUP = (
    "the policy names the user group %s, which does not exist in Slack; the bot refuses everyone "
    "until groups.*.usergroups is corrected"
)

_log = logging.getLogger(__name__)


class _Account(NamedTuple):
    """A Slack account.

    :param email_changed_at: when the bot last noticed a change of its email address, or None
    """

    profile: Profile
    email_changed_at: datetime | None


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
        self._accounts = SharedAnswers[_Account](self._seconds)
        self._usergroups = SharedAnswers[Mapping[str, frozenset[str]]](self._seconds)
        #: When each unknown user group was last logged.
        self._logged_at: dict[str, datetime] = {}

    def person(self, user: str, *, fresh: bool = False) -> Person:
        """Return the person with this Slack user id, even if they may not use the bot.

        :param fresh: whether Slack's answers may be at most `DECISION_AGE` instead of `QUERY_AGE`
            seconds old
        """
        since = self._since(DECISION_AGE if fresh else QUERY_AGE)
        try:
            ask = partial(self._account, user)
            profile, email_changed_at = self._accounts.get(ask, user, since=since)
        except SlackRejected as rejection:
            if rejection.code in _NOT_SHOWN:
                return Person(user, obstacle=Reason("person.hidden"))
            raise
        policy = self._policy()
        if obstacle := obstacle_of(profile, self._workspace.team):
            return Person(user, obstacle=obstacle)
        mailbox, mailbox_obstacle = own_mailbox(policy, profile, email_changed_at, self._clock())
        found = self._groups(policy, user, since)
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
        """Return the person if Slack's answers are known, or None if this would call Slack."""
        since = self._since(QUERY_AGE)
        are_known = self._accounts.knows(user, since=since) and (
            not self._uses_usergroups(self._policy()) or self._usergroups.knows(since=since)
        )
        return self.person(user) if are_known else None

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
        person = self.person(user, fresh=True) if user else None
        return person if person and person.mailbox == mailbox else None

    def account_changed(self, profile: Profile) -> None:
        """Forget an account that has changed, and record a new email address.

        Slack reports changes to all accounts, but most users never use the bot, so only addresses
        of known users are recorded. This calls neither Slack nor the mail service.
        """
        user, email = str(profile["id"]), email_of(profile)
        self._accounts.forget(user)
        known = self._database.read(lambda c: profile_email_changes.latest(c, user))
        if known is not None and email not in (None, known.email):
            self._record_email(user, email)

    def usergroups_changed(self) -> None:
        """Forget the members of the user groups."""
        self._usergroups.forget()

    def _seconds(self) -> float:
        return self._clock().timestamp()

    def _since(self, max_age: float) -> float:
        return self._seconds() - max_age

    def _account(self, user: str) -> _Account:
        """Query Slack for an account, and record its email address if the policy uses it."""
        profile = self._slack_api.profile(user)
        email = email_of(profile)
        if email is None or self._policy().identity.slack_email is None:
            return _Account(profile, None)
        known = self._database.read(lambda c: profile_email_changes.latest(c, user))
        if known is not None and known.email == email:
            return _Account(profile, known.changed_at)
        return _Account(profile, self._record_email(user, email))

    def _record_email(self, user: str, email: str) -> datetime | None:
        record = partial(profile_email_changes.record, user=user, email=email, at=self._clock())
        return self._database.write(record)

    def _groups(self, policy: Policy, user: str, since: float) -> frozenset[str] | Reason:
        """Return a person's groups, or a reason if Slack does not know a user group."""
        groups = {EVERYONE}
        members: Mapping[str, frozenset[str]] = {}
        if self._uses_usergroups(policy):
            members = self._usergroups.get(self._slack_api.usergroups, since=since)
        for name, group in policy.groups.items():
            for usergroup in group.usergroups:
                if usergroup not in members:
                    self._log_unknown(usergroup)
                    return Reason("person.unknown_usergroup", {"usergroup": usergroup})
            if user in group.users or any(user in members[one] for one in group.usergroups):
                groups.add(name)
        return frozenset(groups)

    @staticmethod
    def _uses_usergroups(policy: Policy) -> bool:
        return any(group.usergroups for group in policy.groups.values())

    def _log_unknown(self, usergroup: str) -> None:
        now, logged_at = self._clock(), self._logged_at.get(usergroup)
        if logged_at is None or now >= logged_at + LOG_INTERVAL:
            self._logged_at[usergroup] = now
            _log.error(_UNKNOWN_USERGROUP, usergroup)
