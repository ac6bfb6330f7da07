# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Policy files: every mistake in them is told at once, with its line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.support import repository
from postroom_bot.policy.file import PolicyError, Problem, load, parse

EXAMPLE = repository.read("bot/examples/policy.yml")
GOOD = """\
version: 1
groups:
  admins:
    users: [U024BE7LH, U024BE7LJ]
approvers: admins
channels:
  approvals: C024BE91L
rules:
  - actions: [password]
    name: own-password
    own: true
    automatic: true
"""
#: What is wrong, and in which line and key of the file above with one part replaced.
MISTAKES = [
    ("version: 1", "version: 2", 1, "version", "This has to be 1."),
    ("version: 1", "version: '1'", 1, "version", "This has to be 1."),
    ("approvers: admins\n", "", 1, "approvers", "This key is needed. Add it."),
    ("U024BE7LJ", "bob", 4, "groups.admins.users.2", "This is no user id. Write it like U024"),
    ("U024BE7LJ", "7", 4, "groups.admins.users.2", "This has to be a text. Put it in quotes"),
    ("C024BE91L", "'#mail'", 7, "channels.approvals", "This is no channel id."),
    ("admins:\n", "Admins!:\n", 3, "groups.Admins!", "This is no group name."),
    ("own: true", "own: 1", 11, "rules.own-password.own", "This has to be true or false."),
    ("own: true", "own:", 11, "rules.own-password.own", "There is no value that can be read here"),
    ("C024BE91L", "#mail", 7, "channels.approvals", "or # begins a comment. Write one, in quotes"),
    ("own: true", "won: true", 11, "rules.own-password.won", "Perhaps own is meant. Known are"),
    ("own: true", "own: true\n    own: false", 12, "rules.own-password.own", "stands here twice"),
    ("own: true", "3: true", 11, "rules.own-password.3", "A key has to be a text."),
    ("own: true", "? [a]\n    : 1", 11, "rules.own-password.?", "A key has to be a text."),
    ("own: true", "own: 2026-99-99", 11, "rules.own-password.own", "There is no value that can"),
    ("own: true", "own: !!python/name:os.system", 11, "rules.own-password.own", "There is no val"),
    (
        "automatic: true",
        "automatic: false",
        12,
        "rules.own-password.automatic",
        "to be true, or be",
    ),
    ("automatic: true", "deny: ''", 12, "rules.own-password.deny", "a text, not an empty one"),
    ("    automatic: true\n", "", 9, "rules.own-password", "A rule has one of deny, approvals"),
    ("automatic: true", "automatic: true\n    deny: No.", 9, "rules.own-password", "Write one of"),
    ("automatic: true", "approvals: {admins: 0}", 12, "rules.own-password.approvals.admins", "The"),
    ("automatic: true", "approvals: {}", 12, "rules.own-password.approvals", "This is empty. Add"),
    ("[password]", "password", 9, "rules.own-password.actions", "This has to be a list. An ex"),
    ("[password]", "[passwd]", 9, "rules.own-password.actions.1", "This has to be 'alias.add', "),
    ("[password]", "[]", 9, "rules.own-password.actions", "This is empty. Add at least one"),
    ("    name: own-password\n", "", 9, "rules.1.name", "This key is needed."),
    ("rules:", "requests: {tombstone: 90}\nrules:", 8, "requests.tombstone", "This is no length"),
    ("rules:", "requests: {tombstone: 9 d}\nrules:", 8, "requests.tombstone", "such as 24h."),
    ("rules:", "limits: {open_requests: 0}\nrules:", 8, "limits.open_requests", "The least is 1."),
    ("rules:", "limits: 5\nrules:", 8, "limits", "This has to be keys with values"),
    (
        "rules:",
        "identity: {pinned: {U1BC: al}}\nrules:",
        8,
        "identity.pinned.U1BC",
        "'al' is not an",
    ),
]
#: What makes the whole file unreadable, and what is said of it.
BROKEN = [
    ("", None, "is empty"),
    ("# only words\n", None, "is empty"),
    ("a: [1\nb: 2\n", 2, "This is not YAML"),
    ("a: 1\n  b: 2\n", 2, "Check the indentation, quotes and brackets."),
    ("a:\n\tb: 1\n", 2, "Use spaces, not tabs."),
    ("a: 1\n---\nb: 1\n", 2, "This is not YAML"),
    ("a: \x07\n", None, "This is not YAML"),
    ("a: &x [1]\nb: *x\n", 1, "no anchors"),
    ("a: 1\nb: *x\n", 2, "no anchors"),
    ("a: " + "[" * 10_000, 1, "nested too deep"),
    ("- 1\n", 1, "This has to be keys with values"),
    ("just words\n", 1, "This has to be keys with values"),
]


