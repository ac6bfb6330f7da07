# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The removal of all data. This file must run last, because it leaves no host for other tests."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.hosts.mail_host import PLAY, MailHost

REMOVE = {"mail_host_state": "absent", "mail_host_remove_data": True}


def test_removal_with_data(host: MailHost) -> None:
    """Removing all data leaves nothing behind, and a second removal changes nothing."""
    run = host.play(PLAY, **REMOVE)
    assert run.status == 0, run.output
    again = host.play(PLAY, **REMOVE)
    assert again.status == 0, again.output
    assert again.recap.changed == 0, again.output
    for path in ("/var/lib/postroom-mail", "/var/lib/postroom", "/opt/postroom", "/etc/postroom"):
        assert host.host.attempt("ls", path).returncode != 0
    assert not host.host.run("find", "/var/spool/postfix/deferred", "-type", "f")
