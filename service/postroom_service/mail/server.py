# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The three listeners of the embedded mail server, which run in the service's event loop."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ..server import ServeError, write_private
from . import imap, smtp
from .accounts import Accounts
from .sessions import Sessions
from .storage import MailStore


@asynccontextmanager
async def running(
    accounts: Accounts,
    store: MailStore,
    send: smtp.Outgoing,
    *,
    host: str,
    ports: tuple[int, int, int],
    mail_host: str,
    certificate: Path,
    key: Path,
) -> AsyncIterator[dict[str, int]]:
    """Run the listeners, and yield a mapping of their names to ports.

    :param send: a function that sends mail to other services
    :param ports: the ports for submission, IMAP and mail from other servers; 0 picks a free port
    :raises ServeError: if the certificate or a port can't be used
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        reason = error.strerror or error
        raise ServeError(f"{certificate} or its key can't be used ({reason})") from None
    # At each login, aiosmtpd warns about a deprecated attribute that it uses itself.
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    sessions = Sessions(accounts, store)
    loop = asyncio.get_running_loop()
    options: dict[str, Any] = {"hostname": mail_host, "tls_context": context, "loop": loop}
    given = (accounts, store, send, mail_host)
    incoming, submission = smtp.Incoming(*given), smtp.Submission(sessions, *given)
    imap_server = imap.server(accounts, store, sessions, context)
    starts: dict[str, Callable[[int], Awaitable[asyncio.Server]]] = {
        "submission": lambda port: loop.create_server(
            lambda: smtp.SubmissionServer(sessions, submission, **options), host, port
        ),
        "imap": lambda port: asyncio.start_server(imap_server, host, port, ssl=context),
        "mx": lambda port: loop.create_server(
            lambda: SMTP(incoming, auth_exclude_mechanism=["LOGIN", "PLAIN"], **options), host, port
        ),
    }
    async with AsyncExitStack() as stack:
        found = {}
        for (name, start), port in zip(starts.items(), ports, strict=True):
            try:
                server = await start(port)
            except OSError as error:
                place = f"{host} port {port}"
                raise ServeError(f"can't listen on {place} for {name} ({error.strerror})") from None
            stack.callback(server.close)
            found[name] = server.sockets[0].getsockname()[1]
        watch = asyncio.create_task(sessions.watch())
        stack.callback(watch.cancel)
        yield found


def make_certificate(host: str, certificate: Path, key: Path) -> None:
    """Write a self-signed certificate for a host, and its key, unless both files exist.

    :raises ServeError: if only one of the files exists, or they can't be written
    """
    if certificate.exists() and key.exists():
        return
    for found, missing in ((certificate, key), (key, certificate)):
        if found.exists():
            raise ServeError(
                f"{found} exists, but {missing} does not. Restore it, or delete {found}."
            )
    private = ec.generate_private_key(ec.SECP256R1())
    # The common name is limited to 64 characters; clients check the names below.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "postroom")])
    names: list[x509.GeneralName] = [x509.DNSName(host), x509.DNSName("localhost")]
    names += [x509.IPAddress(ip_address(text)) for text in ("127.0.0.1", "::1")]
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(key, pem.decode("ascii"))
    write_private(certificate, signed.public_bytes(serialization.Encoding.PEM).decode("ascii"))
    certificate.chmod(0o644)
