# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A backup is restored on another host, which then serves the same mailboxes."""

from __future__ import annotations

import hashlib
import shutil
import smtplib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.hosts import mail_host
from ansible_collections.postroom.email.tests.hosts.mail_host import (
    ONE,
    PARTNER,
    PLAY,
    SECRET,
    MailHost,
    unused,
    wait_for,
)
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.mail import message

#: The quota of each mailbox on the second host, in KiB.
QUOTA = 200
FILES = ("database.dump", "mail.tar", "manifest", "state.tar")
MAIL, STATE, TEMPORARY = "/var/lib/postroom-mail", "/var/lib/postroom", "/var/tmp"  # noqa: S108


@dataclass(frozen=True)
class Saved:
    """A backup, and the host's state when it was taken.

    :param name: a mailbox with the messages "read" (flagged, in INBOX) and "filed" (in Archive)
    :param bounce: an SRS address of PARTNER
    """

    folder: Path
    output: str
    name: str
    bounce: str
    secrets: tuple[str, ...]


def run_playbook(host: MailHost, name: str, *options: str, **variables: object) -> playbooks.Run:
    """Run one of the collection's playbooks for the host."""
    file = repository.ROOT / "playbooks" / f"{name}.yml"
    return host.playbook(file, *options, mail_host_hosts="mail_hosts", **variables)


def back_up(host: MailHost, folder: Path, *options: str) -> playbooks.Run:
    """Back up the host to a directory."""
    return run_playbook(host, "mail_host_backup", *options, mail_host_backup_folder=str(folder))


def restore(host: MailHost, backup: Path, *options: str, **variables: object) -> playbooks.Run:
    """Restore a backup on the host."""
    given = {"mail_host_restore_from": str(backup), **variables}
    return run_playbook(host, "mail_host_restore", *options, **given)


