# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Commands and forms as users enter them, the other modals, and the manifest."""

from __future__ import annotations

import json
import traceback
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.ui import samples
from ansible_collections.postroom.email.tests.bot.ui.samples import (
    HOSTILE,
    check,
    errors,
    seen,
    sent,
)
from postroom_bot.domain import Action, Change, MessageRef
from postroom_bot.slack.manifest import manifest
from postroom_bot.ui import argument_types, parser, views

SALES, ALICE, BOB = "sales@example.com", "alice@example.com", "bob@example.com"


def test_every_form_is_accepted_and_has_the_fields_of_its_errors() -> None:
    """Slack accepts every form, and each form has the fields at which its errors are shown."""
    for form in views.FORMS:
        view = views.form(form)
        check(view)
        assert view["callback_id"] == form
        assert view["submit"]
        fields_of = {block.get("block_id") for block in view["blocks"]}
        assert set(errors(form)) <= fields_of
        everything = dict.fromkeys(fields_of - {None}, "\u0430")
        assert set(errors(form, **everything | {"justification": "x" * 201})) <= fields_of
    menu = views.menu()
    opens = {one["action_id"] for one in samples.buttons(menu)}
    assert opens == {*(f"open_{form}" for form in views.FORMS), "open_password"}
    assert all(f"`/email {one.usage}`" in seen(menu) for one in parser.SUBCOMMANDS)
    check(menu)


def test_a_form_is_read_as_a_request() -> None:
    """A form is read as a request, whether or not its optional fields are filled in."""
    typed = {"target": " Sales@Example.com ", "mailbox": ALICE, "justification": "the\nfair"}
    change = views.read_form("alias_add", sent(**typed, last_day="2027-01-31"))
    more: dict[str, Any] = {
        "mailbox": ALICE,
        "last_day": date(2027, 1, 31),
        "justification": "the fair",
    }
    assert change == Change(Action.ALIAS_ADD, SALES, **more)
    values = sent(target=SALES, mailbox=None, last_day=None, justification=None, destinations=None)
    assert views.read_form("alias_add", values) == Change(Action.ALIAS_ADD, SALES)
    assert views.read_form("alias_remove", values) == Change(Action.ALIAS_REMOVE, SALES)
    assert views.read_form("forward_remove", values) == Change(Action.FORWARD_REMOVE, SALES)
    values = sent(target=SALES, destinations=f"{ALICE},\n{BOB}")
    change = Change(Action.FORWARD_ADD, SALES, destinations=(ALICE, BOB))
    assert views.read_form("forward_add", values) == change


def test_all_errors_are_shown_at_their_fields() -> None:
    """All errors are shown at their fields, as plain text because Slack renders no markup there."""
    assert errors("alias_add").keys() == {"target"}
    typed = {"target": "sales", "mailbox": "<@U1>", "last_day": "soon", "justification": "x" * 201}
    found = errors("alias_add", **typed)
    assert found == {
        "target": argument_types.ADDRESS.error.replace("`", ""),
        "mailbox": argument_types.ADDRESS.error.replace("`", ""),
        "last_day": argument_types.DAY.error.replace("`", ""),
        "justification": argument_types.REASON.error,
    }
    found = errors("forward_add", target=SALES, destinations=f"{ALICE}, bob")
    assert found.keys() == {"destinations"}


texts = st.sampled_from([SALES, *HOSTILE]) | st.text(max_size=300)


def test_the_password_is_shown_once_and_never_sent_back() -> None:
    """A password is shown once and verbatim, in a view without inputs."""
    password = "*kx7q*-`w2mp`-<d9tz>-:up:"
    view = views.password_shown(ALICE, password, "mail.example.com")
    check(view)
    assert json.dumps(view).count(json.dumps(password)) == 1
    verbatim = {"type": "text", "text": password}
    blocks = view["blocks"][1]["elements"]
    assert {"type": "rich_text_preformatted", "elements": [verbatim]} in blocks
    for setting in (f"`{ALICE}`", "`mail.example.com`, port 993", "port 587"):
        assert setting in seen(view)
    assert not {"submit", "private_metadata"} & view.keys()
    assert all(block["type"] != "input" for block in view["blocks"])


