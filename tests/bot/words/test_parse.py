# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The parser of what follows the command."""

from __future__ import annotations

import traceback
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn
from postroom_bot.model import Action, Wish
from postroom_bot.words import catalog, fields
from postroom_bot.words.parse import (
    Cancel,
    Command,
    Dns,
    Help,
    ListAliases,
    ListForwards,
    Menu,
    NotUnderstood,
    Password,
    Status,
    TypedPassword,
    Wanted,
    parse,
)

SALES, ALICE, BOB = "sales@example.com", "alice@example.com", "bob@example.com"


def add(**more: Any) -> Wanted:
    """Return the command for a new alias."""
    return Wanted(Wish(Action.ALIAS_ADD, SALES, **more))


def forward(*destinations: str, reason: str = "") -> Wanted:
    """Return the command for a forwarder."""
    return Wanted(Wish(Action.FORWARD_ADD, SALES, destinations=destinations, reason=reason))


BAD_SIGNS = f"That is not an email address. {fields.BAD_SIGNS}"
ELEVEN = ", ".join(f"a{number}@x.example" for number in range(11))

UNDERSTOOD: list[tuple[str, Command]] = [
    ("", Menu()),
    ("  \n ", Menu()),
    ("help", Help()),
    ("HELP me", Help()),
    (f"alias add {SALES}", add()),
    (f"  Alias   ADD\u00a0{SALES.upper()} ", add()),
    (f"alias add {SALES} to {ALICE}", add(mailbox=ALICE)),
    (f"alias add <mailto:{SALES}|{SALES}> to <mailto:{ALICE}|{ALICE}>", add(mailbox=ALICE)),
    (f"alias add <mailto:{SALES}>", add()),
    (f"alias add \u201c{SALES}\u201d, to '{ALICE}'.", add(mailbox=ALICE)),
    (f"alias add `{SALES}`", add()),
    (f"alias add {SALES} until 2027-01-31", add(expires_on=date(2027, 1, 31))),
    (
        f"alias add {SALES} until 2027-01-31 to {ALICE} because the fair",
        add(mailbox=ALICE, expires_on=date(2027, 1, 31), reason="the fair"),
    ),
    (f"alias add {SALES} because go to until because", add(reason="go to until because")),
    (f"alias add {SALES} because a &amp; b &lt; c", add(reason="a & b < c")),
    (f"alias add {SALES} because &amp;lt;!here&amp;gt;", add(reason="&lt;!here&gt;")),
    (f"alias add {SALES} because <@U1|ann> in <#C1|sales>", add(reason="@ann in sales")),
    (f"alias add {SALES} because <!here> one\ntwo", add(reason="here one two")),
    (f"alias add {SALES} because", add()),
    (
        "alias add info@b\u00fccher.example",
        Wanted(Wish(Action.ALIAS_ADD, "info@xn--bcher-kva.example")),
    ),
    (
        f"alias remove {SALES} from {ALICE} because done",
        Wanted(Wish(Action.ALIAS_REMOVE, SALES, mailbox=ALICE, reason="done")),
    ),
    ("/email alias list", ListAliases()),
    (f"alias\nadd {SALES}\nto {ALICE}", add(mailbox=ALICE)),
    ("menu", Menu()),
    ("/email", Menu()),
    ("?", Help()),
    ("alias list", ListAliases()),
    (f"alias list {ALICE}", ListAliases(ALICE)),
    (f"forward add {SALES} to {ALICE}", forward(ALICE)),
    (f"forward add {SALES} to {ALICE},{BOB}", forward(ALICE, BOB)),
    (f"forward add {SALES} to {ALICE} , and {BOB}; {ALICE}", forward(ALICE, BOB)),
    (f"forward add {SALES} to {BOB} because x, y", forward(BOB, reason="x, y")),
    (f"forward remove {SALES}", Wanted(Wish(Action.FORWARD_REMOVE, SALES))),
    (
        f"forward remove {SALES} to {BOB}",
        Wanted(Wish(Action.FORWARD_REMOVE, SALES, destinations=(BOB,))),
    ),
    ("forward list", ListForwards()),
    ("password", Password()),
    (f"PASSWORD <mailto:{ALICE}|{ALICE}>", Password(ALICE)),
    ("dns example.com", Dns("example.com")),
    ("dns <http://example.com|example.com>", Dns("example.com")),
    ("dns <https://Example.com/>", Dns("example.com")),
    ("dns https://example.com/", Dns("example.com")),
    ("status", Status()),
    ("status r-7k2m", Status("R-7K2M")),
    ("status 7K2M.", Status("R-7K2M")),
    ("cancel R-7K2M", Cancel("R-7K2M")),
]


