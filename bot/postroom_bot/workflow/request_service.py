# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Save the requests, votes and cancellations that users submit, for the worker to process.

Each submission is saved in one short transaction. A repeated delivery from Slack has the same key
and is ignored. `submit` and `vote` must finish before Slack's time limit, so they use only the
database and the payload; the worker checks the accounts with Slack later. The other functions check
the accounts themselves, so their handlers acknowledge the interaction first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from postroom_bot.domain import (
    END_OF_CHANGE,
    EXTENSION,
    Change,
    Interaction,
    Person,
    Reason,
    Request,
    State,
    Vote,
    VoteState,
    Workspace,
)
from postroom_bot.errors import LeaseLost, SlackRejected, SlackUnavailable, UserError
from postroom_bot.policy.engine import last_day_limit, why_not_approver
from postroom_bot.store import audit, holdings, idempotency_keys, requests, votes
from postroom_bot.ui.markup import one_line
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import Connection, Database

#: By how much the button in a notice extends an alias or a forwarder, if the policy allows it.
EXTENDED_BY = timedelta(days=30)
#: How many times to try a cancellation while the worker keeps changing the request.
CANCEL_ATTEMPTS = 10
#: The maximum number of characters of an unknown request id in the audit.
MAX_ID = 40


class EndDatePassed(UserError):
    """The requested end date has passed."""


def submit(
    deps: Dependencies, interaction: Interaction, change: Change, *, origin: str = "slack"
) -> Request:
    """Save a change as a new request, and return it. A repeated key returns the earlier one.

    :param origin: EXTENSION to request only a later end, see `extend`
    :raises EndDatePassed: if the end date has passed
    :raises UserError: if the person is from another workspace, or already made this request
    """
    user, team = interaction.user, interaction.team
    if not deps.workspace.accepts_team(team):
        elsewhere = Reason("person.elsewhere")
        audit_forbidden_attempt(deps, interaction, change.action, elsewhere)
        raise UserError(elsewhere)

    def work(c: Connection) -> Request | Reason:
        at, last_day = deps.clock(), change.last_day
        is_repeat = not idempotency_keys.record_if_new(c, interaction.key, at=at)
        if is_repeat and (earlier := _earlier(c, change, user)):
            return earlier
        if last_day is not None and last_day < at.astimezone(deps.zone).date():
            raise EndDatePassed("end.passed")
        if duplicate := requests.open_duplicate(c, change, user):
            return Reason("request.duplicate", {"request": duplicate.id})
        if is_repeat:
            return Reason("request.received")
        request = requests.add(c, change=change, requester=user, team=team, at=at, origin=origin)
        data = {"change": change.as_dict(), "team": team}
        audit.append(c, "request.new", at=at, actor=user, request_id=request.id, data=data)
        return request

    saved = deps.database.write(work)
    if isinstance(saved, Reason):
        raise UserError(saved)
    deps.wake.set()
    return saved


def vote(
    deps: Dependencies, interaction: Interaction, *, approves: bool, justification: str = ""
) -> Reason:
    """Save a vote for the worker to tally, and return the reply to the voter.

    :param interaction: a press of Approve or a submitted denial, with the request's id and card
    """
    user = interaction.user

    def work(c: Connection) -> Reason:
        at, request = deps.clock(), requests.get(c, interaction.request_id)
        why = _why_no_vote(deps.workspace, request, interaction)
        if not idempotency_keys.record_if_new(c, interaction.key, at=at):
            # Give the same answer to a second delivery.
            if any(one.voter == user for one in votes.on_request(c, interaction.request_id)):
                return Reason("vote.received")
            return why or Reason("vote.wrong_card")
        if request is not None and why is None:
            vote = Vote(
                request=request.id,
                voter=user,
                team=interaction.team,
                approves=approves,
                state=VoteState.CAST,
                at=at,
                card=interaction.card,
                justification=justification,
            )
            if votes.cast(c, vote):
                requests.mark_due(c, request.id, at=at)
                data = {"approves": approves, "card": list(vote.card), "reason": justification}
                audit.append(c, "vote.cast", at=at, actor=user, request_id=request.id, data=data)
                return Reason("vote.received")
        why = why or Reason("vote.repeated")
        _audit_turned_away(c, interaction, request, why, at=at, approves=approves)
        return why

    answer = deps.database.write(work)
    deps.wake.set()
    return answer


def may_vote(deps: Dependencies, interaction: Interaction) -> bool:
    """Return whether a person may be able to vote, as far as is known without calling Slack."""
    voter = deps.people.known(interaction.user)
    request = deps.database.read(lambda c: requests.get(c, interaction.request_id))
    return voter is None or request is None or why_not_approver(request, voter) is None


def turn_away(deps: Dependencies, interaction: Interaction, *, approves: bool) -> Reason | None:
    """Return why a vote would not count, or None. The audit records the reason.

    If Slack does not respond, only the worker checks the account.
    """
    voter: Person | None = None
    with suppress(SlackUnavailable, SlackRejected):
        voter = deps.people.person(interaction.user, fresh=True)

    def work(c: Connection) -> Reason | None:
        request = requests.get(c, interaction.request_id)
        why = _why_no_vote(deps.workspace, request, interaction)
        if why is None and request is not None and voter is not None:
            why = why_not_approver(request, voter)
        if why is None and votes.has_vote(c, interaction.request_id, interaction.user):
            why = Reason("vote.repeated")
        if why is not None:
            _audit_turned_away(c, interaction, request, why, at=deps.clock(), approves=approves)
        return why

    return deps.database.write(work)


