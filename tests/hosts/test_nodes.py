# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Two nodes with one database act as one service, and mailboxes can be moved between them."""

from __future__ import annotations

import contextlib
import imaplib
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from ansible_collections.postroom.email.tests.hosts import debian
from ansible_collections.postroom.email.tests.hosts.mail_host import (
    DATABASE_PASSWORD,
    NODES,
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

FIRST, SECOND = NODES
MOVE = repository.ROOT / "playbooks" / "mail_host_move.yml"
MAIL_DIR = "/var/lib/postroom-mail"
SERVICES = ("postfix", "dovecot", "postroom-api", "postroom-mail")


def test_second_run_changes_nothing(host: MailHost) -> None:
    """A second run of the role changes nothing on either node."""
    run = host.play(PLAY)
    assert run.status == 0, run.output
    assert [recap.changed for recap in run.recaps] == [0, 0], run.output


# Each move takes seconds, so the next two tests run while there are few mailboxes.
def test_drain(host: MailHost) -> None:
    """Draining a node moves all its mailboxes away. New mailboxes are placed on the other node."""
    # Delete the mailboxes that test_mail has created.
    for api in (host.one, host.two):
        for principal in api.listing(type="individual"):
            api.delete(principal["name"])
    names = [_mailbox_on(host, SECOND) for _number in range(3)]
    for name in names:
        host.mail.receive(name, "before")
        host.wait_for_mail(name, "before")
    host.host.run("postroom-service", "node", "open", FIRST)
    run = _move(host, to=FIRST, mail_host_drain=SECOND)
    assert run.status == 0, run.output
    assert _mailboxes(host, SECOND) == []
    assert host.mailbox() in _mailboxes(host, FIRST)
    for name in names:
        assert host.mail.subjects(name) == ["before"]
    again = _move(host, to=FIRST, mail_host_drain=SECOND)
    assert [recap.changed for recap in again.recaps] == [0, 0, 0]


def test_existing_mailboxes_stay_where_their_mail_is(host: MailHost) -> None:
    """When an existing host becomes a node, its mailboxes stay where their mail is."""
    name = _mailbox_on(host, SECOND)
    host.mail.receive(name)
    host.wait_for_mail(name)
    _move(host, mail_host_drain=FIRST)
    host.hosts[FIRST].run("systemctl", "restart", "postroom-mail")
    wait_for(lambda: not _folders(host, FIRST, "[0-9a-f]{32}"))
    with psycopg.connect(host.settings["mail_host_database"]) as connection:
        connection.execute("DELETE FROM mail.placements")
        connection.execute("DELETE FROM mail.nodes")
    run = host.play(PLAY)
    assert run.status == 0, run.output
    assert _mailboxes(host, FIRST) == []
    assert host.mail.subjects(name) == ["hello"]


@pytest.mark.parametrize("node", NODES)
def test_either_node_serves_all_mailboxes(host: MailHost, node: str) -> None:
    """Each node receives, submits and serves mail for the mailboxes of both nodes."""
    names = [_mailbox_on(host, each) for each in NODES]
    there = host.on(node)
    for name in names:
        there.mail.receive(name, "received")
        for to in names:
            there.send(name, to, f"from {name}")
    for name in names:
        there.wait_for_mail(name, "received")
        for sender in names:
            assert len(there.wait_for_mail(name, f"from {sender}")) == 1


def test_bounce_to_the_other_node(host: MailHost) -> None:
    """Each node accepts the SRS addresses that the other one generated."""
    forwarder, member = unused(), unused("partner.example")
    host.one.forwarder(forwarder, [member])
    sender = unused("partner.example")
    host.on(FIRST).mail.receive(forwarder, "forwarded", sender)
    bounce_address = host.partner.wait_for(member).sender
    with host.on(SECOND).mail.mx() as client:
        client.send_message(message(PARTNER, PARTNER, "bounce"), "", [bounce_address])
    assert b"Subject: bounce" in host.partner.wait_for(sender).content


def test_move(host: MailHost) -> None:
    """A move keeps folders, flags, UIDs and new mail, and ends the mailbox's sessions."""
    name = _mailbox_on(host, FIRST)
    client = host.mail.imap(name)
    client.create("Work/2026")
    client.append("Work/2026", r"(\Seen \Flagged)", "", b"Subject: kept\r\n\r\nText.\r\n")
    client.select()
    before = _status(host, name)
    host.mail.receive(name, "before")
    checked = _move(host, "--check", mail_host_move_mailboxes=[name])
    assert sum(recap.changed for recap in checked.recaps) == 1
    assert client.noop()[0] == "OK"
    subjects = [f"m{number}" for number in range(60)]
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(_move, host, mail_host_move_mailboxes=[name])
        for number, subject in enumerate(subjects):
            host.on([*NODES][number % 2]).mail.receive(name, subject)
        moved = moving.result()
    assert moved.status == 0, moved.output
    assert sum(recap.changed for recap in moved.recaps) == 1
    assert name in _mailboxes(host, SECOND)
    with pytest.raises(imaplib.IMAP4.abort):
        client.noop()
    client.shutdown()
    found = wait_for(lambda: _all_of(host, name, {"before", *subjects}))
    assert set(found.values()) == {1}
    assert _status(host, name) == before
    again = _move(host, mail_host_move_mailboxes=[name])
    assert [recap.changed for recap in again.recaps] == [0, 0, 0]


def test_old_copy(host: MailHost) -> None:
    """After a move, the old node sets its copy aside until the mailbox is deleted."""
    name = _mailbox_on(host, FIRST)
    host.mail.receive(name)
    host.wait_for_mail(name)
    first = host.hosts[FIRST]
    uid = first.run("doveadm", "user", "-f", "home", name).strip().rpartition("/")[2]
    _move(host, mail_host_move_mailboxes=[name])
    first.run("systemctl", "restart", "postroom-mail")
    folders = wait_for(lambda: _folders(host, FIRST, rf"{uid}\.deleted-.*"))
    assert len(folders) == 1
    assert _folders(host, SECOND, uid) == [uid]
    host.one.delete(name)
    wait_for(lambda: not any(_folders(host, node, f"{uid}.*") for node in NODES))


@pytest.mark.parametrize(
    "variables",
    [
        {"mail_host_move_to": SECOND},
        {"mail_host_move_to": SECOND, "mail_host_drain": SECOND},
        {"mail_host_move_to": "node9.example", "mail_host_drain": FIRST},
        {"mail_host_move_to": FIRST, "mail_host_move_mailboxes": [f"nobody@{ONE}"]},
    ],
    ids=str,
)
def test_refused_move(host: MailHost, variables: dict[str, object]) -> None:
    """A refused move changes nothing."""
    before = host.host.run("postroom-service", "node", "list")
    run = host.playbook(MOVE, mail_host_hosts="mail_hosts", **variables)
    assert run.status == 2
    assert not any(recap.changed for recap in run.recaps)
    assert host.host.run("postroom-service", "node", "list") == before


def test_failed_move(host: MailHost) -> None:
    """If a move fails, the mailbox stays usable on its node. Other mailboxes are still moved."""
    names = [_mailbox_on(host, FIRST) for _number in range(2)]
    # The copy of the first mailbox can't be written.
    uid = host.hosts[FIRST].run("doveadm", "user", "-f", "home", names[0]).strip()
    host.hosts[SECOND].run("touch", uid)
    run = _move(host, mail_host_move_mailboxes=names)
    assert run.status == 2
    assert names[0] in _mailboxes(host, FIRST)
    assert names[1] in _mailboxes(host, SECOND)
    host.mail.receive(names[0])
    assert host.wait_for_mail(names[0])
    host.hosts[SECOND].run("rm", uid)
    assert _move(host, mail_host_move_mailboxes=names).status == 0
    assert host.mail.subjects(names[0]) == ["hello"]


def test_killed_move(host: MailHost) -> None:
    """A move that is killed is cancelled, and the mailbox stays usable."""
    name = _mailbox_on(host, FIRST)
    done = host.hosts[FIRST].attempt("timeout", "2", "postroom-move-mailbox", name, SECOND)
    assert done.returncode == 124
    assert host.hosts[FIRST].run("postroom-service", "move", "cancel", name) == "unchanged\n"
    host.mail.receive(name)
    assert host.wait_for_mail(name)


def test_move_by_hand_on_the_wrong_node(host: MailHost) -> None:
    """The command refuses to move from the wrong node, whose copy of the mailbox is empty."""
    name = _mailbox_on(host, SECOND)
    done = host.hosts[FIRST].attempt("postroom-move-mailbox", name, FIRST)
    assert done.returncode == 2
    assert name in _mailboxes(host, SECOND)


@pytest.mark.parametrize("how", ["stopped", "unreachable"])
def test_node_down(host: MailHost, how: str) -> None:
    """If a node is down, the other one serves its own mailboxes and queues mail for the rest."""
    there, down = host.on(FIRST), host.hosts[SECOND]
    near, far = _mailbox_on(host, FIRST), _mailbox_on(host, SECOND)
    subjects = [f"m{number}" for number in range(40)]
    with contextlib.ExitStack() as outage:
        for number, subject in enumerate(subjects):
            if number == len(subjects) // 2:
                outage.enter_context(_down(down, how))
            for name in (near, far):
                there.send(near, name, subject)
        assert there.one.patch(near, emails=[near, unused()]).status_code == 200
        wait_for(lambda: {*there.mail.subjects(near)} == {*subjects})
        with pytest.raises(imaplib.IMAP4.error, match="UNAVAILABLE"):
            there.mail.imap(far)
    wait_for(lambda: _serves(there, far))
    found = wait_for(lambda: _all_of(there, far, {*subjects}), 120)
    # A message that was being stored may arrive twice, because the response was lost.
    assert max(found.values()) <= 2


def test_database_down(host: MailHost) -> None:
    """If the database is down, mail is deferred, and no log contains a database password."""
    assert host.database
    name = _mailbox_on(host, FIRST)
    host.database.stop()
    try:
        for node in NODES:
            # New Postfix processes connect immediately.
            host.hosts[node].run("systemctl", "restart", "postfix")
            assert host.on(node).reply_to(name).startswith("4")
            with pytest.raises(imaplib.IMAP4.error, match="UNAVAILABLE"):
                host.on(node).mail.imap(name)
    finally:
        host.database.start()
    for each in host.hosts.values():
        journal = each.run("journalctl")
        assert "connect to pgsql server" in journal
        assert DATABASE_PASSWORD not in journal
    # Postfix retries a failed database after a minute.
    wait_for(lambda: host.reply_to(name).startswith("250"), 180)


@contextlib.contextmanager
def _down(node: debian.Host, how: str) -> Iterator[None]:
    start, end = {
        "stopped": (("systemctl", "stop", *SERVICES), ("systemctl", "start", *SERVICES)),
        "unreachable": (
            ("ip", "link", "set", "host0", "down"),
            ("ip", "link", "set", "host0", "up"),
        ),
    }[how]
    node.run(*start)
    try:
        yield
    finally:
        node.run(*end)


def _move(host: MailHost, *options: str, to: str = SECOND, **variables: object) -> playbooks.Run:
    given = {"mail_host_hosts": "mail_hosts", "mail_host_move_to": to, **variables}
    return host.playbook(MOVE, *options, **given)


def _mailbox_on(host: MailHost, node: str) -> str:
    """Create a mailbox on a node."""
    for each in NODES:
        host.host.run("postroom-service", "node", "open" if each == node else "close", each)
    return host.mailbox()


def _mailboxes(host: MailHost, node: str) -> list[str]:
    return host.host.run("postroom-service", "node", "mailboxes", node).split()


def _folders(host: MailHost, node: str, pattern: str) -> list[str]:
    found = host.hosts[node].run("ls", MAIL_DIR).split()
    return [folder for folder in found if re.fullmatch(pattern, folder)]


def _status(host: MailHost, name: str) -> tuple[object, object]:
    """Return the UIDVALIDITY and the contents of a folder."""
    with host.mail.imap(name, SECRET) as client:
        _result, validity = client.status("Work/2026", "(UIDVALIDITY UIDNEXT)")
        client.select("Work/2026", readonly=True)
        return validity, client.fetch("1:*", "(UID FLAGS BODY[])")[1]


def _all_of(host: MailHost, name: str, subjects: set[str]) -> Counter[str] | None:
    """Make Postfix retry, and return the subjects in an inbox, or None if any are missing."""
    host.retry()
    found = Counter(host.mail.subjects(name))
    return found if found.keys() >= subjects else None


def _serves(host: MailHost, name: str) -> bool:
    try:
        host.mail.imap(name).logout()
    except (imaplib.IMAP4.error, OSError):
        return False
    return True
