# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The views: the Home tab, and the modals with the menu, the forms, a new password and notes.

The metadata of a view is a small JSON object with ids and addresses. The ids and addresses are
checked again when the view is submitted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slack_sdk.models.blocks import (
    DatePickerElement,
    InputBlock,
    InputInteractiveElement,
    Option,
    PlainTextInputElement,
    StaticSelectElement,
)

from postroom_bot.domain import Action, Change, MessageRef, Person, Reason, Request
from postroom_bot.ui import messages, parser
from postroom_bot.ui.argument_types import (
    ADDRESS,
    DAY,
    DESTINATIONS,
    MAX_DESTINATIONS,
    MAX_REASON,
    REASON,
    ArgumentType,
    InvalidValue,
)
from postroom_bot.ui.markup import (
    MAX_ADDRESS,
    VALUE,
    Block,
    View,
    button,
    code,
    header,
    modal,
    one_line,
    section,
    sections,
    verbatim,
)
from postroom_bot.ui.reason_texts import reason_text

TITLE = "Email"
PASSWORD_TITLE = "New password"  # noqa: S105 - a title

# The ids of the shortcut, of the buttons that open a form or the password modal, and of views that
# can be submitted.
SHORTCUT_MENU = "postroom_menu"
OPEN = "open_"
OPEN_PASSWORD = f"{OPEN}password"
PASSWORD_CONFIRM = "password_confirm"  # noqa: S105 - the name of a view
DENY_REASON = "deny_reason"

_MAX_ALIASES = 50
MAX_REQUESTS = 10
_MAX_OPTIONS = 100
_MAX_OPTION = 75

_REASON_INPUT = PlainTextInputElement(action_id=VALUE, max_length=MAX_REASON)
_INPUTS: Mapping[ArgumentType, InputInteractiveElement] = {
    ADDRESS: PlainTextInputElement(action_id=VALUE, max_length=MAX_ADDRESS),
    DESTINATIONS: PlainTextInputElement(action_id=VALUE, max_length=3000, multiline=True),
    DAY: DatePickerElement(action_id=VALUE),
    REASON: _REASON_INPUT,
}


class FormErrors(Exception):
    """The submitted form is invalid.

    :param errors: error messages by block id, for Slack's ``response_action`` ``errors``
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(", ".join(sorted(errors)))
        self.errors = dict(errors)


class Form(NamedTuple):
    """A form that requests a change.

    :param title: the title, and the label of the button that opens the form
    :param description: the description of that button, for screen readers
    :param text: what the change does
    :param label: the label of the address field
    :param hints: hints for fields, keyed by the field's name, in addition to the common hints
    """

    action: Action
    title: str
    description: str
    text: str
    label: str
    hints: Mapping[str, str]

    @property
    def arguments(self) -> Iterator[parser.Argument]:
        """The arguments that the form asks for. Each argument's name is also its block id."""
        (subcommand,) = (one for one in parser.SUBCOMMANDS if one.creates is self.action)
        return iter((*subcommand.arguments, parser.Argument("justification", REASON)))


_LABELS = {
    "mailbox": "Mailbox",
    "destinations": "Destinations",
    "last_day": "Last day",
    "justification": "Reason",
}
_HINTS = {
    "mailbox": "Leave this empty for your own mailbox.",
    "justification": "The approvers will see this reason.",
}
#: The forms, keyed by the callback id of their view.
FORMS: Mapping[str, Form] = {
    "alias_add": Form(
        Action.ALIAS_ADD,
        "Add an address",
        "Request another address for a mailbox",
        "Mail to the new address is delivered to the mailbox.",
        "New address",
        {
            "target": "For example, sales@example.com",
            "last_day": "The address is removed after this day. Leave this empty to keep it.",
        },
    ),
    "alias_remove": Form(
        Action.ALIAS_REMOVE,
        "Remove an address",
        "Request the removal of an address",
        "Mail to the address is no longer accepted.",
        "Address to remove",
        {"target": "For example, sales@example.com"},
    ),
    "forward_add": Form(
        Action.FORWARD_ADD,
        "Forward mail",
        "Request forwarding of an address",
        "Mail to the address is forwarded to the destinations. No copy is kept.",
        "Address to forward",
        {
            "target": "For example, team@example.com",
            "destinations": f"Up to {MAX_DESTINATIONS} addresses, separated by commas.",
            "last_day": "Forwarding ends after this day. Leave this empty to keep it.",
        },
    ),
    "forward_remove": Form(
        Action.FORWARD_REMOVE,
        "Stop forwarding",
        "Request an end to forwarding",
        "Mail to the address is no longer forwarded to these destinations.",
        "Forwarded address",
        {
            "target": "For example, team@example.com",
            "destinations": "Leave this empty to stop all forwarding of the address.",
        },
    ),
}


