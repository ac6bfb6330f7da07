# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the mail host with a host that uses static maps, and its daemon with OpenDKIM.

Both hosts are containers with the same Postfix and Dovecot. The static host has the same settings,
but uses hash maps, a passwd-file, OpenDKIM and Postfix's default process reuse. The mail host has
an additional submission port, whose mail is signed by OpenDKIM instead of the daemon.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.postroom.email.tests.benchmark.measure import Ratio, interleaved, timed
from ansible_collections.postroom.email.tests.hosts import debian, mail_host
from ansible_collections.postroom.email.tests.hosts.mail_host import ONE, PARTNER, SECRET, MailHost
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.mail import CERTIFICATE, MailClient
from ansible_collections.postroom.email.tests.support.service import RunningService

STATIC_NAME, STATIC_ADDRESS = "static.example", "10.53.0.11"
STATIC_PACKAGES = ("postfix", "dovecot-core", "dovecot-imapd", "dovecot-lmtpd", "opendkim")
MAIL_DIR = "/var/lib/postroom-mail"
MAILBOXES = 16
CONNECTIONS = 8
MESSAGES_PER_ITEM = 2
SIZE = 5000
DELIVERY_SECONDS = 120.0
#: A limit high enough for all rounds. Rate limiting itself stays enabled.
RECIPIENTS_PER_HOUR = 1_000_000
#: Throughput goals: 90 % of the static host's for incoming mail, and 100 % of OpenDKIM's.
INBOUND_GOAL, SIGNING_GOAL = 1 / 0.9, 1.0
OPENDKIM_PORT = 588

_MILTER = "unix:/run/postroom-mail/milter"
# This is Debian's default. Over TCP, OpenDKIM would wait 80 ms for acknowledgements for each
# message.
_OPENDKIM_SOCKET = "/run/opendkim/opendkim.sock"
_OPENDKIM = f"""
Syslog yes
PidFile /run/opendkim/opendkim.pid
UserID opendkim
Mode s
Canonicalization relaxed/simple
Domain {ONE}
Selector service
KeyFile /etc/dkim.pem
OversignHeaders From
UMask 007
Socket local:{_OPENDKIM_SOCKET}
"""

_APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "--yes")


class Side:
    """One of the hosts, and the mail that is sent to it."""

    def __init__(self, host: debian.Host, mail: MailClient, names: list[str]) -> None:
        self.host, self._mail, self._names = host, mail, names
        self._folder = Path(f"/proc/{host.leader}/root{MAIL_DIR}")
        self._trust = mail.trust

    def receive(self, messages: int, per_session: int) -> None:
        """Deliver messages from another mail service, and wait until they are stored."""

        def deliver(session: int) -> None:
            with self._mail.mx() as client:
                for number in range(per_session):
                    to = self._names[(session + number) % MAILBOXES]
                    client.sendmail(PARTNER, [to], _content(PARTNER, to))

        self._in_parallel(deliver, messages, per_session)

    def submit(self, messages: int) -> None:
        """Submit messages, one session per connection, and wait until they are delivered."""
        per_session = messages // CONNECTIONS

        def submit(session: int) -> None:
            sender = self._names[session % MAILBOXES]
            with self._mail.submit(sender, SECRET) as client:
                for number in range(per_session):
                    to = self._names[(session + number) % MAILBOXES]
                    client.sendmail(sender, [to], _content(sender, to))

        self._in_parallel(submit, messages, per_session)

    def empty(self) -> None:
        """Remove all mail, because delivery slows down as mailboxes fill up."""
        users = "/tmp/users"  # noqa: S108 - on the host
        self.host.write(users, "\n".join(self._names))
        self.host.run("doveadm", "expunge", "-F", users, "mailbox", "INBOX", "all")

    def last_message(self) -> bytes:
        """Return one of the messages that were delivered last."""
        new = self._folder.glob("*/Maildir/new/*")
        return max(new, key=lambda path: path.stat().st_mtime).read_bytes()

    def _in_parallel(self, act: Callable[[int], None], messages: int, per_session: int) -> None:
        sessions = messages // per_session
        expected = self._delivered() + sessions * per_session
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(act, range(sessions)))
        deadline = time.monotonic() + DELIVERY_SECONDS
        while self._delivered() < expected:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.host.name} did not deliver all messages in time")
            time.sleep(0.01)

    def _delivered(self) -> int:
        return sum(1 for _path in self._folder.glob("*/Maildir/new/*"))


