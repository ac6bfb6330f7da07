# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the work says: to whoever handed something in, and as the result that a request keeps.

Plain sentences, in which backticks set off addresses; whoever puts them into a message escapes
them. None tells anything of other people's mailboxes.
"""

from __future__ import annotations

from postroom_bot.model import Request, State

ELSEWHERE = "This bot only serves people of its own workspace."
TAKEN = "I have this already; `/email status` shows what became of it."
VOTE_TAKEN = "I have your answer. The card shows what becomes of it."
VOTED_ALREADY = "You have answered this request already."
WRONG_CARD = "This is not the request's own card, so I did nothing. Use the latest card."
OWN_REQUEST = "You asked for this, so someone else has to approve it."

_ENDS = {
    State.APPROVED: "is approved already",
    State.EXECUTING: "is being carried out already",
    State.DONE: "is done already",
    State.FAILED: "has failed",
    State.REFUSED: "has been stopped",
    State.DENIED: "has been denied already",
    State.EXPIRED: "has expired",
    State.CANCELLED: "has been cancelled",
}


def twin(request_id: str) -> str:
    """Tell that the same is being asked for already."""
    return f"You already asked for this: {request_id}."


def unknown(request_id: str) -> str:
    """Tell that the person has no such request, whether or not somebody else has."""
    return f"You have no request {request_id}; `/email status` lists yours."


def not_waiting(request: Request) -> str:
    """Tell why a request waits for nobody's answer."""
    return f"Request {request.id} {_ENDS.get(request.state, 'is not ready yet')}."


def cancelled(request: Request) -> str:
    """Tell that a request is cancelled."""
    return f"Request {request.id} is cancelled."


def too_late(request: Request) -> str:
    """Tell that a request can't be cancelled."""
    return f"Request {request.id} {_ENDS[request.state]}, so it can't be cancelled."
