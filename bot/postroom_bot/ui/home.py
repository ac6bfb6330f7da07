# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab, "My mail": a person's addresses and requests, and what waits for their approval."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import FOLLOWING, Person, Request, State
from postroom_bot.ui import phrases
from postroom_bot.ui.blocks import Block, View, actions, header, section, sections
from postroom_bot.ui.markup import address, channel, mention, sentence
from postroom_bot.ui.notifications import cancel_button
from postroom_bot.ui.phrases import MARKUP
from postroom_bot.ui.views import form_buttons

_MAX_ALIASES = 50
_MAX_REQUESTS = 10


def home(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
) -> View:
    """Return the Home tab of a person.

    :param aliases: the other addresses of the person's mailbox; None where they can't be known now
    :param requests: the person's open ones
    :param approvals: pending ones that the person may approve
    """
    blocks = [header("My mail"), *_rest(person, aliases, requests, approvals)]
    return {"type": "home", "blocks": blocks}


def _rest(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
) -> list[Block]:
    if person.obstacle:
        return [section(sentence(person.obstacle))]
    return [
        *_mailbox(person, aliases),
        *form_buttons(),
        header("My open requests"),
        *(block for one in requests[:_MAX_REQUESTS] for block in _own(one)),
        *_remainder(requests, "You have no open requests."),
        header("Waiting for my approval"),
        *(_foreign(one) for one in approvals[:_MAX_REQUESTS]),
        *_remainder(approvals, "No request waits for your approval."),
    ]


def _mailbox(person: Person, aliases: Sequence[str] | None) -> list[Block]:
    if person.mailbox is None:
        return [section(sentence(person.mailbox_obstacle) or "No mailbox is known to be yours.")]
    lines = [f"Your mailbox: {address(person.mailbox)}"]
    if aliases is None:
        lines.append("Its other addresses could not be looked up. Open this tab again later.")
    else:
        lines += [f"Also: {address(one)}" for one in sorted(aliases)[:_MAX_ALIASES]]
        if len(aliases) > _MAX_ALIASES:
            lines.append(f"And {len(aliases) - _MAX_ALIASES} more.")
    return sections(lines)


def _own(request: Request) -> list[Block]:
    told = f"{phrases.headline(request, MARKUP)} {phrases.status_text(request, None, MARKUP)}"
    told += phrases.in_the_way(request, MARKUP)
    can_be_cancelled = State.CANCELLED in FOLLOWING.get(request.state, ())
    row = [actions(cancel_button(request))] if can_be_cancelled else []
    return [section(told), *row]


def _foreign(request: Request) -> Block:
    """Tell of a request and where its card is; only there it can be approved."""
    where = f" Its card is in {channel(request.card.channel)}." if request.card else ""
    who = mention(request.requester)
    return section(
        f"{phrases.title(request, MARKUP)}: {who} asks to {phrases.deed(request, MARKUP)}.{where}"
    )


def _remainder(requests: Sequence[Request], none: str) -> list[Block]:
    """Say that there are none, or how many are not shown."""
    if not requests:
        return [section(none)]
    more = len(requests) - _MAX_REQUESTS
    return [section(f"And {more} more.")] if more > 0 else []
