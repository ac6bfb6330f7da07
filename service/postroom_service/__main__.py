# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: `postroom-service serve` and `postroom-service token`."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from . import logs, passwords, tokens
from .app import create_app
from .database import MEMORY, Database, DatabaseError, has_password
from .faults import FaultError, Faults, parse_plan
from .server import Listening, ServeError, serve, write_private
from .settings import Settings

log = logging.getLogger("postroom_service")

ENVIRONMENT = "POSTROOM_SERVICE_"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except (DatabaseError, FaultError, ServeError, ValueError) as error:
        _say(f"postroom-service: {error}", sys.stderr)
        return 2


def _serve(options: argparse.Namespace) -> int:
    settings = Settings(options.mail_host, options.service_domain, options.secret_cost)
    listening = Listening(
        options.host, options.port, options.tls_cert, options.tls_key, options.ready_file
    )
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ServeError("--tls-cert and --tls-key go together")
    if (options.bootstrap is None) != (options.token_file is None):
        raise ServeError("--bootstrap and --token-file go together")
    plan = parse_plan(options.faults) if options.faults else None
    passwords.hasher(settings.secret_cost)
    logs.configure(style=options.log_format, level=options.log_level)
    with _database(options) as database:
        if options.bootstrap is not None:
            token = database.write(
                lambda connection: tokens.create(connection, options.bootstrap, label="bootstrap")
            )
            write_private(options.token_file, token + "\n")
        app = create_app(database, settings)
        if plan is not None:
            log.warning("faults are injected into requests: %s", options.faults)
        layered = logs.RequestLog(app if plan is None else Faults(app, plan))
        serve(layered, listening)
    return 0


def _token_create(options: argparse.Namespace) -> int:
    with _database(options) as database:
        text = database.write(
            lambda connection: tokens.create(
                connection,
                options.tenant,
                label=options.label,
                expires_days=options.expires_days,
            )
        )
    _say(text)
    return 0


def _token_list(options: argparse.Namespace) -> int:
    with _database(options) as database:
        rows = database.read(tokens.listing)
    now = time.time()
    _say("ID\tTENANT\tLABEL\tCREATED\tEXPIRES\tSTATE")
    for row in rows:
        cells = (
            row.id,
            row.tenant,
            row.label,
            _day(row.created_at),
            _day(row.expires_at),
            row.state(now),
        )
        _say("\t".join(map(str, cells)))
    return 0


def _token_revoke(options: argparse.Namespace) -> int:
    with _database(options) as database:
        known = database.write(lambda connection: tokens.revoke(connection, options.id))
    if not known:
        _say(f"postroom-service: there is no token {options.id}", sys.stderr)
    return 0 if known else 1


@contextlib.contextmanager
def _database(options: argparse.Namespace) -> Iterator[Database]:
    if options.database is None:
        where = os.environ.get(ENVIRONMENT + "DATABASE", "postroom.sqlite3")
    else:
        where = options.database
        if has_password(where):
            raise DatabaseError(
                "a command line is no place for a password: "
                f"give the URL in {ENVIRONMENT}DATABASE or use ~/.pgpass"
            )
    if options.run is not _serve and where == MEMORY:
        raise DatabaseError(
            "a memory database lives in its serving process only: use serve --bootstrap"
        )
    database = Database(where)
    try:
        database.prepare()
        yield database
    finally:
        database.close()


def _say(line: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(line + "\n")


def _day(seconds: int | None) -> str:
    return "-" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "postroom-service", description="A hosted email API: the Postroom reference service."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="serve the API"))
    token = commands.add_parser("token", help="manage bearer tokens").add_subparsers(
        required=True, metavar="COMMAND"
    )
    create = token.add_parser("create", help="make a token and print it, once")
    create.add_argument(
        "--tenant",
        required=True,
        type=_text,
        help="the account that the token opens; made if missing",
    )
    create.add_argument("--label", default="", help="a note on what the token is for")
    create.add_argument(
        "--expires-days", type=_positive, help="let the token end after so many days"
    )
    create.set_defaults(run=_token_create)
    listing = token.add_parser("list", help="list tokens; their text can't be shown again")
    listing.set_defaults(run=_token_list)
    revoke = token.add_parser("revoke", help="end a token at once")
    revoke.add_argument("id", type=int, help="the number that list shows")
    revoke.set_defaults(run=_token_revoke)
    for command in (create, listing, revoke):
        _add_database(command)
    return parser


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_database(parser)
    parser.add_argument(
        "--host", default=_default("HOST", "127.0.0.1"), help="address to listen on (%(default)s)"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=_default("PORT", "8025"),
        help="0 takes a free one (%(default)s)",
    )
    parser.add_argument(
        "--mail-host",
        default=_default("MAIL_HOST", Settings.mail_host),
        help="host name in MX records (%(default)s)",
    )
    parser.add_argument(
        "--service-domain",
        default=_default("SERVICE_DOMAIN", Settings.service_domain),
        help="domain that SPF records include (%(default)s)",
    )
    parser.add_argument(
        "--tls-cert", type=Path, default=_default("TLS_CERT"), help="PEM certificate chain; HTTPS"
    )
    parser.add_argument(
        "--tls-key", type=Path, default=_default("TLS_KEY"), help="PEM key of the certificate"
    )
    parser.add_argument(
        "--ready-file", type=Path, help="written with url and pid once the service listens"
    )
    parser.add_argument(
        "--bootstrap",
        type=_text,
        metavar="TENANT",
        help="make a fresh token for this tenant at start",
    )
    parser.add_argument(
        "--token-file", type=Path, help="where --bootstrap writes the token, for its owner only"
    )
    parser.add_argument(
        "--faults", default=_default("FAULTS"), metavar="SPEC", help="inject faults, see the README"
    )
    parser.add_argument(
        "--log-format", choices=("json", "text"), default=_default("LOG_FORMAT", "json")
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default=_default("LOG_LEVEL", "info"),
    )
    parser.add_argument(
        "--secret-cost",
        default=_default("SECRET_COST", Settings.secret_cost),
        help="argon2id cost (%(default)s)",
    )
    parser.set_defaults(run=_serve)


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        metavar="DATABASE",
        help="a file, postgresql://host/name or memory (DATABASE, else postroom.sqlite3)",
    )


def _default(name: str, otherwise: str | None = None) -> str | None:
    return os.environ.get(ENVIRONMENT + name) or otherwise


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError("give a number of days above 0")
    return number


def _text(text: str) -> str:
    if not 0 < len(text.strip()) <= 100 or not text.isprintable():
        raise argparse.ArgumentTypeError("give a name of 1 to 100 printable characters")
    return text.strip()


if __name__ == "__main__":
    sys.exit(main())
