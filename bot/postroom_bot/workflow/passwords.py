# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""New passwords: made while the mailbox's owner is looking, shown once, kept nowhere.

A person creates the password of their own mailbox immediately if the policy allows it. For another
mailbox, a request must be approved first, and then only the mailbox's owner can create it. A
password is in this process between the mail service and the modal, and in no row, log or error.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pydantic import SecretStr

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Action, Change, Decision, Person, Reason, Request, State, Verdict
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
from postroom_bot.store import notifications as sent
from postroom_bot.workflow.approve import approvals_of, why_stopped
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.evaluate import decided, decision_fields, in_full
from postroom_bot.workflow.lease import BOT, LeasedRequest, claim, new_owner
from postroom_bot.workflow.notify import OFFERED
from postroom_common.database import Connection

#: Letters and digits that can't be mistaken for each other.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS = 6
GROUP_LENGTH = 4

#: A person may press the button before the worker has sent all notices and released the request: so
#: often the request is asked for, with so many seconds in between.
CLAIMS = 20
PAUSE_SECONDS = 0.25


class NeedsApproval(Denied):
    """The password needs an approved request."""


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
    """A password that has just been set."""

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
        :raises Denied: it may not be created, or that can't be decided now
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
        :raises Denied: it was not created, or was lost; pressing again creates another
        """
        with _plainly():
            with self._deps.in_turn():
                person = self._person(user, team)
                if person.mailbox != mailbox:
                    raise Forbidden("password.not_yours")
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
        """Return the person, looked up in Slack now."""
        if not self._deps.workspace.has(team):
            raise Forbidden("person.elsewhere")
        person = self._deps.people.person(user, self._deps.workspace.team, fresh=True)
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    def _must_be_a_mailbox(self, name: str) -> None:
        """Refuse what is none before it gets anywhere: it may be a password that was typed."""
        ours = domain_of(name) in self._deps.mail.domains()
        if not ours or not self._deps.mail.mailbox_exists(name):
            raise Denied("password.not_a_mailbox")

    def _decided(self, person: Person, change: Change) -> Decision:
        """Return the decision that allows creating one's own password now."""
        decision = decided(self._deps, person, change, self._deps.clock())
        if decision.verdict is Verdict.DENY:
            raise Forbidden(decision.reason)
        if decision.verdict is Verdict.APPROVE or change.target != person.mailbox:
            raise NeedsApproval("password.needs_approval", mailbox=change.target)
        return decision

    def _approved(self, request: Request | None, person: Person) -> Request:
        """Return a request under which this person may make a password now."""
        if request is None or request.change.action is not Action.PASSWORD:
            raise Forbidden("password.not_yours")
        if request.change.target != person.mailbox:
            raise Forbidden("password.not_yours")
        if request.state is not State.APPROVED:
            raise Denied("password.not_offered", request=request.id, state=str(request.state))
        if request.execute_by is not None and request.execute_by <= self._deps.clock():
            raise Denied("password.offer_expired", request=request.id)
        return request

    def _begin_own(self, key: str, person: Person) -> LeasedRequest:
        """Create and lease the request for one's own password, in one transaction."""
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
            raise PressedTwice("password.in_progress")
        return LeasedRequest(self._deps, request, owner)

    def _add(self, c: Connection, person: Person, change: Change, decision: Decision) -> Request:
        """Add the request, approved by the policy, with an audit row for each of its states."""
        at, user = self._deps.clock(), person.user
        new = requests.add(c, change=change, requester=user, team=person.team, at=at)
        execute_by = at + self._deps.policy().requests.expire_after
        changes = decision_fields(new, change, person, decision)
        request = requests.transition(
            c, new, State.APPROVED, at=at, execute_by=execute_by, **changes
        )
        asked = {"change": change.as_dict(), "team": person.team}
        audit.append(c, "request.new", at=at, actor=user, request_id=new.id, data=asked)
        allowed = {"rule": decision.rule, "digest": request.digest}
        audit.append(c, "request.approved", at=at, actor=BOT, request_id=new.id, data=allowed)
        return request

    def _begin_approved(self, key: str, person: Person, request_id: str) -> LeasedRequest:
        """Lease an approved request, and check again everything that led to its approval."""
        first = self._deps.database.write(lambda c: inbox.first(c, key, at=self._deps.clock()))
        if not first:
            raise PressedTwice("password.in_progress")
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
        raise Denied("mailbox.busy")

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
            _reopen_or_fail(leased, Reason("mailbox.busy"))
            raise Denied("mailbox.busy")
        # Due in case this process crashes: then the worker ends the request.
        leased.transition(
            State.EXECUTING,
            also=lambda c: requests.mark_due(c, leased.request.id, at=leased.now),
            attempts=leased.request.attempts + 1,
        )
        password = new_password()
        try:
            self._deps.mail.set_password(mailbox, password)
        except Rejected as refusal:
            leased.transition(State.FAILED, result=refusal.reason)
            raise
        except Unavailable:
            _reopen_or_fail(leased, Reason("password.unknown_outcome"))
            raise Denied("password.unknown_outcome") from None
        return Revealed(mailbox, SecretStr(password))


def _show(leased: LeasedRequest, made: Revealed, show: Show) -> None:
    """Show a password that was set; the request is done when Slack accepted it."""
    leased.renew()
    try:
        show(made)
    except (SlackUnavailable, SlackRejected):
        _reopen_or_fail(leased, Reason("password.not_shown"))
        raise NotShown("password.not_shown_retry") from None
    # If another worker has the request by now, it offers another password; this one stays valid.
    with suppress(LeaseLost):
        leased.transition(State.DONE, result=Reason("password.shown"))


def _reopen_or_fail(leased: LeasedRequest, why: Reason) -> None:
    """Let an approved request wait for its owner again, or fail one for the own password."""
    request = leased.request
    if not request.quorum:
        leased.transition(State.FAILED, result=why)
    elif request.state is State.EXECUTING:
        # The owner gets the offer again, with the reason.
        leased.transition(
            State.APPROVED,
            also=lambda c: sent.forget(c, request.id, OFFERED),
            result=why,
        )


def watch(leased: LeasedRequest) -> None:
    """Reopen a request for a password after a crash, and expire one that is overdue.

    The worker has its lease, so no other process is creating the password.
    """
    if leased.request.state is State.EXECUTING:
        _reopen_or_fail(leased, Reason("password.interrupted"))
    request = leased.request
    over = request.execute_by is not None and request.execute_by <= leased.now
    if request.state is State.APPROVED and over:
        never_shown = Reason("password.never_shown") if request.result else None
        leased.transition(State.EXPIRED, result=never_shown)


@contextmanager
def _plainly() -> Iterator[None]:
    """Have what goes wrong leave as a sentence, with nothing of its cause."""
    try:
        yield
    except Unavailable as trouble:
        raise Denied(trouble.once) from None
    except Rejected as refusal:
        raise Denied(refusal.reason) from None
    except (SlackUnavailable, SlackRejected):
        raise Denied("slack.unavailable") from None
    except LeaseLost:
        raise Denied("password.unknown_outcome") from None
