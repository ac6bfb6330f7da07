# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn
from ansible_collections.postroom.email.tests.bot.words.samples import PERSON, request
from postroom_bot.model import Person, Request, State
from postroom_bot.words import ids
from postroom_bot.words.home import home


def test_shows_addresses() -> None:
    """A person sees the mailbox and its other addresses, in order."""
    seen = drawn.seen(home(PERSON, ["sales@example.com", "ann@example.com"], [], []))
    assert seen.startswith(
        "Your mailbox: `alice@example.com`\nAlso: `ann@example.com`\nAlso: `sales@example.com`"
    )
    assert "You have no open requests." in seen
    assert "No request waits for your approval." in seen


def test_says_what_it_does_not_know() -> None:
    """Where the mail service does not answer, nobody thinks that there are no addresses."""
    assert "could not be looked up" in drawn.seen(home(PERSON, None, [], []))


def test_many() -> None:
    """What is too much for the tab is counted."""
    aliases = [f"a{number}@example.com" for number in range(60)]
    seen = drawn.seen(home(PERSON, aliases, [request()] * 12, [request()] * 11))
    assert "And 10 more." in seen
    assert "And 2 more." in seen
    assert "And 1 more." in seen


def test_open_requests_can_be_cancelled() -> None:
    """Each open request has a button to take it back, unless it is being carried out."""
    view = home(PERSON, [], [request(), request(State.EXECUTING, id="R-2222")], [])
    cancels = [one for one in drawn.buttons(view) if one["action_id"] == ids.REQUEST_CANCEL]
    assert [one["value"] for one in cancels] == ["R-7K2M"]


def test_approvals_lead_to_the_card() -> None:
    """What waits for an approval has no button here: only the card counts."""
    view = home(PERSON, [], [], [request()])
    assert (
        "Request *R-7K2M*: <@U0ALICE> asks to add `sales@example.com` to `alice@example.com`. "
        "Its card is in <#C0CARDS>." in drawn.seen(view)
    )
    names = {one["action_id"] for one in drawn.buttons(view)}
    assert not names & {ids.REQUEST_APPROVE, ids.REQUEST_DENY}


def test_without_a_mailbox() -> None:
    """Who has no known mailbox is told why."""
    person = replace(PERSON, mailbox=None, mailbox_obstacle="Your e-mail changed. Wait a day.")
    assert drawn.seen(home(person, None, [], [])).startswith("Your e-mail changed. Wait a day.")


def test_obstacle() -> None:
    """Who may not use the bot sees the reason and nothing else."""
    view = home(
        replace(PERSON, obstacle="Guests can't use this."), ["a@b.example"], [request()], []
    )
    assert drawn.seen(view) == "Guests can't use this."
    assert drawn.buttons(view) == []


@drawn.steady
@given(
    drawn.people,
    st.none() | st.lists(drawn.addresses, max_size=3),
    st.lists(drawn.requests, max_size=2),
    st.lists(drawn.requests, max_size=2),
)
def test_all_homes_are_right(
    person: Person,
    aliases: list[str] | None,
    requests: list[Request],
    approvals: list[Request],
) -> None:
    """Slack takes every Home tab, and nobody speaks through it."""
    drawn.check(home(person, aliases, requests, approvals))


def test_the_largest_is_right() -> None:
    """As much as can ever be shown is not too much for Slack."""
    aliases = ["&" * 254] * 1000
    long = request(requester_mailbox="&" * 254, result="&" * 1000)
    drawn.check(home(PERSON, aliases, [long] * 100, [long] * 100))
