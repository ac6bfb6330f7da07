# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every reason code has a text, and `messages.approved.txt` holds every text that the bot sends.

To approve changed texts, run this file with the environment variable `APPROVE=1`.
"""

from __future__ import annotations

import ast
import os
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postroom_bot
from postroom_bot.domain import Reason
from postroom_bot.ui.reason_texts import TEXTS, plain_reason_text, reason_text

APPROVED = Path(__file__).parents[1] / "messages.approved.txt"
RAISING = {
    "Reason",
    "UserError",
    "Forbidden",
    "Rejected",
    "Unavailable",
    "NeedsApproval",
    "RepeatedDelivery",
    "NotShown",
    "EndDatePassed",
    "_NotFound",
    "_UnknownUsergroup",
}
SAMPLES: dict[str, Any] = {
    "address": "sales@example.com",
    "day": "2026-12-31",
    "approvers": "mail-admins",
    "count": 5,
    "counts_from": "2026-11-21T12:00:00+00:00",
    "destination": "bob@example.com",
    "destinations": ["bob@example.com", "carol@example.net"],
    "domain": "example.com",
    "groups": ["mail-admins", "security"],
    "latest": "2027-01-31",
    "mailbox": "alice@example.com",
    "normalized": "sales@example.com",
    "problem": "'sales' is not an email address.",
    "quorum": [["mail-admins", 1], ["security", 2]],
    "reason": "Not needed.",
    "request": "R-7K2M",
    "state": "done",
    "subject": "sales@example.com",
    "text": "A sentence with `code` & <b>.",
    "usergroup": "S0123ABC",
    "why": ["mail.unavailable", {}],
}


def _sample(code: str) -> Reason:
    fields = {name for _, name, _, _ in string.Formatter().parse(TEXTS[code]) if name}
    return Reason(code, {name: SAMPLES[name] for name in fields})


def _codes(node: ast.expr) -> Iterator[str]:
    """Yield the reason codes that an argument may contain."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*_codes(node.body), *_codes(node.orelse))
    elif isinstance(node, ast.BoolOp):
        for one in node.values:
            yield from _codes(one)


def _used() -> set[str]:
    """Return the reason codes that the bot's modules use."""
    found = {"mail.unavailable"}
    (place,) = postroom_bot.__path__
    for path in Path(place).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if isinstance(node.func, ast.Name) and node.func.id in RAISING:
                found |= set(_codes(node.args[0]))
    return found


def test_every_code_has_a_text_and_every_text_is_used() -> None:
    """Every code that the modules use has a text, and every text is used."""
    assert _used() == TEXTS.keys()


def test_the_texts_are_approved() -> None:
    """The texts that the bot sends match the approved file."""
    lines = "".join(f"{code}\n    {reason_text(_sample(code))}\n" for code in sorted(TEXTS))
    if os.environ.get("APPROVE"):
        APPROVED.write_text(lines, encoding="utf-8")
    assert lines == APPROVED.read_text(encoding="utf-8")


@pytest.mark.parametrize("hostile", ["<!channel>", "`*x*`", "a\nb", "&lt;"])
def test_parameters_are_escaped(hostile: str) -> None:
    """Parameters are escaped and shown as code on one line, even lists and nested reasons."""
    for reason in (
        Reason("address.taken", {"address": hostile}),
        Reason("warning.external", {"address": "x", "destinations": [hostile]}),
        Reason("policy.deny", {"text": hostile}),
        Reason("request.now_denied", {"why": ["policy.deny", {"text": hostile}]}),
        Reason("request.unknown", {"request": hostile}),
    ):
        assert "<!" not in reason_text(reason)
        assert "\n" not in reason_text(reason)


def test_texts_for_places_without_markup() -> None:
    """Texts for places without markup have no backticks or entities, and show times in UTC."""
    assert plain_reason_text(_sample("policy.deny")) == "A sentence with code & <b>."
    assert "2026-11-21 12:00 UTC." in plain_reason_text(_sample("mailbox.changed"))
    assert reason_text(Reason("of.later", {"a": "<!here>"})) == "`of.later {'a': '&lt;!here&gt;'}`"
