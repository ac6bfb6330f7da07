# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""When the API deletes or changes a mailbox, its sessions end and its mail is removed.

A fake doveadm records its arguments.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.mail_host.host import (
    DaemonError,
    MailHost,
    as_role,
    make_daemon,
    running_daemon,
    wait,
)
from ansible_collections.postroom.email.tests.service.api import SECRET, unused_domain
from postroom_service.mail_host.notifications import APPLICATION

UNKNOWN_UIDS = ["f" + secrets.token_hex(16)[1:] for _ in range(2)]


def mailbox(host: MailHost, *, verified: bool = True) -> str:
    """Create a mailbox on a new domain, and return its name."""
    return host.api.mailbox(f"ann@{host.domain(unused_domain(), verified=verified)}")


def kicks(host: MailHost, name: str) -> int:
    """Return how often a mailbox's sessions were ended."""
    return host.daemon.kicks().count(f"kick -- {name}")


def settled(host: MailHost) -> None:
    """Wait until all earlier notifications have been handled."""
    name = mailbox(host)
    host.api.patch(name, secrets=["another"])
    wait(lambda: kicks(host, name))


def test_a_deleted_mailbox_loses_sessions_and_mail(host: MailHost) -> None:
    """Deleting a mailbox ends its sessions and removes its mail, but no other mailbox's."""
    kept, gone = mailbox(host), mailbox(host)
    folders = [host.folder(name) for name in (kept, gone)]
    settled(host)
    before = kicks(host, gone)
    host.api.delete(gone)
    wait(lambda: not folders[1].exists())
    assert kicks(host, gone) == before + 1
    host.api.mailbox(gone)
    assert host.uid(gone) != folders[1].name
    assert [path.exists() for path in folders] == [True, False]


def test_a_deleted_domain_deletes_its_mailboxes(host: MailHost) -> None:
    """Deleting a domain ends the sessions and removes the mail of all its mailboxes."""
    domain = host.domain(unused_domain())
    names = [host.api.mailbox(f"u{n}@{domain}") for n in range(12)]
    folders = [host.folder(name) for name in names]
    settled(host)
    host.api.delete(domain)
    wait(lambda: not any(folder.exists() for folder in folders))
    assert [kicks(host, name) for name in names] == [1] * 12


def test_new_secrets_end_the_sessions(host: MailHost) -> None:
    """New secrets end a mailbox's sessions. Other changes, or those rolled back, don't."""
    name = mailbox(host)
    folder = host.folder(name)
    settled(host)
    before = kicks(host, name)
    host.api.patch(name, emails=[name, f"x{name}"])
    assert host.api.patch(name, secrets=[SECRET], emails=["nobody@unknown.example"]).is_error
    settled(host)
    assert kicks(host, name) == before
    host.api.patch(name, secrets=["a", "b", "c"])
    wait(lambda: kicks(host, name) > before)
    settled(host)
    assert kicks(host, name) == before + 1
    assert folder.exists()


def test_a_forwarder_has_no_sessions(host: MailHost) -> None:
    """Deleting a forwarder ends no sessions."""
    name = host.api.forwarder(f"team@{host.domain(unused_domain())}", ["x@partner.example"])
    host.api.delete(name)
    settled(host)
    assert kicks(host, name) == 0


def test_odd_notifications_are_ignored(host: MailHost) -> None:
    """Malformed notifications, which any database role can send, remove nothing."""
    name = mailbox(host)
    folder = host.folder(name)
    outside = host.daemon.folder / "outside"
    outside.mkdir()
    for payload in (
        *("", "x", "[]", "{}", "null", '"x"', '{"changed": 1}', '{"deleted": "x"}'),
        # Use only paths in the test's own directory, in case a check is broken.
        *(f'{{"deleted": "{uid}", "name": "x"}}' for uid in ("", ".", "../outside", outside)),
        '{"deleted": 7, "name": "x"}',
    ):
        host.sql("SELECT pg_notify('postroom_mail', %s)", payload)
    settled(host)
    assert folder.exists()
    assert outside.exists()


def test_a_start_sweeps_what_was_deleted_meanwhile(host: MailHost, tmp_path: Path) -> None:
    """On startup, the daemon removes the mail of mailboxes deleted while it was stopped."""
    names = [mailbox(host), mailbox(host, verified=False)]
    mail = tmp_path / "mail"
    kept = [mail / host.uid(name) for name in names]
    odd = ["lost+found", ".cache", "x" * 32, UNKNOWN_UIDS[0].upper(), "0" * 31, "0" * 33]
    kept += [mail / name for name in odd]
    for folder in (*kept, *(mail / uid for uid in UNKNOWN_UIDS)):
        (folder / "new").mkdir(parents=True)
    (mail / ("1" * 32)).write_text("a file")
    target = tmp_path / "elsewhere"
    target.mkdir()
    (mail / ("2" * 32)).symlink_to(target)
    with running_daemon(tmp_path, host.service) as daemon:
        wait(lambda: not any((mail / uid).exists() for uid in UNKNOWN_UIDS))
        aside = [path for path in mail.iterdir() if path.name.partition(".")[0] in UNKNOWN_UIDS]
        assert len(aside) == 2
        assert all(".deleted-20" in path.name and (path / "new").exists() for path in aside)
        assert '"level": "error"' not in daemon.log()
    assert all((folder / "new").exists() for folder in kept)
    assert (mail / ("1" * 32)).exists()
    assert target.exists()


