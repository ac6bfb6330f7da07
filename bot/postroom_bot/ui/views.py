# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modal windows other than forms: the menu, a new password, why a request is denied, plain notes.

What comes back with a view is small JSON of ids and addresses; Slack signs it, and nothing is
trusted to it that isn't checked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.domain import MessageRef
from postroom_bot.ui import commands, fields, ids
from postroom_bot.ui.blocks import (
    Block,
    View,
    actions,
    button,
    input_of,
    modal,
    section,
    sections,
    text_input,
    verbatim,
)
from postroom_bot.ui.markup import address, one_line, sentence

_MAX_TITLE = 24

#: What the forms are opened by: action id, label, what a screen reader says.
_FORM_BUTTONS = (
    (ids.OPEN_ALIAS_ADD, "Add an address", "Ask for one more address for a mailbox"),
    (ids.OPEN_ALIAS_REMOVE, "Remove an address", "Ask for an address to be taken away"),
    (ids.OPEN_FORWARD_ADD, "Forward mail", "Ask for mail to an address to go on to others"),
    (ids.OPEN_FORWARD_REMOVE, "Stop forwarding", "Ask for forwarding to stop"),
    (ids.OPEN_PASSWORD, "New password", "Make a new password for your mailbox"),
)


def form_buttons() -> list[Block]:
    """Return the rows of buttons that open the forms and the password window."""
    made = [button(label, name, says=says) for name, label, says in _FORM_BUTTONS]
    return [actions(*made)]


def menu() -> View:
    """Return what `/email` alone and the shortcut open."""
    blocks = [
        section("What do you want to do?"),
        *form_buttons(),
        *sections(commands.lines()),
    ]
    return modal(ids.MENU, "Email", blocks)


class Confirmed(NamedTuple):
    """Somebody pressed *Make it*.

    :param mailbox: whose password is to be made
    :param request_id: the approved request for it; None for one's own mailbox
    """

    mailbox: str
    request_id: str | None


def password_confirm(mailbox: str, request_id: str | None = None) -> View:
    """Return the question before a new password is made."""
    text = (
        f"A new password for {address(mailbox)} will be made. The old one stops working at once, "
        "on every phone and mail program."
    )
    return modal(
        ids.PASSWORD_CONFIRM,
        "New password",
        [section(text)],
        submit="Make it",
        close="Cancel",
        metadata=json.dumps({"mailbox": mailbox, "request": request_id}),
    )


def read_password_confirm(private_metadata: str) -> Confirmed:
    """Return what `password_confirm` was about.

    :raises ValueError: it is not from that view
    """
    data = _read(private_metadata, {"mailbox", "request"})
    return Confirmed(data["mailbox"], data["request"])


def password_shown(mailbox: str, password: str, mail_host: str) -> View:
    """Return the only place where a new password is ever seen.

    :param mail_host: the host that mail programs connect to
    """
    settings = (
        f"User name: {address(mailbox)}",
        f"Incoming mail (IMAP): {address(mail_host)}, port 993, SSL/TLS",
        f"Outgoing mail (SMTP): {address(mail_host)}, port 587, STARTTLS",
    )
    return modal(
        ids.PASSWORD_SHOWN,
        "New password",
        [
            section("Shown once. Copy it now; closing this window removes it."),
            verbatim(password),
            section("Enter it on every phone and mail program, with these settings:"),
            *sections(settings),
        ],
    )


def deny_reason(request_id: str, card: MessageRef) -> View:
    """Return the question why a request is denied.

    :param card: the message whose button was pressed
    """
    return modal(
        ids.DENY_REASON,
        f"Deny {request_id}"[:_MAX_TITLE],
        [
            input_of(
                ids.REASON,
                "Reason",
                text_input(fields.MAX_REASON),
                hint="The requester and the approvers see it.",
            )
        ],
        submit="Deny it",
        close="Cancel",
        metadata=json.dumps({"request": request_id, "channel": card.channel, "ts": card.ts}),
    )


class Denial(NamedTuple):
    """Somebody denies a request, on this card."""

    request_id: str
    card: MessageRef
    reason: str


def read_deny_reason(private_metadata: str, values: Mapping[str, Any]) -> Denial:
    """Return what was sent from `deny_reason`.

    :param values: the view's ``state.values``
    :raises ValueError: it is not from that view
    """
    data = _read(private_metadata, {"request", "channel", "ts"})
    typed = values.get(ids.REASON, {}).get(ids.VALUE, {}).get("value") or ""
    reason = one_line(typed, fields.MAX_REASON)
    return Denial(data["request"], MessageRef(data["channel"], data["ts"]), reason)


def working(title: str, *, makes: bool = False) -> View:
    """Return what is seen while something is being done.

    :param makes: whether a password is being made, which only this window will show
    """
    text = "Working on it. If this stays for a minute, close the window and try again."
    if makes:
        text = "Making the password. Leave this window open: it is shown here and nowhere else."
    return modal(ids.WORKING, _title(title), [section(text)])


def note(title: str, text: str) -> View:
    """Return a window with a sentence in it.

    :param text: a sentence in which backticks set off addresses, not escaped yet
    """
    return modal(ids.NOTE, _title(title), [section(sentence(text))])


def _title(text: str) -> str:
    return one_line(text, _MAX_TITLE) or commands.COMMAND


def _read(private_metadata: str, keys: set[str]) -> dict[str, Any]:
    data = json.loads(private_metadata)
    if not isinstance(data, dict) or set(data) != keys:
        raise ValueError("What came back with the view is not what was sent with it.")
    return data
