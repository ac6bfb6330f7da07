# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The running bot, reached over HTTP, while Slack fails: windows, answers, the Home tab, all of it.

The methods that the worker calls are tried one by one elsewhere; what nobody tried is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.bot.faults.test_each_call_to_slack import METHODS
from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    card_of,
    fresh_address,
    home_of,
    last_said,
    window,
)
from ansible_collections.postroom.email.tests.fakes.slack.faults import Faults
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import ALICE, Company, company
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording

STARTING = {"auth.test", "bots.info"}
#: How a method fails once.
WAYS: dict[str, Callable[[Faults, str], None]] = {
    "429": lambda faults, method: faults.rate_limit(method, retry_after=1),
    "500": lambda faults, method: faults.fail(method),
    "silence": lambda faults, method: faults.hang(method, seconds=7),
    "reset": lambda faults, method: faults.reset(method),
    "lost": lambda faults, method: faults.lose_answer(method),
}


class Place(NamedTuple):
    """A company with its bot, and who sees what it asks of the mail service."""

    here: Company
    bot: RunningBot
    recorder: Recorder


class Mail(NamedTuple):
    """The way to the mail service that passes the recorder."""

    url: str
    token: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Run the bot; at the end all is in order."""
    folder = tmp_path_factory.mktemp("place")
    with company(folder / "company") as here, recording(here.mail.url) as recorder:
        mail = Mail(recorder.url, here.mail.token)
        with running_bot(folder / "bot", here.slack, mail, here.policy, mode="http") as bot:
            here.slack.deliver_over_http(bot.slack_url)
            yield Place(here, bot, recorder)
            assert "in order" in bot.command("audit", "verify").stdout
            assert here.slack.problems == []


@pytest.mark.parametrize("way", WAYS)
def test_a_new_password_is_shown_all_the_same(place: Place, way: str) -> None:
    """It is set once, and its window is sent until Slack takes it."""
    here, alice = place.here, place.here.alice
    alice.command("/email password")
    confirm = window(here, alice, "password_confirm")
    place.recorder.take()
    WAYS[way](here.slack.faults, "views.update")
    alice.submit(confirm)
    shown = here.slack.wait_for(lambda: window(here, alice, "password_shown"))
    assert len(shown.blocks[1]["elements"][0]["elements"][0]["text"]) > 20
    assert len(place.recorder.take_writes()) == 1
    alice.close(shown)


@pytest.mark.parametrize("method", ["views.open", "views.publish", "response_url"])
@pytest.mark.parametrize("way", WAYS)
def test_what_failed_works_when_it_is_done_again(place: Place, way: str, method: str) -> None:
    """Menu, Home tab and list: the first try may show nothing, the second one does."""
    here, alice = place.here, place.here.alice
    WAYS[way](here.slack.faults, method)
    for _ in range(2):
        alice.shortcut("postroom_menu")
        alice.open_home()
        alice.command("/email alias list")
    here.slack.wait_for(lambda: here.slack.faults.are_used_up)
    alice.close(window(here, alice, "menu"))
    here.slack.wait_for(lambda: ALICE in home_of(alice))
    here.slack.wait_for(lambda: "One moment" not in last_said(alice))


def test_five_failures_of_five_requests_at_once(place: Place) -> None:
    """Each request has one card that works, is carried out once, and its requester knows."""
    here, alice, slack = place.here, place.here.alice, place.here.slack
    addresses = [fresh_address() for _ in WAYS]
    for fail in WAYS.values():
        fail(slack.faults, "chat.postMessage")
    for address in addresses:
        assert alice.command(f"/email alias add {address}").ok
    for address in addresses:
        slack.wait_for_message(alice.direct_channel, address)
    slack.wait_for(lambda: slack.faults.are_used_up)
    for way in ("429", "500", "reset", "lost"):
        WAYS[way](slack.faults, "users.info")
        WAYS[way](slack.faults, "chat.update")
    for address in addresses:
        here.bob.press(card_of(here, alice, address), "request_approve")
    cards = [card_of(here, alice, address) for address in addresses]
    slack.wait_for(lambda: all("Done" in card.text for card in cards))
    assert sorted(here.aliases()) == sorted({*here.aliases(), *addresses})


def test_what_is_asked_while_slack_is_down_is_done_afterwards(place: Place) -> None:
    """Meanwhile the bot asks now and then, and never in a hurry."""
    here, alice, slack = place.here, place.here.alice, place.here.slack
    address = fresh_address()
    before = slack.log().count("fault ")
    with slack.faults.down():
        assert alice.command(f"/email alias add {address}").ok
        slack.wait_for(lambda: slack.log().count("fault ") >= before + 2)
    here.bob.press(card_of(here, alice, address), "request_approve")
    slack.wait_for(lambda: address in here.aliases())
    assert slack.log().count("fault ") - before <= 6


def test_no_method_is_forgotten(place: Place) -> None:
    """Whatever the bot calls, it has been seen to fail here or where the worker is tried."""
    world = place.here.slack.world
    seen = [line.what.partition(" ") for line in world.transcript]
    called = {method for what, _, method in seen if what == "call"}
    failed = {method for what, _, method in seen if what == "fault"}
    assert called <= failed | METHODS | STARTING
    assert {"views.open", "views.update", "views.publish", "response_url"} <= failed
