# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the listeners call."""

from __future__ import annotations

from dataclasses import dataclass

from postroom_bot.chat import Chat
from postroom_bot.metrics import Metrics
from postroom_bot.people import People
from postroom_bot.store.database import Database
from postroom_bot.work.desk import Desk
from postroom_bot.work.passwords import Passwords
from postroom_bot.work.readers import Readers


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that listeners use. Threads share it.

    :param mail_host: the host that people are told to set up in their mail programs
    """

    database: Database
    desk: Desk
    passwords: Passwords
    readers: Readers
    people: People
    chat: Chat
    metrics: Metrics
    mail_host: str
