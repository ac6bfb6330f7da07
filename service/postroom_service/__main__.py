# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: `postroom-service serve` and `postroom-service token`."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from sqlalchemy.exc import SQLAlchemyError

from . import logs, tokens
from . import options as read
from .app import create_app
from .database import Database, DatabaseError, has_password, is_memory, reason
from .faults import Faults, parse_plan
from .options import PREFIX, VariableError, checked, variable
from .server import Listening, ServeError, serve, write_private
from .settings import Settings

log = logging.getLogger("postroom_service")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the exit status."""
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except (DatabaseError, ServeError, VariableError, ValueError) as error:
        message = str(error)
    except SQLAlchemyError as error:
        message = f"the database failed ({reason(error)})"
    _say(f"postroom-service: {message}", sys.stderr)
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
                label=options.label or "",
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
    where = options.database
    if where is None:
        where = variable("DATABASE") or "postroom.sqlite3"
    elif has_password(where):
        raise DatabaseError(
            "a command line is no place for a password: "
            f"give the URL in {PREFIX}DATABASE or use ~/.pgpass"
        )
    if options.run is not _serve and is_memory(where):
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


def _version() -> str:
    try:
        return f"%(prog)s {importlib.metadata.version('postroom')}"
    except importlib.metadata.PackageNotFoundError:
        return "%(prog)s, from a checkout"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "postroom-service", description="A hosted email API: the Postroom reference service."
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="serve the API"))
    token = commands.add_parser("token", help="manage bearer tokens").add_subparsers(
        required=True, metavar="COMMAND"
    )
    create = token.add_parser("create", help="make a token and print it, once")
    create.add_argument(
        "--tenant",
        required=True,
        type=checked(read.line),
        help="the account that the token opens; made if missing",
    )
    create.add_argument("--label", type=checked(read.line), help="a note on what the token is for")
    create.add_argument(
        "--expires-days", type=checked(read.days), help="let the token end after so many days"
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
        "--host",
        default=variable("HOST", "127.0.0.1"),
        help=f"address to listen on (%(default)s; {PREFIX}HOST)",
    )
    parser.add_argument(
        "--port",
        type=checked(read.port),
        default=variable("PORT", "8025"),
        help=f"0 takes a free one (%(default)s; {PREFIX}PORT)",
    )
    parser.add_argument(
        "--mail-host",
        default=variable("MAIL_HOST", Settings.mail_host),
        help=f"host name in MX records (%(default)s; {PREFIX}MAIL_HOST)",
    )
    parser.add_argument(
        "--service-domain",
        default=variable("SERVICE_DOMAIN", Settings.service_domain),
        help=f"domain that SPF records include (%(default)s; {PREFIX}SERVICE_DOMAIN)",
    )
    _add_tls(parser)
    parser.add_argument(
        "--ready-file", type=Path, help="written with url and pid once the service listens"
    )
    parser.add_argument(
        "--bootstrap",
        type=checked(read.line),
        metavar="TENANT",
        help="make a fresh token for this tenant at start",
    )
    parser.add_argument(
        "--token-file", type=Path, help="where --bootstrap writes the token, for its owner only"
    )
    parser.add_argument(
        "--faults",
        type=checked(read.faults),
        default=variable("FAULTS"),
        metavar="SPEC",
        help=f"inject faults, see the README ({PREFIX}FAULTS)",
    )
    _add_choice(parser, "--log-format", ("json", "text"), "LOG_FORMAT", "json")
    levels = ("debug", "info", "warning", "error")
    _add_choice(parser, "--log-level", levels, "LOG_LEVEL", "info")
    parser.add_argument(
        "--secret-cost",
        type=checked(read.cost),
        default=variable("SECRET_COST", Settings.secret_cost),
        help=f"argon2id cost (%(default)s; {PREFIX}SECRET_COST)",
    )
    parser.set_defaults(run=_serve)


def _add_tls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tls-cert",
        type=Path,
        default=variable("TLS_CERT"),
        help=f"PEM certificate chain; HTTPS ({PREFIX}TLS_CERT)",
    )
    parser.add_argument(
        "--tls-key",
        type=Path,
        default=variable("TLS_KEY"),
        help=f"PEM key of the certificate ({PREFIX}TLS_KEY)",
    )


def _add_choice(
    parser: argparse.ArgumentParser, option: str, values: Sequence[str], name: str, otherwise: str
) -> None:
    # Not argparse's `choices`, which lets any default pass.
    parser.add_argument(
        option,
        type=checked(read.choice(*values)),
        default=variable(name, otherwise),
        metavar="{" + ",".join(values) + "}",
        help=f"%(default)s unless given ({PREFIX}{name})",
    )


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        metavar="DATABASE",
        help=f"a file, postgresql://host/name or memory (postroom.sqlite3; {PREFIX}DATABASE)",
    )


if __name__ == "__main__":
    sys.exit(main())
