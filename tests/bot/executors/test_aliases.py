# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Aliases over the mail API: added once, removed once, and no word about other people."""

from __future__ import annotations

import re

import pytest

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    BOB,
    SALES,
    LeaseLostError,
    Notebook,
    alias,
    emails,
    no_alias,
    request_for,
)
from ansible_collections.postroom.email.tests.service.api import Api
from postroom_bot.executors.base import WontDo
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Action, Wish

NEW = "hi@example.com"


def test_an_alias_is_added_once(mail: Mail, api: Api) -> None:
    """The second time finds it there, which is as good."""
    wish = alias(NEW)
    first = mail.carry_out(request_for(wish), Notebook())
    assert (first.changed, first.stands, first.freed) == (True, wish, ())
    assert first.sentence == f"`{NEW}` delivers to `{ALICE}`."
    assert emails(api, ALICE) == {ALICE, NEW}
    assert mail.carry_out(request_for(wish), Notebook()) == first._replace(changed=False)


def test_ones_own_mailbox_need_not_be_named(mail: Mail, api: Api) -> None:
    """It is the one that was found to be the requester's."""
    done = mail.carry_out(request_for(alias(NEW, None)), Notebook())
    assert done.stands == alias(NEW)
    assert emails(api, ALICE) == {ALICE, NEW}
    with pytest.raises(WontDo, match="Say which mailbox"):
        mail.carry_out(request_for(alias(NEW, None), requester_mailbox=None), Notebook())


@pytest.mark.parametrize(
    "address", ["alice+shop@example.com", "hi+shop@example.com", "+@example.com"]
)
def test_a_tag_on_ones_own_address_or_on_nobodys_is_free(
    mail: Mail, api: Api, address: str
) -> None:
    """Only mail that would reach somebody else has to."""
    assert mail.check(alias(address))


def test_an_alias_is_removed_once(mail: Mail, api: Api) -> None:
    """What it freed is told once; what was never there frees nothing."""
    wish = no_alias(SALES, BOB)
    keeper = Notebook()
    first = mail.carry_out(request_for(wish), keeper)
    assert (first.changed, first.freed) == (True, (SALES,))
    assert first.sentence == f"`{SALES}` no longer delivers to `{BOB}`."
    assert emails(api, BOB) == {BOB}
    again = mail.carry_out(request_for(wish), Notebook())
    assert (again.changed, again.freed) == (False, ())
    after_crash = mail.carry_out(request_for(wish, progress=keeper.last), Notebook())
    assert (after_crash.changed, after_crash.freed) == (False, (SALES,))
    mail.carry_out(request_for(alias(SALES)), Notebook())
    taken_since = mail.carry_out(request_for(wish, progress=keeper.last), Notebook())
    assert (taken_since.changed, taken_since.freed) == (False, ())


def test_what_somebody_else_has_is_left_alone(mail: Mail, api: Api) -> None:
    """A removal that names the wrong mailbox, or one that is gone, changes nothing."""
    for mailbox in (ALICE, "gone@example.com"):
        done = mail.carry_out(request_for(no_alias(SALES, mailbox)), Notebook())
        assert (done.changed, done.freed) == (False, ())
    assert emails(api, BOB) == {BOB, SALES}


REFUSALS = [
    (alias(SALES), f"`{SALES}` already delivers somewhere else. Ask an administrator."),
    (alias(BOB), f"`{BOB}` already delivers somewhere else. Ask an administrator."),
    (alias("team@example.com"), "already delivers somewhere else"),
    (alias("bob+reset@example.com"), "already delivers somewhere else"),
    (alias("sales+all@example.com"), "already delivers somewhere else"),
    (alias(NEW, "gone@example.com"), "`gone@example.com` is not a mailbox here."),
    (alias(NEW, "team@example.com"), "`team@example.com` is not a mailbox here."),
    (alias("hi@other.example"), "The domain `other.example` is not set up here."),
    (alias("no address"), "The mail service does not accept this"),
    (no_alias(ALICE), f"`{ALICE}` is the mailbox's own address"),
    (no_alias(NEW, "team@example.com"), "`team@example.com` is not a mailbox here."),
    (Wish(Action.PASSWORD, "team@example.com"), "`team@example.com` is not a mailbox here."),
]


@pytest.mark.parametrize(("wish", "sentence"), REFUSALS)
def test_what_cant_be_is_refused(mail: Mail, api: Api, wish: Wish, sentence: str) -> None:
    """Before and while it is carried out, in words that name nobody who was not named."""
    api.forwarder("team@example.com", [ALICE])
    before = api.listing()
    with pytest.raises(WontDo) as refusal:
        mail.check(wish)
    said = str(refusal.value)
    assert sentence in said
    assert "bob" not in said.replace(wish.target, "")
    if wish.action is not Action.PASSWORD:
        with pytest.raises(WontDo, match=re.escape(said)):
            mail.carry_out(request_for(wish), Notebook())
    assert api.listing() == before


def test_a_check_changes_nothing(mail: Mail, api: Api) -> None:
    """It tells what can be done from what is done already."""
    before = api.listing()
    for wish in (alias(NEW), no_alias(SALES, BOB)):
        assert mail.check(wish)
    for wish in (alias(SALES, BOB), no_alias(NEW), Wish(Action.PASSWORD, ALICE)):
        assert not mail.check(wish)
    assert api.listing() == before


def test_names_are_compared_as_names(mail: Mail, api: Api) -> None:
    """A domain beyond ASCII has one name, whichever way it is written."""
    api.domain("xn--bcher-kva.example")
    mailbox = api.mailbox("zoe@xn--bcher-kva.example")
    done = mail.carry_out(
        request_for(alias("Info@Bücher.example", "zoe@bücher.example")), Notebook()
    )
    assert done.changed
    assert emails(api, mailbox) == {mailbox, "info@xn--bcher-kva.example"}
    assert mail.aliases("zoe@bücher.example") == ["info@xn--bcher-kva.example"]
    again = alias("info@xn--bcher-kva.example", "zoe@xn--bcher-kva.example")
    assert not mail.carry_out(request_for(again), Notebook()).changed


def test_nothing_is_written_without_the_lease(mail: Mail, api: Api) -> None:
    """Who has lost the request writes nothing; who has it notes what it is about to free."""
    with pytest.raises(LeaseLostError):
        mail.carry_out(request_for(no_alias(SALES, BOB)), Notebook(renewals_left=0))
    assert emails(api, BOB) == {BOB, SALES}
    keeper = Notebook()
    mail.carry_out(request_for(no_alias(SALES, BOB)), keeper)
    assert (keeper.renewals, keeper.notes) == (1, [{"freeing": [SALES]}])


def test_passwords_are_not_carried_out(mail: Mail) -> None:
    """They are set only while their owner is looking."""
    with pytest.raises(ValueError, match="while its owner is looking"):
        mail.carry_out(request_for(Wish(Action.PASSWORD, ALICE)), Notebook())
