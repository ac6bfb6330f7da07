# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modals other than forms: the menu, a new password, the reason of a denial, and notes.

The metadata of a view is a small JSON object of ids and addresses. Everything in it is checked
again when the view is submitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.domain import MessageRef
from postroom_bot.ui import fields, ids
from postroom_bot.ui.blocks import (
    Block,
    View,
    actions,
    button,
    field,
    modal,
    section,
    sections,
    text_input,
    verbatim,
)
from postroom_bot.ui.markup import code, one_line
from postroom_bot.ui.parser import help_lines

TITLE = "Email"
PASSWORD_TITLE = "New password"  # noqa: S105 - a title


def form_buttons() -> Block:
    """Return the row of buttons that open the forms and the password modal."""
    return actions(
        button("Add an address", ids.OPEN_ALIAS_ADD, "Request another address for a mailbox"),
        button("Remove an address", ids.OPEN_ALIAS_REMOVE, "Request the removal of an address"),
        button("Forward mail", ids.OPEN_FORWARD_ADD, "Request forwarding of an address"),
        button("Stop forwarding", ids.OPEN_FORWARD_REMOVE, "Request the end of forwarding"),
        button("New password", ids.OPEN_PASSWORD, "Create a new password for your mailbox"),
    )


def menu() -> View:
    """Return the menu."""
    blocks = [section("What do you want to do?"), form_buttons(), *sections(help_lines())]
    return modal(ids.MENU, TITLE, blocks)


class Confirmed(NamedTuple):
    """The confirmation to create a password.

    :param request_id: the approved request; None for the person's own mailbox
    """

    mailbox: str
    request_id: str | None


def password_confirm(mailbox: str, request_id: str | None = None) -> View:
    """Return the question before a new password is created."""
    text = (
        f"Create a new password for {code(mailbox)}? The current one stops working immediately on"
        " all devices."
    )
    return modal(
        ids.PASSWORD_CONFIRM,
        PASSWORD_TITLE,
        [section(text)],
        submit="Create password",
        close="Cancel",
        metadata=json.dumps({"mailbox": mailbox, "request": request_id}),
    )


def read_password_confirm(private_metadata: str) -> Confirmed:
    """Return the metadata of `password_confirm`.

    :raises ValueError: it belongs to another view
    """
    data = _metadata(private_metadata, {"mailbox", "request"})
    return Confirmed(data["mailbox"], data["request"])


def password_shown(mailbox: str, password: str, mail_host: str) -> View:
    """Return the only view that ever contains a new password.

    :param mail_host: the host name for mail programs
    """
    return modal(
        ids.PASSWORD_SHOWN,
        PASSWORD_TITLE,
        [
            section("Shown once. Copy it now; closing this window removes it."),
            verbatim(password),
            section("Enter it on all your devices, with these settings:"),
            *sections(
                [
                    f"User name: {code(mailbox)}",
                    f"Incoming mail (IMAP): {code(mail_host)}, port 993, SSL/TLS",
                    f"Outgoing mail (SMTP): {code(mail_host)}, port 587, STARTTLS",
                ]
            ),
        ],
    )


def deny_reason(request_id: str, card: MessageRef) -> View:
    """Return the question for the reason of a denial.

    :param card: the message whose button was pressed
    """
    reason = field(
        ids.REASON,
        "Reason",
        text_input(fields.MAX_REASON),
        hint="The requester and the approvers see it.",
    )
    return modal(
        ids.DENY_REASON,
        f"Deny {request_id}",
        [reason],
        submit="Deny",
        close="Cancel",
        metadata=json.dumps({"request": request_id, "channel": card.channel, "ts": card.ts}),
    )


class Denial(NamedTuple):
    """A denial of a request, on this card."""

    request_id: str
    card: MessageRef
    reason: str


def read_deny_reason(private_metadata: str, values: Mapping[str, Any]) -> Denial:
    """Return the submission of `deny_reason`.

    :param values: the view's ``state.values``
    :raises ValueError: it belongs to another view
    """
    data = _metadata(private_metadata, {"request", "channel", "ts"})
    typed = values.get(ids.REASON, {}).get(ids.VALUE, {}).get("value") or ""
    reason = one_line(typed, fields.MAX_REASON)
    return Denial(data["request"], MessageRef(data["channel"], data["ts"]), reason)


def working(title: str, *, creates_password: bool = False) -> View:
    """Return the view that is shown while the bot works."""
    text = "Working on it. If this takes longer than a minute, close the window and try again."
    if creates_password:
        text = "Creating the password. Keep this window open: the password appears only here."
    return modal(ids.WORKING, title, [section(text)])


def note(title: str, text: str) -> View:
    """Return a view with a sentence of markup."""
    return modal(ids.NOTE, title, [section(text)])


def _metadata(private_metadata: str, keys: set[str]) -> dict[str, Any]:
    data = json.loads(private_metadata)
    if not isinstance(data, dict) or set(data) != keys:
        raise ValueError("The view's metadata does not belong to this view.")
    return data
