# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack accepts all cards, notices, lists and Home tabs, and user input stays plain text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.ui import samples
from ansible_collections.postroom.email.tests.bot.ui.samples import (
    ADDRESS,
    BOB,
    CAROL,
    MAILBOX,
    NOON,
    PERSON,
    check,
    presses,
    request,
    seen,
    vote,
)
from postroom_bot.domain import Action, Change, State, VoteState
from postroom_bot.ui import markup, messages, views
from postroom_bot.ui.markup import TEXT_LIMIT, Message, View
from postroom_bot.ui.messages import card
from postroom_bot.ui.parser import SUBCOMMANDS
from postroom_bot.ui.views import OPEN, home_tab


def record(text: str, value: str, **more: object) -> dict[str, object]:
    """Return a DNS record in the mail service's format."""
    return {"type": text, "host": text, "value": value, **more}


def test_hostile_requests_are_shown_as_text() -> None:
    """Hostile text stays plain text in all messages and views, for every state and action."""
    for text, made, votes in samples.hostile_requests():
        check(card(made, votes))
        check(messages.received(made))
        check(messages.status_message(made, votes))
        check(messages.reminder(made, votes, link="https://x.slack.com/p1"))
        check(messages.password_notice(made, votes))
        check(messages.change_notice(made, votes))
        check(messages.request_list([made]))
        check(messages.alias_list(text, [text]))
        check(messages.forward_list([(text, [text, text])]))
        check(messages.dns_records(text, [record(text, text, priority=1)]))
        person = replace(PERSON, mailbox=text)
        check(home_tab(person, [text], [made], [made]))
        check(home_tab(replace(PERSON, obstacle=samples.sentence(text)), None, [made], []))
        check(
            home_tab(
                replace(PERSON, mailbox=None, mailbox_obstacle=samples.sentence(text)),
                None,
                [],
                [made],
            )
        )
        check(views.loading_modal(text))
        check(views.text_modal(markup.escaped_line(text), text))


def test_the_largest_payloads_are_accepted() -> None:
    """Slack accepts the largest messages, and they state how many entries were left out."""
    longest = "&" * 254
    many = request(requester_mailbox=longest, result=samples.sentence(longest * 4))
    check(home_tab(PERSON, [longest] * 1000, [many] * 100, [many] * 100))
    check(messages.alias_list(longest, [longest] * 1000))
    check(messages.forward_list([(longest, [longest] * 100)] * 100))
    check(messages.dns_records(longest, [record(longest, "&" * 5000)] * 100))
    text = messages.alias_list(MAILBOX, [f"a{n:04}@example.com" for n in range(1000)]).text
    assert text.endswith(f"And {1000 - text.count('@example.com') + 1} more.")
    assert TEXT_LIMIT - 100 < len(text) <= TEXT_LIMIT
    shown = seen(home_tab(PERSON, [f"a{n}@x.example" for n in range(60)], [request()] * 12, []))
    assert "And 10 more." in shown
    assert "And 2 more." in shown


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(0, 3), st.integers(0, 400))
def test_a_long_list_states_how_many_entries_it_omits(
    length: int, ampersands: int, number: int
) -> None:
    """A list shows as many complete entries as fit, and the number of all others."""
    aliases = [f"{n:04}{'a' * length}{'&' * ampersands}@x.example" for n in range(number)]
    for text in (
        messages.alias_list(MAILBOX, aliases).text,
        messages.forward_list([(alias, [MAILBOX]) for alias in aliases]).text,
    ):
        assert len(text) <= TEXT_LIMIT
        kept = text.count("@x.example`")
        assert text.endswith(f"\nAnd {number - kept} more.") is (kept < number)
        lines = text.split("\n")
        assert all(line.endswith(("`", ".", ":")) for line in lines)
        assert kept == number or len(text) + max(map(len, lines)) > TEXT_LIMIT - 50


