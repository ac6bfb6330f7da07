# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Extract the fenced blocks of the README and the guides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "README.md"
#: The pages in docs/, except for the index.
PAGES = sorted(
    file
    for part in ("tutorials", "guides", "reference", "explanation")
    for file in (CHECKOUT / "docs" / part).glob("*.md")
)

_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE_NAME = re.compile(r"(?:as|at the end of)\s+`([\w./-]+)`:\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    :param section: the heading above the block
    :param file_name: the file to which the reader should save or add the block
    """

    language: str
    text: str
    section: str
    file_name: str | None

    @property
    def commands(self) -> list[str]:
        """The commands in a block of commands."""
        return self.text.splitlines()


def all_blocks(file: Path = README) -> list[Block]:
    """Return all blocks of a file, in order."""
    content = file.read_text("utf-8")
    return [_block(content, match) for match in _FENCE.finditer(content)]


def blocks(
    language: str | None = None, section: str | None = None, *, file: Path = README
) -> list[Block]:
    """Return all blocks of a language in a file or in one of its sections, in order."""
    return [
        block
        for block in all_blocks(file)
        if language in (None, block.language) and section in (None, block.section)
    ]


def _block(content: str, match: re.Match[str]) -> Block:
    before = content[: match.start()]
    saved = _FILE_NAME.search(before)
    return Block(
        match["language"],
        match["text"],
        # In a block, a line that looks like a heading is a comment.
        _HEADING.findall(_FENCE.sub("", before))[-1],
        saved.group(1) if saved else None,
    )
