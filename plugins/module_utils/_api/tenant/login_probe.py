# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check with IMAP logins whether declared passwords work, because the API returns no passwords.

Only tasks that need a login probe import this module.
"""

from __future__ import annotations

import imaplib
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice

from .. import errors
from ..client.client import Client
from ..client.transport import OTHER_HOST, tls_context
from ..names import Name
from .plan import Change

#: After a few wrong passwords, servers delay all logins from an IP address (Dovecot by a minute).
MAX_REFUSALS = 3
_MIN_SECONDS = 0.1
_CODE = re.compile(r"\[[A-Z]+\]")


class LoginProbe:
    """A probe that logs in to mailboxes on one IMAP server or on their domains' servers.

    :param give_client: a function that returns a client whose timeout applies to one login
    :param host: the IMAP server, or None for the host in the MX record of each mailbox's domain
    :param ca_path: a PEM file with certificates of authorities, or None for the system's
    :raises InvalidInput: if the port or the file is invalid
    """

    def __init__(
        self,
        give_client: Callable[[], Client],
        host: str | None,
        port: int,
        *,
        ca_path: str | None,
        verify: bool,
    ) -> None:
        if not 0 < port < 65536:
            raise errors.InvalidInput(f"imap_port: {port} is out of range. Set 1 to 65535.")
        self._give_client = give_client
        self._host = host
        self._port = port
        self._context = tls_context(ca_path, verify=verify)
        self._mx_hosts: dict[Name, str] = {}

    def working(self, changes: Iterable[Change]) -> frozenset[Name]:
        """Return the mailboxes whose first new password already works.

        Mailboxes are probed in order. After MAX_REFUSALS wrong passwords in a row, the passwords of
        the remaining mailboxes count as wrong. A login in progress counts as refused until it ends,
        so the limit is never exceeded.

        :raises ProbeFailed: if a login was neither accepted nor refused
        """
        waiting = (change for change in changes if change.action == "update" and change.secrets)
        running: deque[tuple[Name, Future[bool]]] = deque()
        working: set[Name] = set()
        refusals = 0
        with ThreadPoolExecutor(MAX_REFUSALS) as pool:
            while True:
                for change in islice(waiting, MAX_REFUSALS - refusals - len(running)):
                    running.append((change.subject.name, self._start(pool, change)))
                if not running:
                    return frozenset(working)
                name, login = running.popleft()
                if login.result():
                    working.add(name)
                    refusals = 0
                else:
                    refusals += 1

    def _start(self, pool: ThreadPoolExecutor, change: Change) -> Future[bool]:
        client, name = self._give_client(), change.subject.name
        server = (self._host or self._mx_host(client, name.domain), self._port, self._context)
        seconds = max(client.pacing.time_left(), _MIN_SECONDS)
        return pool.submit(log_in, *server, name, change.secrets[0], seconds)

    def _mx_host(self, client: Client, domain: Name) -> str:
        """Return the host of the preferred MX record that the API returns for a domain."""
        if domain not in self._mx_hosts:
            records = client.dns_records(domain).records
            hosts = [(r.priority or 0, r.value.rstrip(".")) for r in records if r.type == "MX"]
            # A null MX record (".") means that the domain accepts no mail (RFC 7505).
            hosts = sorted(row for row in hosts if row[1])
            if not hosts:
                raise errors.ProbeFailed(
                    f"{domain}: the service returns no MX record, so there is no default IMAP "
                    "server. Nothing was changed. Set imap_host."
                )
            self._mx_hosts[domain] = hosts[0][1]
        return self._mx_hosts[domain]


class _Imap(imaplib.IMAP4_SSL):
    """An IMAP connection with one deadline, because imaplib's timeout is per operation."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._context = context
        super().__init__(host, port, ssl_context=context, timeout=seconds)

    def _create_socket(self, timeout: float | None) -> ssl.SSLSocket:
        sock = super(imaplib.IMAP4_SSL, self)._create_socket(timeout)  # type: ignore[misc]
        sock.settimeout(max(self._end - time.monotonic(), _MIN_SECONDS))
        return self._context.wrap_socket(sock, server_hostname=self.host)

    def readline(self) -> bytes:
        """Read a line before the deadline."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.sock.settimeout(left)
        return super().readline()


def log_in(
    host: str, port: int, context: ssl.SSLContext, name: Name, password: str, seconds: float
) -> bool:
    """Return whether a mailbox accepts a password.

    :raises ProbeFailed: if the server neither accepted nor refused the password
    """
    # imaplib's own login encodes passwords as ASCII.
    credentials = f"\0{name.key}\0{password}".encode()
    try:
        client = _Imap(host, port, context, seconds)
        try:
            client.authenticate("PLAIN", lambda _challenge: credentials)
        finally:
            with suppress(OSError):
                client.shutdown()
    except imaplib.IMAP4.error as error:
        is_no = not isinstance(error, imaplib.IMAP4.abort)
        if is_no and str(error).upper().startswith("[AUTHENTICATIONFAILED]"):
            return False
        # Show only the code of the answer, because its text may contain secrets.
        code = _CODE.match(str(error))
        answer = code.group() if code else "neither OK nor NO [AUTHENTICATIONFAILED]"
        detail = f"the server answered {answer}"
        remedy = "See the mail server's log. Run again when the server accepts logins."
    except (OSError, ValueError) as error:
        detail, remedy = str(error).rstrip(".") or type(error).__name__, _remedy(error)
    else:
        return True
    raise errors.ProbeFailed(
        f"{name}: the IMAP login at {host}:{port} did not determine whether the password works "
        f"({errors.redact(detail, [password])}). Nothing was changed. {remedy}"
    )


def _remedy(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in OTHER_HOST:
            return "Set imap_host to a name in the server's certificate."
        return "Set ca_path to a PEM file with the certificate of the mail server's CA."
    if isinstance(error, TimeoutError):
        return "Raise timeout, or find out why the mail server is slow."
    return "Check imap_host and imap_port, and ensure that the mail server accepts TLS there."