@pytest.fixture(scope="module")
def saved(host: MailHost, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Provide a backup of the host."""
    folder = tmp_path_factory.mktemp("backups")
    name, forwarder = host.mailbox(), unused()
    host.one.forwarder(forwarder, ["bounce@partner.example"])
    host.mail.receive(forwarder)
    bounce = host.partner.wait_for("bounce@partner.example").sender
    for subject in ("read", "filed"):
        host.mail.receive(name, subject)
        host.wait_for_mail(name, subject)
    session = host.mail.imap(name, SECRET)
    session.select()
    session.store("1", "+FLAGS", r"(\Flagged keyword)")
    session.copy("2", "Archive")
    session.store("2", "+FLAGS", r"\Deleted")
    session.expunge()
    session.logout()
    host.host.run("install", "--directory", "--mode=0755", f"{STATE}/trial")
    host.host.run("install", "--mode=0600", "/dev/null", f"{STATE}/trial/ca.key")
    host.host.write(f"{STATE}/trial/ca.key", "the key of the authority\n")
    run = back_up(host, folder)
    assert run.status == 0, run.output
    [made] = folder.iterdir()
    token = str(host.one.http.headers["Authorization"]).removeprefix("Bearer ")
    secrets = (SECRET, token, host.host.run("cat", f"{STATE}/srs-secret").strip())
    return Saved(made, run.output, name, bounce, (*secrets, "the key of the authority"))


@pytest.fixture(scope="module")
def restored(
    host: MailHost, saved: Saved, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MailHost]:
    """Provide a new host, built with the `mail_host` playbook, on which the backup was restored."""
    token = tmp_path_factory.mktemp("token") / "token"
    with mail_host.spare_host(host) as spare:
        tenant = {"mail_host_tenant": "new", "mail_host_token_file": str(token)}
        run = run_playbook(spare, "mail_host", mail_host_quota=f"{QUOTA}K", **tenant)
        assert run.status == 0, run.output
        new = token.read_text("utf-8").strip()
        assert new not in run.output
        assert f"in this file on the controller: {token}\n" in run.output
        assert f"IMAP  {mail_host.NAME}, port 993, TLS\n" in run.output
        empty = spare.api_of(new)
        assert empty.listing() == []
        checked = run_playbook(spare, "mail_host", "--check", **tenant)
        assert checked.status == 0, checked.output
        assert "is running. Next:" not in checked.output
        checked = restore(spare, saved.folder, "--check")
        assert checked.status == 0, checked.output
        assert "would be restored" in checked.output
        assert empty.listing() == []
        run = restore(spare, saved.folder)
        assert run.status == 0, run.output
        assert not _leaks(run.output, saved)
        assert empty.get(ONE).status_code == 401
        empty.http.close()
        with spare.api_of(saved.secrets[1]) as spare.one:
            yield spare


def test_backup(saved: Saved) -> None:
    """Only the owner can read a backup, and creating it reveals no secret."""
    assert sorted(file.name for file in saved.folder.iterdir()) == sorted(FILES)
    assert saved.folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in saved.folder.iterdir()} == {0o600}
    assert not _leaks(saved.output, saved)
    listed = dict(
        line.split()[::-1]
        for line in (saved.folder / "manifest").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    assert listed == {
        file: hashlib.sha256((saved.folder / file).read_bytes()).hexdigest()
        for file in ("database.dump", "mail.tar", "state.tar")
    }


def test_check_mode_makes_no_backup(host: MailHost, tmp_path: Path) -> None:
    """Check mode reports that a backup would be made, and creates no files."""
    run = back_up(host, tmp_path / "backups", "--check")
    assert run.status == 0, run.output
    assert "would be backed up" in run.output
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_on_the_hosts(host: MailHost, restored: MailHost) -> None:
    """Backing up and restoring leave no temporary files or databases behind."""
    for each in (host, restored):
        assert each.host.run("find", TEMPORARY, "-name", "postroom-*") == ""
        assert each.host.run("find", MAIL, "-maxdepth", "1", "-name", ".re*") == ""
        assert "postroom-re" not in each.host.run("runuser", "-u", "postgres", "--", "psql", "-l")


def test_restored_mail(restored: MailHost, saved: Saved) -> None:
    """Messages, flags, keywords and folders are restored, and passwords still work."""
    session = restored.mail.imap(saved.name, SECRET)
    for folder, subject in (("INBOX", "read"), ("Archive", "filed")):
        assert session.select(folder) == ("OK", [b"1"])
        _status, found = session.fetch("1", "(FLAGS BODY[HEADER.FIELDS (SUBJECT)])")
        assert f"Subject: {subject}" in str(found)
        assert ("Flagged" in str(found), "keyword" in str(found)) == (subject == "read",) * 2
    session.logout()


def test_restored_service(restored: MailHost, saved: Saved) -> None:
    """A restored host accepts the old token, receives and signs mail, and delivers late bounces."""
    assert restored.one.get(saved.name).status_code == 200
    restored.mail.receive(saved.name, "new")
    assert restored.wait_for_mail(saved.name, "new")
    to = unused("partner.example")
    restored.send(saved.name, to)
    assert restored.is_signed(restored.partner.wait_for(to).content, ONE)
    with restored.mail.mx() as client:
        client.send_message(message(PARTNER, PARTNER, "late"), "", [saved.bounce])
    wait_for(lambda: [one for one in restored.partner.received if b"late" in one.content])


def test_restored_rights(host: MailHost, restored: MailHost) -> None:
    """Restored files and database roles have the same owners, modes and permissions as before."""
    for command in (
        ["find", STATE, "-printf", "%P %u %g %m\n"],
        ["find", MAIL, "-maxdepth", "1", "-type", "d", "-name", "?" * 32, "-printf", "%u %g %m\n"],
    ):
        first, second = (set(each.host.run(*command).splitlines()) for each in (host, restored))
        assert second <= first
        assert second
    assert restored.host.run("postroom-service", "grant").strip() == "unchanged"
    run = restored.play(PLAY, mail_host_quota=f"{QUOTA}K")
    assert run.recap.changed == 0, run.output


def test_quota(restored: MailHost) -> None:
    """Mail that exceeds a mailbox's quota is returned, but other recipients still get it."""
    sender, full, other = restored.mailbox(), restored.mailbox(), restored.mailbox()
    for subject, recipients in (("fits", [full]), ("too much", [full, other])):
        large = message(sender, full, subject)
        large.set_content(("x" * 70 + "\n") * (QUOTA * 1024 * 2 // 3 // 72))
        with restored.mail.submit(sender, SECRET) as client:
            client.send_message(large, sender, recipients)
        restored.wait_for_mail(recipients[-1], subject)
    [returned] = restored.wait_for_mail(sender, "Undelivered Mail Returned to Sender")
    report = returned.partition(b"message/delivery-status")[2].partition(b"x" * 70)[0]
    assert full.encode() in report
    assert b"Quota exceeded" in report
    assert f"Final-Recipient: rfc822; {other}".encode() not in report
    assert [one["Subject"] for one in restored.mail.inbox(full, SECRET)] == ["fits"]


def test_restore_refuses_to_replace(restored: MailHost, saved: Saved) -> None:
    """The data of a host with mailboxes is replaced only if this is explicitly allowed."""
    new = restored.mailbox()
    run = restore(restored, saved.folder)
    assert run.status == 2
    assert "set mail_host_replace to true" in run.output
    assert "changed=0" in run.output.rpartition(f"\n{mail_host.NAME} ")[2]
    assert restored.one.get(new).status_code == 200


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("cut", "Files that have changed since the backup: mail.tar."),
        ("partial", "Missing files: mail.tar."),
        ("no manifest", "Missing files: manifest."),
        ("junk manifest", "is damaged"),
        ("missing", "Missing files: manifest, database.dump, mail.tar, state.tar."),
        ("junk dump", "PostgreSQL can't restore database.dump"),
        ("another host", "The backup is from other.example"),
    ],
)
def test_damaged_backup(
    restored: MailHost, saved: Saved, tmp_path: Path, damage: str, problem: str
) -> None:
    """A damaged backup is refused with a one-sentence error, and the service keeps running."""
    backup = tmp_path / "backup"
    shutil.copytree(saved.folder, backup)
    manifest = backup / "manifest"
    match damage:
        case "cut":
            (backup / "mail.tar").write_bytes((backup / "mail.tar").read_bytes()[:-5000])
        case "partial":
            (backup / "mail.tar").unlink()
        case "no manifest":
            manifest.unlink()
        case "junk manifest":
            manifest.write_bytes(b"\xff\x00\xfe" * 100)
        case "missing":
            shutil.rmtree(backup)
        case "junk dump":
            old = hashlib.sha256((backup / "database.dump").read_bytes()).hexdigest()
            (backup / "database.dump").write_bytes(b"junk")
            new = hashlib.sha256(b"junk").hexdigest()
            manifest.write_text(manifest.read_text("utf-8").replace(old, new), "utf-8")
        case "another host":
            text = manifest.read_text("utf-8").replace("mail.example", "other.example")
            manifest.write_text(text, "utf-8")
    units = _starts(restored)
    run = restore(restored, backup, mail_host_replace=True)
    assert run.status == 2, run.output
    assert run.output.count("fatal: [") == 1
    assert problem in run.output
    assert "changed." in run.output
    assert _starts(restored) == units
    assert restored.mail.log_in(saved.name, SECRET).startswith("235")


def test_replace(restored: MailHost, saved: Saved) -> None:
    """Replacing data removes everything newer than the backup, and duplicates no message."""
    new = restored.mailbox()
    restored.mail.receive(saved.name, "after the backup")
    restored.wait_for_mail(saved.name, "after the backup")
    before = _validity(restored, saved.name)
    run = restore(restored, saved.folder, mail_host_replace=True)
    assert run.status == 0, run.output
    assert restored.one.get(new).status_code == 404
    assert [one["Subject"] for one in restored.mail.inbox(saved.name, SECRET)] == ["read"]
    assert _validity(restored, saved.name) > before
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        restored.mail.receive(new)


def _validity(host: MailHost, name: str) -> int:
    """Return an inbox's UIDVALIDITY.

    If this value changes, mail clients discard their cached messages.
    """
    session = host.mail.imap(name, SECRET)
    session.select()
    _status, [value] = session.response("UIDVALIDITY")
    session.logout()
    return int(value)


def _starts(host: MailHost) -> str:
    """Return the start times of the services."""
    units = ("postroom-api", "postroom-mail", "dovecot", "postfix@-")
    return host.host.run("systemctl", "show", "--property=ActiveEnterTimestampMonotonic", *units)


def _leaks(output: str, saved: Saved) -> list[str]:
    return [secret for secret in saved.secrets if secret in output]