def test_a_pending_card_has_all_that_approvers_need() -> None:
    """A pending card shows what approvers need, and its buttons carry only the request's ID."""
    warnings = (samples.sentence("Mail will leave `example.com`."),)
    shown = card(request(warnings=warnings), [vote(CAROL)])
    for part in (
        "<@U0ALICE>",
        MAILBOX,
        ADDRESS,
        "the fair",
        "R-7K2M",
        "2 approvals",
        "mail-admins",
    ):
        assert part in shown.text
    for part in ("2026-11-22 12:05 UTC", "1 so far", "Mail will leave `example.com`."):
        assert part in shown.text
    assert f"<@U0ALICE> (`{MAILBOX}`) asks to add `{ADDRESS}` to `{MAILBOX}`." in seen(shown)
    assert presses(shown) == [
        (messages.REQUEST_APPROVE, "R-7K2M"),
        (messages.REQUEST_DENY, "R-7K2M"),
    ]


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("state", State)
def test_a_message_has_only_buttons_that_work(state: State, action: Action) -> None:
    """Each message has exactly the buttons that work in the request's state, with their text."""
    is_pending, is_approved = state is State.PENDING, state is State.APPROVED
    made = request(state, change=Change(action, ADDRESS, destinations=(BOB,)))
    expected = {
        "card": [messages.REQUEST_APPROVE, messages.REQUEST_DENY] if is_pending else [],
        "status": [messages.REQUEST_CANCEL] if is_pending else [],
        "home": [messages.REQUEST_CANCEL] if made.is_cancellable_by_requester else [],
        "approvals": [messages.REQUEST_APPROVE, messages.REQUEST_DENY] if is_pending else [],
        "received": [],
        "notice": [],
        "reminder": [],
        "password": [],
        "list": [],
        "end": [messages.REQUEST_EXTEND],
    }
    if is_approved and action is Action.PASSWORD:
        expected["status"] = [messages.PASSWORD_SHOW]
    payloads: dict[str, Message | View] = {
        "card": card(made, [vote(BOB)]),
        "status": messages.status_message(made, [vote(BOB)]),
        "home": home_tab(PERSON, [], [made], []),
        "approvals": home_tab(PERSON, [], [], [made] if is_pending else []),
        "received": messages.received(made),
        "notice": messages.change_notice(made),
        "reminder": messages.reminder(made, link="https://x.slack.com/p1"),
        "password": messages.password_notice(made),
        "list": messages.request_list([made]),
        "end": messages.end_notice(made),
    }
    for name, payload in payloads.items():
        found = [one for one in samples.buttons(payload) if not one["action_id"].startswith(OPEN)]
        assert [one["action_id"] for one in found] == expected[name], name
        assert {one["value"] for one in found} <= {"R-7K2M"}
        if isinstance(payload, Message):
            assert payload.text.count("Button: ") == len(found)


def test_a_final_card_shows_its_end_and_result() -> None:
    """The card of a completed request shows when it was completed, and the result."""
    shown = card(request(State.DONE, result=samples.sentence("`x` works.")), [])
    assert shown.text.endswith("2026-11-21 13:22 UTC>. `x` works.")


def test_notices_name_the_request() -> None:
    """Each notice shows the request's ID and change. The audit notice also shows the votes."""
    done, votes = request(State.DONE), [vote(BOB), vote(CAROL, minutes=1)]
    audit = messages.change_notice(done, votes).text
    for part in ("by <@U0ALICE>", "Approved by <@U0BOB> (1 of 2)", "2026-11-21 13:22", "aliases"):
        assert part in audit
    fresh = request(State.NEW, requester_mailbox=None)
    link = "https://x.slack.com/p1"
    reminder = messages.reminder(request(), votes[:1], link=link, approvers=["S1", BOB]).text
    assert "(1 so far)" in reminder
    assert f"<{link}|its card>" in reminder
    assert reminder.startswith(f"<!subteam^S1> <@{BOB}>")
    for text in (
        messages.received(fresh).text,
        reminder,
        audit,
    ):
        assert "R-7K2M" in text
        assert ADDRESS in text
    for target, mailbox in (("bob@example.com", "bob@example.com"), ("", MAILBOX)):
        made = request(State.DONE, change=Change(Action.PASSWORD, target))
        text = messages.password_notice(made, votes).text
        assert f"`{mailbox}`" in text
        assert "Approved by <@U0CAROL> (2 of 2)." in text


def test_a_card_lists_the_votes_that_count_and_every_destination() -> None:
    """A card lists the counted approvals in order, or a denial with its reason."""
    votes = [
        vote(CAROL, minutes=2),
        vote(BOB, minutes=1),
        vote("U0DAVE", state=VoteState.REFUSED),
        vote("U0ERIN", state=VoteState.CAST),
    ]
    text = card(request(State.DONE), votes).text
    assert "Approved by <@U0BOB> (1 of 2). Approved by <@U0CAROL> (2 of 2)." in text
    assert "U0DAVE" not in text
    assert "U0ERIN" not in text
    denial = vote(BOB, approves=False, justification="no *such* fair")
    shown = card(request(State.DENIED), [denial])
    assert "Denied by <@U0BOB>: `no *such* fair`." in seen(shown)
    many = tuple(f"{'x' * 60}{number}@{'y' * 60}.example" for number in range(10))
    change = Change(Action.FORWARD_ADD, ADDRESS, destinations=many)
    shown = card(request(change=change), [])
    assert all(one in shown.text and f"`{one}`" in seen(shown) for one in many)