def test_views_keep_what_they_are_about() -> None:
    """A view stores the mailbox, request and card that it refers to."""
    for request_id in ("R-7K2M", None):
        view = views.password_confirm(ALICE, request_id)
        check(view)
        assert ALICE in seen(view)
        confirmed = views.read_password_confirm(view["private_metadata"])
        assert confirmed == (ALICE, request_id)
    view = views.deny_reason("R-7K2M", samples.CARD)
    check(view)
    values = {"reason": {"value": {"type": "plain_text_input", "value": " no\nfair "}}}
    denial = views.read_deny_reason(view["private_metadata"], values)
    assert denial == ("R-7K2M", MessageRef(*samples.CARD), "no fair")


URL = "https://bot.example.com/slack/events"


@pytest.mark.parametrize("url", [None, URL])
def test_the_manifest_has_what_the_bot_uses_alone(url: str | None) -> None:
    """The manifest contains exactly the scopes, events, command and shortcut that the bot uses."""
    made = manifest(url)
    scopes = "commands chat:write im:write users:read users:read.email usergroups:read"
    assert made["oauth_config"] == {"scopes": {"bot": scopes.split()}}
    settings, [command] = made["settings"], made["features"]["slash_commands"]
    events = settings["event_subscriptions"]
    usergroups = ["subteam_created", "subteam_members_changed", "subteam_updated"]
    assert events["bot_events"] == ["app_home_opened", *usergroups, "user_change"]
    [shortcut] = made["features"]["shortcuts"]
    assert (command["command"], command["should_escape"]) == (parser.COMMAND, True)
    assert shortcut["callback_id"] == views.SHORTCUT_MENU
    assert settings["socket_mode_enabled"] is (url is None)
    if url:
        assert settings["interactivity"]["request_url"] == url
        assert (events["request_url"], command["url"]) == (url, url)
    else:
        assert "://" not in str(made)


FAIR = date(2027, 1, 31)


def add(**more: Any) -> Change:
    """Return the command for a new alias."""
    return Change(Action.ALIAS_ADD, SALES, **more)


UNDERSTOOD: list[tuple[str, parser.Command]] = [
    ("  \n ", parser.Menu()),
    ("/email", parser.Menu()),
    ("HELP me", parser.Help()),
    (f"  Alias   ADD\u00a0{SALES.upper()} ", add()),
    (f"alias\nadd {SALES}\nto {ALICE}", add(mailbox=ALICE)),
    (f"alias add <mailto:{SALES}|{SALES}> to <mailto:{ALICE}|{ALICE}>", add(mailbox=ALICE)),
    (f"alias add \u201c{SALES}\u201d, to '{ALICE}'.", add(mailbox=ALICE)),
    (f"alias add `{SALES}` because", add()),
    (
        f"alias add {SALES} until 2027-01-31 to {ALICE} because the fair",
        add(mailbox=ALICE, last_day=FAIR, justification="the fair"),
    ),
    (f"alias add {SALES} because &amp;lt;!here&amp;gt;", add(justification="&lt;!here&gt;")),
    (f"alias add {SALES} because <@U1|ann> in <#C1|sales>", add(justification="@ann in sales")),
    (
        f"alias remove {SALES} from {ALICE} because done",
        Change(Action.ALIAS_REMOVE, SALES, mailbox=ALICE, justification="done"),
    ),
    (
        f"forward add {SALES} to {ALICE} , and {BOB}; {ALICE} because x, y",
        Change(Action.FORWARD_ADD, SALES, destinations=(ALICE, BOB), justification="x, y"),
    ),
    (
        f"forward add {SALES} to *_{ALICE} and {BOB}_*, (because: new)",
        Change(Action.FORWARD_ADD, SALES, destinations=(ALICE, BOB), justification="new"),
    ),
    (
        f"forward add {SALES} to _{ALICE}_ and _{BOB}_",
        Change(Action.FORWARD_ADD, SALES, destinations=(ALICE, BOB)),
    ),
    ("alias add _jobs@example.com", Change(Action.ALIAS_ADD, "_jobs@example.com")),
    (
        f"alias add {SALES} (because customers ask (often)).",
        add(justification="customers ask (often)."),
    ),
    (f"alias add {SALES} because (now) a fair (trade)", add(justification="(now) a fair (trade)")),
    (
        f"alias add {SALES} [to {ALICE}] [until 2099-12-31]",
        add(mailbox=ALICE, last_day=date(2099, 12, 31)),
    ),
    (f"forward remove {SALES}", Change(Action.FORWARD_REMOVE, SALES)),
    (f"PASSWORD <mailto:{ALICE}|{ALICE}>", parser.Password(ALICE)),
    ("dns <https://Example.com/>", parser.Dns("example.com")),
    ("dns b\u00fccher.example", parser.Dns("xn--bcher-kva.example")),
    ("status 7k2M.", parser.Status("R-7K2M")),
    ("cancel R-7K2M", parser.Cancel("R-7K2M")),
]


