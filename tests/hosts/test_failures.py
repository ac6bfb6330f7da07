# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""While part of the host is down, no mail is lost or permanently refused."""

from __future__ import annotations

import contextlib
import imaplib
import smtplib
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from ansible_collections.postroom.email.tests.hosts.mail_host import (
    ONE,
    PARTNER,
    SECRET,
    MailHost,
    unused,
    wait_for,
)

API, DAEMON = "postroom-api", "postroom-mail"


@contextlib.contextmanager
def stopped(host: MailHost, *units: str) -> Iterator[None]:
    """Stop units until the block ends."""
    host.host.run("systemctl", "stop", *units)
    try:
        yield
    finally:
        host.host.run("systemctl", "start", *units)


def test_api_stopped(host: MailHost) -> None:
    """Mail is delivered while the API is down, even if the other daemons are restarted."""
    name, forwarder = host.mailbox(), unused()
    host.one.forwarder(forwarder, [name])
    with stopped(host, API):
        host.host.run("systemctl", "restart", "postfix", "dovecot", DAEMON)
        wait_for(lambda: _serves(host, name))
        host.mail.receive(forwarder, "forwarded")
        host.send(name, "api-down@partner.example")
        assert host.wait_for_mail(name, "forwarded")
        assert host.partner.wait_for("api-down@partner.example")
    wait_for(lambda: _has_api(host))


def test_database_stopped(host: MailHost) -> None:
    """While the database is down, requests get a temporary error."""
    name = host.mailbox()
    with stopped(host, host.postgresql):
        assert host.reply_to(name).startswith("4")
        with pytest.raises(smtplib.SMTPResponseException) as refused:
            host.send(name, PARTNER)
        assert refused.value.smtp_code // 100 == 4
        with pytest.raises(imaplib.IMAP4.error, match="UNAVAILABLE"):
            host.mail.imap(name, SECRET)
    # Each Postfix process retries a failed database after a minute.
    wait_for(lambda: _serves(host, name), 180)
    host.mail.receive(name, "later")

    def arrived() -> bool:
        host.retry()
        return "later" in host.mail.subjects(name)

    wait_for(arrived, 180)
    wait_for(lambda: _has_api(host))
    # Restart Postfix, because other tests may use a process that hasn't retried the database yet.
    host.host.run("systemctl", "restart", "postfix")


def test_daemon_stopped(host: MailHost) -> None:
    """While the daemon is down, submission gets a temporary error, so no mail is sent unsigned."""
    name = host.mailbox()
    with stopped(host, DAEMON), pytest.raises(smtplib.SMTPResponseException) as refused:
        host.send(name, PARTNER)
    assert refused.value.smtp_code // 100 == 4
    wait_for(lambda: _serves(host, name))
    host.send(name, "daemon-up@partner.example")
    assert host.partner.wait_for("daemon-up@partner.example")


def test_daemon_killed(host: MailHost) -> None:
    """If the daemon is killed, Postfix's maps are emptied. They are refilled after it restarts."""
    name, alias = host.mailbox(), unused()
    other = host.mailbox(alias)
    host.wait_until_mapped(alias, other)
    host.host.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", DAEMON)
    host.wait_until_mapped(alias, "")
    host.one.patch(other, emails=[other])
    host.one.patch(name, emails=[name, alias])
    host.mail.receive(alias, "moved")
    assert host.wait_for_mail(name, "moved")
    host.wait_until_mapped(alias, name)
    host.one.patch(name, emails=[name])
    host.wait_until_mapped(alias, "")
    wait_for(lambda: _serves(host, name))


def test_daemon_stuck(host: MailHost) -> None:
    """A daemon that hangs is restarted, and the maps are updated."""
    name, alias = host.mailbox(), unused()
    host.one.patch(name, emails=[name, alias])
    host.wait_until_mapped(alias, name)
    host.host.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", DAEMON)
    host.one.patch(name, emails=[name])
    wait_for(lambda: not any(host.mapped(alias)), 120)
    assert host.reply_to(alias).startswith("550")
    wait_for(lambda: _serves(host, name))
    host.wait_until_mapped(name, name)


@pytest.mark.parametrize("unit", ["postfix", "dovecot"])
def test_restart_mid_delivery(host: MailHost, unit: str) -> None:
    """Accepted messages are delivered even after a restart in the middle of delivery.

    A message that was being stored may arrive twice, because the response was lost.
    """
    name = host.mailbox()
    accepted = []
    for number in range(30):
        with contextlib.suppress(OSError, smtplib.SMTPException):
            host.mail.receive(name, f"m{number}")
            accepted.append(f"m{number}")
        if number in (5, 15):
            host.host.run("systemctl", "restart", unit)
    assert len(accepted) >= 20

    def arrived() -> Counter[str] | None:
        host.retry()
        subjects = Counter(host.mail.subjects(name))
        return subjects if subjects.keys() >= {*accepted} else None

    assert max(wait_for(arrived).values()) <= 2


def _serves(host: MailHost, name: str) -> bool:
    """Return whether the host accepts mail both from outside and from the mailbox."""
    try:
        return host.reply_to(name)[:3] == "250" and host.mail.log_in(name, SECRET)[:3] == "235"
    except (OSError, smtplib.SMTPException):  # A daemon is still starting.
        return False


def _has_api(host: MailHost) -> bool:
    try:
        return host.one.get(ONE).status_code == 200
    except httpx.TransportError:
        return False
