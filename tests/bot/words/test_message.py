# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Text that people typed, on its way into messages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.words import drawn
from postroom_bot.words import message

NOON = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)


def test_escapes_what_slack_reads() -> None:
    """The three signs that begin markup and entities are escaped, each once."""
    assert message.escape("<!here> &amp;") == "&lt;!here&gt; &amp;amp;"


def test_addresses_are_code() -> None:
    """An address is code, and can't end it."""
    assert message.address("a&b@example.com") == "`a&amp;b@example.com`"
    assert message.address("a`b") == "`a\u02cbb`"


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("U0123ABC", "<@U0123ABC>"),
        ("W0123ABC", "<@W0123ABC>"),
        ("!here", "!here"),
        ("U1> <!here", "U1&gt; &lt;!here"),
    ],
)
def test_mentions_only_users(user: str, said: str) -> None:
    """What is not a user's id does not become a mention."""
    assert message.mention(user) == said


def test_links_only_channels() -> None:
    """What is not a channel's id does not become a link."""
    assert message.channel("C0123ABC") == "<#C0123ABC>"
    assert message.channel("C1|x> <!here") == "C1|x&gt; &lt;!here"


def test_times() -> None:
    """A time is shown in the reader's zone, and in UTC where nobody translates it."""
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    assert message.utc(elsewhere) == "2026-11-21 12:05 UTC"
    assert message.when(NOON) == (
        "<!date^1795262700^{date_short_pretty} at {time}|2026-11-21 12:05 UTC>"
    )


@pytest.mark.parametrize(
    ("items", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ([*"abc"], "a, b and c")]
)
def test_lists(items: list[str], said: str) -> None:
    """Lists read like a sentence."""
    assert message.listed(items) == said


def test_counts() -> None:
    """Numbers go with the right form of their noun."""
    assert message.counted(1, "approval") == "1 approval"
    assert message.counted(2, "approval") == "2 approvals"
    assert message.counted(0, "address", "addresses") == "0 addresses"


@drawn.steady
@given(drawn.texts, st.integers(3, 50))
def test_lines_are_one_and_short(text: str, limit: int) -> None:
    """Whatever comes in, one printable line of at most the limit comes out."""
    line = message.one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


@drawn.steady
@given(drawn.texts, st.integers(10, 60))
def test_cuts_at_pieces(text: str, limit: int) -> None:
    """Markup is cut between its pieces: no entity and no link is halved."""
    whole = message.sentence(text) + message.when(NOON) + message.mention("U0123ABC")
    short = message.cut(whole, limit)
    assert len(short) <= limit
    rest = re.sub(r"&(amp|lt|gt);|<[^<>]*>", "", short)
    assert not set("<>&") & set(rest)


def test_text_is_bounded() -> None:
    """A message's text is never longer than Slack recommends."""
    assert len(message.joined(["<" * 10, "", "x" * 5000])) == message.TEXT_LIMIT
    assert message.joined(["One.", "", "Two."]) == "One. Two."
