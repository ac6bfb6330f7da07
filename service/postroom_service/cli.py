# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: `postroom-service serve`, `migrate` and `token`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import click
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from postroom_common import logs
from postroom_common.database import Database, DatabaseError, has_password, readable_errors

from . import auth, dkim, names, passwords, verification
from .api import ROUTES, Service, create_app
from .faults import Faults, parse_plan
from .requests import RequestLog
from .server import Listening, ServeError, make_folder, serve, write_private
from .store import SCHEMA
from .verification import VerificationError, Verifier

PREFIX = "POSTROOM_SERVICE_"
PROGRAM = "postroom_service"
MAX_DAYS = 1_000_000

log = logging.getLogger(PROGRAM)

T = TypeVar("T")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    try:
        return cli.main(arguments, prog_name="postroom-service", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (DatabaseError, ServeError, VerificationError) as error:
        click.echo(f"postroom-service: {error}", err=True)
        return 2


def _checked(read: Callable[[str], T]) -> Callable[..., T | None]:
    """Make the callback of an option whose value a function reads."""

    def check(_context: click.Context, _option: click.Parameter, value: str | None) -> T | None:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return check


def _line(text: str) -> str:
    """Read a name or note, which must fit into a table."""
    if not 0 < len(text.strip()) <= 100 or not text.isprintable():
        raise ValueError("give 1 to 100 printable characters")
    return text.strip()


def _days(text: str) -> float:
    days = float(text)
    if not 0 < days < MAX_DAYS:
        raise ValueError(f"must be greater than 0 and less than {MAX_DAYS}")
    return days


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("write it as HOST:PORT")
    return host.strip("[]"), int(port)


def _addresses(text: str) -> list[tuple[str, int]]:
    try:
        found = [_host_and_port(part) for part in text.split(",")]
        for host, _port in found:
            ip_address(host)
    except ValueError:
        raise ValueError("write each as ADDRESS:PORT, such as 192.0.2.1:53") from None
    return found


def _option(name: str, default: Any = None, **more: Any) -> Callable[[Decorated], Decorated]:
    """Declare an option that an environment variable can set."""
    variable = PREFIX + name.partition("/")[0].removeprefix("--").upper().replace("-", "_")
    more |= {"default": default, "show_default": default is not None}
    return click.option(name, envvar=variable, show_envvar=True, **more)


_PORT = click.IntRange(0, 65535)
_RESOLVERS = _option(
    "--resolvers",
    metavar="ADDRESS:PORT,...",
    callback=_checked(_addresses),
    help="DNS resolvers, in place of the system's.",
)
_DATABASE = _option(
    "--database",
    "postroom.sqlite3",
    help="A file, postgresql://host/name or memory.",
)


def _version() -> str:
    try:
        return importlib.metadata.version("postroom")
    except importlib.metadata.PackageNotFoundError:
        return "from a checkout"


@click.group()
@click.version_option(_version())
def cli() -> None:
    """Run the mail service: domains, mailboxes, aliases, forwarders and DNS records."""


@cli.command(name="serve")
@_DATABASE
@_option("--host", "127.0.0.1", help="Address to listen on.")
@_option("--port", 8025, type=_PORT, help="Port of the API; 0 picks a free port.")
@_option(
    "--mail-host",
    "mail.postroom.test",
    callback=_checked(names.domain),
    help="Host name in MX records.",
)
@_option("--service-domain", "spf.postroom.test", help="Domain that SPF records include.")
@_option("--tls-cert", type=Path, help="PEM certificate chain, for HTTPS.")
@_option("--tls-key", type=Path, help="PEM key of the certificate.")
@_option("--mail", is_flag=True, help="Run the embedded mail server, too.")
@_option("--submission-port", 5870, type=_PORT, help="Where mail clients send (STARTTLS).")
@_option("--imap-port", 9930, type=_PORT, help="Where mail clients read (TLS).")
@_option("--mx-port", 2525, type=_PORT, help="Where other mail servers deliver.")
@_option("--mail-cert", "mail-cert.pem", type=Path, help="PEM certificate; created if missing.")
@_option("--mail-key", "mail-key.pem", type=Path, help="PEM key of that certificate.")
@_option("--mail-dir", type=Path, help="Keep mail in Maildir folders here, not in memory.")
@_option("--mail-outbox", "outbox", type=Path, help="Folder for mail to other services.")
@_option(
    "--mail-relay",
    metavar="HOST:PORT",
    callback=_checked(_host_and_port),
    help="Send mail to other services through this server, not to the folder.",
)
@_option(
    "--trust-domains/--check-domains",
    help="Serve domains without checking their DKIM records in DNS. Default with --mail.",
)
@_RESOLVERS
@_option(
    "--ready-file",
    type=Path,
    help="File for the URL, the process id and the mail ports, once the service listens.",
)
@click.option(
    "--bootstrap", metavar="TENANT", callback=_checked(_line), help="Create a token of this tenant."
)
@click.option("--token-file", type=Path, help="Where --bootstrap writes the token.")
@_option("--faults", metavar="SPEC", callback=_checked(parse_plan), help="Inject faults.")
@_option("--log-format", "json", type=click.Choice(["json", "text"]), help="Format of the log.")
@_option(
    "--log-level",
    "info",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Lowest level in the log.",
)
@_option(
    "--secret-cost",
    passwords.DEFAULT_COST,
    callback=_checked(passwords.hasher),
    help="Cost of argon2id.",
)
def serve_api(**options: Any) -> None:
    """Serve the API."""
    for one, other in (("tls_cert", "tls_key"), ("bootstrap", "token_file")):
        if (options[one] is None) != (options[other] is None):
            flags = [f"--{name.replace('_', '-')}" for name in (one, other)]
            raise ServeError(f"{flags[0]} and {flags[1]} go together")
    logs.log_crashes(PROGRAM)
    logs.configure(program=PROGRAM, style=options["log_format"], level=options["log_level"])
    with _database(options["database"], memory=True) as database:
        if options["bootstrap"] is not None:
            token = database.write(
                lambda connection: auth.create(connection, options["bootstrap"], label="bootstrap")
            )
            write_private(options["token_file"], token + "\n")
        published = dkim.RecordNames(options["mail_host"], options["service_domain"])
        service = Service(database, options["secret_cost"], published)
        app: ASGIApp = create_app(service)
        if options["faults"] is not None:
            log.warning("injecting faults into requests")
            app = Faults(app, options["faults"])
        paths = {route.endpoint: route.path.replace(":path", "") for route in ROUTES}
        listening = {name: options[name] for name in Listening.__dataclass_fields__}
        serve(RequestLog(app, paths), Listening(**listening), _background(database, options))


@contextlib.asynccontextmanager
async def _background(
    database: Database, options: Mapping[str, Any]
) -> AsyncIterator[dict[str, int]]:
    """Run what the options ask for beside the API, and yield the ports of the mail server."""
    trusts = options["mail"] if options["trust_domains"] is None else options["trust_domains"]
    async with contextlib.AsyncExitStack() as stack:
        if not trusts:
            try:
                verifier = Verifier(database, options["resolvers"])
                await stack.enter_async_context(verifier.running())
            except VerificationError as error:
                log.warning("domains are not being verified: %s", error)
        if not options["mail"]:
            yield {}
            return
        from .mail.accounts import Accounts  # noqa: PLC0415 its libraries are an extra
        from .mail.server import make_certificate, running  # noqa: PLC0415
        from .mail.smtp import outbox, relay  # noqa: PLC0415
        from .mail.storage import MailStore  # noqa: PLC0415

        mail_host, certificate, key = (
            options["mail_host"],
            options["mail_cert"],
            options["mail_key"],
        )
        for folder in (options["mail_dir"], options["mail_outbox"]):
            if folder is not None:
                make_folder(folder)
        make_certificate(mail_host, certificate, key)
        send = outbox(options["mail_outbox"])
        if options["mail_relay"]:
            send = relay(*options["mail_relay"], mail_host=mail_host, refused=send)
        mail = running(
            Accounts(database, options["secret_cost"], trust_domains=trusts),
            MailStore(options["mail_dir"]),
            send,
            host=options["host"],
            ports=(options["submission_port"], options["imap_port"], options["mx_port"]),
            mail_host=mail_host,
            certificate=certificate,
            key=key,
        )
        yield await stack.enter_async_context(mail)


@cli.command()
@_DATABASE
def migrate(database: str) -> None:
    """Migrate the database to the schema of this version."""
    with _database(database, migrates=True):
        pass


@cli.group()
def domain() -> None:
    """Manage domains."""


@domain.command()
@_DATABASE
@_RESOLVERS
@click.argument("name")
def verify(database: str, resolvers: list[tuple[str, int]] | None, name: str) -> int:
    """Check a domain's DKIM record in DNS, and mark the domain as verified."""
    with _database(database) as opened:
        found = opened.read(lambda connection: verification.find(connection, names.any_name(name)))
        if found is None:
            raise VerificationError(f"{name} is not a registered domain")
        verifier = Verifier(opened, resolvers)
        if found.verified_at is None and not asyncio.run(verifier.verify(found)):
            record = f"{dkim.SELECTOR}._domainkey.{found.name}"
            click.echo(
                f"postroom-service: no TXT record {record} with the domain's key was found in DNS. "
                f"Publish the records that GET /api/dns/{found.name} returns, and try again.",
                err=True,
            )
            return 1
    click.echo(f"{found.name} is verified")
    return 0


@cli.group()
def token() -> None:
    """Manage bearer tokens."""


@token.command()
@_DATABASE
@click.option(
    "--tenant",
    required=True,
    callback=_checked(_line),
    help="Tenant that the token gives access to; created if missing.",
)
@click.option("--label", callback=_checked(_line), help="A note on what the token is for.")
@click.option(
    "--expires-days", callback=_checked(_days), help="Days after which the token expires."
)
def create(database: str, tenant: str, label: str | None, expires_days: float | None) -> None:
    """Create a token and print it."""
    with _database(database) as opened:
        text = opened.write(
            lambda connection: auth.create(
                connection, tenant, label=label or "", expires_days=expires_days
            )
        )
    click.echo(text)


@token.command(name="list")
@_DATABASE
def list_tokens(database: str) -> None:
    """List tokens; their text can't be shown again."""
    with _database(database) as opened:
        rows = opened.read(auth.listing)
    now = time.time()
    click.echo("ID\tTENANT\tLABEL\tCREATED\tEXPIRES\tSTATE")
    for row in rows:
        times = (_timestamp(row.created_at), _timestamp(row.expires_at))
        click.echo("\t".join([str(row.id), row.tenant, row.label, *times, row.state(now)]))


@token.command()
@_DATABASE
@click.argument("id", type=int)
def revoke(database: str, id: int) -> int:
    """Revoke the token with the number that list shows."""

    def work(connection: Connection) -> bool:
        return auth.revoke(connection, id)

    with _database(database) as opened:
        known = opened.write(work)
    if not known:
        click.echo(f"postroom-service: no token {id} was found", err=True)
    return 0 if known else 1


@contextlib.contextmanager
def _database(where: str, *, memory: bool = False, migrates: bool = False) -> Iterator[Database]:
    """Open the database with the schema that this version needs.

    An SQLite database is migrated; one on a server only if it is empty or the command asks for it.
    """
    source = click.get_current_context().get_parameter_source("database")
    if source == click.core.ParameterSource.COMMANDLINE and has_password(where):
        raise DatabaseError(
            "other users can see the password in the process list: "
            f"set {PREFIX}DATABASE or use ~/.pgpass"
        )
    database = Database(where, memory=True)
    if database.is_memory and not memory:
        raise DatabaseError(
            "a memory database exists only inside the serving process: use serve --bootstrap"
        )
    try:
        if migrates or database.is_sqlite or SCHEMA.is_empty(database):
            SCHEMA.migrate(database)
        SCHEMA.check(database)
        with readable_errors(database.name, SQLAlchemyError):
            yield database
    finally:
        database.close()


def _timestamp(seconds: int | None) -> str:
    return "-" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
