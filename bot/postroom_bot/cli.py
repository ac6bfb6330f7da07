# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: `serve`, and commands for operators and policy authors."""

from __future__ import annotations

import contextlib
import getpass
import importlib.metadata
import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from postroom_bot import app, config
from postroom_bot.addresses import address, domain
from postroom_bot.backends.mail_api import create_mail_api
from postroom_bot.backends.password_notices import create_password_notices
from postroom_bot.backends.slack_api import SlackApi, check_socket, fetch_workspace
from postroom_bot.config import Settings, SettingsError
from postroom_bot.domain import Action, Change
from postroom_bot.errors import Rejected, StartError, Unavailable
from postroom_bot.ops import logs, online_checks
from postroom_bot.policy.explanation import explain, facts_of, person_of
from postroom_bot.policy.loader import PolicyError, load
from postroom_bot.policy.model import Policy
from postroom_bot.slack.manifest import manifest
from postroom_bot.store import audit, requests
from postroom_bot.store.tables import SCHEMA, migrate
from postroom_bot.ui import parser
from postroom_bot.ui.reason_texts import plain_reason_text
from postroom_bot.workflow.definition import chat_definition
from postroom_bot.workflow.request_service import cancel_as_operator
from postroom_common.database import Connection, Database, DatabaseError
from postroom_common.logs import log_crashes

