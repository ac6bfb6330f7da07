# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack's blocks as plain data. Texts are cut to the length that Slack accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from slack_sdk.models import blocks as models
from slack_sdk.models.views import View as ViewModel

from postroom_bot.ui import ids
from postroom_bot.ui.markup import TEXT_LIMIT, Message, cut, one_line

Block = dict[str, Any]
View = dict[str, Any]

_MAX_SECTION = 3000
_MAX_TITLE = 24
_MAX_LABEL = 75
# Slack rejects empty text, and input may consist of invisible characters.
_EMPTY = "-"


def _plain(text: str) -> models.PlainTextObject:
    return models.PlainTextObject(text=text, emoji=False)


def section(text: str) -> Block:
    """Return a paragraph of markup. Slack adds no links of its own."""
    markup = models.MarkdownTextObject(text=cut(text, _MAX_SECTION) or _EMPTY, verbatim=True)
    return models.SectionBlock(text=markup).to_dict()


def header(text: str) -> Block:
    """Return a heading."""
    return models.HeaderBlock(text=_plain(text)).to_dict()


def sections(lines: Iterable[str]) -> list[Block]:
    """Return the lines in as few paragraphs as possible, without cutting a line in two."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < _MAX_SECTION:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return [section(text) for text in texts]


def button(label: str, action_id: str, description: str, value: str = "", style: str = "") -> Block:
    """Return a button.

    :param description: what it does, for screen readers
    :param value: a request's id
    :param style: "primary" or "danger"
    """
    return models.ButtonElement(
        text=_plain(label),
        action_id=action_id,
        accessibility_label=one_line(description, _MAX_LABEL),
        value=value or None,
        style=style or None,
    ).to_dict()


def actions(*buttons: Block) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def message(lines: Iterable[str], *buttons: Block) -> Message:
    """Return a message of sentences and buttons; empty lines are left out."""
    kept = [line for line in lines if line]
    described = [f"Button: {one['accessibility_label']}." for one in buttons]
    text = cut(" ".join([*kept, *described]), TEXT_LIMIT)
    row = [actions(*buttons)] if buttons else []
    return Message(text, [*sections(kept), *row])


def text_input(max_length: int, *, multiline: bool = False) -> models.PlainTextInputElement:
    """Return a text field."""
    return models.PlainTextInputElement(
        action_id=ids.VALUE, max_length=max_length, multiline=multiline
    )


def date_input() -> models.DatePickerElement:
    """Return a date picker."""
    return models.DatePickerElement(action_id=ids.VALUE)


def select(options: Sequence[str]) -> models.StaticSelectElement:
    """Return a list to select from."""
    made = [models.Option(text=_plain(option), value=option) for option in options]
    return models.StaticSelectElement(action_id=ids.VALUE, options=made)


def field(
    block_id: str,
    label: str,
    element: models.InputInteractiveElement,
    *,
    hint: str,
    optional: bool = False,
) -> Block:
    """Return a labelled field of a form."""
    return models.InputBlock(
        block_id=block_id,
        label=_plain(label),
        hint=_plain(hint),
        element=element,
        optional=optional,
    ).to_dict()


def verbatim(text: str) -> Block:
    """Return text to copy, in which Slack interprets neither markup nor emoji."""
    piece = {"type": "text", "text": text or _EMPTY}
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_preformatted", "elements": [piece]}],
    }


def modal(
    callback_id: str,
    title: str,
    blocks: Sequence[Block],
    *,
    submit: str = "",
    close: str = "Close",
    metadata: str = "",
) -> View:
    """Return a modal.

    :param submit: the label of the button that submits it; "" for none
    :param metadata: a text that Slack returns with the submission
    """
    return ViewModel(
        type="modal",
        callback_id=callback_id,
        title=_plain(one_line(title, _MAX_TITLE) or _EMPTY),
        close=_plain(close),
        blocks=list(blocks),
        submit=_plain(submit) if submit else None,
        private_metadata=metadata or None,
    ).to_dict()
