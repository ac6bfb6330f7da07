# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What requesters, approvers, owners and auditors are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn, samples
from ansible_collections.postroom.email.tests.bot.words.samples import BOB, CAROL, request, vote
from postroom_bot.model import Action, Request, State, Vote, Wish
from postroom_bot.words import ids, notices

OWN = Wish(Action.PASSWORD, samples.MAILBOX)


def test_received() -> None:
    """Who asks is told the number at once, and how to follow it."""
    fresh = request(State.NEW, requester_mailbox=None)
    assert notices.received(fresh).text == (
        "Request *R-7K2M*: add `sales@example.com` to your own mailbox. "
        "I am looking into it and will tell you what becomes of it. "
        "`/email status R-7K2M` shows how it stands."
    )


def test_pending() -> None:
    """A pending request is told with what it waits for and a button to take it back."""
    told = notices.progress(request())
    assert told.text == (
        "Request R-7K2M: add sales@example.com to alice@example.com. "
        "Waiting for 2 approvals from mail-admins. It expires 2026-11-22 12:05 UTC. "
        "Button: Cancel, which takes it back."
    )
    assert (
        "Request *R-7K2M*: add `sales@example.com` to `alice@example.com`. Waiting for 2 approvals "
        "from mail-admins. It expires <!date^1795349100^" in drawn.seen(told)
    )
    assert [(one["action_id"], one["value"]) for one in drawn.buttons(told)] == [
        (ids.REQUEST_CANCEL, "R-7K2M")
    ]


def test_approved_password() -> None:
    """An approved password has a button by which it is made, and tells who asked."""
    told = notices.progress(request(State.APPROVED, wish=samples.PASSWORD))
    assert told.text == (
        "Request R-7K2M: make a new password for bob@example.com. Approved; "
        "waiting for the owner to make it. "
        "<@U0ALICE> asked for it. "
        "Make the new password when you are ready to copy it: it is shown once, to you alone. "
        "Button: Make it, which asks you once more."
    )
    assert [(one["action_id"], one["value"]) for one in drawn.buttons(told)] == [
        (ids.PASSWORD_SHOW, "R-7K2M")
    ]


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.DENIED, State.EXPIRED])
def test_ends_have_no_buttons(state: State) -> None:
    """What has ended offers nothing to press."""
    assert drawn.buttons(notices.progress(request(state))) == []


def test_taken() -> None:
    """A window says what was asked for, too."""
    assert notices.taken(request(State.NEW)) == (
        "Request R-7K2M: add `sales@example.com` to `alice@example.com`. "
        "I am looking into it and will tell you what becomes of it."
    )


def test_reminder() -> None:
    """Approvers are reminded of what still waits, and where to answer."""
    assert notices.reminder(request(expires_at=None), [vote(BOB)]).text == (
        "Request *R-7K2M* still waits: add `sales@example.com` to `alice@example.com`. "
        "It needs 2 approvals from mail-admins, and has 1 so far. "
        "Approve or deny it on its card, further up in this channel."
    )


def test_owner_notice() -> None:
    """The owner of a mailbox hears who made its password, who approved, and what to do."""
    told = notices.owner_notice(
        request(State.DONE, wish=samples.PASSWORD), [vote(BOB), vote(CAROL, minutes=1)]
    )
    assert told.text == (
        "A new password was made for your mailbox `bob@example.com`. "
        "<@U0ALICE> asked for it. "
        "Approved by <@U0BOB> (1 of 2). Approved by <@U0CAROL> (2 of 2). "
        "The old one no longer works. Request *R-7K2M*. "
        "If you did not expect this, tell your mail administrators at once."
    )


@pytest.mark.parametrize("wish", [OWN, Wish(Action.PASSWORD, "")])
def test_own_password(wish: Wish) -> None:
    """Who made a password for their own mailbox is told, in case it was somebody else."""
    told = notices.owner_notice(request(State.DONE, wish=wish, quorum=()))
    assert "your mailbox `alice@example.com`. Your Slack account (<@U0ALICE>) asked" in told.text


def test_audit_notice() -> None:
    """The audit channel sees who, what, who approved, by which rule, and the end."""
    told = notices.audit_notice(request(State.DONE), [vote(BOB)], names=samples.NAMES)
    assert told.text == (
        "Request R-7K2M by Alice (alice@example.com): add sales@example.com to alice@example.com. "
        "Approved by Bob (1 of 2). Done 2026-11-21 13:22 UTC. Rule: aliases."
    )


@drawn.steady
@given(drawn.requests, st.lists(drawn.votes, max_size=6), drawn.names)
def test_all_notices_are_right(of: Request, votes: list[Vote], names: dict[str, str]) -> None:
    """Slack takes every notice, and nobody speaks through it."""
    drawn.check(notices.received(of))
    drawn.check(notices.progress(of, votes))
    drawn.check(notices.reminder(of, votes))
    drawn.check(notices.owner_notice(of, votes))
    drawn.check(notices.audit_notice(of, votes, names=names))
