# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build the bot from its settings and run it until a signal stops it."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from postroom_bot.backends.awx_client import AwxClient
from postroom_bot.backends.awx_executor import AwxExecutor
from postroom_bot.backends.executor import Executor
from postroom_bot.backends.mail_api import MailApi, create_mail_api
from postroom_bot.backends.password_notices import create_password_notices
from postroom_bot.backends.slack_api import SlackApi, fetch_workspace
from postroom_bot.config import Settings
from postroom_bot.domain import Action
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ops.definition_page import DefinitionPage
from postroom_bot.ops.metrics import Metrics
from postroom_bot.ops.online_checks import log_problems
from postroom_bot.ops.web_server import AdminApp, Health, WebServer
from postroom_bot.policy.loader import PolicyReloader
from postroom_bot.slack.bolt_app import create_app
from postroom_bot.slack.transports import THREADS, Transport, create_transport
from postroom_bot.store.tables import SCHEMA
from postroom_bot.workflow.definition import chat_definition
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.people import People
from postroom_bot.workflow.worker import Worker
from postroom_common.database import Database, DatabaseError

#: How many seconds the worker has to finish its current steps: longer than the default timeout of a
#: call to the mail API.
STOP_TIMEOUT = 45.0
_ADMIN_THREADS = 3
#: How many seconds to wait for the online checks to end.
_JOIN_TIMEOUT = 1.0
#: How many seconds a health check waits for another one to end.
_CHECK_TIMEOUT = 1.0
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


def run(settings: Settings, ready_file: Path | None = None) -> None:
    """Run the bot until SIGTERM or SIGINT. SIGHUP reloads the policy.

    On shutdown, the bot stops accepting requests, finishes those in progress, and closes its
    resources in reverse order. If one of these steps fails, the others still run.

    :param ready_file: a file that contains the bot's addresses as JSON while the bot is running
    :raises StartError: if a setting can't be used, or a component can't start
    :raises PolicyError: if the policy is invalid
    :raises DatabaseError: if the database can't be used
    """
    with _signals_blocked():
        with ExitStack() as closing:
            policies = PolicyReloader(settings.policy_file)
            deps = _dependencies(settings, policies, closing)
            worker = Worker(deps, settings.workers)
            thread_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="handler")
            closing.callback(thread_pool.shutdown)
            transport = create_transport(settings, create_app(settings, deps, thread_pool))
            health_checks: dict[str, Callable[[], Health]] = {
                "database": _DatabaseCheck(deps.database),
                # After an invalid change, the bot keeps the previous policy, so it is still ready.
                "policy": lambda: Health(works=True, text=policies.status),
                "slack": lambda: _slack_health(deps.slack_api, transport),
                # Requests wait during an outage of the mail API, so the bot stays ready.
                "mail": lambda: Health(works=True, text=deps.mail.last_answer),
                "password_notices": lambda: _notices_health(deps),
            }
            admin = WebServer(
                AdminApp(health_checks, deps.metrics, _definition_page(settings, deps)),
                settings.admin_host,
                settings.admin_port,
                threads=_ADMIN_THREADS,
            )
            closing.callback(admin.stop)
            addresses = {"admin": admin.start()}
            closing.callback(_stop_worker, worker)
            worker.start()
            # Accept requests from Slack last, when everything else is running.
            addresses["slack"] = transport.start()
            closing.callback(transport.stop)
            log.info("ready; health and metrics at %s", addresses["admin"])
            checks_ended = Event()
            services = (deps.slack_api, deps.mail, deps.policy(), deps.password_notices)
            given = (*services, checks_ended)
            checks = Thread(target=log_problems, args=given, name="online-checks", daemon=True)
            checks.start()
            closing.callback(checks.join, _JOIN_TIMEOUT)
            closing.callback(checks_ended.set)
            closing.callback(log.info, "stopping")
            if ready_file:
                closing.enter_context(_announced(ready_file, addresses))
            while signal.sigwait(_SIGNALS) == signal.SIGHUP:
                policies.reload()
        log.info("stopped")


