# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The whole flow once more, with an independent emulator of Slack that answers every call, too.

Where `POSTROOM_EMULATE` names the folder that npm has installed it to.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import FreshDatabase
from ansible_collections.postroom.email.tests.bot.flows.premises import Plan, deployed, premises
from ansible_collections.postroom.email.tests.bot.flows.test_passwords import make_it
from ansible_collections.postroom.email.tests.bot.flows.test_requests import approve
from ansible_collections.postroom.email.tests.bot.listeners.hands import fresh_address, home_of
from ansible_collections.postroom.email.tests.bot.slack.test_emulate import PLACE, pytestmark
from ansible_collections.postroom.email.tests.fakes.slack.emulate import emulating
from ansible_collections.postroom.email.tests.fakes.slack.shadow import Shadow
from ansible_collections.postroom.email.tests.support.company import ALICE
from ansible_collections.postroom.email.tests.support.passwords import opens

__all__ = ["pytestmark"]

JUDGED = {
    "chat.postMessage",
    "chat.update",
    "conversations.open",
    "users.info",
    "views.open",
    "views.publish",
    "views.update",
}


@pytest.mark.parametrize("mode", ["http", "socket"])
def test_an_independent_emulator_agrees(mode: str, fresh: FreshDatabase, tmp_path: Path) -> None:
    """An alias and a password go all the way, and no call of the bot is refused."""
    with ExitStack() as end:
        there = end.enter_context(premises(tmp_path / "company"))
        here, folder = there.here, tmp_path / "emulate"
        folder.mkdir()
        emulator = end.enter_context(emulating(PLACE, here.slack.world, folder))
        here.slack.ask_too(Shadow(here.slack.world, emulator).follow)
        database = fresh("sqlite", end)
        flow = end.enter_context(deployed(there, tmp_path, Plan(mode, "sqlite"), database))
        address = fresh_address()
        approve(flow, flow.card(here.alice, f"alias add {address}"), here.bob)
        flow.wait_told(here.alice, address, "Done")
        assert address in here.aliases()
        here.alice.command("/email password")
        assert opens(flow.here.mail, ALICE, make_it(flow, here.alice))
        here.alice.open_home()
        here.slack.wait_for(lambda: address in home_of(here.alice))
        flow.check_audit()
        assert all(here.slack.calls(method) for method in JUDGED)
        assert here.slack.problems == []
