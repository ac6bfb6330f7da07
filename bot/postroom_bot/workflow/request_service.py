# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Save the requests, votes and cancellations that users submit, for the worker to process.

Each submission is saved in one short transaction, without calling Slack or the mail service. A
repeated delivery from Slack has the same key and is ignored. The checks use only the database and
the payload; the worker checks the accounts with Slack later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from postroom_bot.domain import (
    ButtonPress,
    Change,
    Reason,
    Request,
    State,
    Vote,
    VoteState,
    Workspace,
)
from postroom_bot.errors import LeaseLost, UserError
from postroom_bot.store import audit, requests, slack_deliveries, votes
from postroom_bot.ui.markup import one_line
from postroom_bot.workflow.end_dates import removal_change
from postroom_common.database import Connection, Database

#: The states in which a request can be cancelled, unless an earlier attempt has saved notes.
CANCELLABLE = frozenset({State.NEW, State.PENDING, State.APPROVED})
#: By how much the button in a notice extends an alias or a forwarder.
EXTENSION = timedelta(days=30)
#: How many times to try a cancellation while the worker keeps changing the request.
CANCEL_ATTEMPTS = 10
#: The maximum number of characters of an unknown request id in the audit.
MAX_ID = 40


class EndDatePassed(UserError):
    """The requested end date has passed."""