def _dependencies(settings: Settings, policies: PolicyReloader, closing: ExitStack) -> Dependencies:
    """Create the workflow's dependencies. Ask Slack for the bot's workspace and app."""
    database = _open_database(settings, closing)
    slack_api = SlackApi(settings.slack_bot_token.get_secret_value(), settings.slack_api_url)
    mail = create_mail_api(settings, closing)
    clock = partial(datetime.now, UTC)
    stopping = Event()
    executor = _create_executor(settings, mail, stopping.wait)
    workspace = fetch_workspace(slack_api, settings)
    return Dependencies(
        database=database,
        clock=clock,
        policy=policies.current,
        people=People(slack_api, database, clock, policies.current, workspace),
        slack_api=slack_api,
        mail=mail,
        executor=executor,
        workspace=workspace,
        process_name=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        metrics=Metrics(),
        lease=timedelta(seconds=settings.lease),
        zone=ZoneInfo(settings.time_zone),
        password_notices=create_password_notices(settings),
        audit_lines=_audit_stream(settings.audit_lines, closing),
        stopping=stopping,
    )


def _definition_page(settings: Settings, deps: Dependencies) -> DefinitionPage | None:
    if settings.definition_token is None:
        return None
    read = partial(chat_definition, deps.database, deps.mail)
    return DefinitionPage(read, settings.definition_token)


def _create_executor(settings: Settings, mail: MailApi, wait: Callable[[float], bool]) -> Executor:
    """Return the executor that the settings select, for the mail API or for AWX."""
    if settings.executor == "mail":
        return mail
    user, password = settings.awx_username or "", settings.awx_password or SecretStr("")
    try:
        client = AwxClient(
            settings.awx_url or "",
            settings.awx_token or (user, password),
            verify=settings.validate_certs,
            ca_path=str(settings.ca_path) if settings.ca_path else None,
        )
    except ValueError as error:
        raise StartError(f"AWX can't be used: {error}") from None
    forwarder = settings.awx_forwarder_template or 0
    templates = {
        Action.ALIAS_ADD: settings.awx_add_alias_template or 0,
        Action.ALIAS_REMOVE: settings.awx_remove_alias_template or 0,
        Action.FORWARD_ADD: forwarder,
        Action.FORWARD_REMOVE: forwarder,
    }
    return AwxExecutor(client, templates, mail, wait=wait)


def _open_database(settings: Settings, closing: ExitStack) -> Database:
    """Open the database, and migrate it if automatic migration is enabled.

    For an SQLite database, a lock file ensures that only one bot uses the database.
    """
    database = Database(settings.database)
    closing.callback(database.close)
    if database.is_sqlite:
        path = Path(settings.database.rpartition("sqlite:///")[2]).expanduser().absolute()
        lock = path.with_name(f"{path.name}.lock")
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        closing.callback(os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StartError(
                f"another bot uses {path}; more than one replica needs PostgreSQL"
            ) from None
    migrates = settings.auto_migrate
    if database.is_sqlite if migrates is None else migrates:
        SCHEMA.migrate(database)
    SCHEMA.check(database)
    return database


def _audit_stream(target: str | None, closing: ExitStack) -> Callable[[str], None] | None:
    """Return a function that writes an audit line and flushes the file.

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
        file = closing.enter_context(opened)

    def write(line: str) -> None:
        file.write(line + "\n")
        file.flush()

    return write


class _DatabaseCheck:
    """The health check of the database.

    Only one thread at a time waits for the database, so that the others can answer ``/healthz``.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()

    def __call__(self) -> Health:
        if not self._lock.acquire(timeout=_CHECK_TIMEOUT):
            return Health(works=False, text="the database is not responding")
        try:
            SCHEMA.check(self._database)
        except DatabaseError as error:
            return Health(works=False, text=str(error))
        finally:
            self._lock.release()
        return Health(works=True)


def _slack_health(slack_api: SlackApi, transport: Transport) -> Health:
    if slack_api.locked_out:
        # Without traffic, no other call would detect that Slack accepts the token again.
        with suppress(SlackUnavailable, SlackRejected):
            slack_api.whoami()
    if slack_api.locked_out:
        return Health(works=False, text=f"Slack rejects the token: {slack_api.locked_out}")
    return transport.health()


def _notices_health(deps: Dependencies) -> Health:
    # Without notices, people can't create passwords, but everything else works.
    notices = deps.password_notices
    return Health(works=True, text=notices.last_result if notices else "no smtp_host")


def _stop_worker(worker: Worker) -> None:
    if not worker.stop(STOP_TIMEOUT):
        log.warning(
            "a request was not finished in time; another bot that uses the database will continue "
            "it, or this bot after its next start"
        )


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block the signals in this thread and in threads that it starts, so that `sigwait` gets them.

    Signal handlers are not used, because a second signal could remain pending in another thread.
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
def _announced(path: Path, addresses: Mapping[str, str]) -> Iterator[None]:
    """Write the ready file, and delete it at exit."""
    text = json.dumps({"pid": os.getpid(), **addresses})
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
