# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What must be in no log, no file and no message, though the bot logs all that it can."""

from __future__ import annotations

import re

from ansible_collections.postroom.email.tests.bot.threats.scene import Scene, text_of

_SHOWN = re.compile(r"\b[a-z2-9]{4}(?:-[a-z2-9]{4}){5}\b")


def test_no_secret_leaves_the_process(by_socket: Scene) -> None:
    """A password that was shown, tokens, and addresses by which anybody could answer."""
    slack, alice = by_socket.slack, by_socket.hire()
    alice.command("/email password Hunter2-canary")
    alice.command("/email alias list")
    alice.command("/email password")
    alice.submit(by_socket.window(alice, "password_confirm"))
    found = _SHOWN.search(text_of(by_socket.window(alice, "password_shown")))
    assert found is not None
    by_socket.is_told(alice, "A new password was made")
    slack.wait_for_message(by_socket.channels["audit"], str(alice.user.email))
    tokens = {slack.bot_token, slack.app_token, slack.signing_secret, by_socket.mail.token}
    secrets = {found[0], "Hunter2-canary", *tokens, *slack.world.response_urls}
    files = [by_socket.audit_lines, *by_socket.bot.directory.iterdir()]
    kept = b"".join(file.read_bytes() for file in files)
    said = "\n".join(
        line.text
        for line in slack.world.transcript
        if line.what.startswith("call") and "views." not in line.what
    )
    assert [one for one in secrets if one.encode() in kept or one in said] == []
