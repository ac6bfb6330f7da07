# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where wishes, votes and cancellations are handed in: one short transaction each, and no HTTP.

What Slack delivers twice is taken once, by its key. Who may do what is judged later, by the worker,
with what Slack says of people then; here only by what the database and the payload tell.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from postroom_bot.domain import Change, MessageRef, Request, State, Vote, VoteState
from postroom_bot.errors import Denied, LeaseLost
from postroom_bot.store import audit, inbox, requests, votes
from postroom_bot.ui import messages
from postroom_bot.ui.markup import one_line
from postroom_bot.workflow.dependencies import Workspace
from postroom_bot.workflow.maintenance import removal_of
from postroom_common.database import Connection, Database

#: Where nothing has been done yet that could not be left undone, unless an earlier try began it.
CANCELLABLE = frozenset({State.NEW, State.PENDING, State.APPROVED})
#: By so much a press on the button of a notice extends an alias or a forwarder.
EXTENSION = timedelta(days=30)
#: So often the worker may be faster than somebody who cancels, each time by a step.
RACES = 10
#: Of what a button says that is no request's number, so much is written down.
MAX_ID = 40


class DayOver(Denied):
    """What was asked for would have ended by now; another day has to be named."""


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody's press on a button of a card, as Slack told it.

    :param key: of the delivery, the same in each
    :param card: the message that has the button
    :param app: the app that the message is of; "" where that is in doubt
    """

    key: str
    request_id: str
    user: str
    team: str
    approves: bool
    reason: str
    card: MessageRef
    app: str


class Intake:
    """Takes in what people want. Threads share it.

    :param wake: called after whatever gives the worker something to do
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
        """Keep a wish as a new request and return it; a second call with the key returns it too.

        :param key: of what Slack delivered, the same in each delivery
        :raises DayOver: the day until which it is to last has passed
        :raises Refusal: the person is not of this workspace, or has asked for the same already
        """
        if not self._workspace.has(team):
            self.record_denial(user, team, change.action, messages.ELSEWHERE)
            raise Denied(messages.ELSEWHERE)
        taken = self._database.write(lambda c: self._taken(c, key, change, user, team))
        if isinstance(taken, str):
            raise Denied(taken)
        self._wake()
        return taken

    def vote(
        self,
        key: str,
        request_id: str,
        user: str,
        team: str,
        approves: bool,  # noqa: FBT001 - one of the two buttons
        reason: str,
        card: MessageRef,
        app_id: str,
    ) -> str:
        """Keep a vote for the worker to judge and return a sentence for the voter."""
        press = Press(key, request_id, user, team, approves, reason, card, app_id)
        answer = self._database.write(lambda c: self._voted(c, press))
        self._wake()
        return answer

    def cancel(self, key: str, request_id: str, user: str, *, operator: bool = False) -> str:
        """End a request, unless it is too late, and return a sentence.

        :param key: of the delivery, the same in each
        :param user: the requester's id, or an operator's name, who may end anybody's
        """
        for _ in range(RACES):
            with suppress(LeaseLost):
                answer = self._database.write(
                    lambda c: self._cancelled(c, key, request_id, user, operator=operator)
                )
                self._wake()
                return answer
        raise LeaseLost(request_id)

    def extend(self, key: str, request_id: str, user: str, team: str) -> Request:
        """Ask for what a request of the person has brought to end later.

        :raises Refusal: it has no end, a later request changed that, or `submit` refuses it
        """
        request = self._database.read(lambda c: requests.get(c, request_id))
        if request is None or request.requester != user:
            raise Denied(messages.unknown(request_id))
        last = request.change.expires_on
        if last is None or not self._database.read(lambda c: removal_of(c, request)):
            raise Denied(messages.NOTHING_TO_EXTEND)
        later = max(last, self._clock().astimezone(self._zone).date()) + EXTENSION
        return self.submit(key, replace(request.change, expires_on=later), user, team)

    def status(self, user: str, id: str | None = None) -> list[Request]:
        """Return the person's latest requests, or the one of this id.

        :raises Refusal: the person has no request of this id
        """
        if id is None:
            return self._database.read(lambda c: requests.recent_by(c, user))
        found = self._database.read(lambda c: requests.get(c, id))
        if found is None or found.requester != user:
            raise Denied(messages.unknown(id))
        return [found]

    def record_denial(self, user: str, team: str, doing: str, why: str) -> None:
        """Write down that somebody was forbidden what no request tells of.

        :param doing: what they were about, in a word
        :param why: what they were told
        """
        data = {"doing": doing, "team": team, "why": why}

        def work(c: Connection) -> None:
            audit.append(c, "person.turned_away", at=self._clock(), actor=user, data=data)

        self._database.write(work)

    def _taken(
        self, c: Connection, key: str, change: Change, user: str, team: str
    ) -> Request | str:
        at = self._clock()
        again = not inbox.first(c, key, at=at)
        if again and (earlier := _earlier(c, change, user)):
            return earlier
        if change.expires_on is not None and change.expires_on < at.astimezone(self._zone).date():
            raise DayOver(messages.DAY_OVER)
        if twin := requests.twin(c, change, user):
            return messages.twin(twin.id)
        if again:
            return messages.TAKEN
        request = requests.add(c, change=change, requester=user, team=team, at=at)
        data = {"change": change.as_dict(), "team": team}
        audit.append(c, "request.new", at=at, actor=user, request_id=request.id, data=data)
        return request

    def _voted(self, c: Connection, press: Press) -> str:
        request = requests.get(c, press.request_id)
        if not inbox.first(c, press.key, at=self._clock()):
            return self._said_before(c, request, press)
        why = self._why_no_vote(request, press)
        if request is not None and not why:
            why = self._cast(c, request, press)
        if why:
            self._note_press(c, request, press, why)
        return why or messages.VOTE_TAKEN

    def _said_before(self, c: Connection, request: Request | None, press: Press) -> str:
        """Say of a press that comes a second time what was said of the first."""
        if any(one.voter == press.user for one in votes.of(c, press.request_id)):
            return messages.VOTE_TAKEN
        return self._why_no_vote(request, press) or messages.WRONG_CARD

    def _why_no_vote(self, request: Request | None, press: Press) -> str:
        """Say why a press can't be a vote, "" where it can, by what is known without asking."""
        if request is None:
            return messages.WRONG_CARD
        if not self._workspace.has(press.team):
            return messages.ELSEWHERE
        if request.card != press.card or not self._workspace.is_app(press.app):
            return messages.WRONG_CARD
        if request.state is not State.PENDING:
            return messages.not_waiting(request)
        if request.requester == press.user:
            return messages.OWN_REQUEST
        return ""

    def _cast(self, c: Connection, request: Request, press: Press) -> str:
        """Keep a vote; say why not where the person has one that stands."""
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
            return messages.VOTED_ALREADY
        data = {"approves": vote.approves, "reason": vote.reason, "card": list(vote.card)}
        requests.mark_due(c, request.id, at=at)
        self._note(c, "vote.cast", vote.voter, request, data)
        return ""

    def _note_press(self, c: Connection, request: Request | None, press: Press, why: str) -> None:
        """Write a press down that is no vote, with what Slack told of its place."""
        data: dict[str, object] = {
            "request": one_line(press.request_id, MAX_ID),
            "approves": press.approves,
            "card": list(press.card),
            "app": press.app,
            "team": press.team,
            "why": why,
        }
        self._note(c, "vote.turned_away", press.user, request, data)

    def _cancelled(
        self, c: Connection, key: str, request_id: str, user: str, *, operator: bool
    ) -> str:
        at = self._clock()
        request = requests.get(c, request_id)
        if request is None or (request.requester != user and not operator):
            return messages.unknown(request_id)
        first = inbox.first(c, key, at=at)
        if request.state is State.CANCELLED:
            return messages.cancelled(request)
        if not first or request.state not in CANCELLABLE or request.is_begun:
            return messages.too_late(request)
        result = messages.BY_OPERATOR if operator else ""
        requests.transition(c, request, State.CANCELLED, at=at, result=result)
        requests.mark_due(c, request.id, at=at)
        self._note(c, "request.cancelled", user, request, {})
        return messages.cancelled(request)

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


def _earlier(c: Connection, change: Change, user: str) -> Request | None:
    """Find the request that a wish has become already."""
    for request in requests.recent_by(c, user):
        kept = request.change
        # Since then, the requester's own mailbox may have been filled in.
        mailbox, target = change.mailbox or kept.mailbox, change.target or kept.target
        if kept == replace(change, mailbox=mailbox, target=target):
            return request
    return None