@pytest.mark.parametrize(("text", "command"), UNDERSTOOD)
def test_understands(text: str, command: Command) -> None:
    """What people type, in the ways in which they type it, is what they mean."""
    assert parse(text) == command


REFUSED = [
    ("alias add", "Something is missing"),
    ("alias add sales", "`sales` is not an email address."),
    ("alias add sales@", fields.NOT_AN_ADDRESS),
    ("alias add sales7", fields.NOT_AN_ADDRESS),
    (f"alias add {SALES} {ALICE}", "One address at a time."),
    (f"alias add {SALES}, {ALICE} and {BOB}", "One address at a time."),
    (f"alias add {SALES} for {ALICE}", "I do not understand `for`. Write `/email alias add "),
    (f"alias add {SALES} please", "I do not understand `please`."),
    (f"alias add {SALES} bis 2027-01-01", "I do not understand `bis`."),
    (f"alias add {SALES} weil wir", "I do not understand `weil`."),
    (f"alias add {SALES} f\u00fcr {ALICE}", "That is more than I expected."),
    (f"alias add {SALES} {'x' * 21}", "That is more than I expected."),
    (f"alias add {SALES} please because of my password", fields.NOT_AN_ADDRESS),
    (f"alias add {SALES} to", fields.NOT_A_MAILBOX),
    (f"alias add {SALES} to bob", "`bob` is not a mailbox."),
    (f"alias add {SALES} to {ALICE}, {BOB}", "One mailbox at a time."),
    (f"alias add {SALES} to <@U1|alice>", fields.NOT_A_MAILBOX),
    (f"alias add {SALES} to {ALICE} to {BOB}", "It says `to` twice"),
    (f"alias add {SALES} until tomorrow", "`tomorrow` is not a date."),
    (f"alias add {SALES} until 2027-02-30", fields.NOT_A_DATE),
    (f"alias add {SALES} until 20270101", fields.NOT_A_DATE),
    (f"alias add {SALES} until 2027-01-01 2027-01-02", "One date at a time."),
    (f"alias add {SALES} because {'x' * 201}", fields.REASON_TOO_LONG),
    ("alias add m\u00fcller@example.com", BAD_SIGNS),
    ("alias add {{x}}@example.com", BAD_SIGNS),
    ("alias add sa`les@example.com", BAD_SIGNS),
    ("alias add $(id)@example.com", BAD_SIGNS),
    ("alias add s\u0430les@example.com", BAD_SIGNS),
    ("alias add sa\u200bles@example.com", BAD_SIGNS),
    ("alias add &lt;!here&gt;@example.com", BAD_SIGNS),
    (f"alias add {'x' * 65}@example.com", fields.NOT_AN_ADDRESS),
    (f"alias remove {SALES} to {ALICE}", "I do not understand `to`. Write `/email alias remove "),
    ("alias list please", "`please` is not a mailbox."),
    (f"alias list {ALICE} {BOB}", "One mailbox at a time."),
    (f"forward add {SALES}", "Something is missing"),
    (f"forward add {SALES} {ALICE}", "Write `to` before the destinations."),
    (f"forward add {SALES} to sales", "`sales` is not an email address."),
    (f"forward add {SALES} to {ALICE}, bob", "I do not understand `bob`."),
    (f"forward add {SALES} to {ALICE} m\u00fcller@example.com", "That is more than I expected."),
    (f"forward add {SALES} to {ELEVEN}", fields.NOT_DESTINATIONS),
    (f"forward remove {SALES} {ALICE}", "Write `to` before the destinations."),
    (f"forward remove {SALES} to", fields.NOT_DESTINATIONS),
    ("forward list all", "That is more than I expected"),
    ("forward list because all", "That is more than I expected"),
    ("dns", "Something is missing"),
    ("dns localhost", "`localhost` is not a domain."),
    ("dns example.com example.org", "One domain at a time."),
    (f"dns {ALICE}", fields.NOT_A_DOMAIN),
    ("status of everything", "`of` is not the number of a request."),
    ("status R-7K2M R-7K2N", "One request at a time."),
    ("cancel", "Something is missing"),
    ("cancel R-1; drop table", fields.NOT_A_REQUEST),
    ("cancel all", "`all` is not the number of a request."),
    ("status foo", "`foo` is not the number of a request."),
    ("status R-7K0M", fields.NOT_A_REQUEST),
    ("new password", "Write `/email password"),
    (f"reset password {ALICE}", "Write `/email password"),
    (f"alias add {SALES}\nalias add {ALICE}", "One command at a time."),
    (f"alias add {SALES} because x\n\n/email status", "One command at a time."),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_refuses(text: str, sentence: str) -> None:
    """What is not on the list is refused with what is wrong, and a plain word of it at most."""
    with pytest.raises(NotUnderstood) as refusal:
        parse(text)
    assert refusal.value.sentence.startswith(sentence)
    assert not isinstance(refusal.value, TypedPassword)


@pytest.mark.parametrize(
    "text",
    [
        "password hunter2hunter2",
        "password correct horse battery staple",
        f"password {ALICE} hunter2hunter2",
        "password: hunter2hunter2",
        "password=hunter2hunter2",
        "Passwort hunter2hunter2",
        "set password to hunter2hunter2",
        "alias password hunter2hunter2",
        "pasword hunter2hunter2",
        "password\nhunter2hunter2\nalias list",
    ],
)
def test_typed_passwords(text: str) -> None:
    """Who types a password is told what to do, and the password is kept nowhere."""
    with pytest.raises(TypedPassword) as refusal:
        parse(text)
    assert refusal.value.sentence == (
        "Never type a password in Slack. I did not use it. If it is a real one, change it now. "
        "To get a new one, type `/email password`."
    )
    assert "hunter2" not in kept(refusal.value)
    assert "staple" not in kept(refusal.value)


def refusal_of(text: str) -> NotUnderstood | None:
    """Return the refusal of a text, or None where it is understood."""
    try:
        parse(text)
    except NotUnderstood as refusal:
        return refusal
    return None


def kept(error: BaseException) -> str:
    """Return all that an exception and those before it say of themselves."""
    chain = [one for one in (error, error.__cause__, error.__context__) if one is not None]
    own = "".join(f"{one} {one!r} {one.args!r} {vars(one)!r}" for one in chain)
    return own + "".join(traceback.format_exception_only(error))


SECRET = "Zq7-Kx9-Wv3"


@drawn.steady
@given(
    st.sampled_from(
        ["", *(entry.words for entry in catalog.ENTRIES), *(e.example for e in catalog.ENTRIES)]
    ),
    st.lists(drawn.texts | st.sampled_from(["to", "until", "from", "because", SALES]), max_size=6),
)
def test_refusals_hold_no_password(start: str, words: list[str]) -> None:
    """Whatever is typed, the answer is a command or a refusal without what may be a password."""
    refusal = refusal_of(" ".join([start, SECRET, *words]))
    assert refusal is None or SECRET.casefold() not in kept(refusal).casefold()


@drawn.steady
@given(st.text(max_size=400))
def test_never_fails(text: str) -> None:
    """No text makes the parser fail in any other way."""
    refusal = refusal_of(text)
    assert refusal is None or refusal.sentence


@drawn.steady
@given(drawn.texts)
def test_reasons_are_one_line(text: str) -> None:
    """A reason is one visible line, whatever was typed as one."""
    try:
        command = parse(f"alias add {SALES} because {text}")
    except NotUnderstood:
        return
    assert isinstance(command, Wanted)
    assert command.wish.reason.isprintable()
    assert len(command.wish.reason) <= fields.LONGEST_REASON


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=lambda entry: entry.words)
def test_examples_are_understood(entry: catalog.Entry) -> None:
    """Every example in the catalogue is understood, and begins like its entry."""
    assert entry.example.startswith(entry.words)
    assert entry.usage.startswith(entry.words)
    assert not isinstance(parse(entry.example), Menu)
