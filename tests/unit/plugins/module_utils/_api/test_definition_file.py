# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A definition's file is read as plain data, or refused with a sentence that tells the line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.definition.file import load
from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    InvalidDefinition,
    Source,
)

EMPTY = (
    ": The file is empty. Write at least one of the keys domains, mailboxes and forwarders, such "
    "as mailboxes: []."
)
NO_MAPPING = (
    ": The file is not a mapping. Write the lists under the keys domains, mailboxes and forwarders."
)
DEEP = ":1: The file is nested deeper than any definition. Check its brackets and indentation."
LAUGHS = "a: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)

READ = {
    "{}": {},
    "a: b": {"a": "b"},
    "\ufeffa: b": {"a": "b"},
    "a: [2026-12-31, 2026-12-31T10:00:00Z, 7, 1.5, 0x1f, 12:30:45, =]": {
        "a": ["2026-12-31", "2026-12-31T10:00:00Z", "7", "1.5", "0x1f", "12:30:45", "="]
    },
    "a: [no, Off, FALSE, yes, On, TRUE, ~, null, Null]\nb:": {
        "a": [False, False, False, True, True, True, None, None, None], "b": None
    },
    "a: ['no', \"null\", !!str no, '', !!int 7, ! 8]": {"a": ["no", "null", "no", "", "7", "8"]},
    "no: 1\nnull: 2": {"no": "1", "null": "2"},
    "a: &x [b]\nc: *x\nd: &y e\nf: *y": {"a": ["b"], "c": ["b"], "d": "e", "f": "e"},
    "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3": {
        "a": {"b": "1", "c": "2"}, "d": {"b": "1", "c": "3"}
    },
    "a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne:\n  <<: [*x, *y]": {
        "a": {"b": "1"}, "c": {"b": "2", "d": "3"}, "e": {"b": "1", "d": "3"}
    },
    "--- # one\na: b\n...\n": {"a": "b"},
}  # fmt: skip

TAG = (
    "A tag, which is what begins with !, has no place in a definition. Drop it, or put the text in "
    "quotes."
)
REFUSED_YAML = {
    "": EMPTY,
    "# nothing\n": EMPTY,
    "~": EMPTY,
    "- a": NO_MAPPING,
    "text": NO_MAPPING,
    "a: 1\nb: 2\na: 3": (
        ":3: The key 'a' is given twice in one mapping, so that one of the two would be lost. "
        "Keep one."
    ),
    "a: b\n---\nc: d": (
        ":2: A second document begins here. Write each definition into a file of its own."
    ),
    "a:\n  b: !!python/object/apply:os.system [x]": f":2: {TAG}",
    "a: !x {}": f":1: {TAG}",
    "a: !!binary x": f":1: {TAG}",
    "password: !s3cret": f":1: {TAG}",
    "a:\n- !vault |\n  $ANSIBLE_VAULT;1.1;AES256": (
        ":2: A value encrypted by ansible-vault stands here. A definition holds no secret: only "
        "passwords need to be encrypted, and they are given with the option passwords."
    ),
    "$ANSIBLE_VAULT;1.1;AES256\n6162": (
        ": The file is encrypted by ansible-vault. Decrypt it: a definition holds no secret. Only "
        "passwords need to be encrypted, and they are given with the option passwords."
    ),
    "a: &x [*x]": (
        ":1: The alias *x stands within what it names, which has no end so. Write out what is "
        "meant."
    ),
    "password: *s3cret": (
        ":1: There is no anchor for what begins with * here. Check its name, or put the text in "
        "quotes."
    ),
    "a: &x b\n*x : c": ":2: A key has to be text. Write it as a word.",
    "? [a]\n: b": ":1: A key has to be text. Write it as a word.",
    "a: b\nc: \x07": ":2: The character U+0007 is not allowed in YAML. Delete it.",
    "<<: a": ": What << merges has to be a mapping. Name an anchor of one.",
    "<<: []\n<<: []": (
        ":2: The key '<<' is given twice in one mapping, so that one of the two would be lost. "
        "Keep one."
    ),
    "[" * 100_000: DEEP,
    "- " * 100_000: DEEP,
    "{a: " * 100_000: DEEP,
    LAUGHS: (
        ":6: The aliases make far more of this file than is written in it. Write out what is meant."
    ),
}

REFUSED_JSON = {
    "": EMPTY,
    "null": EMPTY,
    "[]": NO_MAPPING,
    '{"a": 1,\n "a": 2}': (
        ":2: The key 'a' is given twice in one mapping, so that one of the two would be lost. "
        "Keep one."
    ),
    f'{{"a": {"[" * 30 + "]" * 30}, "a": 2}}': (
        ": The key 'a' is given twice in one mapping, so that one of the two would be lost. "
        "Keep one."
    ),
    '{"a": 1,\n}': (
        ":2: This is not valid JSON at column 1: Expecting property name enclosed in double "
        "quotes. Correct it there or just before."
    ),
    "[" * 100_000: DEEP.replace(":1", ""),
}


