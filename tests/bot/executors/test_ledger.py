# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What chat changed, as a definition beside the administrator's: the next converge keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    Definition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_definition,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import Name
from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    Notebook,
    alias,
    forward,
    no_alias,
    no_forward,
    request_for,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.executors.ledger import definition, in_force
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Wish

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HI = "hi@example.com"
FAR = "partner@far.example"
ENDED = date(2026, 11, 20)


def read(*data: dict[str, Any]) -> Definition:
    """Read definitions as email_tenant would, the first as the administrator's."""
    return read_definition([Source(f"{n}.json", each) for n, each in enumerate(data)], NOW)


def name(address: str) -> Name:
    """Return an address as the reader has it."""
    return Name(address, address)


def test_the_latest_wish_for_an_address_counts() -> None:
    """Whatever the address was before, and whose."""
    wishes = [
        alias(HI, BOB),
        no_alias(HI, BOB),
        forward(HI, FAR),
        no_forward(HI),
        alias(HI, ALICE),
        forward(TEAM, ALICE),
        forward(TEAM, BOB, ALICE),
        alias("x@example.com", BOB),
        no_forward("x@example.com"),
        no_alias(SALES, BOB),
    ]
    assert definition(wishes, {ALICE, BOB}) == {
        "mailboxes": [
            {"name": ALICE, "aliases": [HI]},
            {"name": BOB, "aliases": [{"address": SALES, "state": "absent"}]},
        ],
        "forwarders": [
            {"name": TEAM, "members": [ALICE, BOB]},
            {"name": "x@example.com", "state": "absent"},
        ],
    }


@pytest.mark.parametrize("theirs", [alias(HI, BOB), forward(HI, FAR), no_alias(HI, BOB)])
def test_an_alias_taken_from_one_mailbox_says_nothing_of_others(theirs: Wish) -> None:
    """Or anybody could have the next converge undo what chat did for somebody else."""
    said, own = definition([theirs], {ALICE, BOB}), definition([no_alias(HI)], {ALICE, BOB})
    both = definition([no_alias(HI), theirs, no_alias(HI)], {ALICE, BOB})
    assert both == {kind: own[kind] + said[kind] for kind in said}
    assert len(read(both).individuals) == sum(map(len, both.values()))


def test_an_empty_ledger_declares_nothing() -> None:
    """And is a definition all the same."""
    assert read(definition([], ())).individuals == {}


@pytest.mark.parametrize(("last_day", "there"), [(date(2026, 11, 21), True), (ENDED, False)])
def test_an_alias_ends_with_its_last_day(last_day: date, *, there: bool) -> None:
    """From then on it is to be absent, and anybody may be given it."""
    ending = replace(alias(HI), expires_on=last_day)
    found = read(definition([ending], {ALICE})).individuals[name(ALICE)]
    assert (found.aliases == frozenset({name(HI)})) is there
    assert (name(HI) in found.absent_aliases) is not there
    if not there:
        read({"mailboxes": [{"name": BOB, "aliases": [HI]}]}, definition([ending], {ALICE}))


ADDRESSES = st.sampled_from([f"{local}@example.com" for local in "abcd"])
BOXES = st.sampled_from([ALICE, BOB])
DAYS = st.sampled_from([None, ENDED, date(2026, 12, 31)])
WISHES = st.one_of(
    st.builds(lambda a, m, d: replace(alias(a, m), expires_on=d), ADDRESSES, BOXES, DAYS),
    st.builds(no_alias, ADDRESSES, BOXES),
    st.builds(lambda a, d: forward(a, *d), ADDRESSES, st.sets(BOXES, min_size=1)),
    st.builds(no_forward, ADDRESSES),
)


@settings(deadline=None)
@given(st.lists(WISHES, max_size=12))
def test_whatever_chat_does_is_a_definition(wishes: list[Wish]) -> None:
    """No order of wishes gives one that contradicts itself."""
    data = definition(wishes, {ALICE, BOB})
    found = read(json.loads(json.dumps(data)))
    named = {each.name.key for each in found.individuals.values()}
    assert named == {wish.mailbox or wish.target for wish in in_force(wishes)}


class Converging(Desk):
    """The administrator's file, what chat has done since, and email_tenant over both."""

    def write(self, file: str, data: dict[str, Any]) -> None:
        """Write a definition."""
        (self.folder / file).write_text(json.dumps(data), "utf-8")

    def converge(self, *options: str) -> Run:
        """Make the tenant what both files say."""
        return self.play("converge", *options, mail_definition_files=["tenant.json", "chat.json"])


