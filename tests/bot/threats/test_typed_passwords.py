# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Passwords that people type into Slack, whatever they look like: never used, kept or repeated."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

NEVER = (
    "Never type a password in Slack. I did not use it. If it is a real one, change it now. "
    "To get a new one, type `/email password`."
)
NO_MAILBOX = (
    "That is no mailbox of ours; I kept nothing of it. If it is a password, change it now, and "
    "never type one in Slack."
)


def _is_nowhere(scene: Scene, typed: str) -> None:
    """See that a text is in no file of the bot, and in nothing that it said."""
    said = scene.slack.log(without="deliver").casefold()
    files = [scene.audit_lines, *scene.bot.directory.iterdir()]
    kept = b"".join(file.read_bytes() for file in files).lower()
    for word in typed.casefold().split():
        assert word not in said
        assert word.encode() not in kept


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("password", "Hunter2-one"),
        ("password", "Hunter2-two with-blanks-2"),
        ("password", "Hunter2-three@"),
        ("PassWord", "<mailto:Hunter2-four>"),
        ("passwd", "Hunter2-five"),
        ("reset my password", "Hunter2-six"),
        ("password", "alias@add.hunter2-seven Pass#1-seven"),
    ],
)
def test_what_is_typed_after_password_is_not_used(
    scene: Scene, alice: Person, command: str, typed: str
) -> None:
    """The person is warned in the bot's own words, which hold nothing of it."""
    with scene.no_effect():
        ack = alice.command(f"/email {command} {typed}")
    assert ack.body["text"] == NEVER
    assert scene.requests_of(alice) == []
    _is_nowhere(scene, typed)


@pytest.mark.parametrize(
    "typed",
    [
        "hunter2-eight@example.com",
        "Hunter2-nine@hunter2-nine.example",
        "Hunter2-ten@example.org",
        "hunter2+eleven@EXAMPLE.COM",
    ],
)
def test_a_password_that_looks_like_an_address_is_not_kept(
    scene: Scene, alice: Person, typed: str
) -> None:
    """Of a domain of ours or of none: where there is no such mailbox, it is no request."""
    with scene.no_effect():
        alice.command(f"/email password {typed}")
        scene.is_shown(alice, NO_MAILBOX)
    assert scene.requests_of(alice) == []
    _is_nowhere(scene, typed)


def test_a_forwarder_has_no_password(scene: Scene, alice: Person) -> None:
    """An address that is no mailbox is told like one that is nothing."""
    forwarder = scene.fresh("forward")
    scene.api.forwarder(forwarder, [str(alice.user.email)])
    with scene.no_effect():
        alice.command(f"/email password {forwarder}")
        scene.is_shown(alice, NO_MAILBOX)
    assert scene.requests_of(alice) == []


def test_words_that_are_no_command_are_not_repeated(scene: Scene, alice: Person) -> None:
    """A password that was typed in the wrong place is in no answer and no file either."""
    ack = alice.command("/email Hunter2-twelve")
    assert "I do not know that command." in ack.body["text"]
    alice.command("/email alias add Hunter2-twelve")
    alice.command("/email status Hunter2-twelve")
    alice.command("/email dns Hunter2-twelve")
    alice.command("/email alias list Hunter2-twelve")
    assert scene.requests_of(alice) == []
    _is_nowhere(scene, "Hunter2-twelve")
