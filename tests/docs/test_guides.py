# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the guides in docs/ tell to type works, from the first block to the last.

Each guide is one session: its files are saved where it says so, its commands run in order, in one
folder and on one tenant. A block of `text` shows what the commands before it print, as lines of
their output in order; `...` stands for lines that are left out. Commands whose output is shown to
fail have to fail, all others have to succeed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

ADDRESS = "https://mail.example.net"
TOKEN = "the-token-of-your-tenant"
#: Where the README has its readers work.
HOME = "~/mail"
FAILURE = re.compile(r"^fatal:|\bfailed=[1-9]", re.MULTILINE)
COMMANDS = [
    file for file in readme.GUIDES if any(b.language == "console" for b in readme.all_blocks(file))
]


def prepare(tenant: Api) -> None:
    """Fill the tenant with what the guides take to be there."""
    tenant.create("example.com")
    tenant.create("example.org")
    tenant.create("alice@example.com", ["alice@example.com", "sales@example.com"])
    tenant.create("bob@example.com", ["bob@example.com", "info@example.org"])
    tenant.create("team@example.com", members=["alice@example.com", "partner@example.net"])


def with_output(blocks: list[readme.Block]) -> Iterator[tuple[readme.Block, str]]:
    """Yield each block that does something, with the output that is shown after it."""
    for block, after in pairwise([*blocks, readme.Block("end", "", "", None)]):
        if block.language != "text":
            yield block, after.text if after.language == "text" else ""


def missing(shown: str, output: str) -> str | None:
    """Return the first line that is shown and that the output lacks, or has too early."""
    lines = iter(line.rstrip() for line in output.splitlines())
    wanted = [line.rstrip() for line in shown.splitlines()]
    return next((w for w in wanted if w not in ("", "...") and w not in lines), None)


class Desk:
    """An administrator's folder."""

    def __init__(self, folder: Path, service: RunningService) -> None:
        self._folder = folder
        self._service = service
        settings = folder / "ansible"
        settings.mkdir()
        self._env = playbooks.environment(settings)

    def save(self, name: str, text: str) -> None:
        """Write a file, with the address and the token of the running service."""
        text = text.replace(ADDRESS, self._service.url).replace(TOKEN, self._service.token)
        (self._folder / name).write_text(text, "utf-8")

    def type(self, commands: list[str]) -> playbooks.Run:
        """Run commands, the vault's password aside, and return what was seen."""
        script = "\n".join(commands).replace(" --ask-vault-pass", "")
        run = playbooks.run(["bash", "-ec", script], self._env, self._folder)
        return playbooks.Run(run.status, run.output.replace(str(self._folder), HOME))


@pytest.fixture
def desk(tmp_path: Path, service: RunningService) -> Desk:
    """Return a folder with the README's account.yml."""
    desk = Desk(tmp_path, service)
    account = next(b for b in readme.blocks("yaml") if b.file_name == "account.yml")
    desk.save("account.yml", account.text)
    return desk


@pytest.mark.parametrize("guide", COMMANDS, ids=lambda file: file.stem)
def test_a_guide_does_what_it_says(guide: Path, desk: Desk, tenant: Api) -> None:
    """Every command succeeds or fails as shown, and prints what is shown, without a secret."""
    prepare(tenant)
    for block, shown in with_output(readme.all_blocks(guide)):
        if block.language == "yaml":
            assert block.file_name, block.text
            desk.save(block.file_name, block.text)
            continue
        assert block.language == "console"
        run = desk.type(block.commands)
        assert bool(run.status) == bool(FAILURE.search(shown)), run.output
        assert (lost := missing(shown, run.output)) is None, f"{lost}\n\nis not in\n\n{run.output}"
        assert "a-long-password" not in run.output


def test_the_guides_are_found() -> None:
    """There are guides with commands; the reference has none."""
    assert {file.stem for file in COMMANDS} >= {"existing-account", "purge"}


def test_output_is_compared_in_order() -> None:
    """A line that is missing or stands earlier is noticed; lines may be left out."""
    output = os.linesep.join(["one", "two  ", "three"])
    assert missing("one\n...\nthree\n", output) is None
    assert missing("two\none\n", output) == "one"
    assert missing("four\n", output) == "four"


QUOTED = re.compile(r'\*"([^"]+)"\*')


def said(file: Path) -> Iterator[str]:
    """Yield the texts of a source file, those of an f-string one by one."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("guide", COMMANDS, ids=lambda file: file.stem)
def test_quoted_messages_are_those_of_the_code(guide: Path) -> None:
    """Each part of a message that a guide quotes stands in a source file or a playbook."""
    sources = [repository.ROOT / file for file in repository.sources("plugins/")]
    texts = [text for file in sources for text in said(file)]
    folder = repository.ROOT / "playbooks"
    texts += [" ".join(file.read_text("utf-8").split()) for file in folder.glob("*.yml")]
    for quote in QUOTED.findall(guide.read_text("utf-8")):
        parts = [part.strip(" .:,") for part in re.split(r"\.\.\.|\d+|\n", quote)]
        for part in filter(None, parts):
            assert any(part in text for text in texts), part
