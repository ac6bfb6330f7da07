# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line of `postroom-service`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Connection
from starlette.types import ASGIApp

from postroom_common import logs
from postroom_common.database import Database, DatabaseError

from . import auth, dkim, names, passwords, verification
from .api import Service
from .command_database import check_password, open_database
from .faults import Faults, parse_plan
from .node_commands import move, node
from .options import (
    DATABASE,
    LOG_FORMAT,
    LOG_LEVEL,
    PORT,
    RESOLVERS,
    checked,
    days,
    host_and_port,
    line,
    listener,
    option,
)
from .requests import RequestLog
from .server import ServeError, make_folder, serve, write_private
from .store import grants
from .verification import VerificationError, Verifier

PROGRAM = "postroom_service"

log = logging.getLogger(PROGRAM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        return cli.main(arguments, prog_name="postroom-service", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (DatabaseError, ServeError, VerificationError) as error:
        click.echo(f"postroom-service: {error}", err=True)
        return 2


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
@DATABASE
@option("--host", "127.0.0.1", help="Address to listen on.")
@option("--port", 8025, type=PORT, help="Port of the API; 0 picks a free port.")
@option(
    "--mail-host",
    "mail.postroom.test",
    read=names.domain,
    help="Host name in MX records.",
)
@option("--service-domain", "spf.postroom.test", help="Domain that all SPF records include.")
@option("--tls-cert", type=Path, help="PEM certificate chain, for HTTPS.")
@option("--tls-key", type=Path, help="PEM key of the certificate.")
@option("--mail", is_flag=True, help="Also run the embedded mail server.")
@option("--submission-port", 5870, type=PORT, help="SMTP port for mail clients (STARTTLS).")
@option("--imap-port", 9930, type=PORT, help="IMAP port for mail clients (TLS).")
@option("--mx-port", 2525, type=PORT, help="SMTP port for mail from other servers.")
@option("--mail-cert", "mail-cert.pem", type=Path, help="PEM certificate; created if missing.")
@option("--mail-key", "mail-key.pem", type=Path, help="PEM key of that certificate.")
@option("--mail-dir", type=Path, help="Store mail as Maildir in this directory, not in memory.")
@option("--mail-outbox", "outbox", type=Path, help="Directory for mail to other services.")
@option(
    "--mail-relay",
    metavar="HOST:PORT",
    read=host_and_port,
    help="Send mail to other services through this server, instead of writing it to the directory.",
)
@option(
    "--trust-domains/--check-domains",
    help="Serve domains without checking their DKIM records in DNS. This is the default with "
    "--mail.",
)
@RESOLVERS
@option(
    "--ready-file",
    type=Path,
    help="File for the URL, process ID and mail ports, written once the service listens.",
)
@click.option(
    "--bootstrap",
    metavar="TENANT",
    callback=checked(line),
    help="Create a token for this tenant, unless --token-file already contains a valid one.",
)
@click.option("--token-file", type=Path, help="File to which --bootstrap writes the token.")
@option("--faults", metavar="SPEC", read=parse_plan, help="Inject faults.")
@LOG_FORMAT
@LOG_LEVEL
@option(
    "--secret-cost",
    passwords.DEFAULT_COST,
    read=passwords.hasher,
    help="Cost parameters of argon2id.",
)
def serve_api(**options: Any) -> None:
    """Serve the API."""
    for one, other in (("tls_cert", "tls_key"), ("bootstrap", "token_file")):
        if (options[one] is None) != (options[other] is None):
            flags = [f"--{name.replace('_', '-')}" for name in (one, other)]
            raise ServeError(f"{flags[0]} and {flags[1]} must be set together")
    logs.log_crashes(PROGRAM)
    logs.configure(program=PROGRAM, style=options["log_format"], level=options["log_level"])
    with open_database(options["database"], memory=True) as database:
        if options["bootstrap"] is not None:
            database.write(
                lambda connection: _bootstrap(
                    connection, options["bootstrap"], options["token_file"]
                )
            )
        service = Service(
            database,
            options["secret_cost"],
            mail_host=options["mail_host"],
            service_domain=options["service_domain"],
        )
        app: ASGIApp = service.app()
        if options["faults"] is not None:
            log.warning("injecting faults into requests")
            app = Faults(app, options["faults"])
        paths = {route.endpoint: route.path.replace(":path", "") for route in service.routes}
        serve(
            RequestLog(app, paths),
            _background(database, options),
            **{
                name: options[name]
                for name in ("host", "port", "tls_cert", "tls_key", "ready_file")
            },
        )


def _bootstrap(connection: Connection, tenant: str, file: Path) -> None:
    """Create a token for a tenant and write it to a file that does not contain a valid one yet."""
    try:
        caller = auth.find_caller(connection, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        caller = None
    if caller is None or caller.tenant != tenant:
        if file.exists():
            log.warning("%s: not a valid token of tenant %s; replacing it", file, tenant)
        # If the file can't be written, the transaction does not create the token either.
        write_private(file, auth.create(connection, tenant, label="bootstrap") + "\n")


@contextlib.asynccontextmanager
async def _background(
    database: Database, options: Mapping[str, Any]
) -> AsyncIterator[dict[str, int]]:
    """Run the verifier and the mail server if they are enabled, and yield the mail ports."""
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
        from .mail.accounts import Accounts  # noqa: PLC0415 it needs the extra `mail`
        from .mail.server import make_certificate, running  # noqa: PLC0415
        from .mail.smtp import outbox, relay  # noqa: PLC0415
        from .mail.storage import MailStore  # noqa: PLC0415

        for folder in filter(None, (options["mail_dir"], options["mail_outbox"])):
            make_folder(folder)
        make_certificate(options["mail_host"], options["mail_cert"], options["mail_key"])
        send = outbox(options["mail_outbox"])
        if options["mail_relay"]:
            send = relay(*options["mail_relay"], mail_host=options["mail_host"], refused=send)
        mail = running(
            Accounts(database, options["secret_cost"], trust_domains=trusts),
            MailStore(options["mail_dir"]),
            send,
            host=options["host"],
            ports=(options["submission_port"], options["imap_port"], options["mx_port"]),
            mail_host=options["mail_host"],
            certificate=options["mail_cert"],
            key=options["mail_key"],
        )
        yield await stack.enter_async_context(mail)


@cli.command()
@DATABASE
def migrate(database: str) -> None:
    """Migrate the database to the schema of this version."""
    with open_database(database, migrates=True):
        pass


@cli.command()
@DATABASE
def grant(database: str) -> None:
    """Grant the database roles of a mail host access to their views."""
    with open_database(database) as opened:
        changed = opened.write(grants.grant)
    click.echo("changed" if changed else "unchanged")


@cli.command(name="mail")
@option("--database", required=True, help="The database, as postgresql://host/name.")
@option(
    "--mail-host",
    required=True,
    read=names.domain,
    help="Host name of this mail host, used in rewritten senders.",
)
@option(
    "--mail-dir",
    "/var/lib/postroom-mail",
    type=Path,
    help="Directory with a subdirectory for each mailbox.",
)
@option("--node", read=names.domain, help="Name of this node, if the mail service has nodes.")
@option(
    "--maps",
    type=Path,
    help="Directory for the domain and mailbox maps that Postfix reads. By default, no maps are "
    "written.",
)
@option(
    "--milter",
    "/run/postroom-mail/milter",
    type=Path,
    help="Unix socket of the milter for submitted mail.",
)
@option(
    "--socketmap",
    "/run/postroom-mail/socketmap",
    type=Path,
    help="Unix socket of the socketmap that rewrites senders.",
)
@option(
    "--status",
    "127.0.0.1:8028",
    read=listener,
    help="HTTP address and port for /healthz and /metrics.",
)
@option("--srs-secret", required=True, type=Path, help="File with the SRS secrets, one per line.")
@option(
    "--recipients-per-hour",
    0,
    type=click.IntRange(min=0),
    help="Maximum number of recipients per login in any hour; 0 disables the limit.",
)
@option(
    "--ready-file",
    type=Path,
    help="File for the URL and process ID, written once the daemon listens.",
)
@LOG_FORMAT
@LOG_LEVEL
def serve_mail(**options: Any) -> None:
    """Run a mail host's daemon, alongside Postfix and Dovecot."""
    from .mail_host.daemon import Daemon, Settings  # noqa: PLC0415 it needs the extra `mail`

    check_password(options["database"])
    logs.log_crashes(PROGRAM)
    logs.configure(program=PROGRAM, style=options["log_format"], level=options["log_level"])
    daemon = Daemon(Settings(**{name: options[name] for name in Settings.__dataclass_fields__}))
    host, port = options["status"]
    serve(daemon.app, daemon.running(), host=host, port=port, ready_file=options["ready_file"])


@cli.group()
def domain() -> None:
    """Manage domains."""


@domain.command()
@DATABASE
@RESOLVERS
@click.argument("name")
def verify(database: str, resolvers: list[tuple[str, int]] | None, name: str) -> int:
    """Mark a domain as verified if its DKIM record in DNS contains the domain's key."""
    with open_database(database) as opened:
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


cli.add_command(node)
cli.add_command(move)


@cli.group()
def token() -> None:
    """Manage bearer tokens."""


@token.command()
@DATABASE
@click.option(
    "--tenant",
    required=True,
    callback=checked(line),
    help="Tenant that the token gives access to; created if missing.",
)
@click.option("--label", callback=checked(line), help="A note on what the token is for.")
@click.option("--expires-days", callback=checked(days), help="Days until the token expires.")
def create(database: str, tenant: str, label: str | None, expires_days: float | None) -> None:
    """Create a token and print it."""
    with open_database(database) as opened:
        text = opened.write(
            lambda connection: auth.create(
                connection, tenant, label=label or "", expires_days=expires_days
            )
        )
    click.echo(text)


@token.command(name="list")
@DATABASE
def list_tokens(database: str) -> None:
    """List tokens with their numbers. The tokens themselves are not stored and can't be shown."""
    with open_database(database) as opened:
        rows = opened.read(auth.listing)
    click.echo("ID\tTENANT\tLABEL\tCREATED\tEXPIRES\tSTATE")
    for id, tenant, label, created_at, expires_at, state in rows:
        times = (_timestamp(created_at), _timestamp(expires_at))
        click.echo("\t".join([str(id), tenant, label, *times, state]))


@token.command()
@DATABASE
@click.argument("id", type=int)
def revoke(database: str, id: int) -> int:
    """Revoke a token by the number that the list command shows."""
    with open_database(database) as opened:
        if opened.write(lambda connection: auth.revoke(connection, id)):
            return 0
    click.echo(f"postroom-service: token {id} does not exist", err=True)
    return 1


def _timestamp(seconds: int | None) -> str:
    return "-" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
