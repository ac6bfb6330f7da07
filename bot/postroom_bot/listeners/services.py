# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the listeners call."""

from __future__ import annotations

from dataclasses import dataclass

from postroom_bot.chat import Chat
from postroom_bot.metrics import Metrics
from postroom_bot.people import People
from postroom_bot.work.deps import Forbidden, Workspace
from postroom_bot.work.desk import Desk
from postroom_bot.work.passwords import Passwords
from postroom_bot.work.readers import Readers
from postroom_common.database import Database

from .answers import in_words
from .payloads import Caller


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that listeners use. Threads share it.

    :param mail_host: the host that people are told to set up in their mail programs
    """

    database: Database
    workspace: Workspace
    desk: Desk
    passwords: Passwords
    readers: Readers
    people: People
    chat: Chat
    metrics: Metrics
    mail_host: str

    def refused(self, caller: Caller, doing: str, error: Exception) -> str:
        """Return the sentence for one of the EXPECTED errors; the audit has what was forbidden.

        :param doing: what the person was about, in a word
        """
        said = in_words(error)
        if isinstance(error, Forbidden):
            self.desk.turned_away(caller.user, caller.team, doing, said)
        return said
