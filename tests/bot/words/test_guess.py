# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is answered to words that are nearly right."""

from __future__ import annotations

import pytest

from postroom_bot.words import catalog
from postroom_bot.words.guess import hint


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("alias ad sales@example.com", "alias add"),
        ("alias sdd sales@example.com", "alias add"),
        ("alias delete sales@example.com", "alias remove"),
        ("Add Alias sales@example.com", "alias add"),
        ("new alias", "alias add"),
        ("list aliases", "alias list"),
        ("aliases list", "alias list"),
        ("forwards create team@example.com", "forward add"),
        ("sttus R-7K2M", "status"),
        ("canel R-7K2M", "cancel"),
    ],
)
def test_near_misses(typed: str, meant: str) -> None:
    """Whoever is nearly right is asked whether that is it, and shown how to write it."""
    assert hint(typed.split()) == f"Did you mean `{meant}`? {catalog.like(meant)}"


@pytest.mark.parametrize(
    ("typed", "forms"),
    [
        ("alias", ["alias add", "alias remove", "alias list"]),
        ("aliases", ["alias add", "alias remove", "alias list"]),
        ("alias frobnicate", ["alias add", "alias remove", "alias list"]),
        ("forward team@example.com", ["forward add", "forward remove", "forward list"]),
        ("list", ["alias list", "forward list"]),
        ("delete sales@example.com", ["alias remove", "forward remove"]),
    ],
)
def test_half_a_command(typed: str, forms: list[str]) -> None:
    """Whoever wrote the half of it is shown the forms that there are, and nothing else."""
    shown = ", ".join(f"`/email {catalog.BY_WORDS[one].usage}`" for one in forms)
    assert hint(typed.split()) == f"Write one of these: {shown}."


@pytest.mark.parametrize("typed", ["frobnicate", "send mail", "x" * 4000])
def test_what_is_like_nothing(typed: str) -> None:
    """Others are told where to look."""
    known = "I do not know that command. `/email help` shows what you can type."
    assert hint(typed.split()) == known
