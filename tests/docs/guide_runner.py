# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the commands in a guide in docs/, in order, in one directory and with one tenant.

A `text` block shows lines from the output of the preceding commands, in order. `...` stands for
omitted lines. A command must fail if the block shows a failure, and must succeed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import playbooks
from ansible_collections.postroom.email.tests.support.service import RunningService

ADDRESSES = ("https://mail.example.net", "http://127.0.0.1:8025")
TOKEN = "the-token-of-your-tenant"
#: The directory in which the README's readers work.
HOME = "~/mail"
NOWHERE: Mapping[str, str] = MappingProxyType({})
FAILURE = re.compile(r"^fatal:|\bfailed=[1-9]", re.MULTILINE)


def missing(shown: str, output: str) -> str | None:
    """Return the first shown line that is missing from the output or out of order."""
    lines = iter(line.rstrip() for line in output.splitlines())
    wanted = [line.rstrip() for line in shown.splitlines()]
    return next((w for w in wanted if w not in ("", "...") and w not in lines), None)


def write_program(file: Path, command: str) -> None:
    """Write an executable shell script."""
    file.write_text(f"#!/bin/sh\n{command}\n", "utf-8")
    file.chmod(0o755)


class Reader:
    """A reader who follows guides in a directory that contains the README's `account.yml`.

    :param places: replacements for addresses and secrets in the guides
    :param variables: additional environment variables
    """

    def __init__(
        self,
        folder: Path,
        service: RunningService,
        places: Mapping[str, str] = NOWHERE,
        variables: Mapping[str, str] = NOWHERE,
    ) -> None:
        self._folder = folder
        self._places = {**dict.fromkeys(ADDRESSES, service.url), TOKEN: service.token, **places}
        settings = folder / "ansible"
        settings.mkdir()
        self._env = playbooks.environment(settings, **variables)
        self._programs = settings / "bin"
        self._env["PATH"] = f"{self._programs}:{self._env['PATH']}"
        account = next(b for b in fenced_blocks.blocks("yaml") if b.file_name == "account.yml")
        self.save("account.yml", account.text)

    def save(self, name: str, text: str) -> None:
        """Write a file with the real addresses and secrets."""
        for example, real in self._places.items():
            text = text.replace(example, real)
        (self._folder / name).write_text(text, "utf-8")

    def install(self, name: str, command: str) -> None:
        """Install a program, first in PATH, that passes its arguments to a command."""
        self._programs.mkdir(exist_ok=True)
        write_program(self._programs / name, f'{command} "$@"')

    def type(self, commands: list[str]) -> playbooks.Run:
        """Run commands, without the prompt for the vault's password."""
        script = "\n".join(commands).replace(" --ask-vault-pass", "")
        run = playbooks.run(["bash", "-ec", script], self._env, self._folder)
        return playbooks.Run(run.status, run.output.replace(str(self._folder), HOME))

    def follow(self, guide: Path) -> None:
        """Save a guide's files and run its commands. No command may print the password."""
        blocks = fenced_blocks.all_blocks(guide)
        for block, after in pairwise([*blocks, fenced_blocks.Block("end", "", "", None)]):
            if block.language in ("yaml", "python"):
                assert block.file_name, block.text
                self.save(block.file_name, block.text)
            if block.language != "console":
                continue
            shown = after.text if after.language == "text" else ""
            run = self.type(block.commands)
            assert bool(run.status) == bool(FAILURE.search(shown)), run.output
            lost = missing(shown, run.output)
            assert lost is None, f"{lost}\n\nis not in\n\n{run.output}"
            assert "a-long-password" not in run.output
