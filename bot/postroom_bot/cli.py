# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: `postroom-bot serve`, and what operators and policy writers need beside it.

Exit status: 0 for success, 1 if a check found problems, 2 if the command failed.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import importlib.metadata
import json
import logging
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from postroom_bot import app, config
from postroom_bot.addresses import address, domain
from postroom_bot.backends import factory
from postroom_bot.backends.ledger import definition
from postroom_bot.config import Settings, SettingsError
from postroom_bot.domain import Action, Change, State
from postroom_bot.errors import Rejected, StartError, Unavailable
from postroom_bot.ops import logs, startup_checks
from postroom_bot.policy import dry_run
from postroom_bot.policy.explain import explain
from postroom_bot.policy.loader import PolicyError, load
from postroom_bot.slack import bolt_app
from postroom_bot.slack.manifest import manifest
from postroom_bot.store import audit, ledger, requests
from postroom_bot.store.schema import SCHEMA, migrate
from postroom_bot.ui import messages, parser
from postroom_bot.workflow.dependencies import Workspace
from postroom_bot.workflow.intake import Intake
from postroom_common.database import Connection, Database, DatabaseError, check_url
from postroom_common.logs import log_crashes

#: The exit statuses of all commands.
EXIT_STATUSES = {
    0: "Success.",
    1: "A check failed: `check-config` found errors, `audit verify` found tampering, `audit show` "
    "found no rows of the request, or `cancel` could not cancel it.",
    2: "The command could not run. Standard error has a line for each error.",
}
#: What keeps a command from being done; each is a sentence.
_NOT_DONE = (DatabaseError, StartError, parser.InvalidCommand, ValueError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the exit status."""
    options = parser_of_commands().parse_args(arguments)
    try:
        return int(options.run(options))
    except SettingsError as error:
        problems: Sequence[str] = error.mistakes
    except PolicyError as error:
        problems = error.sentences
    except Unavailable as error:
        problems = [messages.plain(error.once)]
    except Rejected as error:
        problems = [messages.plain(error.reason)]
    except _NOT_DONE as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        problems = ["interrupted"]
    except BrokenPipeError:
        # The reader has closed the pipe, and Python would flush into it again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        problems = [f"something can't be read or written ({error.strerror or error})"]
    for problem in problems:
        _say(_redacted(f"postroom-bot: {problem}"), sys.stderr)
    return 2


def _serve(options: argparse.Namespace) -> int:
    given = config.load(options.config)
    logs.configure(style=given.log_format, level=given.log_level, secrets=given.secrets())
    log_crashes(logs.PROGRAM)
    try:
        app.run(given, options.ready_file)
    except (*_NOT_DONE, Rejected, PolicyError):
        raise
    except Exception:  # noqa: BLE001 - logged, and the process ends
        # Python would wait for threads, which may wait for Slack forever.
        sys.excepthook(*sys.exc_info())
        logging.shutdown()
        os._exit(1)
    return 0


def _check_config(options: argparse.Namespace) -> int:
    """Tell of every mistake in the settings and in the policy."""
    policy_file: Path | None = options.policy
    problems = [] if policy_file else _problems_of_settings(options.config)
    policy_file = policy_file or config.partly(options.config).policy_file
    if policy_file is not None:
        try:
            load(policy_file)
        except PolicyError as error:
            problems += error.sentences
    if options.online and not problems:
        problems += _problems_online(config.load(options.config), policy_file)
    for problem in problems:
        _say(_redacted(problem))
    if not problems:
        _say("No mistakes found.")
    return 1 if problems else 0


def _problems_of_settings(path: Path | None) -> list[str]:
    problems: list[str] = []
    try:
        config.load(path)
    except SettingsError as error:
        problems += error.mistakes
    try:
        check_url(config.partly(path).database or Settings.model_fields["database"].default)
    except DatabaseError as error:
        problems.append(str(error))
    return problems


def _problems_online(given: Settings, policy_file: Path | None) -> list[str]:
    """Return the problems that only the mail service and Slack can report."""
    # Problems are printed as sentences. The same problems in a log would hide them.
    logs.configure(style="text", level="critical", secrets=given.secrets())
    policy = load(policy_file or given.policy_file)
    slack_api = bolt_app.slack_api_of(given)
    bolt_app.workspace_of(slack_api, given)
    bolt_app.check_socket(slack_api, given)
    with contextlib.ExitStack() as end:
        found = list(startup_checks.problems(slack_api, factory.mail_of(given, end), policy))
    unchecked = ", ".join(startup_checks.channels(policy))
    _say(f"Not checked before the first card is posted: {unchecked}.")
    return found


def _explain(options: argparse.Namespace) -> int:
    policy = load(options.policy or config.load(options.config).policy_file)
    mailbox = address(options.mailbox) if options.mailbox else None
    person = dry_run.person(policy, options.user, mailbox, options.group)
    change = _change_of(" ".join(options.words), person.mailbox)
    domains = [domain(name) for name in options.domain]
    facts = dry_run.facts(policy, person, change, domains)
    for line in explain(policy, person, change, facts, messages.plain):
        _say(line)
    if groups := dry_run.unasked(policy, person):
        named = ", ".join(groups)
        _say(f"Not checked: the members of the user groups of {named}. Only Slack has them.")
    return 0


def _change_of(words: str, mailbox: str | None) -> Change:
    """Return the change that these words of a slash command request."""
    asked = parser.parse(words)
    if isinstance(asked, parser.Password):
        return Change(Action.PASSWORD, asked.mailbox or mailbox or "")
    if isinstance(asked, Change):
        return asked
    raise ValueError("this needs no decision: a policy only decides what changes something")


def _manifest(options: argparse.Namespace) -> int:
    _print_json(manifest(socket_mode=options.url is None, url=options.url))
    return 0


def _migrate(options: argparse.Namespace) -> int:
    migrate(config.load(options.config).database)
    _say("The database has the schema that this version needs.")
    return 0


def _ledger(options: argparse.Namespace) -> int:
    given = config.load(options.config)
    with _database(given) as database:
        changes = [entry.change for entry in database.read(ledger.entries)]
    with contextlib.ExitStack() as end:
        there = factory.mail_of(given, end).mailboxes()
        _print_json(definition(changes, there, ZoneInfo(given.time_zone)))
    return 0


def _requests(options: argparse.Namespace) -> int:
    """Print the open requests, oldest first, a line of JSON each."""
    with _database(config.load(options.config)) as database:
        for one in database.read(requests.open_by):
            asked = {"id": one.id, "state": one.state, "requester": one.requester}
            times = {"created_at": one.created_at, "expires_at": one.execute_by or one.decide_by}
            _say(json.dumps({**asked, **times, **one.change.as_dict()}, default=str))
    return 0


def _cancel(options: argparse.Namespace) -> int:
    """Cancel a request; a running bot then updates its card and writes to the requester."""
    try:
        operator = f"operator:{getpass.getuser()}"
    except (KeyError, OSError):
        # In a container, a user may have a number and no name.
        operator = f"operator:{os.getuid()}"
    with _database(config.load(options.config)) as database:
        if (found := database.read(lambda c: requests.get(c, options.request))) is None:
            _say(f"postroom-bot: request {options.request} does not exist", sys.stderr)
            return 1
        intake = Intake(database, lambda: datetime.now(UTC), Workspace(""))
        key = f"{operator}:{secrets.token_hex(8)}"
        _say(messages.plain(intake.cancel(key, found.id, operator, operator=True)))
        after = database.read(lambda c: requests.get(c, found.id))
    return 0 if after is not None and after.state is State.CANCELLED else 1


def _audit_verify(options: argparse.Namespace) -> int:
    with _database(config.load(options.config)) as database:
        try:
            found = database.read(lambda c: _verified(c, options.lines))
        except audit.Tampered as error:
            _say(error.sentence)
            return 1
    _say(f"The audit is in order: {found.count} rows, the last one with hash {found.head}.")
    return 0


def _verified(connection: Connection, lines: Path | None) -> audit.Verified:
    if lines is None:
        return audit.verify(connection)
    try:
        with lines.open(encoding="utf-8") as file:
            return audit.verify_lines(connection, file)
    except OSError as error:
        raise StartError(f"{lines} can't be read ({error.strerror})") from None


def _audit_show(options: argparse.Namespace) -> int:
    """Print rows as the lines that are streamed, page by page."""
    page = partial(audit.rows, limit=audit.PAGE, request_id=options.request)
    after: int = options.after
    found = False
    with _database(config.load(options.config)) as database:
        while rows := database.read(partial(page, after=after)):
            for row in rows:
                _say(row.line())
            after, found = rows[-1].seq, True
    if options.request and not found:
        _say(f"postroom-bot: no audit rows about {options.request}", sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _database(given: Settings) -> Iterator[Database]:
    database = Database(given.database, create=False)
    try:
        SCHEMA.check(database)
        yield database
    finally:
        database.close()


def _print_json(data: Any) -> None:
    _say(json.dumps(data, indent=2, ensure_ascii=False))


def _redacted(problem: str) -> str:
    """Return a message without secrets, such as one that was taken for a file name."""
    return logs.Redactor(config.secrets_in(os.environ))(problem)


def _say(line: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(line + "\n")


def _version() -> str:
    try:
        return f"%(prog)s {importlib.metadata.version('postroom')}"
    except importlib.metadata.PackageNotFoundError:
        return "%(prog)s, from a checkout"


def parser_of_commands() -> argparse.ArgumentParser:
    """Return the parser of the program's arguments."""
    parser = argparse.ArgumentParser(
        "postroom-bot", description="Manage email addresses, forwarding and passwords from Slack."
    )
    parser.add_argument("--version", action="version", version=_version())
    _add_config(parser, default=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = _added(commands, "serve", "Run the bot.")
    serve.add_argument(
        "--ready-file",
        type=Path,
        metavar="FILE",
        help="write a JSON file with pid, admin and slack when ready, and delete it at exit",
    )
    serve.set_defaults(run=_serve)
    _add_policy_commands(commands)
    _add_database_commands(commands)
    shown = _added(commands, "manifest", "Print the Slack app's manifest.")
    shown.add_argument(
        "--url", metavar="URL", help="the https:// URL for HTTP mode (default: Socket Mode)"
    )
    shown.set_defaults(run=_manifest)
    return parser


def _add_config(parser: argparse.ArgumentParser, default: Any) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=default,
        help=f"settings file in YAML (default: {config.CONFIG_VARIABLE})",
    )


def _added(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    """Add a command that accepts --config, too."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about)
    # Without it here, a --config before the command stays in force.
    _add_config(parser, default=argparse.SUPPRESS)
    return parser


def _add_policy_commands(commands: Any) -> None:
    check = _added(commands, "check-config", "Validate the settings and the policy.")
    check.add_argument(
        "--online",
        action="store_true",
        help="also verify tokens, people and user groups with the mail service and Slack",
    )
    check.set_defaults(run=_check_config)
    why = _added(
        commands,
        "explain",
        "Explain the policy's decision on a request, rule by rule. Does not contact any service.",
    )
    why.set_defaults(run=_explain)
    for command in (check, why):
        command.add_argument(
            "--policy", type=Path, metavar="FILE", help="use this policy file and read no settings"
        )
    why.add_argument(
        "--user",
        metavar="ID",
        default="",
        help="the requester's Slack user id, which selects the pinned mailbox and the groups",
    )
    why.add_argument(
        "--mailbox",
        metavar="ADDRESS",
        help="the requester's mailbox (default: the one pinned to --user)",
    )
    why.add_argument(
        "--group",
        metavar="NAME",
        action="append",
        default=[],
        help="another group of the requester (repeatable)",
    )
    why.add_argument(
        "--domain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="a domain of the tenant (repeatable, default: those of the known mailboxes)",
    )
    why.add_argument(
        "words",
        metavar="WORD",
        nargs="+",
        help="the command as typed in Slack, such as: alias add a@example.com",
    )


def _add_database_commands(commands: Any) -> None:
    _added(commands, "migrate", "Migrate the database to this version's schema.").set_defaults(
        run=_migrate
    )
    books = _added(
        commands, "ledger", "Print the changes made through Slack as a definition for email_tenant."
    )
    books.set_defaults(run=_ledger)
    _added(commands, "requests", "List the open requests as JSON lines.").set_defaults(
        run=_requests
    )
    cancel = _added(
        commands, "cancel", "Cancel any open request, update its card and notify the requester."
    )
    cancel.add_argument("request", metavar="ID", help="a request id such as R-7K2M")
    cancel.set_defaults(run=_cancel)
    audits = commands.add_parser("audit", help="Read or verify the audit.").add_subparsers(
        required=True, metavar="COMMAND"
    )
    verify = _added(audits, "verify", "Verify the audit's hash chain.")
    verify.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="also compare it with this file of streamed lines",
    )
    verify.set_defaults(run=_audit_verify)
    show = _added(audits, "show", "Print the audit as JSON lines.")
    show.add_argument(
        "--after", type=int, default=0, metavar="SEQ", help="only rows after this one"
    )
    show.add_argument("--request", metavar="ID", help="only rows of this request")
    show.set_defaults(run=_audit_show)
