# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Cards, for every state of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn, samples
from ansible_collections.postroom.email.tests.bot.words.samples import BOB, CAROL, request, vote
from postroom_bot.model import Request, State, Vote, VoteState
from postroom_bot.words import ids
from postroom_bot.words.cards import card


def text_of(of: Request, *votes: Vote) -> str:
    """Return the text that is read out."""
    return card(of, votes, names=samples.NAMES).text


def test_pending() -> None:
    """A card says who asks for what and why, what it needs, and what its buttons do."""
    shown = card(request(), [], names=samples.NAMES)
    assert shown.text == (
        "Alice (alice@example.com) asks to add sales@example.com to alice@example.com. "
        "Reason: the fair. "
        "Request R-7K2M: Waiting for 2 approvals from mail-admins. "
        "It expires 2026-11-22 12:05 UTC. "
        "Buttons: Approve, and Deny, which asks you for a reason."
    )
    assert (
        "<@U0ALICE> (`alice@example.com`) asks to add `sales@example.com` to `alice@example.com`."
        in drawn.seen(shown)
    )


def test_buttons_carry_the_id_alone() -> None:
    """The buttons of a pending card know the request's id and nothing else."""
    buttons = drawn.buttons(card(request(), [], names={}))
    assert [(one["action_id"], one["value"]) for one in buttons] == [
        (ids.REQUEST_APPROVE, "R-7K2M"),
        (ids.REQUEST_DENY, "R-7K2M"),
    ]


@pytest.mark.parametrize("state", [state for state in State if state is not State.PENDING])
def test_only_pending_has_buttons(state: State) -> None:
    """No other card can be voted on, nor says that it could."""
    shown = card(request(state), [], names={})
    assert drawn.buttons(shown) == []
    assert "Button" not in shown.text


def test_approvals_are_shown() -> None:
    """Approvals that count are shown in their order; others are not."""
    votes = [
        vote(CAROL, minutes=2),
        vote(BOB, minutes=1),
        vote("U0DAVE", state=VoteState.REFUSED),
        vote("U0ERIN", state=VoteState.CAST),
    ]
    text = text_of(request(State.DONE), *votes)
    assert "Approved by Bob (1 of 2). Approved by Carol (2 of 2)." in text
    assert "U0DAVE" not in text
    assert "U0ERIN" not in text
    assert "It needs 2 approvals from mail-admins, and has 1 so far." in text_of(
        request(), votes[0]
    )


@pytest.mark.parametrize(
    ("state", "changes", "said"),
    [
        (State.NEW, {}, "It is being looked into."),
        (State.APPROVED, {}, "Approved."),
        (State.EXECUTING, {}, "Approved; it is being carried out."),
        (
            State.DONE,
            {"result": "`sales@example.com` is there."},
            "Done 2026-11-21 13:22 UTC. sales@example.com is there.",
        ),
        (State.FAILED, {}, "Failed 2026-11-21 13:22 UTC."),
        (
            State.REFUSED,
            {"result": "The requester's account changed after approval."},
            "Stopped 2026-11-21 13:22 UTC. The requester's account changed after approval.",
        ),
        (State.DENIED, {"result": "no"}, "Denied 2026-11-21 13:22 UTC. no"),
        (State.EXPIRED, {}, "Expired 2026-11-21 13:22 UTC."),
        (State.CANCELLED, {}, "Cancelled by the requester 2026-11-21 13:22 UTC."),
    ],
)
def test_ends(state: State, changes: Mapping[str, str], said: str) -> None:
    """Each state is told in a sentence."""
    assert text_of(request(state, **changes)).endswith(f"Request R-7K2M: {said}")


def test_denied() -> None:
    """A denial says whose it is and why."""
    denial = vote(BOB, approves=False, reason="no *such* fair")
    shown = card(request(State.DENIED), [denial], names=samples.NAMES)
    assert shown.text.endswith("Denied by Bob: no *such* fair.")
    assert "Denied by <@U0BOB>: `no *such* fair`." in drawn.seen(shown)


def test_warnings_are_shown() -> None:
    """What approvers have to know stands out."""
    shown = card(request(warnings=("Mail will leave `example.com`.",)), [], names={})
    assert "Warning: Mail will leave example.com." in shown.text
    assert "*Warning:* Mail will leave `example.com`." in drawn.seen(shown)


def test_every_destination_is_shown() -> None:
    """Where there are many destinations, all of them can be seen and heard."""
    many = tuple(f"{'x' * 60}{number}@{'y' * 60}.example" for number in range(10))
    shown = card(request(wish=replace(samples.FORWARD, destinations=many)), [], names={})
    assert "asks to forward sales@example.com to 10 addresses." in shown.text
    for one in many:
        assert one in shown.text
        assert f"`{one}`" in drawn.seen(shown)


def test_expiry() -> None:
    """A removal that was announced says so."""
    text = text_of(request(State.DONE, origin="expiry"))
    assert text.startswith("The time that Alice (alice@example.com) asked for is over: add ")


@drawn.steady
@given(drawn.requests, st.lists(drawn.votes, max_size=6), drawn.names)
def test_all_cards_are_right(of: Request, votes: list[Vote], names: dict[str, str]) -> None:
    """Slack takes every card, and nobody speaks through it."""
    drawn.check(card(of, votes, names=names))
