# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The forms, and reading what was sent from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from postroom_bot.domain import Action, Change
from postroom_bot.ui import fields, ids
from postroom_bot.ui.blocks import Block, View, input_of, modal, plain_text, section, text_input
from postroom_bot.ui.markup import MAX_ADDRESS

_T = TypeVar("_T")

_MAX_LIST = 3000
_MAX_OPTIONS = 100
_MAX_OPTION = 75
_MISSING = "Fill this in."


class FormErrors(Exception):
    """What was sent is not right.

    :param errors: from the block's id, what is wrong with it; as Slack wants it in an answer with
        ``response_action`` ``errors``
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(", ".join(sorted(errors)))
        self.errors = dict(errors)


def form(callback_id: str, aliases: Sequence[str] = ()) -> View:
    """Return the form of this name, one of the values of ``ids.FORM_OF``.

    :param aliases: the person's own, to choose from where one is to be removed
    """
    title, says, blocks = _FORMS[callback_id]()
    if callback_id == ids.ALIAS_REMOVE and _fit_a_list(aliases):
        blocks = [_choice(aliases)]
    return modal(
        callback_id, title, [section(says), *blocks, _reason()], submit="Ask for it", close="Cancel"
    )


def read(callback_id: str, values: Mapping[str, Any]) -> Change:
    """Return what somebody asks for by a form.

    :param values: the view's ``state.values``
    :raises FormErrors: something is missing or not right
    """
    sent = _Sent(values)
    change = _READERS[callback_id](sent)
    if sent.errors:
        raise FormErrors(sent.errors)
    return change


class _Sent:
    """What was sent, read field by field; what is wrong is collected."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.errors: dict[str, str] = {}

    def maybe(self, block: str, read: Callable[[str], _T | None], problem: str) -> _T | None:
        """Return a field's value, or None where nothing or nothing right was entered."""
        entered = self._values.get(block, {}).get(ids.VALUE, {})
        chosen = (entered.get("selected_option") or {}).get("value")
        text = (entered.get("value") or entered.get("selected_date") or chosen or "").strip()
        if not text:
            return None
        value = read(text)
        if value is None:
            self.errors[block] = fields.why_not(text, problem).replace("`", "")
        return value

    def address(self) -> str:
        """Return the address that it is about; where it is missing, that is an error."""
        value = self.maybe(ids.ADDRESS, fields.address, fields.NOT_AN_ADDRESS)
        if value is None:
            self.errors.setdefault(ids.ADDRESS, _MISSING)
        return value or ""

    def mailbox(self) -> str | None:
        """Return the mailbox, or None for one's own."""
        return self.maybe(ids.MAILBOX, fields.address, fields.NOT_A_MAILBOX)

    def destinations(self) -> tuple[str, ...]:
        """Return the destinations that were entered, if any."""
        return self.maybe(ids.DESTINATIONS, fields.address_list, fields.NOT_DESTINATIONS) or ()

    def reason(self) -> str:
        """Return the reason, if any."""
        return self.maybe(ids.REASON, fields.reason, fields.REASON_TOO_LONG) or ""


def _read_alias_add(sent: _Sent) -> Change:
    return Change(
        Action.ALIAS_ADD,
        sent.address(),
        mailbox=sent.mailbox(),
        expires_on=sent.maybe(ids.EXPIRES_ON, fields.day, fields.NOT_A_DATE),
        reason=sent.reason(),
    )


def _read_alias_remove(sent: _Sent) -> Change:
    return Change(Action.ALIAS_REMOVE, sent.address(), mailbox=sent.mailbox(), reason=sent.reason())


def _read_forward_add(sent: _Sent) -> Change:
    destinations = sent.destinations()
    if not destinations:
        sent.errors.setdefault(ids.DESTINATIONS, _MISSING)
    return Change(
        Action.FORWARD_ADD,
        sent.address(),
        destinations=destinations,
        expires_on=sent.maybe(ids.EXPIRES_ON, fields.day, fields.NOT_A_DATE),
        reason=sent.reason(),
    )


def _read_forward_remove(sent: _Sent) -> Change:
    return Change(
        Action.FORWARD_REMOVE,
        sent.address(),
        destinations=sent.destinations(),
        reason=sent.reason(),
    )


_READERS: Mapping[str, Callable[[_Sent], Change]] = {
    ids.ALIAS_ADD: _read_alias_add,
    ids.ALIAS_REMOVE: _read_alias_remove,
    ids.FORWARD_ADD: _read_forward_add,
    ids.FORWARD_REMOVE: _read_forward_remove,
}


_Form = tuple[str, str, list[Block]]


def _alias_add() -> _Form:
    return (
        "Add an address",
        "Mail to the new address will arrive in the mailbox.",
        [
            _address("New address", "Such as sales@example.com"),
            _mailbox(),
            _last_day("The address is removed after this day. Leave it out to keep the address."),
        ],
    )


def _alias_remove() -> _Form:
    return (
        "Remove an address",
        "Mail to the address will no longer arrive.",
        [_address("Address to remove", "Such as sales@example.com"), _mailbox()],
    )


def _fit_a_list(aliases: Sequence[str]) -> bool:
    """Return whether Slack takes them as the options of a list."""
    return 0 < len(aliases) <= _MAX_OPTIONS and max(map(len, aliases)) <= _MAX_OPTION


def _choice(aliases: Sequence[str]) -> Block:
    options = [{"text": plain_text(one), "value": one} for one in aliases]
    return input_of(
        ids.ADDRESS,
        "Address to remove",
        {"type": "static_select", "options": options},
        hint="For another mailbox, type /email alias remove ADDRESS from MAILBOX.",
    )


def _forward_add() -> _Form:
    return (
        "Forward mail",
        "Mail to the address will go on to the destinations; it is kept nowhere else.",
        [
            _address("Address to forward", "Such as team@example.com"),
            _destinations(
                f"Up to {fields.MAX_DESTINATIONS} addresses, separated by commas.", optional=False
            ),
            _last_day("Forwarding to them ends after this day. Leave it out to keep them."),
        ],
    )


def _forward_remove() -> _Form:
    return (
        "Stop forwarding",
        "Mail to the address will no longer go on to these destinations.",
        [
            _address("Address that is forwarded", "Such as team@example.com"),
            _destinations("Leave it empty to stop all of it.", optional=True),
        ],
    )


_FORMS: Mapping[str, Callable[[], _Form]] = {
    ids.ALIAS_ADD: _alias_add,
    ids.ALIAS_REMOVE: _alias_remove,
    ids.FORWARD_ADD: _forward_add,
    ids.FORWARD_REMOVE: _forward_remove,
}


def _address(label: str, hint: str) -> Block:
    return input_of(ids.ADDRESS, label, text_input(MAX_ADDRESS), hint=hint)


def _mailbox() -> Block:
    return input_of(
        ids.MAILBOX,
        "Mailbox",
        text_input(MAX_ADDRESS),
        hint="Leave it empty for your own mailbox.",
        optional=True,
    )


def _destinations(hint: str, *, optional: bool) -> Block:
    element = text_input(_MAX_LIST, many_lines=True)
    return input_of(ids.DESTINATIONS, "Destinations", element, hint=hint, optional=optional)


def _last_day(hint: str) -> Block:
    return input_of(ids.EXPIRES_ON, "Last day", {"type": "datepicker"}, hint=hint, optional=True)


def _reason() -> Block:
    return input_of(
        ids.REASON,
        "Reason",
        text_input(fields.MAX_REASON),
        hint="The approvers see it.",
        optional=True,
    )
