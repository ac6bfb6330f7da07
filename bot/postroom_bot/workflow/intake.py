# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Save requests, votes and cancellations: one short transaction each, without HTTP.

A second delivery by Slack has the same key and is ignored. Checks here use only the database and
the payload; the worker later checks the people's accounts with Slack.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

from postroom_bot.domain import ButtonPress, Change, Reason, Request, State, Vote, VoteState
from postroom_bot.errors import Denied, LeaseLost
from postroom_bot.store import audit, inbox, requests, votes
from postroom_bot.ui.markup import one_line
from postroom_bot.workflow.dependencies import Workspace
from postroom_bot.workflow.maintenance import removal_of
from postroom_common.database import Connection, Database

#: The states in which nothing was executed, unless an earlier attempt has left notes.
CANCELLABLE = frozenset({State.NEW, State.PENDING, State.APPROVED})
#: How long the button of a notice extends an alias or a forwarder.
EXTENSION = timedelta(days=30)
#: How often the worker may win the race against a cancellation, by one step each.
MAX_RACES = 10
#: How much of an unknown button value the audit keeps.
MAX_ID = 40


class DayOver(Denied):
    """The requested end date has passed."""


class Intake:
    """Saves what people submit. Threads share it.

    :param wake: called when the worker has something to do
    :param zone: in which the last day of an alias or a forwarder ends
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
        """Save a change as a new request and return it; a repeated key returns the same request.

        :param key: of the delivery, the same in each delivery
        :raises DayOver: the end date has passed
        :raises Denied: the person is of another workspace, or already has such a request
        """
        if not self._workspace.has(team):
            elsewhere = Reason("person.elsewhere")
            self.record_denial(user, team, change.action, elsewhere)
            raise Denied(elsewhere)
        taken = self._database.write(lambda c: self._taken(c, key, change, user, team))
        if isinstance(taken, Reason):
            raise Denied(taken)
        self._wake()
        return taken

    def vote(self, press: ButtonPress) -> Reason:
        """Save a vote for the worker to tally; return the answer for the voter."""
        answer = self._database.write(lambda c: self._voted(c, press))
        self._wake()
        return answer

    def cancel(self, key: str, request_id: str, user: str, *, operator: bool = False) -> Reason:
        """Cancel a request, unless it is too late; return the answer.

        :param key: of the delivery, the same in each
        :param user: the requester's id, or an operator's name, who may end anybody's
        """
        for _ in range(MAX_RACES):
            with suppress(LeaseLost):
                answer = self._database.write(
                    lambda c: self._cancelled(c, key, request_id, user, operator=operator)
                )
                self._wake()
                return answer
        raise LeaseLost(request_id)

    def extend(self, key: str, request_id: str, user: str, team: str) -> Request:
        """Request a later end for a request of the person.

        :raises Denied: it has no end, a later request replaced it, or `submit` denies it
        """
        request = self._database.read(lambda c: requests.get(c, request_id))
        if request is None or request.requester != user:
            raise Denied("request.unknown", request=request_id)
        last = request.change.expires_on
        if last is None or not self._database.read(lambda c: removal_of(c, request)):
            raise Denied("end.replaced")
        later = max(last, self._clock().astimezone(self._zone).date()) + EXTENSION
        return self.submit(key, replace(request.change, expires_on=later), user, team)

    def status(self, user: str, id: str | None = None) -> list[Request]:
        """Return the person's latest requests, or the one of this id.

        :raises Denied: the person has no such request
        """
        if id is None:
            return self._database.read(lambda c: requests.recent_by(c, user))
        found = self._database.read(lambda c: requests.get(c, id))
        if found is None or found.requester != user:
            raise Denied("request.unknown", request=id)
        return [found]

    def record_denial(self, user: str, team: str, doing: str, why: Reason) -> None:
        """Audit a denial that no request records.

        :param doing: what the person tried, in a word
        """
        data = {"doing": doing, "team": team, "why": why.as_dict()}

        def work(c: Connection) -> None:
            audit.append(c, "person.turned_away", at=self._clock(), actor=user, data=data)

        self._database.write(work)

    def _taken(
        self, c: Connection, key: str, change: Change, user: str, team: str
    ) -> Request | Reason:
        at = self._clock()
        again = not inbox.first(c, key, at=at)
        if again and (earlier := _earlier(c, change, user)):
            return earlier
        if change.expires_on is not None and change.expires_on < at.astimezone(self._zone).date():
            raise DayOver("end.passed")
        if twin := requests.twin(c, change, user):
            return Reason("request.duplicate", {"request": twin.id})
        if again:
            return Reason("request.received")
        request = requests.add(c, change=change, requester=user, team=team, at=at)
        data = {"change": change.as_dict(), "team": team}
        audit.append(c, "request.new", at=at, actor=user, request_id=request.id, data=data)
        return request

    def _voted(self, c: Connection, press: ButtonPress) -> Reason:
        request = requests.get(c, press.request_id)
        if not inbox.first(c, press.key, at=self._clock()):
            return self._said_before(c, request, press)
        why = self._why_no_vote(request, press)
        if request is not None and not why:
            why = self._cast(c, request, press)
        if why:
            self._note_press(c, request, press, why)
        return why or Reason("vote.received")

    def _said_before(self, c: Connection, request: Request | None, press: ButtonPress) -> Reason:
        """Return the same answer to a second delivery of a press."""
        if any(one.voter == press.user for one in votes.of(c, press.request_id)):
            return Reason("vote.received")
        return self._why_no_vote(request, press) or Reason("vote.wrong_card")

    def _why_no_vote(self, request: Request | None, press: ButtonPress) -> Reason | None:
        """Return why a press is not a vote, as far as the database and the payload show."""
        if request is None:
            return Reason("vote.wrong_card")
        if not self._workspace.has(press.team):
            return Reason("person.elsewhere")
        if request.card != press.card or not self._workspace.is_app(press.app):
            return Reason("vote.wrong_card")
        if request.state is not State.PENDING:
            return not_pending(request)
        if request.requester == press.user:
            return Reason("vote.own_request")
        return None

    def _cast(self, c: Connection, request: Request, press: ButtonPress) -> Reason | None:
        """Save a vote, or return why not."""
        at = self._clock()
        vote = Vote(
            request=request.id,
            voter=press.user,
            team=press.team,
            approves=press.approves,
            state=VoteState.CAST,
            at=at,
            card=press.card,
            reason=press.reason,
        )
        if not votes.cast(c, vote):
            return Reason("vote.repeated")
        data = {"approves": vote.approves, "reason": vote.reason, "card": list(vote.card)}
        requests.mark_due(c, request.id, at=at)
        self._note(c, "vote.cast", vote.voter, request, data)
        return None

    def _note_press(
        self, c: Connection, request: Request | None, press: ButtonPress, why: Reason
    ) -> None:
        """Audit a press that is not a vote, with its message as reported by Slack."""
        data: dict[str, object] = {
            "request": one_line(press.request_id, MAX_ID),
            "approves": press.approves,
            "card": list(press.card),
            "app": press.app,
            "team": press.team,
            "why": why.as_dict(),
        }
        self._note(c, "vote.turned_away", press.user, request, data)

    def _cancelled(
        self, c: Connection, key: str, request_id: str, user: str, *, operator: bool
    ) -> Reason:
        at = self._clock()
        request = requests.get(c, request_id)
        if request is None or (request.requester != user and not operator):
            return Reason("request.unknown", {"request": request_id})
        first = inbox.first(c, key, at=at)
        if request.state is State.CANCELLED:
            return Reason("request.cancelled", {"request": request.id})
        if not first or request.state not in CANCELLABLE or request.is_begun:
            state = State.EXECUTING if request.is_open else request.state
            params = {"request": request.id, "state": str(state)}
            return Reason("request.not_cancellable", params)
        result = Reason("request.cancelled_by_operator") if operator else None
        requests.transition(c, request, State.CANCELLED, at=at, result=result)
        requests.mark_due(c, request.id, at=at)
        self._note(c, "request.cancelled", user, request, {})
        return Reason("request.cancelled", {"request": request.id})

    def _note(
        self,
        c: Connection,
        event: str,
        actor: str,
        request: Request | None,
        data: dict[str, object],
    ) -> None:
        number = request.id if request is not None else None
        audit.append(c, event, at=self._clock(), actor=actor, request_id=number, data=data)


def not_pending(request: Request) -> Reason:
    """Return why a request takes no votes."""
    return Reason("request.not_pending", {"request": request.id, "state": str(request.state)})


def _earlier(c: Connection, change: Change, user: str) -> Request | None:
    """Return the request that was made of a change before."""
    for request in requests.recent_by(c, user):
        kept = request.change
        # Since then, the requester's own mailbox may have been filled in.
        mailbox, target = change.mailbox or kept.mailbox, change.target or kept.target
        if kept == replace(change, mailbox=mailbox, target=target):
            return request
    return None