def problems_of(text: str) -> list[Problem]:
    """Return what is wrong with a file."""
    try:
        parse(text)
    except PolicyError as error:
        return list(error.problems)
    return []


def test_a_good_file_is_read() -> None:
    """What it leaves out has the documented defaults."""
    policy = parse(GOOD)
    assert policy.rules[0].name == "own-password"
    assert policy.requests.expire_after.total_seconds() == 24 * 3600
    assert policy.limits.open_requests == 5
    assert policy.identity.slack_email is None


def test_the_example_is_right(tmp_path: Path) -> None:
    """It can be used as it is, in UTF-8 with or without a mark at its beginning."""
    path = tmp_path / "policy.yml"
    path.write_text(EXAMPLE, "utf-8-sig")
    assert load(path) == load(str(repository.ROOT / "bot/examples/policy.yml"))


@pytest.mark.parametrize(("right", "wrong", "line", "where", "text"), MISTAKES)
def test_a_mistake_is_told_where_it_is(
    right: str, wrong: str, line: int, where: str, text: str
) -> None:
    """One mistake is one problem, that says its line, its key, and what to do."""
    assert right in GOOD
    source = GOOD.replace(right, wrong, 1)
    [problem] = problems_of(source)
    assert (problem.line, problem.where) == (line, where)
    assert text in problem.text
    assert problem.text[0].isupper() or problem.text[0] == "'"


@pytest.mark.parametrize(("source", "line", "text"), BROKEN)
def test_a_file_that_is_no_policy_at_all_is_refused(
    source: str, line: int | None, text: str
) -> None:
    """One problem says why, with the line where there is one."""
    [problem] = problems_of(source)
    assert (problem.line, problem.where) == (line, "")
    assert text in problem.text


def test_all_mistakes_are_told_at_once() -> None:
    """They come in the order of their lines."""
    source = GOOD
    for right, wrong in [("version: 1", "version: 2"), ("C024BE91L", "mail"), ("own:", "won:")]:
        source = source.replace(right, wrong)
    assert [problem.line for problem in problems_of(source)] == [1, 7, 11]
    with pytest.raises(PolicyError) as caught:
        parse(source)
    said = "line 7: channels.approvals: This is no channel id. Write it like C024BE91L."
    assert str(caught.value).splitlines()[1] == said


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A missing file, one that is too large, and one that is not text."""
    path = tmp_path / "policy.yml"
    for raw, text in [
        (None, "cannot be read: No such file or directory."),
        (b"# " + b"x" * 300_000, "is larger than 256 KiB. Shorten it."),
        (b"version: 1\n# \xff\n", "policy.yml: line 2: The policy file is not UTF-8"),
    ]:
        if raw is not None:
            path.write_bytes(raw)
        with pytest.raises(PolicyError, match=text) as caught:
            load(path)
        assert str(path) in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever a file holds, it is refused with problems and never breaks the reader."""
    assert problems_of(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(yaml.safe_load(EXAMPLE))), JSON)
def test_any_value_is_read_or_refused(key: str, value: object) -> None:
    """Whatever stands in a section, only problems come of it, each with a line."""
    data = {**yaml.safe_load(EXAMPLE), key: value}
    source = yaml.safe_dump(data, allow_unicode=True)
    assert all(problem.line for problem in problems_of(source))