class RequestService:
    """A thread-safe service that saves requests, votes, cancellations and extensions.

    :param zone: the time zone in which the last day of an alias or a forwarder ends
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime],
        workspace: Workspace,
        wake: Callable[[], None] = lambda: None,
        zone: tzinfo = UTC,
    ) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self._wake = wake
        self._zone = zone

    def submit(self, key: str, change: Change, user: str, team: str) -> Request:
        """Save and return a change as a new request. A repeated key returns the earlier request.

        :param key: the idempotency key, which is the same if Slack delivers the submission again
        :raises EndDatePassed: if the end date has passed
        :raises UserError: if the person is from another workspace, or already made this request
        """
        if not self._workspace.accepts_team(team):
            elsewhere = Reason("person.elsewhere")
            self.audit_forbidden_attempt(user, team, change.action, elsewhere)
            raise UserError(elsewhere)

        def work(c: Connection) -> Request | Reason:
            at, last_day = self._clock(), change.last_day
            is_repeat = not slack_deliveries.record_if_new(c, key, at=at)
            if is_repeat and (earlier := _earlier(c, change, user)):
                return earlier
            if last_day is not None and last_day < at.astimezone(self._zone).date():
                raise EndDatePassed("end.passed")
            if duplicate := requests.open_duplicate(c, change, user):
                return Reason("request.duplicate", {"request": duplicate.id})
            if is_repeat:
                return Reason("request.received")
            request = requests.add(c, change=change, requester=user, team=team, at=at)
            data = {"change": change.as_dict(), "team": team}
            audit.append(c, "request.new", at=at, actor=user, request_id=request.id, data=data)
            return request

        saved = self._database.write(work)
        if isinstance(saved, Reason):
            raise UserError(saved)
        self._wake()
        return saved

    def vote(self, press: ButtonPress) -> Reason:
        """Save a vote for the worker to tally, and return the reply to the voter."""

        def work(c: Connection) -> Reason:
            at, request = self._clock(), requests.get(c, press.request_id)
            why = self._why_no_vote(request, press)
            if not slack_deliveries.record_if_new(c, press.key, at=at):
                # Give the same answer to a second delivery.
                if any(one.voter == press.user for one in votes.on_request(c, press.request_id)):
                    return Reason("vote.received")
                return why or Reason("vote.wrong_card")
            data: dict[str, Any] = {"approves": press.approves, "card": list(press.card)}
            if request is not None and why is None:
                vote = Vote(
                    request=request.id,
                    voter=press.user,
                    team=press.team,
                    approves=press.approves,
                    state=VoteState.CAST,
                    at=at,
                    card=press.card,
                    justification=press.justification,
                )
                if votes.cast(c, vote):
                    requests.mark_due(c, request.id, at=at)
                    data["reason"] = press.justification
                    audit.append(
                        c, "vote.cast", at=at, actor=press.user, request_id=request.id, data=data
                    )
                    return Reason("vote.received")
            why = why or Reason("vote.repeated")
            data |= {"app": press.app, "team": press.team, "why": why.as_dict()}
            data["request"] = one_line(press.request_id, MAX_ID)
            known = request.id if request is not None else None
            audit.append(
                c, "vote.turned_away", at=at, actor=press.user, request_id=known, data=data
            )
            return why

        answer = self._database.write(work)
        self._wake()
        return answer

    def _why_no_vote(self, request: Request | None, press: ButtonPress) -> Reason | None:
        """Return why a button press is not accepted as a vote, or None.

        The check uses only the database and the payload.
        """
        if request is None:
            return Reason("vote.wrong_card")
        if not self._workspace.accepts_team(press.team):
            return Reason("person.elsewhere")
        if request.card != press.card or not self._workspace.is_app(press.app):
            return Reason("vote.wrong_card")
        if request.state is not State.PENDING:
            params = {"request": request.id, "state": str(request.state)}
            return Reason("request.not_pending", params)
        if request.requester == press.user:
            return Reason("vote.own_request")
        return None

    def cancel(self, key: str, request_id: str, user: str, *, operator: bool = False) -> Reason:
        """Cancel a request, unless it is too late, and return the reply to the user.

        :param key: the idempotency key, which is the same if Slack delivers the cancellation again
        :param user: the requester's id, or the name of an operator, who may cancel any request
        """

        def work(c: Connection) -> Reason:
            at, request = self._clock(), requests.get(c, request_id)
            if request is None or (request.requester != user and not operator):
                return Reason("request.unknown", {"request": request_id})
            cancelled = Reason("request.cancelled", {"request": request.id})
            first = slack_deliveries.record_if_new(c, key, at=at)
            if request.state is State.CANCELLED:
                return cancelled
            if not first or request.state not in CANCELLABLE or request.may_have_changed:
                state = State.EXECUTING if request.is_open else request.state
                params = {"request": request.id, "state": str(state)}
                return Reason("request.not_cancellable", params)
            result = Reason("request.cancelled_by_operator") if operator else None
            requests.transition(c, request, State.CANCELLED, at=at, result=result)
            requests.mark_due(c, request.id, at=at)
            audit.append(c, "request.cancelled", at=at, actor=user, request_id=request.id)
            return cancelled

        for _ in range(CANCEL_ATTEMPTS):
            with suppress(LeaseLost):
                answer = self._database.write(work)
                self._wake()
                return answer
        raise LeaseLost(request_id)

    def extend(self, key: str, request_id: str, user: str, team: str) -> Request:
        """Request a later end date for an alias or a forwarder that the person requested.

        :raises UserError: if the request is not the person's, is permanent or was replaced, or if
            `submit` raises UserError
        """
        request = self._database.read(lambda c: requests.get(c, request_id))
        if request is None or request.requester != user:
            raise UserError("request.unknown", request=request_id)
        last = request.change.last_day
        if last is None or not self._database.read(lambda c: removal_change(c, request)):
            raise UserError("end.replaced")
        later = max(last, self._clock().astimezone(self._zone).date()) + EXTENSION
        return self.submit(key, replace(request.change, last_day=later), user, team)

    def audit_forbidden_attempt(self, user: str, team: str, attempted: str, why: Reason) -> None:
        """Write `person.turned_away` to the audit, for a forbidden attempt outside a request.

        :param attempted: a word for the attempted action
        """
        data = {"doing": attempted, "team": team, "why": why.as_dict()}
        at = self._clock()
        self._database.write(
            lambda c: audit.append(c, "person.turned_away", at=at, actor=user, data=data)
        )


def _earlier(c: Connection, change: Change, user: str) -> Request | None:
    """Return the request that an earlier delivery of the same change created, or None."""
    for request in requests.recent_by(c, user):
        saved = request.change
        # The worker may have filled in the requester's own mailbox meanwhile.
        mailbox, target = change.mailbox or saved.mailbox, change.target or saved.target
        if saved == replace(change, mailbox=mailbox, target=target):
            return request
    return None
