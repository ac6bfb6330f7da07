# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The files and commands in the mail host tutorial and guide work."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.hosts.mail_host import MailHost, wait_for
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tools import playbook_reference

DOCS = repository.ROOT / "docs"
PAGES = [DOCS / "tutorials" / "run-your-own.md", DOCS / "guides" / "mail-host.md"]
DOMAIN = "guide.example"
BLOCKS = [block for page in PAGES for block in fenced_blocks.all_blocks(page)]
FILES = {block.file_name: block.text for block in BLOCKS if block.language == "yaml"}
SHELL_BLOCKS = [block for block in BLOCKS if block.language == "shell"]
COMMANDS = [line for block in SHELL_BLOCKS for line in block.commands]
#: The sections that test_trial.py tests.
TRIAL = "Without a public domain"


def test_variables() -> None:
    """The role and the playbooks accept all variables that the guide sets."""
    arguments = playbook_reference.read_all()
    of_role = {*repository.role_options("mail_host")}
    for block in BLOCKS:
        if block.file_name == "mail_host.yml":
            given = {*yaml.safe_load(block.text)}
            assert given <= of_role | arguments["mail_host"]["options"].keys()
    for command in COMMANDS:
        if match := re.match(r"ansible-playbook postroom\.email\.(mail_host\w*) (.*)", command):
            options = arguments[match[1]]["options"].keys() | of_role
            assert {*re.findall(r"-e (\w+)=", match[2])} <= options


def test_first_domain(host: MailHost, tmp_path: Path) -> None:
    """The guide's playbook creates mailboxes, and mail arrives after the records are published."""
    with host.api("guide") as api:
        follow(host, api, tmp_path)


def follow(host: MailHost, api: Api, folder: Path) -> None:
    """Save the guide's files, run its commands and send a message."""
    token = str(api.http.headers["Authorization"]).removeprefix("Bearer ")
    places = {
        "http://127.0.0.1:8026": str(api.http.base_url).rstrip("/"),
        "the-token-of-your-tenant": token,
        "example.com": DOMAIN,
    }

    def real(text: str) -> str:
        for example, place in places.items():
            text = text.replace(example, place)
        return text.replace(" --ask-vault-pass", "")

    for name in ("account.yml", "mail.yml", "hosts.yml"):
        (folder / name).write_text(real(FILES[name]), "utf-8")
    env = playbooks.environment(folder)
    commands = [c for block in SHELL_BLOCKS if block.section != TRIAL for c in block.commands]
    with_account = [command for command in commands if "account.yml" in command]
    assert len(with_account) == 2
    for command in with_account:
        run = playbooks.run(["bash", "-ec", real(command)], env, folder)
        assert run.status == 0, run.output
    assert f"TXT   service._domainkey.{DOMAIN}" in run.output
    host.publish(api, DOMAIN)
    [verify] = [command for command in commands if command.startswith("postroom-service")]
    wait_for(lambda: not host.host.attempt(*real(verify).split()).returncode)
    host.mail.receive(f"alice@{DOMAIN}", "the first")
    found = wait_for(lambda: host.mail.inbox(f"alice@{DOMAIN}", "a-long-password"))
    assert found[0]["Subject"] == "the first"
