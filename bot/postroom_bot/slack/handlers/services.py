# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the listeners call."""

from __future__ import annotations

from dataclasses import dataclass

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.errors import Forbidden
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.handlers.replies import in_words
from postroom_bot.slack.payloads import Caller
from postroom_bot.workflow.dependencies import Workspace
from postroom_bot.workflow.intake import Intake
from postroom_bot.workflow.lookups import Lookups
from postroom_bot.workflow.passwords import Passwords
from postroom_bot.workflow.people import People
from postroom_common.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that listeners use. Threads share it.

    :param mail_host: the host that people are told to set up in their mail programs
    """

    database: Database
    workspace: Workspace
    intake: Intake
    passwords: Passwords
    lookups: Lookups
    people: People
    slack_api: SlackApi
    metrics: Metrics
    mail_host: str

    def refused(self, caller: Caller, doing: str, error: Exception) -> str:
        """Return the sentence for one of the EXPECTED errors; the audit has what was forbidden.

        :param doing: what the person was about, in a word
        """
        said = in_words(error)
        if isinstance(error, Forbidden):
            self.intake.record_denial(caller.user, caller.team, doing, said)
        return said
