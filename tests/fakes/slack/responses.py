# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Response URLs: answering an interaction without a token, five times within half an hour."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Message,
    Payload,
    ResponseUrl,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World, plain

LIFE = timedelta(minutes=30)
USES = 5


def respond(world: World, key: str, said: Payload) -> tuple[int, str]:
    """Take what was posted to a response URL; return status and body of the answer."""
    with world.changed:
        world.note("call response_url", plain(said))
        url = world.response_urls.get(key)
        if url is None or world.clock() - url.at > LIFE:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "expired_url"})
        if url.uses >= USES:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "used_url"})
        url.uses += 1
        return _take(world, url, said)


def show(world: World, url: ResponseUrl, said: Payload) -> list[str]:
    """Show what an app answered; return what is wrong with it."""
    text, blocks = str(said.get("text") or ""), said.get("blocks") or []
    if wrong := world.wrong_with({"text": text, "blocks": blocks}):
        return wrong
    edition = world.edition(text, blocks)
    if said.get("replace_original") and url.message is not None:
        url.message.editions.append(edition)
        world.changed.notify_all()
    else:
        everybody = said.get("response_type") == "in_channel"
        shown = world.post(url.channel, edition, only_for=None if everybody else url.user)
        url.message = url.message or shown
    return []


def _take(world: World, url: ResponseUrl, said: Payload) -> tuple[int, str]:
    """Do what was asked, once it is allowed."""
    if said.get("delete_original") and url.message is not None:
        _delete(world, url.message)
        return HTTPStatus.OK, "ok"
    if not said.get("text") and not said.get("blocks"):
        return HTTPStatus.BAD_REQUEST, "no_text"
    if show(world, url, said):
        return HTTPStatus.BAD_REQUEST, "invalid_blocks"
    return HTTPStatus.OK, "ok"


def _delete(world: World, message: Message) -> None:
    """Take a message away."""
    message.deleted = True
    world.changed.notify_all()