def test_notices_show_the_next_step_and_what_is_in_the_way() -> None:
    """Notices offer the next step. If a problem blocks it, they show when the bot will give up."""
    assert presses(messages.status_message(request())) == [(messages.REQUEST_CANCEL, "R-7K2M")]
    approved = messages.status_message(request(State.APPROVED, change=samples.PASSWORD))
    assert presses(approved) == [(messages.PASSWORD_SHOW, "R-7K2M")]
    assert presses(messages.status_message(request(State.DONE))) == []
    for state, end in (
        (State.NEW, "2026-11-22"),
        (State.APPROVED, "about an hour"),
        (State.PENDING, ""),
        (State.DONE, None),
    ):
        text = messages.status_message(request(state, blocked=samples.sentence("It is down."))).text
        assert ("It is down." in text) is (end is not None)
        assert ("I'll give up" in text) is bool(end)
        assert (end or "") in text


def test_the_home_tab_shows_the_mailbox_and_the_requests() -> None:
    """The Home tab shows the mailbox and the requests, or the reason why the user is blocked."""
    begun = request(State.APPROVED, id="R-4444", notes={"freeing": []})
    mine = [request(), request(State.EXECUTING, id="R-2222"), begun]
    theirs = [request(id="R-3333"), request(id="R-5555", card=None)]
    view = home_tab(PERSON, ["b@example.com", "a@example.com"], mine, theirs)
    text = seen(view)
    assert text.index(MAILBOX) < text.index("`a@example.com`") < text.index("`b@example.com`")
    assert "<#C0CARDS>" in text
    about = [(one["value"], one["action_id"]) for one in samples.buttons(view) if "value" in one]
    assert about == [
        ("R-7K2M", messages.REQUEST_CANCEL),
        ("R-3333", messages.REQUEST_APPROVE),
        ("R-3333", messages.REQUEST_DENY),
    ]
    assert views.read_home_card(view["private_metadata"], "R-3333") == samples.CARD
    assert views.read_home_card(view["private_metadata"], "R-5555") == ("", "")
    assert "not available right now" in seen(home_tab(PERSON, None, [], []))
    view = home_tab(
        replace(PERSON, obstacle=samples.sentence("Guests can't.")),
        ["a@b.example"],
        [request()],
        [],
    )
    assert (seen(view), samples.buttons(view)) == ("Guests can't.", [])
    person = replace(PERSON, mailbox=None, mailbox_obstacle=samples.sentence("Wait a day."))
    assert seen(home_tab(person, None, [], [])).startswith("Wait a day.")


def test_lists_are_sorted_and_complete() -> None:
    """Lists are sorted and complete, and an empty list is replaced by a sentence."""
    text = messages.command_list().text
    assert all(f"`/email {one.usage}` {one.summary}" in text for one in SUBCOMMANDS)
    lines = messages.alias_list(MAILBOX, ["b@x.y", "a@x.y"]).text.splitlines()
    assert lines[1:] == ["`a@x.y`", "`b@x.y`"]
    lines = messages.forward_list([("t@x.y", [BOB, ADDRESS]), ("s@x.y", [])]).text.splitlines()
    assert [line[:7] for line in lines] == ["`s@x.y`", "`t@x.y`"]
    assert lines[1].index(BOB) < lines[1].index(ADDRESS)
    empty = [messages.alias_list(MAILBOX, []), messages.forward_list([]), messages.request_list([])]
    for nothing in (*empty, messages.dns_records("example.com", [])):
        assert nothing.text.endswith(".")
        check(nothing)


def test_text_is_escaped_once() -> None:
    """Text is escaped once, only user IDs become mentions, and times are also shown in UTC."""
    assert markup.escape("<!here> &amp;") == "&lt;!here&gt; &amp;amp;"
    assert markup.code("a&`b@example.com") == "`a&amp;\u02cbb@example.com`"
    assert [markup.mention(user) for user in ("U01AB", "W01AB")] == ["<@U01AB>", "<@W01AB>"]
    assert markup.mention("U1> <!here") == "U1&gt; &lt;!here"
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    for at in (NOON, elsewhere):
        assert re.fullmatch(r"<!date\^1795262700\^.*\|2026-11-21 12:05 UTC>", markup.time(at))
    assert [markup.enumerate_items([*"abc"[:n]]) for n in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert markup.count(0, "address", "addresses") == "0 addresses"


@settings(deadline=None)
@given(st.sampled_from(samples.HOSTILE) | st.text(min_size=1, max_size=300), st.integers(10, 60))
def test_long_text_is_cut_between_pieces(text: str, limit: int) -> None:
    """Long text becomes one printable line and is never cut within an entity or a link."""
    line = markup.one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()
    whole = markup.escaped_line(text) + markup.time(NOON) + markup.mention("U0123ABC")
    short = markup.cut(whole, limit)
    assert len(short) <= limit
    assert not set("<>&") & set(re.sub(r"&(amp|lt|gt);|<[^<>]*>", "", short))
