# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail host tutorial works without a public domain, from an empty host to a read message."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.docs.guide_runner import write_program
from ansible_collections.postroom.email.tests.hosts import debian
from ansible_collections.postroom.email.tests.support import (
    playbooks,
    repository,
    system_programs,
)
from ansible_collections.postroom.email.tests.support.processes import Running

RELEASE = list(debian.RELEASES)[-1]
NAME, ADDRESS = "mail.example.net", "10.53.0.10"
#: The addresses in the documents.
PLACES = {"192.0.2.25": ADDRESS, "192.0.2.53": ADDRESS, f"root@{NAME}": f"root@{ADDRESS}"}
DOCS = repository.ROOT / "docs"
#: Sections for other readers, and the installation, which test_readme.py tests.
SKIPPED = ("1. What you need", "2. Install Ansible and the collection", "With a public domain")
BLOCKS = [
    *fenced_blocks.blocks(section="A name server for trials", file=DOCS / "guides" / "dns.md"),
    *(
        block
        for block in fenced_blocks.all_blocks(DOCS / "tutorials" / "run-your-own.md")
        if block.section not in SKIPPED
    ),
]
ON_HOST = ("apt-get ", "named-checkconf ", "postroom-service ")
TUNNEL = "ssh -N "
SSH_OPTIONS = "-o BatchMode=yes -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR"
#: Settings with which the host installs the packages of its image offline.
OFFLINE = {
    "/etc/apt/apt.conf.d/99offline": 'APT::Install-Recommends "false";\nAcquire::Retries "0";\n',
    "/etc/pip.conf": f"[global]\nno-index = true\nfind-links = {debian.WHEELS}\n",
}
STOP_SECONDS = 10.0


class Reader:
    """A reader who follows the tutorial in a directory on the controller.

    :ivar shown: the output of all commands on the controller and the host
    """

    def __init__(self, host: debian.Host, folder: Path) -> None:
        self._host = host
        self._folder = folder
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._env = playbooks.environment(folder, ANSIBLE_PIPELINING="true")
        self._env["PATH"] = f"{self._programs}:{self._env['PATH']}"
        self._tunnels = contextlib.ExitStack()
        self.shown = ""

    def get_access(self) -> None:
        """Set up what the tutorial requires: SSH access to the host, and packages to install."""
        for name, settings in OFFLINE.items():
            self._host.write(name, settings)
        self._host.run("apt-get", "install", "--quiet", "--yes", "openssh-server")
        key = self._folder / "key"
        self._run(f"ssh-keygen -q -t ed25519 -N '' -f {key}")
        self._host.run("install", "-d", "-m", "700", "/root/.ssh")
        self._host.write("/root/.ssh/authorized_keys", key.with_suffix(".pub").read_text("utf-8"))
        known = f"-o UserKnownHostsFile={self._folder / 'known_hosts'}"
        ssh = f'exec {system_programs.require("ssh")} -F none {SSH_OPTIONS} {known} -i {key} "$@"'
        write_program(self._programs / "ssh", ssh)

    def follow(self, block: fenced_blocks.Block) -> None:
        """Save the file or run the commands in a block."""
        text = self._real(block.text)
        if block.file_name and block.file_name.startswith("/"):
            self._host.run("tee", "--append", block.file_name, text=text)
        elif block.file_name:
            (self._folder / block.file_name).write_text(text, "utf-8")
        elif text.startswith(TUNNEL):
            self._open(text.split())
        elif text.startswith(ON_HOST):
            self.shown += self._host.run("bash", "-ec", text)
        else:
            self._run(text)

    def close(self) -> None:
        """Close the tunnels."""
        self._tunnels.close()

    def _run(self, script: str) -> None:
        run = playbooks.run(["bash", "-ec", script], self._env, self._folder)
        assert run.status == 0, run.output
        self.shown += run.output

    def _open(self, command: list[str]) -> None:
        log = self._folder / "tunnel.log"
        self._tunnels.callback(Running(command, self._env, log, STOP_SECONDS).stop)

    def _real(self, text: str) -> str:
        for example, real in PLACES.items():
            text = text.replace(example, real)
        if "the-token-of-your-tenant" in text:
            token = (self._folder / "token").read_text("utf-8").strip()
            text = text.replace("the-token-of-your-tenant", token)
        if "the-secret-of-the-key" in text:
            key = self._host.run("cat", "/etc/bind/mail-records.key")
            text = text.replace("the-secret-of-the-key", key.split('"')[3])
        # Nobody can answer the prompts for passwords.
        text = text.replace(" --ask-vault-pass", "")
        return re.sub(r"(?<=--user )(\S+)", lambda match: self._login(match[1]), text)

    def _login(self, mailbox: str) -> str:
        account = yaml.safe_load((self._folder / "account.yml").read_text("utf-8"))
        return f"{mailbox}:{account['vault_mail_passwords'][mailbox]}"


@pytest.fixture
def reader(tmp_path: Path, wheel: Path) -> Iterator[Reader]:
    """Provide a reader with the wheel and with access to an empty host."""
    system_programs.require("curl")
    folder = tmp_path / "mail-host"
    folder.mkdir()
    shutil.copy(wheel, folder)
    image = debian.image(RELEASE, "bind9", "openssh-server")
    with contextlib.ExitStack() as stack:
        stack.enter_context(debian.network(debian.GATEWAY))
        host = debian.Host(NAME, ADDRESS, image, tmp_path)
        stack.callback(host.stop)
        reader = Reader(host, folder)
        stack.callback(reader.close)
        reader.get_access()
        yield reader


def test_first_message_without_a_public_domain(reader: Reader) -> None:
    """The commands build a host, verify its domain, and send and read mail with a signature."""
    for block in BLOCKS:
        reader.follow(block)
    records = ("example.com is active", "example.com is verified")
    for text in (*records, "d=example.com;", "It works.", "Two, please."):
        assert text in reader.shown
