# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the commands on a page, in order, in one directory and with one tenant.

A `text` block shows lines from the output of the preceding commands, in order. `...` stands for
omitted lines. A command must fail if the block shows a failure, and must succeed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
#: Commands that install packages, which the test environment already has.
INSTALLING = ("python3 -m venv ", ". ", "pip ")
#: A marker that is printed after the output of each block.
END = "----- end of a block -----"
WITHOUT_INVENTORY = ("No inventory was parsed", "provided hosts list is empty")
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


def run_in_one_shell(
    blocks: Sequence[fenced_blocks.Block],
    environment: Mapping[str, str],
    folder: Path,
    typed: str = "",
) -> str:
    """Save a page's files and run its commands in one shell, and return the output.

    The commands of each block must print the lines that the page shows. Processes that they
    started in the background are stopped at the end.
    """
    script: list[str] = ["trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    shown: list[str] = []
    for block in blocks:
        if block.file_name:
            script += [f"cat > {block.file_name} <<'EOF'\n{block.text}EOF", f"echo {END}"]
            shown.append("")
        elif block.language == "console":
            commands = [c for c in block.commands if not c.startswith(INSTALLING)]
            script += [*commands, f"echo {END}"]
            shown.append("")
        else:
            shown[-1] = block.text
    run = playbooks.run(["bash", "-ec", "\n".join(script)], environment, folder, typed)
    assert run.status == 0, run.output
    for lines, output in zip(shown, run.output.split(END), strict=False):
        assert missing(lines, output) is None, output
    return run.output


class Reader:
    """A reader who follows guides in a directory with the files of the README's playbook.

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
        self._env = self._environment(settings, variables)
        self._programs = settings / "bin"
        self._env["PATH"] = f"{self._programs}:{self._env['PATH']}"
        for block in fenced_blocks.blocks(section="Run a playbook"):
            if block.file_name:
                self.save(block.file_name, block.text)

    def _environment(self, settings: Path, variables: Mapping[str, str]) -> dict[str, str]:
        """Return an environment in which only the README's ansible.cfg turns off warnings."""
        env = playbooks.environment(settings, **variables)
        env["ANSIBLE_CONFIG"] = str(self._folder / "ansible.cfg")
        return {name: value for name, value in env.items() if not name.endswith("_WARNING")}

    def run_the_playbook_of_the_readme(self) -> None:
        """Create the README's domain and mailboxes."""
        run = self.type(["ansible-playbook mail.yml -e @account.yml"])
        assert run.status == 0, run.output

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
            assert not [text for text in WITHOUT_INVENTORY if text in run.output]
            assert "a-long-password" not in run.output