def read(tmp_path: Path, text: str, name: str = "tenant.yml") -> Source:
    """Return what a file of this text holds."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return load(str(file))


def refusal(path: Path) -> str:
    """Return the message that refuses a file, without the file's name."""
    with pytest.raises(InvalidDefinition) as caught:
        load(str(path))
    [finding] = caught.value.findings
    problem = finding.as_dict()
    assert problem["file"] == str(path)
    assert problem["where"] == ""
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize("text", READ)
def test_a_file_is_plain_data(text: str, tmp_path: Path) -> None:
    """Scalars are text, but for null and booleans; aliases and merged keys are followed."""
    assert read(tmp_path, text).data == READ[text]


@pytest.mark.parametrize("text", REFUSED_YAML, ids=lambda text: text[:20])
def test_a_file_of_yaml_is_refused(text: str, tmp_path: Path) -> None:
    """One sentence or two, with the line."""
    (tmp_path / "x.yml").write_text(text, encoding="utf-8")
    assert refusal(tmp_path / "x.yml") == REFUSED_YAML[text]


@pytest.mark.parametrize("text", REFUSED_JSON, ids=lambda text: text[:20])
def test_a_file_of_json_is_refused(text: str, tmp_path: Path) -> None:
    """A line is told where it can be known."""
    (tmp_path / "x.JSON").write_text(text, encoding="utf-8")
    found = refusal(tmp_path / "x.JSON")
    # Newer Pythons call it an illegal trailing comma, one line up.
    assert found == REFUSED_JSON[text] or "trailing comma" in found


def test_a_syntax_error_of_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    """The words are those of PyYAML, with libyaml or without."""
    (tmp_path / "x.yml").write_text("a: b\nc: d: e\n", encoding="utf-8")
    assert re.fullmatch(
        r":2: This is not valid YAML at column 5: mapping values are not allowed (here|in this "
        r"context)\. Correct it there or just before\.",
        refusal(tmp_path / "x.yml"),
    )


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the operating system's reason."""
    there = "It is looked for where the module runs."
    assert refusal(tmp_path) == f": The file can't be read: Is a directory. {there}"
    missing = tmp_path / "missing.yml"
    assert refusal(missing) == f": The file can't be read: No such file or directory. {there}"
    with pytest.raises(InvalidDefinition, match=r"can't be read: it is not a path"):
        load("a\0b")


@pytest.mark.parametrize("name", ["x.yml", "x.json"])
def test_a_file_in_another_encoding_is_refused(name: str, tmp_path: Path) -> None:
    """The line is that of the first byte that is not UTF-8."""
    (tmp_path / name).write_bytes(b"a: b\nc: \xfc\n")
    assert refusal(tmp_path / name) == ":2: The file is not in UTF-8. Save it in that encoding."


def test_lines_are_found(tmp_path: Path) -> None:
    """Of a key, of an entry, and, for what is not there, of what it would be in."""
    text = "# c\na:\n- b\n- c:\n    d: &x\n    - e\n\n    - f\ng: {h: *x}\n"
    lines = read(tmp_path, text).lines
    assert lines is not None
    assert [lines(("a",)), lines(("a", 0)), lines(("a", 1, "c")), lines(())] == [2, 3, 4, 2]
    assert [lines(("a", 1, "c", "d", 1)), lines(("a", 1, "c", "z", 0)), lines(("a", 7))] == [
        8,
        4,
        2,
    ]
    assert [lines(("g", "h")), lines(("g", "h", 1))] == [9, 8]


def test_lines_of_json_are_found_where_yaml_can_read_it(tmp_path: Path) -> None:
    """JSON is YAML; what is nested too deep for YAML's reader here has no lines."""
    lines = read(tmp_path, '{\n "a": [\n  "b",\n  "c"]}', "x.json").lines
    assert lines is not None
    assert [lines(("a",)), lines(("a", 1))] == [2, 4]
    lines = read(tmp_path, f'{{"a": {"[" * 30 + "]" * 30}}}', "x.json").lines
    assert lines is not None
    assert lines(("a",)) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(), st.lists(st.text() | st.none() | st.booleans())))
def test_json_is_read_as_it_was_written(tmp_path: Path, data: dict[str, Any]) -> None:
    """Both as JSON and, where YAML can read it, as YAML."""
    assert read(tmp_path, json.dumps(data), "x.json").data == data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary() | st.text(alphabet="ab:-&*!|>[]{}?,#'\"\n \t%@<~", max_size=40).map(str.encode))
def test_no_file_raises_anything_else(tmp_path: Path, content: bytes) -> None:
    """Whatever is in it, it is a mapping, or is refused with a message."""
    for name in ("x.yml", "x.json"):
        (tmp_path / name).write_bytes(content)
        try:
            source = load(str(tmp_path / name))
        except InvalidDefinition as error:
            assert str(error).startswith(str(tmp_path / name))  # noqa: PT017
        else:
            assert isinstance(source.data, dict)
            assert source.lines is not None
            source.lines(("a", 0))
