# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""New passwords: made while the mailbox's owner is looking, shown once, kept nowhere.

One's own is made at once where the policy says so; for another mailbox, a request has to be
approved first, and then the owner of the mailbox, and nobody else, is offered to make it. A
password is in this process between the mail service and the modal, and in no row, log or error.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pydantic import SecretStr

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Action, Change, Decision, Person, Request, State, Verdict
from postroom_bot.errors import (
    Denied,
    Forbidden,
    LeaseLost,
    Rejected,
    SlackRejected,
    SlackUnavailable,
    Unavailable,
)
from postroom_bot.store import audit, inbox, requests
from postroom_bot.ui import messages, notifications
from postroom_bot.workflow.decision import Query, decided, in_full
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.evaluate import decision_fields
from postroom_bot.workflow.lease import BOT, LeasedRequest, claim, new_owner
from postroom_bot.workflow.notify import OFFERED
from postroom_bot.workflow.recheck import approvals_of, why_stopped
from postroom_common.database import Connection

#: Letters and digits that nobody mistakes for one another.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS = 6
GROUP_LENGTH = 4

#: Whoever is told of a request may press before the worker has told everybody and let go of it: so
#: often the request is asked for, with so many seconds in between.
CLAIMS = 20
PAUSE_SECONDS = 0.25


class NeedsApproval(Denied):
    """It can't be made at once, but be asked for: hand the wish in at the desk."""


class PressedTwice(Denied):
    """The same press came before, and the window is for that one to fill."""


class NotShown(Denied):
    """It was made, but Slack did not show it."""


class Offer(NamedTuple):
    """A password that may be made now.

    :param request_id: the request that was approved for it, or None for one's own
    """

    mailbox: str
    request_id: str | None


class Revealed(NamedTuple):
    """A password that has just been set; nobody else has it."""

    mailbox: str
    password: SecretStr


#: Shows a password to the mailbox's owner; raises SlackUnavailable or SlackRejected.
Show = Callable[[Revealed], None]


def new_password() -> str:
    """Return a password of about 118 bits, such as ``k7md-...``, fit to be typed on a phone."""
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
    return "-".join(groups)


