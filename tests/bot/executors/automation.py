# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An automation for the tests: the stand-in for AWX and the executor over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    Notebook,
    alias,
    no_alias,
    request_for,
)
from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Awx as StandIn
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Play, Template
from postroom_bot.executors.awx import REQUEST_VARIABLE, Awx, Templates
from postroom_bot.executors.controller import Controller, Token
from postroom_bot.executors.mail import Mail

TEMPLATES = Templates(add_alias=7, remove_alias=8, forwarder=9)

ALIAS_SURVEY = surveys.of_texts(**{REQUEST_VARIABLE: True}, mail_alias=True, mail_mailbox=True)
_FORWARDER = surveys.of_texts(
    **{REQUEST_VARIABLE: True},
    mail_forwarder=True,
    mail_members=False,
    mail_purge_members=False,
    mail_state=True,
)


def played_by(mail: Mail) -> Play:
    """Return what does as the playbooks for aliases would, at once."""

    def play(playbook: str, variables: Mapping[str, Any]) -> bool:
        wished = {"add_alias": alias, "remove_alias": no_alias}[playbook]
        wish = wished(variables["mail_alias"], variables["mail_mailbox"])
        mail.carry_out(request_for(wish), Notebook())
        return True

    return play


class Automation:
    """The stand-in, the executor and the time that passes between looks at a job."""

    def __init__(self, stand_in: StandIn, mail: Mail) -> None:
        self.stand_in = stand_in
        self.now = 0.0
        self.controller = Controller(stand_in.url, Token(SecretStr(stand_in.token)), timeout=5)
        self._mail = mail
        self.executor = self.executor_with()

    def executor_with(self, **options: Any) -> Awx:
        """Return one with other options."""
        defaults = {"clock": lambda: self.now, "wait": self.wait}
        return Awx(self.controller, TEMPLATES, self._mail, **{**defaults, **options})

    def wait(self, seconds: float) -> bool:
        """Let time pass, and go on: jobs that may go on have ended by then."""
        self.now += seconds
        if self.stand_in.going.is_set():
            self.stand_in.wait()
        return False

    @property
    def statuses(self) -> list[str]:
        """How the jobs stand, the oldest first."""
        return [job.status for job in self.stand_in.jobs.values()]


def automated(stand_in: StandIn, mail: Mail) -> Automation:
    """Make the job templates, as a guide for AWX would have it, and give the executor."""
    stand_in.templates = {
        7: Template("add_alias", ALIAS_SURVEY),
        8: Template("remove_alias", ALIAS_SURVEY),
        9: Template("forwarder", _FORWARDER),
    }
    return Automation(stand_in, mail)