def form(callback_id: str, aliases: Sequence[str] = ()) -> View:
    """Return the form with this callback id.

    :param aliases: the person's aliases, to select the one to remove
    """
    made = FORMS[callback_id]
    labels, hints = {"target": made.label, **_LABELS}, {**_HINTS, **made.hints}
    fields = {
        name: InputBlock(
            block_id=name,
            label=labels[name],
            hint=hints[name],
            element=_INPUTS[argument_type],
            optional=not is_required,
        )
        for name, argument_type, _keyword, is_required in made.arguments
    }
    fits = 0 < len(aliases) <= _MAX_OPTIONS and max(map(len, aliases)) <= _MAX_OPTION
    if made.action is Action.ALIAS_REMOVE and fits:
        del fields["mailbox"]
        options = [Option(text=alias, value=alias) for alias in aliases]
        select = StaticSelectElement(action_id=VALUE, options=options)
        hint = "For another mailbox, type /email alias remove ADDRESS from MAILBOX."
        fields["target"] = InputBlock(
            block_id="target", label=made.label, hint=hint, element=select
        )
    blocks = [section(made.text), *(one.to_dict() for one in fields.values())]
    return modal(callback_id, made.title, blocks, submit="Send request")


def read_form(callback_id: str, values: Mapping[str, Any]) -> Change:
    """Return the change that a submitted form requests.

    :param values: the view's ``state.values``
    :raises FormErrors: if a value is missing or invalid
    """
    errors: dict[str, str] = {}
    read: dict[str, Any] = {}
    for name, argument_type, _keyword, is_required in FORMS[callback_id].arguments:
        entered = values.get(name, {}).get(VALUE, {})
        selected = (entered.get("selected_option") or {}).get("value")
        text = (entered.get("value") or entered.get("selected_date") or selected or "").strip()
        if text:
            try:
                read[name] = argument_type.parse(text)
            except InvalidValue as error:
                # Slack renders no markup in these messages.
                errors[name] = str(error).replace("`", "")
        elif is_required:
            errors[name] = "Fill this in."
    if errors:
        raise FormErrors(errors)
    return Change(FORMS[callback_id].action, **read)


def form_buttons() -> Block:
    """Return the row of buttons that open the forms and the password modal."""
    buttons = [button(one.title, OPEN + name, one.description) for name, one in FORMS.items()]
    password = button("New password", OPEN_PASSWORD, "Create a new password for your mailbox")
    return {"type": "actions", "elements": [*buttons, password]}


def menu() -> View:
    """Return the menu."""
    lines = sections(parser.help_lines())
    return modal("menu", TITLE, [section("What do you want to do?"), form_buttons(), *lines])


def password_confirm(mailbox: str, request_id: str | None = None) -> View:
    """Return the modal that asks for confirmation before a password is created."""
    text = (
        f"Create a new password for {code(mailbox)}? The current one will immediately stop working"
        " on all devices."
    )
    return modal(
        PASSWORD_CONFIRM,
        PASSWORD_TITLE,
        [section(text)],
        submit="Create password",
        metadata=json.dumps({"mailbox": mailbox, "request": request_id}),
    )


def read_password_confirm(private_metadata: str) -> tuple[str, str | None]:
    """Return the mailbox and the request's id from the metadata of `password_confirm`."""
    data = json.loads(private_metadata)
    return data["mailbox"], data["request"]