class Passwords:
    """Offers and makes passwords. Threads share it; its methods ask Slack and the mail service."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    def offer(
        self, user: str, team: str, mailbox: str | None = None, request_id: str | None = None
    ) -> Offer:
        """Return what may be made for this person now; nothing is written.

        :param mailbox: None for the person's own
        :param request_id: of an approved request, whose mailbox then counts
        :raises NeedsApproval: it has to be asked for
        :raises Denied: it may not be made, or it can't be told now
        """
        with _plainly(), self._deps.in_turn():
            person = self._person(user, team)
            if request_id is not None:
                request = self._deps.database.read(lambda c: requests.get(c, request_id))
                return Offer(self._approved(request, person).change.target, request_id)
            change = in_full(Change(Action.PASSWORD, mailbox or ""), person)
            if mailbox not in (None, person.mailbox):
                self._must_be_a_mailbox(change.target)
            self._decided(person, change)
            return Offer(change.target, None)

    def reveal(
        self, key: str, user: str, team: str, mailbox: str, request_id: str | None, show: Show
    ) -> None:
        """Make a password, set it, and show it: once for each key. Then the request is done.

        :param key: of what Slack delivered
        :param mailbox: as it was offered
        :raises PressedTwice: the key has been used
        :raises NotShown: it was set, but not shown; pressing again makes another
        :raises Denied: it was not made, or nobody knows it; pressing again makes another
        """
        with _plainly():
            with self._deps.in_turn():
                person = self._person(user, team)
                if person.mailbox != mailbox:
                    raise Forbidden(messages.NOT_YOUR_MAILBOX)
                if request_id is None:
                    leased = self._begin_own(key, person)
                else:
                    leased = self._begin_approved(key, person, request_id)
            try:
                with self._deps.in_turn():
                    made = self._make(leased)
                _show(leased, made, show)
            finally:
                leased.release(leased.now)
                self._deps.wake.set()

    def _person(self, user: str, team: str) -> Person:
        """Return who this is, as Slack says now."""
        if not self._deps.workspace.has(team):
            raise Forbidden(messages.ELSEWHERE)
        person = self._deps.people.person(user, self._deps.workspace.team, fresh=True)
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    def _must_be_a_mailbox(self, name: str) -> None:
        """Refuse what is none before it gets anywhere: it may be a password that was typed."""
        ours = domain_of(name) in self._deps.mail.domains()
        if not ours or not self._deps.mail.mailbox_exists(name):
            raise Denied(messages.NO_SUCH_MAILBOX)

    def _decided(self, person: Person, change: Change) -> Decision:
        """Return the policy's leave to make one's own password at once."""
        decision = decided(self._deps, Query(person, change, self._deps.clock()))
        if decision.verdict is Verdict.DENY:
            raise Forbidden(decision.reason)
        if decision.verdict is Verdict.APPROVE or change.target != person.mailbox:
            raise NeedsApproval(messages.ask_for_password(change.target))
        return decision

    def _approved(self, request: Request | None, person: Person) -> Request:
        """Return a request under which this person may make a password now."""
        if request is None or request.change.action is not Action.PASSWORD:
            raise Forbidden(messages.NOT_YOUR_MAILBOX)
        if request.change.target != person.mailbox:
            raise Forbidden(messages.NOT_YOUR_MAILBOX)
        over = request.expires_at is not None and request.expires_at <= self._deps.clock()
        if request.state is not State.APPROVED or over:
            raise Denied(messages.no_longer_offered(request))
        return request

    def _begin_own(self, key: str, person: Person) -> LeasedRequest:
        """Make the request for one's own password and hold it, in one transaction."""
        change = in_full(Change(Action.PASSWORD, ""), person)
        decision = self._decided(person, change)
        owner = new_owner(self._deps)

        def work(c: Connection) -> Request | None:
            if not inbox.first(c, key, at=self._deps.clock()):
                return None
            request = self._add(c, person, change, decision)
            now, lease = self._deps.clock(), self._deps.lease
            return requests.claim(c, owner=owner, now=now, lease=lease, only=request.id)

        request = self._deps.database.write(work)
        if request is None:
            raise PressedTwice(messages.PRESSED_TWICE)
        return LeasedRequest(self._deps, request, owner)

    def _add(self, c: Connection, person: Person, change: Change, decision: Decision) -> Request:
        """Add the request, approved by the policy, with an audit row for each of its states."""
        at, user = self._deps.clock(), person.user
        new = requests.add(c, change=change, requester=user, team=person.team, at=at)
        expires_at = at + self._deps.policy().requests.expire_after
        changes = decision_fields(new, change, person, decision)
        request = requests.transition(
            c, new, State.APPROVED, at=at, expires_at=expires_at, **changes
        )
        asked = {"change": change.as_dict(), "team": person.team}
        audit.append(c, "request.new", at=at, actor=user, request_id=new.id, data=asked)
        allowed = {"rule": decision.rule, "digest": request.digest}
        audit.append(c, "request.approved", at=at, actor=BOT, request_id=new.id, data=allowed)
        return request

    def _begin_approved(self, key: str, person: Person, request_id: str) -> LeasedRequest:
        """Hold an approved request, after one more look at all that led to its approval."""
        first = self._deps.database.write(lambda c: inbox.first(c, key, at=self._deps.clock()))
        if not first:
            raise PressedTwice(messages.PRESSED_TWICE)
        self._approved(self._deps.database.read(lambda c: requests.get(c, request_id)), person)
        leased = self._claimed(request_id)
        try:
            self._look_again(leased, person)
        except BaseException:
            leased.release(leased.now)
            raise
        return leased

    def _claimed(self, request_id: str) -> LeasedRequest:
        for _ in range(CLAIMS):
            if (leased := claim(self._deps, only=request_id)) is not None:
                return leased
            self._deps.stopping.wait(PAUSE_SECONDS)
        raise Denied(messages.MAILBOX_BUSY)

    def _look_again(self, leased: LeasedRequest, person: Person) -> None:
        request = self._approved(leased.request, person)
        if why := why_stopped(self._deps, request, approvals_of(self._deps, request)):
            leased.transition(State.REFUSED, result=why)
            raise Denied(why)

    def _make(self, leased: LeasedRequest) -> Revealed:
        """Set a new password."""
        mailbox = leased.request.change.target
        leased.renew()
        if not leased.lock(mailbox):
            _reopen_or_fail(leased, messages.MAILBOX_BUSY)
            raise Denied(messages.MAILBOX_BUSY)
        # Due, in case that nobody comes back from this: the worker ends what was left.
        leased.transition(
            State.EXECUTING,
            also=lambda c: requests.mark_due(c, leased.request.id, at=leased.now),
            attempts=leased.request.attempts + 1,
        )
        password = new_password()
        try:
            self._deps.mail.set_password(mailbox, password)
        except Rejected as refusal:
            leased.transition(State.FAILED, result=str(refusal))
            raise
        except Unavailable:
            _reopen_or_fail(leased, messages.PRESS_AGAIN)
            raise Denied(messages.PRESS_AGAIN) from None
        return Revealed(mailbox, SecretStr(password))


def _show(leased: LeasedRequest, made: Revealed, show: Show) -> None:
    """Show a password that was set; the request is done when Slack accepted it."""
    leased.renew()
    try:
        show(made)
    except (SlackUnavailable, SlackRejected):
        _reopen_or_fail(leased, messages.NOT_SHOWN)
        raise NotShown(f"{messages.NOT_SHOWN} {notifications.ANOTHER}") from None
    # Whoever has the request by now offers another password; what is shown stays.
    with suppress(LeaseLost):
        leased.transition(State.DONE, result=messages.MADE)


def _reopen_or_fail(leased: LeasedRequest, why: str) -> None:
    """Let an approved request wait for its owner again; one's own has failed."""
    request = leased.request
    if not request.quorum:
        leased.transition(State.FAILED, result=why)
    elif request.state is State.EXECUTING:
        # The owner is offered it once more, with the reason.
        told = " ".join(word for word in request.told.split() if word != OFFERED)
        leased.transition(State.APPROVED, result=why, told=told)


def watch(leased: LeasedRequest) -> None:
    """Hand back a password's request whose maker went down, and end one whose time is over.

    Its lease is the worker's now, so nobody is at it any more.
    """
    request = leased.request
    if request.state is State.EXECUTING:
        _reopen_or_fail(leased, messages.ABANDONED)
    elif request.expires_at is not None and request.expires_at <= leased.now:
        leased.transition(State.EXPIRED, result=messages.NEVER_SHOWN if request.result else "")


@contextmanager
def _plainly() -> Iterator[None]:
    """Have what goes wrong leave as a sentence, with nothing of its cause."""
    try:
        yield
    except Unavailable as trouble:
        raise Denied(messages.try_again(trouble)) from None
    except Rejected as refusal:
        raise Denied(str(refusal)) from None
    except (SlackUnavailable, SlackRejected):
        raise Denied(messages.SLACK_DOWN) from None
    except LeaseLost:
        raise Denied(messages.PRESS_AGAIN) from None