def measure(_service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Receive and submit messages on both hosts in turn."""
    if reason := debian.unusable():
        sys.stderr.write(f"mail is not measured: {reason}\n")
        return []
    count = max(MESSAGES_PER_ITEM * items // CONNECTIONS, 1) * CONNECTIONS
    with all_sides(folder) as sides:
        things: dict[str, Callable[[Side], None]] = {
            "inbound, 1 message a session": lambda side: side.receive(count, 1),
            "inbound, 8 messages a session": lambda side: side.receive(count, 8),
            "submission": lambda side: side.submit(count),
        }
        actions = {
            f"{what}, {name}": _noted(f"{what}, {name}", side, act)
            for what, act in things.items()
            for name, side in sides.items()
            if what == "submission" or name != "OpenDKIM"
        }
        for run in actions.values():
            run()
        taken = interleaved(rounds, actions)

    def ratio(what: str, reference: str, goal: float | None) -> Ratio:
        ours, theirs = (
            1000 * taken[f"{what}, {name}"] / count for name in ("mail host", reference)
        )
        return Ratio(f"mail, {what}", reference, ours, theirs, "message", goal)

    return [
        ratio("inbound, 1 message a session", "static maps", INBOUND_GOAL),
        ratio("inbound, 8 messages a session", "static maps", INBOUND_GOAL),
        ratio("submission", "OpenDKIM", SIGNING_GOAL),
        ratio("submission", "static maps", None),
    ]


@contextlib.contextmanager
def all_sides(folder: Path) -> Iterator[dict[str, Side]]:
    """Build the mail host and the static host, with the same mailboxes.

    :raises RuntimeError: if one of the hosts doesn't sign mail, or if the role fails
    """
    wheel = mail_host.build_wheel(folder)
    with (
        mail_host.boot(folder, wheel, "bookworm", packages=["opendkim"]) as ours,
        contextlib.ExitStack() as end,
    ):
        static = debian.Host(STATIC_NAME, STATIC_ADDRESS, ours.host.image, folder)
        end.callback(static.stop)
        with ThreadPoolExecutor(1) as pool:
            installing = pool.submit(static.run, *_APT, "--no-download", *STATIC_PACKAGES)
            run = ours.play(mail_host.PLAY, mail_host_recipients_per_hour=RECIPIENTS_PER_HOUR)
            installing.result()
        if run.status:
            raise RuntimeError(run.output[-3000:])
        api = end.enter_context(ours.api("one"))
        ours.add_domain(api, ONE)
        names = [ours.mailbox(api=api) for _number in range(MAILBOXES)]
        _build_static(static, ours, names, folder / STATIC_NAME)
        _add_opendkim(ours.host)
        ports = {**mail_host.PORTS, "submission": OPENDKIM_PORT}
        static_folder = folder / STATIC_NAME
        sides = {
            "mail host": Side(ours.host, ours.mail, names),
            "static maps": Side(
                static, MailClient(mail_host.PORTS, static_folder, STATIC_ADDRESS), names
            ),
            "OpenDKIM": Side(ours.host, MailClient(ports, folder, mail_host.ADDRESS), names),
        }
        for name, side in sides.items():
            side.submit(CONNECTIONS)
            if b"DKIM-Signature" not in side.last_message():
                raise RuntimeError(f"{name} doesn't sign mail")
        yield sides


def _build_static(static: debian.Host, ours: MailHost, names: list[str], folder: Path) -> None:
    """Copy the mail host's settings, and replace everything that uses the database."""
    static.run("useradd", "--system", "--home-dir", MAIL_DIR, "--create-home", "postroom-mail")
    folder.mkdir()
    authority = Authority(folder)
    (folder / CERTIFICATE).write_bytes(authority.path.read_bytes())
    certificate, key = authority.certificate(f"IP:{STATIC_ADDRESS}")
    static.write("/etc/ssl/mail.pem", certificate.read_text("utf-8"))
    static.write("/etc/ssl/private/mail.key", key.read_text("utf-8"))
    static.write("/etc/postfix/main.cf", ours.host.run("cat", "/etc/postfix/main.cf"))
    master = ours.host.run("cat", "/etc/postfix/master.cf")
    master = re.sub(r".*-o (max_use=1|cleanup_service_name=submission-cleanup)\n", "", master)
    master = master.replace(_MILTER, f"unix:{_OPENDKIM_SOCKET}")
    # The mail host's milter checks senders, so Postfix does this on the static host.
    login, check = "-o smtpd_sasl_auth_enable=yes", "reject_sender_login_mismatch"
    master = master.replace(login, f"{login}\n    -o smtpd_sender_restrictions={check}")
    static.write("/etc/postfix/master.cf", master)
    for file in ("srs_recipients", "srs_senders"):
        static.write(f"/etc/postfix/{file}", ours.host.run("cat", f"/etc/postfix/{file}"))
    itself = "".join(f"{name} {name}\n" for name in names)
    tables = {
        "domains": f"{ONE} OK\n",
        "mailboxes": itself,
        "aliases": f"postmaster@{ONE} {names[0]}\n",
        "senders": itself,
    }
    for table, text in tables.items():
        static.write(f"/etc/postfix/{table}", text)
        static.run("postmap", f"/etc/postfix/{table}")
    static.run(
        "postconf",
        "-e",
        "virtual_mailbox_domains=hash:/etc/postfix/domains",
        "virtual_mailbox_maps=hash:/etc/postfix/mailboxes",
        "virtual_alias_maps=hash:/etc/postfix/aliases",
        "smtpd_sender_login_maps=hash:/etc/postfix/senders",
        "transport_maps=",
        "virtual_alias_domains=",
        "smtpd_recipient_restrictions=reject_non_fqdn_recipient,"
        "check_recipient_access regexp:/etc/postfix/srs_recipients,"
        "reject_unauth_destination,reject_unlisted_recipient",
        "submission_recipient_restrictions=reject_non_fqdn_recipient,reject_unlisted_recipient",
        "forward_alias_maps=",
        "address_maps=",
    )
    found = _query(ours.host, "SELECT name || ':{ARGON2ID}' || hash FROM mail.logins")
    users = "".join(
        f"{line}::::{MAIL_DIR}/{line.partition(':')[0]}::\n" for line in found.splitlines()
    )
    static.write("/etc/dovecot/users", users)
    static.run("chown", "dovecot:dovecot", "/etc/dovecot/users")
    dovecot = ours.host.run("cat", "/etc/dovecot/dovecot.conf")
    dovecot = dovecot.replace("driver = lua", "driver = passwd-file")
    dovecot = re.sub(r"args = file=.*", "args = /etc/dovecot/users", dovecot)
    static.write("/etc/dovecot/dovecot.conf", dovecot)
    _run_opendkim(static, _query(ours.host, "SELECT private_pem FROM mail.keys"))
    static.run("systemctl", "restart", "dovecot", "postfix")


def _add_opendkim(host: debian.Host) -> None:
    """Add a submission port whose mail is signed by OpenDKIM."""
    host.run(*_APT, "--no-download", "opendkim")
    _run_opendkim(host, _query(host, "SELECT private_pem FROM mail.keys"))
    master = host.run("cat", "/etc/postfix/master.cf")
    begin, end = master.index("587 inet"), master.index("465 inet")
    listener = master[begin:end].replace("587 ", f"{OPENDKIM_PORT} ", 1)
    listener = listener.replace(_MILTER, f"unix:{_OPENDKIM_SOCKET}")
    host.write("/etc/postfix/master.cf", master[:begin] + listener + master[begin:])
    host.run("systemctl", "restart", "postfix")


def _run_opendkim(host: debian.Host, key: str) -> None:
    host.run("usermod", "--append", "--groups", "opendkim", "postfix")
    host.write("/etc/dkim.pem", key)
    host.run("chown", "opendkim", "/etc/dkim.pem")
    host.run("chmod", "0400", "/etc/dkim.pem")
    host.write("/etc/opendkim.conf", _OPENDKIM)
    host.run("systemctl", "restart", "opendkim")


def _query(host: debian.Host, statement: str) -> str:
    psql = ("psql", "--no-align", "--tuples-only", "--quiet", "postroom", "--command", statement)
    return host.run("runuser", "--user", "postgres", "--", *psql)


def _content(sender: str, to: str) -> bytes:
    head = f"From: {sender}\r\nTo: {to}\r\nSubject: benchmark\r\n\r\n"
    line = b"A line of sixty-four characters, as they are in many messages..\r\n"
    return head.encode() + line * (SIZE // len(line))


def _noted(name: str, side: Side, act: Callable[[Side], None]) -> Callable[[], float]:
    """Return a timed action that also prints its duration, which varies between rounds."""
    run = timed(functools.partial(act, side))

    def noted() -> float:
        side.empty()
        seconds = run()
        sys.stderr.write(f"  {name}: {seconds:.2f} s\n")
        return seconds

    return noted
