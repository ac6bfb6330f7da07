# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role itself: repeated runs, rejected variables, a failed upgrade, and removal."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.hosts.mail_host import (
    ADDRESS,
    MAPS,
    NAME,
    ONE,
    PLAY,
    SECRET,
    MailHost,
)

REMOVE = {"mail_host_state": "absent", "mail_host_remove_data": True}


def test_second_run_changes_nothing(host: MailHost) -> None:
    """A second run changes nothing, and check mode predicts no changes."""
    for options in ((), ("--check",)):
        run = host.play(PLAY, *options)
        assert run.status == 0, run.output
        assert run.recap.changed == 0, run.output


@pytest.mark.parametrize(
    "variables",
    [
        {"mail_host_mail_dir": "/srv"},
        {"mail_host_mail_dir": "/var/lib"},
        {"mail_host_mail_dir": "/var/lib", **REMOVE},
        {"mail_host_mail_dir": "/srv", **REMOVE},
        {"mail_host_message_size": "0"},
        {"mail_host_message_size": "64M"},
        {"mail_host_service_domain": "spf.example'\n"},
        {"mail_host_resolvers": ["192.0.2.53"]},
        {"mail_host_database": 'postgresql://db/"'},
        {"mail_host_nodes": {NAME: "node"}},
        {"mail_host_nodes": {NAME: ADDRESS}},
    ],
    ids=str,
)
def test_refused_variables(host: MailHost, variables: dict[str, Any]) -> None:
    """A run with invalid variables fails and changes nothing."""
    run = host.play(PLAY, **variables)
    assert run.status != 0, run.output
    assert run.recap.changed == 0, run.output
    [name] = [name for name in variables if name not in REMOVE]
    assert f"{name} must be" in run.output or "this role didn't create it" in run.output
    assert host.host.run("ls", "/var/lib/postroom", "/var/lib/dpkg")


def test_upgrade_of_a_host_without_maps(host: MailHost) -> None:
    """An upgrade creates the maps before Postfix's configuration refers to them."""
    host.host.run("systemctl", "stop", "postroom-mail")
    host.host.run("rm", "--recursive", MAPS)
    run = host.play(PLAY, "--check")
    assert run.status == 0, run.output
    run = host.play(PLAY)
    assert run.status == 0, run.output
    created = run.output.index("Create Postfix's maps")
    assert created < run.output.index("Write the configuration of Postfix")
    owners = host.host.run("stat", "--format=%U:%G %a", MAPS, f"{MAPS}/domains.lmdb")
    assert owners == "postroom-mail:postfix 750\npostroom-mail:postfix 640\n"
    name = host.mailbox()
    host.wait_until_mapped(name, name)


def test_failed_upgrade(host: MailHost) -> None:
    """After a failed upgrade, the service still runs.

    The password in the database URL is not exposed.
    """
    link = host.host.run("readlink", "/opt/postroom/bin")
    package = "https://user:hidden-token@nowhere.invalid/postroom-9-py3-none-any.whl"
    run = host.play(PLAY, mail_host_package=package)
    assert run.status != 0, run.output
    assert "pip can't install the package in mail_host_package" in run.output
    assert "hidden-token" not in run.output
    assert host.host.attempt("grep", "-r", "hidden-token", "/opt", "/etc", "/root").returncode == 1
    assert host.host.run("readlink", "/opt/postroom/bin") == link
    assert host.one.get(ONE).status_code == 200


def test_removal_keeps_mail_and_database(host: MailHost) -> None:
    """Removal keeps the mail and the database. Applying the role again restores the service."""
    name = host.mailbox()
    host.mail.receive(name, "kept")
    host.wait_for_mail(name, "kept")
    run = host.play(PLAY, mail_host_state="absent")
    assert run.status == 0, run.output
    again = host.play(PLAY, mail_host_state="absent")
    assert again.recap.changed == 0, again.output
    listening = host.host.run("ss", "-Hltn")
    assert not [port for port in ("25", "587", "993") if f":{port} " in listening]
    back = host.play(PLAY)
    assert back.status == 0, back.output
    assert host.wait_for_mail(name, "kept")
    assert host.one.get(name).status_code == 200
    assert host.mail.log_in(name, SECRET).startswith("235")