def test_a_lost_connection_is_followed_by_a_sweep(host: MailHost) -> None:
    """After losing its connection, the daemon removes the mail of mailboxes deleted meanwhile."""
    gone, later = mailbox(host), mailbox(host)
    folders = [host.folder(name) for name in (gone, later)]
    settled(host)
    # No notification is sent for this deletion, so only a sweep finds it.
    host.sql("ALTER TABLE principal DISABLE TRIGGER mailbox_deleted")
    host.api.delete(gone)
    host.sql("ALTER TABLE principal ENABLE TRIGGER mailbox_deleted")
    assert folders[0].exists()
    host.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
        APPLICATION,
    )
    wait(lambda: not folders[0].exists())
    assert folders[1].exists()
    host.api.delete(later)
    wait(lambda: not folders[1].exists())


def test_mail_comes_back_with_its_mailbox(host: MailHost, tmp_path: Path) -> None:
    """Mail that was set aside is restored if its mailbox exists, or removed after some time."""
    name, mail = mailbox(host), tmp_path / "mail"
    (mail / f"{host.uid(name)}.deleted-2020-01-01" / "new").mkdir(parents=True)
    (mail / f"{UNKNOWN_UIDS[0]}.deleted-2020-01-01" / "new").mkdir(parents=True)
    (mail / f"{UNKNOWN_UIDS[1]}.deleted-2999-01-01" / "new").mkdir(parents=True)
    expected = {host.uid(name), f"{UNKNOWN_UIDS[1]}.deleted-2999-01-01"}
    with running_daemon(tmp_path, host.service):
        wait(lambda: {path.name for path in mail.iterdir()} == expected)


def test_mail_of_a_live_mailbox_is_kept(host: MailHost) -> None:
    """A notification never removes the mail of a mailbox that still exists."""
    name = mailbox(host)
    folder = host.folder(name)
    payload = json.dumps({"deleted": folder.name, "name": name})
    host.sql("SELECT pg_notify('postroom_mail', %s)", payload, role="postfix")
    settled(host)
    assert folder.exists()


def test_a_failed_kick_is_reported(host: MailHost, tmp_path: Path) -> None:
    """A failed call to doveadm is logged and counted, unless there was no session to end."""
    with running_daemon(tmp_path, host.service) as daemon:
        wait(lambda: daemon.health() == 200)
        doveadm = tmp_path / "bin" / "doveadm"
        name = mailbox(host)
        for status, result in ((68, "ok"), (75, "failed"), (None, "failed")):
            key = f'postroom_mail_kicks_total{{result="{result}"}}'
            before = daemon.metrics().get(key, 0)
            doveadm.write_text(f"#!/bin/sh\nexit {status}\n" if status else "#!/nonexistent\n")
            host.api.patch(name, secrets=["another"])
            wait(lambda key=key, before=before: daemon.metrics().get(key, 0) == before + 1)  # type: ignore[misc]
        assert "doveadm kick failed" in daemon.log()
        assert "doveadm can't be run" in daemon.log()


@pytest.mark.parametrize(
    ("url", "reason"),
    [("postgresql:///x?host=/nonexistent&user=x", "connection"), ("", "permission denied")],
    ids=["no database", "no rights"],
)
def test_the_daemon_starts_without_its_database(
    host: MailHost, tmp_path: Path, url: str, reason: str
) -> None:
    """Without a database, the daemon starts, is unhealthy and answers with temporary errors."""
    url = url or as_role(host.url, "dovecot")
    with running_daemon(tmp_path, host.service, "--database", url) as daemon:
        wait(lambda: reason in daemon.log())
        assert daemon.health() == 503
        with daemon.mta() as mta:
            assert mta.mail("a@example.com", "a@example.com").startswith("451 ")
        # Listening for notifications requires no database privileges.
        is_listening = daemon.metrics()["postroom_mail_listening"] == 1
        assert is_listening is (reason == "permission denied")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--database=x.sqlite3"], "needs PostgreSQL"),
        (["--database=postgresql://u:p@h/x"], "can see the password"),
        (["--srs-secret=/nonexistent"], "/nonexistent can't be read"),
        (["--srs-secret=/dev/null"], "one secret per line"),
        (["--mail-dir=/dev/null/x"], "/dev/null/x can't be used"),
        (["--milter=/nowhere/milter"], "can't listen on /nowhere/milter"),
        (["--status=localhost:1"], "ADDRESS:PORT"),
        (["--recipients-per-hour=-1"], "recipients-per-hour"),
    ],
)
def test_a_failed_start_is_explained(
    host: MailHost, tmp_path: Path, options: list[str], problem: str
) -> None:
    """A failed start prints the reason on standard error and exits with status 2."""
    with pytest.raises(DaemonError, match=problem):
        make_daemon(tmp_path, host.service, *options)