def password_shown(mailbox: str, password: str, mail_host: str) -> View:
    """Return the view that shows a new password. No other view contains one."""
    return modal(
        "password_shown",
        PASSWORD_TITLE,
        [
            section("This password is shown only once. Copy it before you close this window."),
            verbatim(password),
            section("Enter the password on all your devices, with these settings:"),
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
    """Return the modal that asks for the reason for a denial.

    :param card: the message whose button was pressed
    """
    hint = "The requester and the approvers will see this reason."
    reason = InputBlock(block_id="reason", label="Reason", hint=hint, element=_REASON_INPUT)
    return modal(
        DENY_REASON,
        f"Deny {request_id}",
        [reason.to_dict()],
        submit="Deny",
        metadata=json.dumps({"request": request_id, "channel": card.channel, "ts": card.ts}),
    )


def read_deny_reason(
    private_metadata: str, values: Mapping[str, Any]
) -> tuple[str, MessageRef, str]:
    """Return the request's id, the card and the reason from a submitted `deny_reason`.

    :param values: the view's ``state.values``
    """
    data = json.loads(private_metadata)
    typed = values.get("reason", {}).get(VALUE, {}).get("value") or ""
    reason = one_line(typed, MAX_REASON)
    return data["request"], MessageRef(data["channel"], data["ts"]), reason


def loading_modal(title: str, *, creates_password: bool = False) -> View:
    """Return the modal to show while the bot is working."""
    text = "Working on it. If this takes longer than a minute, close the window and try again."
    if creates_password:
        text = "Creating the password. Keep this window open: the password appears only here."
    return modal("working", title, [section(text)])


def text_modal(text: str, title: str = TITLE) -> View:
    """Return a modal that shows text in Slack markup."""
    return modal("note", title, [section(text)])


def home_tab(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
    approvals_count: int | None = None,
) -> View:
    """Return a person's Home tab.

    :param aliases: the aliases of their mailbox; None if the mail service did not respond
    :param approvals: the pending requests that they may approve, or the first of them
    :param approvals_count: the number of these requests if `approvals` does not have all of them
    """
    title = header("My mail")
    if person.obstacle:
        return {"type": "home", "blocks": [title, section(reason_text(person.obstacle))]}
    if person.mailbox is None:
        lines = [reason_text(person.mailbox_obstacle or Reason("mailbox.unknown"))]
    elif aliases is None:
        lines = [
            f"Your mailbox: {code(person.mailbox)}",
            "The other addresses are not available right now. Open this tab again later.",
        ]
    else:
        shown = [f"Also: {code(alias)}" for alias in sorted(aliases)[:_MAX_ALIASES]]
        lines = [f"Your mailbox: {code(person.mailbox)}", *shown]
        if len(aliases) > _MAX_ALIASES:
            lines.append(f"And {len(aliases) - _MAX_ALIASES} more.")
    blocks = [title, *sections(lines), form_buttons(), header("My open requests")]
    for request in requests[:MAX_REQUESTS]:
        blocks.append(section(messages.summary(request)))
        if request.is_cancellable_by_requester:
            buttons = [messages.cancel_button(request)]
            blocks.append({"type": "actions", "elements": buttons})
    blocks += _remainder(len(requests), "You have no open requests.")
    blocks.append(header("Waiting for my approval"))
    cards: dict[str, MessageRef] = {}
    for request in approvals[:MAX_REQUESTS]:
        where = f" Its card is in <#{request.card.channel}>." if request.card else ""
        blocks += sections([f"{messages.title(request)}.{where}", *messages.asks(request)])
        if request.card:
            # A vote counts only on the request's current card, so the view keeps the card that it
            # shows. Only the bot can publish the view, and Slack returns it with the button press.
            cards[request.id] = request.card
            blocks.append({"type": "actions", "elements": [*messages.vote_buttons(request)]})
    count = len(approvals) if approvals_count is None else approvals_count
    blocks += _remainder(count, "No requests are waiting for your approval.")
    return {"type": "home", "blocks": blocks, "private_metadata": json.dumps(cards)}


def read_home_card(private_metadata: str, request_id: str) -> MessageRef:
    """Return the card of a request, from the metadata of a Home tab that shows the request."""
    cards = json.loads(private_metadata or "{}")
    return MessageRef(*cards.get(request_id, ("", "")))


def _remainder(count: int, none: str) -> list[Block]:
    """Return the line after a list: how many requests are omitted, or `none` if it is empty."""
    if not count:
        return [section(none)]
    more = count - MAX_REQUESTS
    return [section(f"And {more} more.")] if more > 0 else []
