# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The forms that request a change, and reading what was submitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from postroom_bot.domain import Action, Change
from postroom_bot.ui import fields, ids
from postroom_bot.ui.blocks import (
    Block,
    View,
    date_input,
    field,
    modal,
    section,
    select,
    text_input,
)
from postroom_bot.ui.markup import MAX_ADDRESS

_T = TypeVar("_T")

_MAX_LIST = 3000
_MAX_OPTIONS = 100
_MAX_OPTION = 75
_MISSING = "Fill this in."


class FormErrors(Exception):
    """The submission is invalid.

    :param errors: block ids and what is wrong, for Slack's ``response_action`` ``errors``
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(", ".join(sorted(errors)))
        self.errors = dict(errors)


class _Form(NamedTuple):
    title: str
    text: str
    fields: list[Block]


def form(callback_id: str, aliases: Sequence[str] = ()) -> View:
    """Return the form with this id, one of the values of ``ids.FORM_OF``.

    :param aliases: the person's own, to select one to remove
    """
    made = _FORMS[callback_id]
    blocks = made.fields
    fits = 0 < len(aliases) <= _MAX_OPTIONS and max(map(len, aliases)) <= _MAX_OPTION
    if callback_id == ids.ALIAS_REMOVE and fits:
        hint = "For another mailbox, type /email alias remove ADDRESS from MAILBOX."
        blocks = [field(ids.ADDRESS, "Address to remove", select(aliases), hint=hint)]
    reason = field(
        ids.REASON,
        "Reason",
        text_input(fields.MAX_REASON),
        hint="The approvers see it.",
        optional=True,
    )
    blocks = [section(made.text), *blocks, reason]
    return modal(callback_id, made.title, blocks, submit="Send request", close="Cancel")


def read(callback_id: str, values: Mapping[str, Any]) -> Change:
    """Return the change that a submitted form requests.

    :param values: the view's ``state.values``
    :raises FormErrors: a value is missing or invalid
    """
    errors: dict[str, str] = {}

    def optional(block: str, read: Callable[[str], _T | None], problem: str) -> _T | None:
        entered = values.get(block, {}).get(ids.VALUE, {})
        selected = (entered.get("selected_option") or {}).get("value")
        text = (entered.get("value") or entered.get("selected_date") or selected or "").strip()
        value = read(text) if text else None
        if text and value is None:
            # Slack renders no markup in these messages.
            errors[block] = problem.replace("`", "")
        return value

    def required(block: str, read: Callable[[str], _T | None], problem: str) -> _T | None:
        value = optional(block, read, problem)
        if value is None:
            errors.setdefault(block, _MISSING)
        return value

    action = _ACTIONS[callback_id]
    destinations = required if action is Action.FORWARD_ADD else optional
    change = Change(
        action,
        required(ids.ADDRESS, fields.address, fields.NOT_AN_ADDRESS) or "",
        mailbox=optional(ids.MAILBOX, fields.address, fields.NOT_AN_ADDRESS),
        destinations=(
            destinations(ids.DESTINATIONS, fields.address_list, fields.NOT_DESTINATIONS) or ()
        )
        if action in (Action.FORWARD_ADD, Action.FORWARD_REMOVE)
        else (),
        expires_on=optional(ids.EXPIRES_ON, fields.day, fields.NOT_A_DATE),
        reason=optional(ids.REASON, fields.reason, fields.REASON_TOO_LONG) or "",
    )
    if errors:
        raise FormErrors(errors)
    return change


_ACTIONS = {
    ids.ALIAS_ADD: Action.ALIAS_ADD,
    ids.ALIAS_REMOVE: Action.ALIAS_REMOVE,
    ids.FORWARD_ADD: Action.FORWARD_ADD,
    ids.FORWARD_REMOVE: Action.FORWARD_REMOVE,
}


def _address(label: str, example: str) -> Block:
    return field(ids.ADDRESS, label, text_input(MAX_ADDRESS), hint=f"Such as {example}")


def _destinations(hint: str, *, optional: bool) -> Block:
    element = text_input(_MAX_LIST, multiline=True)
    return field(ids.DESTINATIONS, "Destinations", element, hint=hint, optional=optional)


def _last_day(hint: str) -> Block:
    return field(ids.EXPIRES_ON, "Last day", date_input(), hint=hint, optional=True)


_MAILBOX = field(
    ids.MAILBOX,
    "Mailbox",
    text_input(MAX_ADDRESS),
    hint="Leave this empty for your own mailbox.",
    optional=True,
)

_FORMS: Mapping[str, _Form] = {
    ids.ALIAS_ADD: _Form(
        "Add an address",
        "Mail to the new address is delivered to the mailbox.",
        [
            _address("New address", "sales@example.com"),
            _MAILBOX,
            _last_day("The address is removed after this day. Leave this empty to keep it."),
        ],
    ),
    ids.ALIAS_REMOVE: _Form(
        "Remove an address",
        "Mail to the address is no longer accepted.",
        [_address("Address to remove", "sales@example.com"), _MAILBOX],
    ),
    ids.FORWARD_ADD: _Form(
        "Forward mail",
        "Mail to the address is forwarded to the destinations. No copy is kept.",
        [
            _address("Address to forward", "team@example.com"),
            _destinations(
                f"Up to {fields.MAX_DESTINATIONS} addresses, separated by commas.", optional=False
            ),
            _last_day("Forwarding ends after this day. Leave this empty to keep it."),
        ],
    ),
    ids.FORWARD_REMOVE: _Form(
        "Stop forwarding",
        "Mail to the address is no longer forwarded to these destinations.",
        [
            _address("Forwarded address", "team@example.com"),
            _destinations("Leave this empty to stop forwarding to all of them.", optional=True),
        ],
    ),
}