#: The exit statuses of all commands.
EXIT_STATUSES = {
    0: "Success.",
    1: "The command ran, but `check-config` found errors, `audit verify` found tampering, `audit "
    "show` found no rows about the request, or `cancel` could not cancel the request.",
    2: "The command could not run. Standard error contains a line for each error.",
}
_NO_NOTICES = (
    "smtp_host is not set, so the bot sends no notices about new passwords by email. Whoever "
    "controls a Slack account can create a password without the mailbox's owner noticing, unless "
    "the policy requires an approval.\n"
)
#: Errors that prevent a command from running. The message of each error is a sentence.
_FAILURES = (DatabaseError, StartError, parser.InvalidCommand, ValueError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        # click's own `main` would handle interrupts and closed pipes differently.
        with cli.make_context("postroom-bot", words) as context:
            return int(cli.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (SettingsError, PolicyError) as error:
        problems: Sequence[str] = error.sentences
    except (Unavailable, Rejected) as error:
        problems = [plain_reason_text(error.reason_without_retry)]
    except _FAILURES as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        problems = ["interrupted"]
    except BrokenPipeError:
        # The reader has closed the pipe, but Python flushes standard output again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        problems = [f"I/O error ({error.strerror or error})"]
    for problem in problems:
        click.echo(_redacted(f"postroom-bot: {problem}"), err=True)
    return 2


def _version() -> str:
    try:
        return f"%(prog)s {importlib.metadata.version('postroom')}"
    except importlib.metadata.PackageNotFoundError:
        return "%(prog)s, from a checkout"


def _settings_file(context: click.Context, _option: click.Parameter, value: Path | None) -> Any:
    """Return the settings file given after the subcommand, or else the one given before it."""
    context.obj = value or context.obj
    return context.obj


_CONFIG = click.option(
    "--config",
    "file",
    type=Path,
    metavar="FILE",
    callback=_settings_file,
    help=f"YAML file with the settings (default: the file named in {config.CONFIG_VARIABLE})",
)
_POLICY = click.option(
    "--policy", type=Path, metavar="FILE", help="use this policy file, without reading the settings"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(message=_version(), version="")
@_CONFIG
def cli(file: Path | None) -> None:
    """Manage email addresses, forwarding and passwords from Slack."""


@cli.command("serve")
@_CONFIG
@click.option(
    "--ready-file",
    type=Path,
    metavar="FILE",
    help="write a JSON file with the keys pid, admin and slack when ready, and delete it at exit",
)
def _serve(file: Path | None, ready_file: Path | None) -> None:
    """Run the bot."""
    given = config.load(file)
    logs.configure(style=given.log_format, level=given.log_level, secrets=given.secrets())
    log_crashes(logs.PROGRAM)
    try:
        app.run(given, ready_file)
    except (*_FAILURES, Rejected, PolicyError):
        raise
    except Exception:  # noqa: BLE001 - logged, and the process ends
        # A normal exit would wait for threads that may themselves wait for Slack forever.
        sys.excepthook(*sys.exc_info())
        logging.shutdown()
        os._exit(1)


@cli.command("check-config")
@_CONFIG
@click.option(
    "--online",
    is_flag=True,
    help="also check the tokens, users and user groups with the mail service and Slack",
)
@_POLICY
def _check_config(file: Path | None, policy: Path | None, *, online: bool) -> int:
    """Validate the settings and the policy."""
    policy_file, rules, problems, note = policy, None, list[str](), ""
    if policy_file is None:
        try:
            given = config.load(file)
            policy_file = given.policy_file
            note = "" if given.smtp_host else _NO_NOTICES
        except SettingsError as error:
            problems += error.sentences
            policy_file = error.policy_file
    if policy_file is not None:
        try:
            rules = load(policy_file)
        except PolicyError as error:
            problems += error.sentences
    if online and rules is not None and not problems:
        problems += _problems_online(config.load(file), rules)
    for problem in problems:
        click.echo(_redacted(problem))
    if not problems:
        click.echo(f"{note}No errors found.")
    return 1 if problems else 0


def _problems_online(given: Settings, policy: Policy) -> list[str]:
    """Return the problems that only the mail service and Slack can report."""
    # The problems are printed, so log messages about them would be redundant.
    logs.configure(style="text", level="critical", secrets=given.secrets())
    slack_api = SlackApi(given.slack_bot_token.get_secret_value(), given.slack_api_url)
    fetch_workspace(slack_api, given)
    check_socket(slack_api, given)
    with contextlib.ExitStack() as end:
        mail, notices = create_mail_api(given, end), create_password_notices(given)
        found = list(online_checks.problems(slack_api, mail, policy, notices))
    # Checking the channels would require an OAuth scope that the bot does not request.
    channels: dict[str, str | None] = {"channels.approvals": policy.channels.approvals}
    channels |= {f"groups.{name}.channel": group.channel for name, group in policy.groups.items()}
    channels |= {"channels.audit": policy.channels.audit}
    unchecked = ", ".join(f"{key} {channel}" for key, channel in channels.items() if channel)
    click.echo(f"These channels are not checked until the bot posts to them: {unchecked}.")
    return found


@cli.command("explain")
@_CONFIG
@_POLICY
@click.option(
    "--user",
    metavar="ID",
    default="",
    help="the requester's Slack user id, used to find their pinned mailbox and their groups",
)
@click.option(
    "--mailbox",
    metavar="ADDRESS",
    help="the requester's mailbox (default: the one pinned to --user)",
)
@click.option(
    "--group",
    metavar="NAME",
    multiple=True,
    help="an additional group that the requester is in (repeatable)",
)
@click.option(
    "--domain",
    "domains",
    metavar="DOMAIN",
    multiple=True,
    help="a domain of the tenant (repeatable; default: the domains of identity.slack_email, of "
    "pinned mailboxes and of the requester's mailbox)",
)
@click.argument("words", metavar="WORD...", nargs=-1, required=True)
def _explain(
    file: Path | None,
    policy: Path | None,
    user: str,
    mailbox: str | None,
    group: tuple[str, ...],
    domains: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    """Explain the policy's decision on a request, rule by rule.

    Type the request as you would after /email in Slack, for example: alias add a@example.com. This
    command contacts no service.
    """
    rules = load(policy or config.load(file).policy_file)
    person = person_of(rules, user, address(mailbox) if mailbox else None, group)
    asked = parser.parse(" ".join(words))
    if isinstance(asked, parser.Password):
        change = Change(Action.PASSWORD, asked.mailbox or person.mailbox or "")
    elif isinstance(asked, Change):
        change = asked
    else:
        raise StartError("the policy does not apply to this command, because it requests no change")
    facts = facts_of(rules, person, change, map(domain, domains))
    for line in explain(rules, person, change, facts, plain_reason_text):
        click.echo(line)
    if change.last_day is not None and change.last_day < facts.today:
        click.echo("The bot refuses the request, because its end date has passed.")
    if person.mailbox is None:
        click.echo("Not known: the requester's own mailbox. Give it with --mailbox.")
    unknown = [n for n, g in rules.groups.items() if g.usergroups and n not in person.groups]
    if unknown:
        named = ", ".join(unknown)
        click.echo(f"Not checked: the user groups of {named}. Only Slack knows their members.")


@cli.command("migrate")
@_CONFIG
def _migrate(file: Path | None) -> None:
    """Migrate the database to this version's schema."""
    migrate(config.load(file).database)
    click.echo("The database schema is up to date.")


@cli.command("definition")
@_CONFIG
def _definition(file: Path | None) -> None:
    """Print the changes made through Slack as a definition for email_tenant."""
    given = config.load(file)
    with _opened_database(given) as database, contextlib.ExitStack() as end:
        found = chat_definition(database, create_mail_api(given, end))
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


@cli.command("requests")
@_CONFIG
def _requests(file: Path | None) -> None:
    """List the open requests as JSON lines."""
    with _opened_database(config.load(file)) as database:
        for one in database.read(requests.open_by):
            asked = {"id": one.id, "state": one.state, "requester": one.requester}
            times = {"created_at": one.created_at, "expires_at": one.execute_by or one.decide_by}
            click.echo(json.dumps({**asked, **times, **one.change.as_dict()}, default=str))


@cli.command("cancel")
@_CONFIG
@click.argument("request", metavar="ID")
def _cancel(file: Path | None, request: str) -> int:
    """Cancel any open request, such as R-7K2M. A running bot then notifies the requester."""
    try:
        operator = f"operator:{getpass.getuser()}"
    except (KeyError, OSError):
        # In a container, the user may have an id but no name.
        operator = f"operator:{os.getuid()}"
    with _opened_database(config.load(file)) as database:
        # A running bot notices the cancellation, updates the card and notifies the requester.
        answer = cancel_as_operator(database, partial(datetime.now, UTC), request, operator)
    if answer.code == "request.unknown":
        click.echo(f"postroom-bot: request {request} does not exist", err=True)
        return 1
    click.echo(plain_reason_text(answer))
    return 0 if answer.code == "request.cancelled" else 1


@cli.group("audit")
def _audit() -> None:
    """Read or verify the audit."""


@_audit.command("verify")
@_CONFIG
@click.option(
    "--lines",
    type=Path,
    metavar="FILE",
    help="also compare the audit with this file of streamed lines",
)
def _audit_verify(file: Path | None, lines: Path | None) -> int:
    """Verify the audit's hash chain."""

    def verified(connection: Connection) -> audit.Verified:
        if lines is None:
            return audit.verify(connection)
        try:
            with lines.open(encoding="utf-8") as streamed:
                return audit.verify_lines(connection, streamed)
        except OSError as error:
            raise StartError(f"{lines} can't be read ({error.strerror})") from None

    with _opened_database(config.load(file)) as database:
        try:
            found = database.read(verified)
        except audit.Tampered as error:
            click.echo(error.sentence)
            return 1
    click.echo(f"The audit is intact: {found.count} rows. The last hash is {found.head}.")
    return 0


@_audit.command("show")
@_CONFIG
@click.option("--after", default=0, metavar="SEQ", help="print only the rows after this number")
@click.option("--request", metavar="ID", help="print only the rows about this request")
def _audit_show(file: Path | None, after: int, request: str | None) -> int:
    """Print the audit as JSON lines."""
    page = partial(audit.rows, limit=audit.PAGE, request_id=request)
    found = False
    with _opened_database(config.load(file)) as database:
        while rows := database.read(partial(page, after=after)):
            for row in rows:
                click.echo(row.line())
            after, found = rows[-1].seq, True
    if request and not found:
        click.echo(f"postroom-bot: no audit rows about {request}", err=True)
        return 1
    return 0


@cli.command("manifest")
@_CONFIG
@click.option("--url", metavar="URL", help="the https:// URL for HTTP mode (omit in Socket Mode)")
def _manifest(file: Path | None, url: str | None) -> None:  # noqa: ARG001 - for all commands
    """Print the Slack app's manifest."""
    click.echo(json.dumps(manifest(url), indent=2, ensure_ascii=False))


@contextlib.contextmanager
def _opened_database(given: Settings) -> Iterator[Database]:
    database = Database(given.database, create=False)
    try:
        SCHEMA.check(database)
        yield database
    finally:
        database.close()


def _redacted(problem: str) -> str:
    """Redact secrets in a message, such as a token that was passed as a file name."""
    return logs.Redactor(config.secrets_in_environment())(problem)
