# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The running bot: built from its settings, started, stopped, and controlled by signals."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
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
from postroom_bot.ops.health import Health, HealthApp
from postroom_bot.ops.metrics import Metrics
from postroom_bot.ops.policy_reloader import PolicyReloader
from postroom_bot.ops.startup_checks import StartupChecks, problems
from postroom_bot.ops.web_server import WebServer
from postroom_bot.slack import bolt_app
from postroom_bot.slack.handlers import register
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

#: How long the worker may take to finish its steps: longer than one call of the mail API.
STOP_TIMEOUT = 45.0
_ADMIN_THREADS = 2
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


class Addresses(NamedTuple):
    """Where a bot listens; ``slack`` is "" with Socket Mode."""

    admin: str
    slack: str


class Bot:
    """A bot, which can be started and stopped once.

    :param resources: closed when the bot has stopped
    """

    def __init__(
        self,
        worker: Worker,
        transport: Transport,
        admin: WebServer,
        policies: PolicyReloader,
        checks: StartupChecks,
        resources: ExitStack,
    ) -> None:
        self._worker = worker
        self._transport = transport
        self._admin = admin
        self._checks = checks
        self._resources = resources
        self.policies = policies

    def start(self) -> Addresses:
        """Start everything, the transport last.

        :raises StartError: something can't start; everything is stopped again
        """
        try:
            admin = self._admin.start()
            self._worker.start()
            addresses = Addresses(admin, self._transport.start())
        except BaseException:
            # Running threads would keep the process alive.
            self._worker.stop(STOP_TIMEOUT)
            self._close()
            raise
        log.info("ready; health and metrics at %s", addresses.admin)
        self._checks.start()
        return addresses

    def stop(self) -> None:
        """Accept no more requests, finish the current ones, and close everything.

        An error in one step does not skip the others.
        """
        log.info("stopping")
        with ExitStack() as steps:
            steps.callback(self._close)
            steps.callback(self._stop_worker)
            steps.callback(self._transport.stop)
            steps.callback(self._checks.stop)
        log.info("stopped")

    def _stop_worker(self) -> None:
        if not self._worker.stop(STOP_TIMEOUT):
            log.warning("a request was not finished in time; another process continues it")

    def _close(self) -> None:
        with self._resources:
            self._admin.stop()


def build(settings: Settings) -> Bot:
    """Return the bot for these settings. Asks Slack for the bot's identity, and starts nothing.

    :raises StartError: a setting can't be used
    :raises PolicyError: the policy can't be used
    :raises DatabaseError: the database can't be used
    """
    with ExitStack() as resources:
        policies = PolicyReloader(settings.policy_file)
        database = _open_database(settings, resources)
        metrics = Metrics()
        slack_api = bolt_app.slack_api_of(settings)
        mail = factory.mail_of(settings, resources)
        stopping = Event()
        deps = Dependencies(
            database=database,
            clock=lambda: datetime.now(UTC),
            policy=policies.current,
            people=People(slack_api, database, lambda: datetime.now(UTC), policies.current),
            slack_api=slack_api,
            mail=mail,
            executor=factory.executor_of(settings, mail, stopping),
            workspace=bolt_app.workspace_of(slack_api, settings),
            owner=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
            metrics=metrics,
            lease=timedelta(seconds=settings.lease),
            zone=ZoneInfo(settings.time_zone),
            audit_lines=_audit_stream(settings.audit_lines, resources),
            stopping=stopping,
        )
        services = Services(
            database=database,
            workspace=deps.workspace,
            intake=Intake(database, deps.clock, deps.workspace, deps.wake.set, deps.zone),
            passwords=Passwords(deps),
            lookups=Lookups(deps),
            people=deps.people,
            slack_api=slack_api,
            metrics=metrics,
            mail_host=settings.mail_host,
        )
        executor = ThreadPoolExecutor(THREADS, thread_name_prefix="handler")
        app = bolt_app.app_of(slack_api, metrics, executor, settings)
        # Closed first, because handlers use everything else.
        resources.callback(executor.shutdown)
        register(app, services)
        transport = bolt_app.transport_of(settings, app)
        health_checks = {
            "database": lambda: _database_health(database),
            "policy": policies.health,
            "slack": lambda: _slack_health(slack_api, transport),
            # Requests wait during an outage of the mail API, so the bot stays ready.
            "mail": lambda: Health(works=True, text=mail.last_answer),
        }
        return Bot(
            Worker(deps, settings.workers),
            transport,
            WebServer(
                HealthApp(health_checks, metrics),
                settings.admin_host,
                settings.admin_port,
                threads=_ADMIN_THREADS,
            ),
            policies,
            StartupChecks(lambda: problems(slack_api, mail, policies.current())),
            resources.pop_all(),
        )


def _open_database(settings: Settings, resources: ExitStack) -> Database:
    """Open the database, and migrate it if the settings say so. A SQLite file is locked."""
    database = Database(settings.database)
    resources.callback(database.close)
    if database.is_sqlite:
        _lock(Path(settings.database.rpartition("sqlite:///")[2]).expanduser(), resources)
    wanted = settings.auto_migrate
    if database.is_sqlite if wanted is None else wanted:
        SCHEMA.migrate(database)
    SCHEMA.check(database)
    return database


def _lock(database: Path, resources: ExitStack) -> None:
    """Lock a SQLite database for this process, with a file beside it."""
    path = database.absolute().with_name(f"{database.name}.lock")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    resources.callback(os.close, file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise StartError(
            f"another bot uses {database.absolute()}; more than one replica needs PostgreSQL"
        ) from None


def _audit_stream(target: str | None, resources: ExitStack) -> Callable[[str], None] | None:
    """Return a function that writes and flushes a line of the audit.

    :param target: a file to append to, "-" for standard output, or None for no stream
    """
    if target is None:
        return None
    if target == "-":
        file = sys.stdout
    else:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            opened = os.fdopen(os.open(target, flags, 0o600), "a", encoding="utf-8")
        except OSError as error:
            text = f"audit_lines: {target} can't be written ({error.strerror})"
            raise StartError(text) from None
        file = resources.enter_context(opened)

    def write(line: str) -> None:
        file.write(line + "\n")
        file.flush()

    return write


def _database_health(database: Database) -> Health:
    try:
        SCHEMA.check(database)
    except DatabaseError as error:
        return Health(works=False, text=str(error))
    return Health(works=True)


def _slack_health(slack_api: SlackApi, transport: Transport) -> Health:
    if slack_api.locked_out:
        # Without traffic, no other call would notice that the token works again.
        with suppress(SlackUnavailable, SlackRejected):
            slack_api.whoami()
    if slack_api.locked_out:
        return Health(works=False, text=f"Slack refuses the token: {slack_api.locked_out}")
    return transport.health()


def run(settings: Settings, ready_file: Path | None = None) -> None:
    """Run a bot until SIGTERM or SIGINT; SIGHUP reloads its policy.

    :param ready_file: holds the bot's addresses as JSON while the bot is running
    """
    with _signals_blocked():
        bot = build(settings)
        addresses = bot.start()
        try:
            with _announced(ready_file, addresses):
                while signal.sigwait(_SIGNALS) == signal.SIGHUP:
                    bot.policies.reload()
        finally:
            bot.stop()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Keep signals pending until `sigwait`, in this thread and the threads that it starts.

    With handlers, a signal that follows another may stay pending in one of many threads.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        # Discard a second SIGTERM that arrived while the bot was stopping.
        while signal.sigtimedwait(_SIGNALS, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _announced(path: Path | None, addresses: Addresses) -> Iterator[None]:
    """Write the ready file, and remove it at the end."""
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