@pytest.fixture
def converging(tmp_path: Path, service: RunningService, api: Api) -> Converging:
    """Give an administrator's file that says what the tenant holds."""
    converging = Converging(tmp_path, service.url, service.token)
    api.forwarder(TEAM, [ALICE])
    converging.write(
        "tenant.json",
        {
            "domains": ["example.com"],
            "mailboxes": [{"name": ALICE, "aliases": []}, {"name": BOB, "aliases": []}],
            "forwarders": [{"name": TEAM, "members": [ALICE]}],
        },
    )
    return converging


def test_the_next_converge_keeps_what_chat_changed(
    converging: Converging, mail: Mail, api: Api
) -> None:
    """It changes nothing at all, not even where all that is not declared is purged."""
    wishes = [
        alias(HI),
        replace(alias("promo@example.com", BOB), expires_on=date(2999, 12, 31)),
        no_alias(SALES, BOB),
        forward(TEAM, BOB, FAR),
        forward("new@example.com", ALICE),
        forward("gone@example.com", FAR, ALICE),
        no_forward("gone@example.com", FAR),
        no_forward("gone@example.com"),
    ]
    done = [mail.carry_out(request_for(wish), Notebook()) for wish in wishes]
    converging.write("chat.json", definition((each.stands for each in done), mail.mailboxes()))
    before = api.listing()
    everything = {"mail_purge": ["alias", "mailbox", "forwarder"], "mail_max_deletions": 99}
    told = converging.converge("-e", json.dumps(everything))
    assert (told.status, told.recap.changed) == (0, 0), told.output
    assert api.listing() == before


def test_a_forwarder_that_no_file_declares_keeps_its_members(
    converging: Converging, mail: Mail, api: Api
) -> None:
    """The ledger holds all of them, not only the one that chat added."""
    api.forwarder("old@example.com", [ALICE, FAR])
    done = mail.carry_out(request_for(forward("old@example.com", BOB)), Notebook())
    converging.write("chat.json", definition([done.stands], mail.mailboxes()))
    told = converging.converge()
    assert (told.status, told.recap.changed) == (0, 0), told.output


def test_what_chat_changed_is_brought_back(converging: Converging, mail: Mail, api: Api) -> None:
    """A converge makes it so again where somebody has undone it."""
    done = [mail.carry_out(request_for(w), Notebook()) for w in (alias(HI), no_alias(SALES, BOB))]
    converging.write("chat.json", definition((each.stands for each in done), mail.mailboxes()))
    mail.carry_out(request_for(no_alias(HI)), Notebook())
    mail.carry_out(request_for(alias(SALES, BOB)), Notebook())
    told = converging.converge()
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert (mail.aliases(ALICE), mail.aliases(BOB)) == ([HI], [])


def test_a_mailbox_that_is_gone_is_not_declared(
    converging: Converging, mail: Mail, api: Api
) -> None:
    """It would be made anew, or rather fail to be for want of a password."""
    mail.carry_out(request_for(no_alias(SALES, BOB)), Notebook())
    api.delete(BOB)
    converging.write("tenant.json", {"domains": ["example.com"], "mailboxes": [ALICE]})
    data = definition([no_alias(SALES, BOB)], mail.mailboxes())
    assert data == {"mailboxes": [], "forwarders": []}
    converging.write("chat.json", data)
    told = converging.converge()
    assert (told.status, told.recap.changed) == (0, 0), told.output


def test_a_contradiction_is_told_and_changes_nothing(
    converging: Converging, mail: Mail, api: Api
) -> None:
    """Both places are named; neither file overrules the other."""
    bob = {"name": BOB, "aliases": [SALES]}
    converging.write("tenant.json", {"domains": ["example.com"], "mailboxes": [ALICE, bob]})
    done = mail.carry_out(request_for(no_alias(SALES, BOB)), Notebook())
    converging.write("chat.json", definition([done.stands], mail.mailboxes()))
    before = api.listing()
    told = converging.converge()
    assert told.status == 2
    assert f"{SALES} is to be absent here and is to be present in" in words(told)
    assert "tenant.json" in words(told)
    assert "chat.json" in words(told)
    assert api.listing() == before