@pytest.mark.parametrize(("text", "command"), UNDERSTOOD)
def test_a_command_is_understood(text: str, command: parser.Command) -> None:
    """A command is understood in every form in which users may type it and Slack may send it."""
    assert parser.parse(text) == command


def test_documented_examples_are_understood() -> None:
    """Each documented example is understood and begins like its subcommand."""
    for one in parser.SUBCOMMANDS:
        example = one.example or one.usage
        assert example.startswith(one.words)
        assert one.usage.startswith(one.words)
        assert not isinstance(parser.parse(example), parser.Menu)


REFUSED = [
    ("alias add", "incomplete"),
    ("alias add sales", argument_types.ADDRESS.error),
    (f"alias add {SALES}, {ALICE} and {BOB}", argument_types.ADDRESS.error),
    (f"alias add {SALES} for {ALICE}", "Write `/email alias add "),
    (f"alias add {SALES} to bob", argument_types.ADDRESS.error),
    (f"alias add {SALES} to {ALICE} to {BOB}", "`to` occurs twice"),
    (f"alias add {SALES} until tomorrow", argument_types.DAY.error),
    (f"alias add {SALES} because {'x' * 201}", argument_types.REASON.error),
    *(
        (f"alias add {local}@example.com", argument_types.ADDRESS.error)
        for local in ("m\u00fcller", "{{x}}", "sa`les")
    ),
    ("\u200balias add", argument_types.INVISIBLE),
    (f"alias add {SALES} until 9999-12-31", "`2099-12-31`"),
    (f"alias add {SALES} until 2100-01-01", "`2099-12-31`"),
    (f"forward add {SALES} to _{ALICE}, bob_", argument_types.DESTINATIONS.error),
    (f"forward add {SALES} {ALICE}", "/email forward add"),
    (f"forward add {SALES} to {ALICE}, bob", argument_types.DESTINATIONS.error),
    ("forward list all", "extra words"),
    ("alias frobnicate", "`/email help`"),
    ("frobnicate", "`/email help`"),
    (f"reset password {ALICE}", "`/email help`"),
    (f"alias add {SALES} because x\n\n/email status", "one command at a time"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_anything_else_is_refused(text: str, sentence: str) -> None:
    """An invalid command is refused with the reason and the grammar."""
    with pytest.raises(parser.InvalidCommand) as refusal:
        parser.parse(text)
    assert sentence in str(refusal.value)
    assert not isinstance(refusal.value, parser.TypedPassword)


def test_a_typed_password_is_not_repeated() -> None:
    """A password in a command appears neither in the answer nor in the exception."""
    for text in (
        "password hunter2hunter2",
        f"password {ALICE} hunter2hunter2",
        "password: hunter2hunter2",
        "alias password hunter2hunter2",
        "pasword hunter2hunter2",
        "password\nhunter2hunter2\nalias list",
    ):
        with pytest.raises(parser.TypedPassword) as refusal:
            parser.parse(text)
        assert "Never type a password" in str(refusal.value)
        assert "hunter2" not in everything_in(refusal.value)


def everything_in(error: BaseException) -> str:
    """Return all text that an exception and its causes can show."""
    chain = [one for one in (error, error.__cause__, error.__context__) if one is not None]
    own = "".join(f"{one} {one!r} {one.args!r} {vars(one)!r}" for one in chain)
    return own + "".join(traceback.format_exception_only(error))


SECRET = "Zq7-Kx9-Wv3"
starts = [*(one.words for one in parser.SUBCOMMANDS), *(one.example for one in parser.SUBCOMMANDS)]


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["", *starts]),
    st.lists(texts | st.sampled_from(["to", "until", "from", "because", SALES]), max_size=6),
)
def test_any_text_is_a_command_or_a_refusal_without_secrets(start: str, words: list[str]) -> None:
    """Any text is a command or is refused, and a refusal never repeats a possible password."""
    said = ""
    try:
        command = parser.parse(" ".join([start, SECRET, *words]))
    except parser.InvalidCommand as refusal:
        said = everything_in(refusal).casefold()
    else:
        reason = command.justification if isinstance(command, Change) else ""
        assert not reason or reason.isprintable()
        assert len(reason) <= argument_types.MAX_REASON
    assert SECRET.casefold() not in said