def _audit_turned_away(
    c: Connection,
    interaction: Interaction,
    request: Request | None,
    why: Reason,
    *,
    at: datetime,
    approves: bool,
) -> None:
    data = {
        "approves": approves,
        "card": list(interaction.card),
        "app": interaction.app,
        "team": interaction.team,
        "why": why.as_dict(),
        "request": one_line(interaction.request_id, MAX_ID),
    }
    known = request.id if request is not None else None
    user = interaction.user
    audit.append(c, "vote.turned_away", at=at, actor=user, request_id=known, data=data)


def _why_no_vote(
    workspace: Workspace, request: Request | None, interaction: Interaction
) -> Reason | None:
    """Return why a button press is not accepted as a vote, or None.

    The check uses only the database and the payload.
    """
    if request is None:
        return Reason("vote.wrong_card")
    if not workspace.accepts_team(interaction.team):
        return Reason("person.elsewhere")
    # A person can press a button of a new card before the card is stored. The tally then compares
    # the cards.
    if request.card not in (None, interaction.card) or not workspace.is_app(interaction.app):
        return Reason("vote.wrong_card")
    if request.state is not State.PENDING:
        params = {"request": request.id, "state": str(request.state)}
        return Reason("request.not_pending", params)
    if request.requester == interaction.user:
        return Reason("vote.own_request")
    return None


def cancel(deps: Dependencies, interaction: Interaction, request_id: str) -> Reason:
    """Cancel the person's own request, unless it is too late, and return the reply.

    :raises Forbidden, SlackUnavailable or SlackRejected: see `People.caller`
    """
    user, key = deps.people.caller(interaction).user, interaction.key
    answer = _cancel(deps.database, deps.clock, request_id, user, key=key)
    deps.wake.set()
    return answer


def cancel_as_operator(
    database: Database, clock: Callable[[], datetime], request_id: str, operator: str
) -> Reason:
    """Cancel any request, unless it is too late, and return the reply."""
    return _cancel(database, clock, request_id, operator)


def _cancel(
    database: Database,
    clock: Callable[[], datetime],
    request_id: str,
    actor: str,
    *,
    key: str | None = None,
) -> Reason:
    """Cancel a request.

    :param key: the idempotency key of a requester's cancellation; None for an operator's
    """
    is_operator = key is None

    def work(c: Connection) -> Reason:
        at, request = clock(), requests.get(c, request_id)
        if request is None or (request.requester != actor and not is_operator):
            return Reason("request.unknown", {"request": request_id})
        cancelled = Reason("request.cancelled", {"request": request.id})
        is_new = key is None or idempotency_keys.record_if_new(c, key, at=at)
        if request.state is State.CANCELLED:
            return cancelled
        is_allowed = is_operator or request.is_cancellable_by_requester
        if not is_new or not request.is_cancellable or not is_allowed:
            state = State.EXECUTING if request.is_open else request.state
            params = {"request": request.id, "state": str(state)}
            return Reason("request.not_cancellable", params)
        result = Reason("request.cancelled_by_operator") if is_operator else None
        requests.transition(c, request, State.CANCELLED, at=at, result=result)
        if request.origin == END_OF_CHANGE:
            holdings.keep(c, request.change)
        requests.mark_due(c, request.id, at=at)
        audit.append(c, "request.cancelled", at=at, actor=actor, request_id=request.id)
        return cancelled

    for _ in range(CANCEL_ATTEMPTS):
        with suppress(LeaseLost):
            return database.write(work)
    raise LeaseLost(request_id)


def extend(deps: Dependencies, interaction: Interaction) -> Request:
    """Request a later end date for what a person's earlier request has added and still holds.

    :raises UserError: if the request is not the person's, is permanent or holds nothing, or if
        `submit` raises UserError
    :raises Forbidden, SlackUnavailable or SlackRejected: see `People.caller`
    """
    person = deps.people.caller(interaction)
    request = deps.database.read(lambda c: requests.get(c, interaction.request_id))
    if request is None or request.requester != person.user:
        raise UserError("request.unknown", request=interaction.request_id)
    change, last = request.change, request.change.last_day
    held = deps.database.read(lambda c: holdings.held_by(c, request.id))
    if last is None or not held:
        raise UserError("end.replaced")
    today = deps.clock().astimezone(deps.zone).date()
    later = max(last, today) + EXTENDED_BY
    for rule in deps.policy().rules:
        limit = last_day_limit(rule, today)
        if rule.name == request.rule and limit is not None:
            later = min(later, max(limit, last))
    destinations = () if change.action.is_alias else held
    extended = replace(change, destinations=destinations, last_day=later)
    return submit(deps, interaction, extended, origin=EXTENSION)


def audit_forbidden_attempt(
    deps: Dependencies, interaction: Interaction, attempted: str, why: Reason
) -> None:
    """Write `person.turned_away` to the audit, for an attempt that belongs to no request.

    :param attempted: a word for the attempted action
    """
    data = {"doing": attempted, "team": interaction.team, "why": why.as_dict()}
    at = deps.clock()
    deps.database.write(
        lambda c: audit.append(c, "person.turned_away", at=at, actor=interaction.user, data=data)
    )


def _earlier(c: Connection, change: Change, user: str) -> Request | None:
    """Return the request that an earlier delivery of the same change created, or None."""
    for request in requests.recent_by(c, user):
        # The worker may have filled in the requester's own mailbox meanwhile.
        if request.change == change.with_own_mailbox(request.requester_mailbox):
            return request
    return None
