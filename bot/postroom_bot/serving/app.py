# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a running bot is made of."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import NamedTuple
from zoneinfo import ZoneInfo

from postroom_bot.chat import Chat, ChatDown, ChatRefused
from postroom_bot.listeners.services import Services
from postroom_bot.listeners.wiring import listen
from postroom_bot.metrics import Metrics
from postroom_bot.people import People
from postroom_bot.settings import Settings
from postroom_bot.store.schema import SCHEMA
from postroom_bot.work.deps import Deps
from postroom_bot.work.desk import Desk
from postroom_bot.work.passwords import Passwords
from postroom_bot.work.readers import Readers
from postroom_bot.work.worker import Worker
from postroom_common.database import Database, DatabaseError

from . import mailing, slack, survey
from .admin import Admin, Standing
from .alone import Alone
from .fronts import THREADS, Front
from .lines import audit_lines
from .policies import Policies
from .web import WebServer

#: A step of the worker has that long to come to its end; longer than one call of the mail service.
STOP_SECONDS = 45.0
_ADMIN_THREADS = 2

log = logging.getLogger("postroom_bot.serving")


class Addresses(NamedTuple):
    """Where a bot listens; ``slack`` is "" with Socket Mode."""

    admin: str
    slack: str


class Bot:
    """All parts of one bot, to be started and stopped once."""

    def __init__(
        self,
        worker: Worker,
        front: Front,
        admin: WebServer,
        policies: Policies,
        look: survey.Survey,
        end: ExitStack,
    ) -> None:
        self._worker = worker
        self._front = front
        self._admin = admin
        self._look = look
        self._end = end
        self.policies = policies

    def start(self) -> Addresses:
        """Start everything; Slack is let in last.

        :raises StartError: something can't start; nothing is left running
        """
        try:
            admin = self._admin.start()
            self._worker.start()
            addresses = Addresses(admin, self._front.start())
        except BaseException:
            # Threads that are left would keep the process from ending.
            self._worker.stop(STOP_SECONDS)
            self._close()
            raise
        log.info("ready; operators find me at %s", addresses.admin)
        self._look.start()
        return addresses

    def stop(self) -> None:
        """Let Slack in no more, finish what is begun, and close everything.

        An error in one step leaves out none of the others.
        """
        log.info("stopping")
        with ExitStack() as steps:
            steps.callback(self._close)
            steps.callback(self._stop_worker)
            steps.callback(self._front.stop)
            steps.callback(self._look.stop)
        log.info("stopped")

    def _stop_worker(self) -> None:
        if not self._worker.stop(STOP_SECONDS):
            log.warning("a request was not finished in time; another process goes on with it")

    def _close(self) -> None:
        with self._end:
            self._admin.stop()


def build(settings: Settings) -> Bot:
    """Wire a bot; Slack is asked who the bot is, and nothing else is begun.

    :raises StartError: a sentence for the one who starts it
    :raises PolicyError: the policy can't be used
    :raises DatabaseError: the database can't be used
    """
    with ExitStack() as end:
        policies = Policies(settings.policy_file)
        database = _database(settings, end)
        metrics = Metrics()
        deps = _deps(settings, database, policies, metrics, end)
        executor = ThreadPoolExecutor(THREADS, thread_name_prefix="listener")
        app = slack.app_of(deps.chat, metrics, executor, settings)
        # The last to be made is the first to end: listeners use all the rest.
        end.callback(executor.shutdown)
        listen(app, _services(settings, deps))
        front = slack.front_of(settings, app)
        checks = {
            "database": lambda: _database_standing(database),
            "policy": policies.standing,
            "slack": lambda: _slack_standing(deps.chat, front),
            # Requests wait for it, so that an outage there makes this bot no less ready.
            "mail": lambda: Standing(works=True, text=deps.mail.last_answer),
        }
        admin = WebServer(
            Admin(checks, metrics), settings.admin_host, settings.admin_port, threads=_ADMIN_THREADS
        )
        look = survey.Survey(lambda: survey.problems(deps.chat, deps.mail, policies.current()))
        worker = Worker(deps, settings.workers)
        return Bot(worker, front, admin, policies, look, end.pop_all())


def _database(settings: Settings, end: ExitStack) -> Database:
    """Open the database, for this process alone if it is a file, with the schema it needs."""
    database = Database(settings.database)
    end.callback(database.close)
    if database.is_sqlite:
        end.callback(Alone(_file_of(settings.database)).end)
    wanted = settings.auto_migrate
    if database.is_sqlite if wanted is None else wanted:
        SCHEMA.migrate(database)
    SCHEMA.check(database)
    return database


def _file_of(database: str) -> Path:
    return Path(database.rpartition("sqlite:///")[2]).expanduser().absolute()


def _database_standing(database: Database) -> Standing:
    try:
        SCHEMA.check(database)
    except DatabaseError as error:
        return Standing(works=False, text=str(error))
    return Standing(works=True)


def _slack_standing(chat: Chat, front: Front) -> Standing:
    if chat.locked_out:
        # Ask again: without traffic, no other call would find that the token works by now.
        with suppress(ChatDown, ChatRefused):
            chat.whoami()
    if chat.locked_out:
        return Standing(works=False, text=f"Slack refuses the token: {chat.locked_out}")
    return front.standing()


def _deps(
    settings: Settings, database: Database, policies: Policies, metrics: Metrics, end: ExitStack
) -> Deps:
    chat = slack.chat_of(settings)
    mail = mailing.mail_of(settings, end)
    stopping = Event()
    return Deps(
        database=database,
        clock=_now,
        policy=policies.current,
        people=People(chat, database, _now, policies.current),
        chat=chat,
        mail=mail,
        executor=mailing.executor_of(settings, mail, stopping),
        workspace=slack.workspace_of(chat, settings),
        owner=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        metrics=metrics,
        lease=timedelta(seconds=settings.lease),
        zone=ZoneInfo(settings.time_zone),
        audit_lines=audit_lines(settings.audit_lines, end),
        stopping=stopping,
    )


def _services(settings: Settings, deps: Deps) -> Services:
    return Services(
        database=deps.database,
        workspace=deps.workspace,
        desk=Desk(deps.database, deps.clock, deps.workspace, deps.wake.set, deps.zone),
        passwords=Passwords(deps),
        readers=Readers(deps),
        people=deps.people,
        chat=deps.chat,
        metrics=deps.metrics,
        mail_host=settings.mail_host,
    )


def _now() -> datetime:
    return datetime.now(UTC)
