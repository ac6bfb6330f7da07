# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a running bot is made of."""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import NamedTuple
from zoneinfo import ZoneInfo

from postroom_bot.backends import factory
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.config import Settings
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ops import startup_checks
from postroom_bot.ops.audit_stream import audit_lines
from postroom_bot.ops.health import Health, HealthApp
from postroom_bot.ops.metrics import Metrics
from postroom_bot.ops.policy_reloader import PolicyReloader
from postroom_bot.ops.single_instance import SingleInstance
from postroom_bot.ops.web_server import WebServer
from postroom_bot.slack import bolt_app
from postroom_bot.slack.handlers.register import listen
from postroom_bot.slack.handlers.services import Services
from postroom_bot.slack.transports import THREADS, Transport
from postroom_bot.store.schema import SCHEMA
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.intake import Intake
from postroom_bot.workflow.lookups import Lookups
from postroom_bot.workflow.passwords import Passwords
from postroom_bot.workflow.people import People
from postroom_bot.workflow.worker import Worker
from postroom_common.database import Database, DatabaseError

#: A step of the worker has that long to come to its end; longer than one call of the mail service.
STOP_SECONDS = 45.0
_ADMIN_THREADS = 2

log = logging.getLogger(__name__)


class Addresses(NamedTuple):
    """Where a bot listens; ``slack`` is "" with Socket Mode."""

    admin: str
    slack: str


class Bot:
    """All parts of one bot, to be started and stopped once."""

    def __init__(
        self,
        worker: Worker,
        transport: Transport,
        admin: WebServer,
        policies: PolicyReloader,
        look: startup_checks.StartupChecks,
        end: ExitStack,
    ) -> None:
        self._worker = worker
        self._front = transport
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
        policies = PolicyReloader(settings.policy_file)
        database = _database(settings, end)
        metrics = Metrics()
        deps = _deps(settings, database, policies, metrics, end)
        executor = ThreadPoolExecutor(THREADS, thread_name_prefix="listener")
        app = bolt_app.app_of(deps.slack_api, metrics, executor, settings)
        # The last to be made is the first to end: listeners use all the rest.
        end.callback(executor.shutdown)
        listen(app, _services(settings, deps))
        transport = bolt_app.transport_of(settings, app)
        checks = {
            "database": lambda: _database_health(database),
            "policy": policies.health,
            "slack": lambda: _slack_health(deps.slack_api, transport),
            # Requests wait for it, so that an outage there makes this bot no less ready.
            "mail": lambda: Health(works=True, text=deps.mail.last_answer),
        }
        admin = WebServer(
            HealthApp(checks, metrics),
            settings.admin_host,
            settings.admin_port,
            threads=_ADMIN_THREADS,
        )
        look = startup_checks.StartupChecks(
            lambda: startup_checks.problems(deps.slack_api, deps.mail, policies.current())
        )
        worker = Worker(deps, settings.workers)
        return Bot(worker, transport, admin, policies, look, end.pop_all())


def _database(settings: Settings, end: ExitStack) -> Database:
    """Open the database, for this process alone if it is a file, with the schema it needs."""
    database = Database(settings.database)
    end.callback(database.close)
    if database.is_sqlite:
        end.callback(SingleInstance(_file_of(settings.database)).end)
    wanted = settings.auto_migrate
    if database.is_sqlite if wanted is None else wanted:
        SCHEMA.migrate(database)
    SCHEMA.check(database)
    return database


def _file_of(database: str) -> Path:
    return Path(database.rpartition("sqlite:///")[2]).expanduser().absolute()


def _database_health(database: Database) -> Health:
    try:
        SCHEMA.check(database)
    except DatabaseError as error:
        return Health(works=False, text=str(error))
    return Health(works=True)


def _slack_health(slack_api: SlackApi, transport: Transport) -> Health:
    if slack_api.locked_out:
        # Ask again: without traffic, no other call would find that the token works by now.
        with suppress(SlackUnavailable, SlackRejected):
            slack_api.whoami()
    if slack_api.locked_out:
        return Health(works=False, text=f"Slack refuses the token: {slack_api.locked_out}")
    return transport.health()


def _deps(
    settings: Settings,
    database: Database,
    policies: PolicyReloader,
    metrics: Metrics,
    end: ExitStack,
) -> Dependencies:
    slack_api = bolt_app.slack_api_of(settings)
    mail = factory.mail_of(settings, end)
    stopping = Event()
    return Dependencies(
        database=database,
        clock=_now,
        policy=policies.current,
        people=People(slack_api, database, _now, policies.current),
        slack_api=slack_api,
        mail=mail,
        executor=factory.executor_of(settings, mail, stopping),
        workspace=bolt_app.workspace_of(slack_api, settings),
        owner=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        metrics=metrics,
        lease=timedelta(seconds=settings.lease),
        zone=ZoneInfo(settings.time_zone),
        audit_lines=audit_lines(settings.audit_lines, end),
        stopping=stopping,
    )


def _services(settings: Settings, deps: Dependencies) -> Services:
    return Services(
        database=deps.database,
        workspace=deps.workspace,
        intake=Intake(deps.database, deps.clock, deps.workspace, deps.wake.set, deps.zone),
        passwords=Passwords(deps),
        lookups=Lookups(deps),
        people=deps.people,
        slack_api=deps.slack_api,
        metrics=deps.metrics,
        mail_host=settings.mail_host,
    )


def _now() -> datetime:
    return datetime.now(UTC)


_HEEDED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def run(settings: Settings, ready_file: Path | None = None) -> None:
    """Run a bot until SIGTERM or SIGINT; SIGHUP has it read its policy anew.

    :param ready_file: is there, and tells the addresses as JSON, as long as the bot runs
    """
    with _blocked():
        bot = build(settings)
        addresses = bot.start()
        try:
            with _announced(ready_file, addresses):
                while signal.sigwait(_HEEDED) == signal.SIGHUP:
                    bot.policies.reload()
        finally:
            bot.stop()


@contextmanager
def _blocked() -> Iterator[None]:
    """Keep signals until somebody waits for them, in this thread and those that it starts.

    With handlers, one that comes right after another can be left waiting among many threads.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
    try:
        yield
    finally:
        # Told to end twice, it has ended once, and well.
        while signal.sigtimedwait(_HEEDED, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _announced(path: Path | None, addresses: Addresses) -> Iterator[None]:
    if path is None:
        yield
        return
    text = json.dumps({"pid": os.getpid(), **addresses._asdict()})
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise StartError(f"{path} can't be written ({error.strerror})") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
