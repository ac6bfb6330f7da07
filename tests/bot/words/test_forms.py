# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The forms, and what is read from them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn
from postroom_bot.model import Action, Wish
from postroom_bot.words import fields, forms, ids

FORMS = tuple(ids.FORM_OF.values())
SALES, ALICE, BOB = "sales@example.com", "alice@example.com", "bob@example.com"


def sent(**typed: str | None) -> dict[str, Any]:
    """Return a view's values as Slack sends them."""
    values: dict[str, Any] = {}
    for block, value in typed.items():
        if block == ids.EXPIRES_ON:
            values[block] = {ids.VALUE: {"type": "datepicker", "selected_date": value}}
        else:
            values[block] = {ids.VALUE: {"type": "plain_text_input", "value": value}}
    return values


def errors(form: str, **typed: str | None) -> dict[str, str]:
    """Return what is wrong with what was sent."""
    with pytest.raises(forms.FormErrors) as wrong:
        forms.read(form, sent(**typed))
    return wrong.value.errors


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_right(form: str) -> None:
    """Slack takes every form, and it can be sent."""
    view = forms.form(form)
    drawn.check(view)
    assert view["callback_id"] == form
    assert view["submit"]


@pytest.mark.parametrize("form", FORMS)
def test_errors_are_of_the_form(form: str) -> None:
    """Every error belongs to a field that the form has; Slack ignores others."""
    fields_of = {block.get("block_id") for block in forms.form(form)["blocks"]}
    assert set(errors(form)) <= fields_of
    everything = dict.fromkeys(fields_of - {None}, "\u0430")
    assert set(errors(form, **everything | {ids.REASON: "x" * 201})) <= fields_of


def test_alias_add() -> None:
    """A new alias is read with all that was entered."""
    wish = forms.read(
        ids.ALIAS_ADD,
        sent(
            address=" Sales@Example.com ",
            mailbox=ALICE,
            expires_on="2027-01-31",
            reason="the\nfair",
        ),
    )
    assert wish == Wish(
        Action.ALIAS_ADD,
        SALES,
        mailbox=ALICE,
        expires_on=date(2027, 1, 31),
        reason="the fair",
    )


def test_left_out() -> None:
    """What may be left out may be left out."""
    values = sent(address=SALES, mailbox=None, expires_on=None, reason=None)
    assert forms.read(ids.ALIAS_ADD, values) == Wish(Action.ALIAS_ADD, SALES)
    assert forms.read(ids.ALIAS_REMOVE, values) == Wish(Action.ALIAS_REMOVE, SALES)


def test_forwards() -> None:
    """Destinations are read from a list; a removal may go without."""
    values = sent(address=SALES, destinations=f"{ALICE},\n{BOB}")
    for form, action in (
        (ids.FORWARD_ADD, Action.FORWARD_ADD),
        (ids.FORWARD_REMOVE, Action.FORWARD_REMOVE),
    ):
        assert forms.read(form, values) == Wish(action, SALES, destinations=(ALICE, BOB))
    assert forms.read(ids.FORWARD_REMOVE, sent(address=SALES, destinations=None)) == Wish(
        Action.FORWARD_REMOVE, SALES
    )


def test_missing() -> None:
    """What is needed and missing is said at its field."""
    assert errors(ids.ALIAS_ADD) == {"address": "Fill this in."}
    assert errors(ids.FORWARD_ADD, address=SALES) == {"destinations": "Fill this in."}


def test_all_mistakes_at_once() -> None:
    """All mistakes are told together, without markup, which errors do not show."""
    found = errors(
        ids.ALIAS_ADD, address="sales", mailbox="<@U1>", expires_on="soon", reason="x" * 201
    )
    assert found == {
        "address": "sales is not an email address. Write it in full, such as alice@example.com.",
        "mailbox": fields.NOT_A_MAILBOX.replace("`", ""),
        "expires_on": "soon is not a date. Write it as YYYY-MM-DD, such as 2027-01-31.",
        "reason": fields.REASON_TOO_LONG,
    }
    found = errors(ids.FORWARD_ADD, address="m\u00fcller@x.example", destinations=f"{ALICE}, bob")
    assert found["address"] == f"That is not an email address. {fields.BAD_SIGNS}"
    assert found["destinations"].startswith("bob is not an email address.")


@drawn.steady
@given(
    st.sampled_from(FORMS),
    st.dictionaries(
        st.sampled_from([ids.ADDRESS, ids.MAILBOX, ids.DESTINATIONS, ids.EXPIRES_ON, ids.REASON]),
        drawn.texts | drawn.addresses,
    ),
)
def test_nothing_else_is_raised(form: str, typed: dict[str, str]) -> None:
    """Whatever is sent is a wish or a mistake at a field, which holds nothing of what was sent."""
    try:
        wish = forms.read(form, sent(**typed))
    except forms.FormErrors as wrong:
        told = wrong.errors
    else:
        told = {}
        assert wish.target
    assert not any(len(text) > 20 and text in str(told) for text in typed.values())
