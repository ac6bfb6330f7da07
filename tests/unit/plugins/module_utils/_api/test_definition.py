# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Definitions: files, errors with line and location, and exports."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Forwarder,
    Mailbox,
    Principal,
    UnmanagedPrincipal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    read_name,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import (
    Definition,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.export import export
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import (
    DECLARED_ABSENT,
    InvalidDefinition,
    Reason,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    load_source,
    read_definition,
)
from ansible_collections.postroom.email.plugins.module_utils._passwords import read_passwords

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
SECRET = "hunter2-hunter2"

# A file, and for each problem its line, its location, and its code or a part of its text.
ONE_FILE: dict[str, list[tuple[str, str]]] = {
    "mailboxs: [x]": [("1: mailboxs", "unknown_key: ")],
    "zebra: hunter2": [("1: zebra", "known keys are: domains, mailboxes, forwarders.")],
    "passwords: {alice@example.com: hunter2}": [("1: passwords", "secret_key: ")],
    "mailboxes:\n- a@example.com hunter2": [("2: mailboxes[0]", "text_after_name: ")],
    "domains:\nmailboxes: {}\nforwarders: a@example.com": [
        ("1: domains", "not null"),
        ("2: mailboxes", "not a mapping"),
        ("3: forwarders", "not a string"),
    ],
    "domains:\n- no\n- null\n- [a.example]\n- name: yes\n- state: absent": [
        ("2: domains[0]", "not false"),
        ("3: domains[1]", "not null"),
        ("4: domains[2]", "not a list"),
        ("5: domains[3].name", "not true"),
        ("6: domains[4]", "no name"),
    ],
    f"mailboxes:\n- alice\n- name: 'b: c@example.com'\n- {'a' * 501}": [
        ("2: mailboxes[0]", "no @"),
        ("3: mailboxes[1].name", "before the @"),
        ("4: mailboxes[2]", "501"),
    ],
    "mailboxes:\n- nmae: alice@example.com\n- address: b@example.com\n- expires: 2026-12-31": [
        ("2: mailboxes[0].nmae", "unknown_key: "),
        ("3: mailboxes[1].address", "unknown_key: "),
        ("4: mailboxes[2].expires", "known keys are: name, state, aliases."),
    ],
    "mailboxes:\n- name: a@example.com\n  aliases:\n  - b\n  - [c]\n  - {}\n  - name: d@x.test": [
        ("4: mailboxes[0].aliases[0]", "no @"),
        ("5: mailboxes[0].aliases[1]", "key address"),
        ("6: mailboxes[0].aliases[2]", "no address"),
        ("7: mailboxes[0].aliases[3].name", "unknown_key: "),
    ],
    "domains:\n- {name: a.example, force: maybe}\n- {name: b.example, force: true}": [
        ("2: domains[0].force", "not a string"),
        ("3: domains[1].force", "force_without_absent: "),
    ],
    "forwarders:\n"
    "- {name: a@example.com, members: [x@example.net], expires: 31.12.2026}\n"
    "- {name: b@example.com, members: [x@example.net], expires: 2026-12-31T10:00:00}\n"
    "- {name: c@example.com, members: [x@example.net], expires: 2026-02-30}\n"
    "- {name: d@example.com, members: [x@example.net], expires: ~}\n"
    "- {name: e@example.com, state: absent, expires: 2026-12-31}": [
        ("2: forwarders[0].expires", "'31.12.2026'"),
        ("3: forwarders[1].expires", "time_without_zone: "),
        ("4: forwarders[2].expires", "'2026-02-30'"),
        ("5: forwarders[3].expires", "not null"),
        ("6: forwarders[4].expires", "absent_with: "),
    ],
    "forwarders:\n"
    "- {name: a@example.com, state: absent, aliases: [b@example.com], members: [c@example.com]}": [
        ("2: forwarders[0].aliases", "absent_with: "),
        ("2: forwarders[0].members", "absent_with: "),
    ],
    "mailboxes:\n- alice@example.com\n- bob@example.com\n- Alice@example.com\n- bob@example.com": [
        ("4: mailboxes[2]", "first as alice@example.com in mailboxes[0] (line 2)"),
        ("5: mailboxes[3]", "duplicate: "),
    ],
    "mailboxes:\n- name: a@example.com\n  aliases:\n  - c@example.com\n  - C@example.com\n"
    "  - A@example.com\n- name: b@example.com\n  aliases: [c@example.com, a@example.com]": [
        ("5: mailboxes[0].aliases[1]", "mailboxes[0].aliases[0] (line 4)"),
        ("6: mailboxes[0].aliases[2]", "own_alias: "),
        ("8: mailboxes[1].aliases[0]", "mailbox a@example.com, declared in mailboxes[0].al"),
        ("8: mailboxes[1].aliases[1]", "alias_is_primary: "),
    ],
    "domains:\n- {name: Old.example, state: absent}\nmailboxes:\n- name: a@old.example\n"
    "- name: b@example.com\n  aliases: [c@old.example]": [
        ("4: mailboxes[0]", "Old.example is declared absent in domains[0] (line 2)"),
        ("6: mailboxes[1].aliases[0]", "domain_absent: "),
    ],
    "forwarders:\n- name: a@example.com\n  aliases: [b@example.com]\n"
    "  members: [a@example.com, B@example.com, c@example.net, C@example.net]": [
        ("4: forwarders[0].members[3]", "first as c@example.net"),
        ("4: forwarders[0].members[0]", "a@example.com -> a@example.com."),
        ("4: forwarders[0].members[1]", "forwarding_loop: "),
    ],
    "forwarders:\n"
    "- {name: a@example.com, members: [b@example.com, d@example.net]}\n"
    "- {name: b@example.com, members: [c@example.com]}\n"
    "- {name: c@example.com, aliases: [x@example.com], members: [Y@example.com]}\n"
    "- {name: e@example.com, members: [x@example.com]}\n"
    "- {name: d@example.com, aliases: [y@example.com], members: [b@example.com]}": [
        ("6: forwarders[4].members[0]", "b@example.com -> c@example.com -> d@example.com -> b@exam")
    ],
    "forwarders:"
    + "".join(f"\n- {{name: f{n}@x.test, members: [f{(n + 1) % 12}@x.test]}}" for n in range(12)): [
        ("13: forwarders[11].members[0]", "f8@x.test -> 3 more -> f0@x.test.")
    ],
}

# Two files, and the problems in the second file.
TWO_FILES: dict[tuple[str, str], list[tuple[str, str]]] = {
    (
        "domains: [{name: a.example, state: absent, force: true}]",
        "domains: [{name: a.example, state: absent, force: false}]",
    ): [("1: domains[0]", "force: false here, but has force: true in")],
    (
        "mailboxes: [{name: a@a.example, aliases: [b@a.example]}]",
        "mailboxes:\n- name: a@a.example\n  aliases: [{address: b@a.example, state: absent}]",
    ): [("3: mailboxes[0].aliases[0]", "absent here, but is present in mailboxes[0].al")],
    (
        "forwarders: [{name: a@a.example, members: [b@b.example]}]",
        "forwarders: [{name: a@a.example, aliases: [c@a.example], expires: 2020-12-31}]",
    ): [("1: forwarders[0]", "expires on 2020-12-31 here, but never expires in")],
    (
        "mailboxes: [{name: a@a.example, aliases: [b@a.example]}]",
        "mailboxes: [{name: a@a.example, aliases: [{address: b@a.example, expires: 2026-12-31}]}]",
    ): [("1: mailboxes[0].aliases[0]", "expires on 2026-12-31 here, but never expires in")],
    (
        "mailboxes: [a@a.example]",
        "forwarders: [{name: a@a.example, members: [b@b.example]}]",
    ): [("1: forwarders[0]", "because it is a mailbox in mailboxes[0]")],
}


def read(folder: Path, *texts: str) -> Definition:
    """Read the texts as files named 1.yml, 2.yml and so on."""
    sources = []
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.yml").write_text(text, encoding="utf-8")
        sources.append(load_source(str(folder / f"{number}.yml")))
    return read_definition(sources, NOW)


def inline(**lists: Any) -> Definition:
    """Read a definition from a task's options."""
    return read_definition([Source(None, lists)], NOW)


def names(definition: Definition, name: str) -> dict[str, Any]:
    """Return the declaration for one address as strings."""
    declared = definition.individuals[parse_address(name)]
    aliases = declared.aliases
    return {
        "absent": declared.reason if declared.absent else None,
        "aliases": None if aliases is None else sorted(map(str, aliases)),
        "gone": {str(alias): reason for alias, reason in declared.absent_aliases.items()},
        "members": sorted(map(str, getattr(declared, "members", None) or ())),
    }


CASES = [((text,), found) for text, found in ONE_FILE.items()] + list(TWO_FILES.items())


@pytest.mark.parametrize(("texts", "expected"), CASES)
def test_every_mistake_is_reported(
    texts: tuple[str, ...], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    """All problems are reported in order, with file, line and location, but without secrets."""
    with pytest.raises(InvalidDefinition) as caught:
        read(tmp_path, *texts)
    found = [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]
    file = f"{len(texts)}.yml"
    codes = [problem.code for problem in caught.value.problems]
    for text, code, (place, words) in zip(found, codes, expected, strict=True):
        assert text.startswith(f"{file}:{place}: ")
        assert words in f"{code}: {text}"
    assert "hunter2" not in str(caught.value)
    for problem, (place, _words) in zip(caught.value.details["problems"], expected, strict=True):
        assert problem["file"] == str(tmp_path / file)
        assert f"{problem['line']}: {problem['where']}" == place


def test_invalid_entries_hide_no_other_problems() -> None:
    """Valid entries are checked even if others are invalid, and keep their positions."""
    with pytest.raises(InvalidDefinition) as caught:
        inline(
            mailboxes=["x", "a@a.example", None, "A@a.example", {"name": "b@a.example", 7: SECRET}],
            forwarders=["c@a.example"],
            password=SECRET,
        )
    assert [(each["code"], each["where"]) for each in caught.value.details["problems"]] == [
        ("invalid_name", "mailboxes[0]"),
        ("wrong_value", "mailboxes[2]"),
        ("unknown_key", "mailboxes[4].7"),
        ("secret_key", "password"),
        ("duplicate", "mailboxes[3]"),
        ("no_members", "forwarders[0]"),
    ]
    assert SECRET not in str(caught.value.details)


def test_members_are_not_missing_if_they_are_invalid(tmp_path: Path) -> None:
    """A forwarder with only invalid members is not also reported as having no members."""
    with pytest.raises(InvalidDefinition) as caught:
        read(
            tmp_path,
            "forwarders: [{name: f@a.example, members: [x]}]",
            "forwarders: [{name: f@a.example, aliases: [s@a.example]}]",
        )
    assert [problem.code for problem in caught.value.problems] == ["invalid_name"]


def test_mistakes_in_options_are_reported_without_a_file(tmp_path: Path) -> None:
    """A contradiction between a task's options and a file is reported with both locations."""
    (tmp_path / "1.yml").write_text("domains: [a.example]")
    absent = Source(None, {"domains": [{"name": "a.example", "state": "absent"}]})
    with pytest.raises(InvalidDefinition, match=r"present in domains\[0\] \(line 1, in .*1.yml\)"):
        read_definition([load_source(str(tmp_path / "1.yml")), absent], NOW)
    with pytest.raises(InvalidDefinition, match=r"in domains\[0\] \(in the options of the task\)"):
        read_definition([absent, load_source(str(tmp_path / "1.yml"))], NOW)


def test_a_file_that_is_not_regular_is_refused(tmp_path: Path) -> None:
    """A FIFO is refused, because reading it would wait for a writer."""
    os.mkfifo(tmp_path / "fifo.yml")
    with pytest.raises(InvalidDefinition, match="not a regular file"):
        load_source(str(tmp_path / "fifo.yml"))


def test_files_are_merged(tmp_path: Path) -> None:
    """When files are merged, the aliases and members of each object are combined."""
    merged = read(
        tmp_path,
        "domains: [a.example]\nmailboxes: [m@a.example]\n"
        "forwarders: [{name: f@a.example, members: [x@b.example], expires: 2026-12-31}]",
        "domains:\n- A.example\n- {name: b.example, state: absent, force: true}\n"
        "mailboxes:\n- name: M@a.example\n"
        "  aliases: [p@a.example, {address: r@a.example, state: absent}]\n"
        "forwarders: [{name: f@a.example, members: [y@b.example], expires: 2026-12-31}]",
        "forwarders: [{name: f@a.example, aliases: [s@a.example]}]\n"
        "mailboxes: [{name: m@a.example, aliases: [q@a.example]}]",
    )
    assert [(str(d.name), d.absent, d.force) for d in merged.domains.values()] == [
        ("a.example", False, False),
        ("b.example", True, True),
    ]
    mailbox = merged.individuals[parse_address("m@a.example")]
    assert str(mailbox.place) == f"{tmp_path}/1.yml:2: mailboxes[0]"
    assert names(merged, "m@a.example")["aliases"] == ["p@a.example", "q@a.example"]
    assert names(merged, "m@a.example")["gone"] == {"r@a.example": DECLARED_ABSENT}
    assert names(merged, "f@a.example")["members"] == ["x@b.example", "y@b.example"]
    assert names(merged, "f@a.example")["aliases"] == ["s@a.example"]


ENDS = {
    "2026-05-31": True,
    "2026-06-01": False,
    "2026-06-01T12:00:00Z": True,
    "2026-06-01t12:00:00.000001z": False,
    "2026-06-01 13:30:00+01:30": True,
    "2026-06-01T11:00:00.5-01:00": False,
    "0001-01-01T00:00:00+05:00": True,
    "9999-12-31": False,
    NOW.date(): False,
}


@pytest.mark.parametrize("text", ENDS)
def test_expired_objects_are_absent(text: Any) -> None:
    """An object is absent after the end of its expiry date in UTC."""
    forwarder = {"name": "f@a.example", "members": ["x@b.example"], "expires": text}
    alias = {"address": "p@a.example", "expires": text}
    read = inline(forwarders=[forwarder], mailboxes=[{"name": "m@a.example", "aliases": [alias]}])
    found, mailbox = names(read, "f@a.example"), names(read, "m@a.example")
    if ENDS[text]:
        assert found["absent"] == Reason("expired", {"date": text})
        assert mailbox["gone"] == {"p@a.example": Reason("expired", {"date": text})}
        assert mailbox["aliases"] == []
    else:
        assert found["absent"] is None
        assert (mailbox["gone"], mailbox["aliases"]) == ({}, ["p@a.example"])


def test_absent_objects_claim_no_address() -> None:
    """An address of an absent object can be declared for another object."""
    read = inline(
        mailboxes=[
            {"name": "a@a.example", "aliases": [{"address": "b@a.example", "state": "absent"}]},
            {"name": "c@a.example", "aliases": ["b@a.example"]},
            {"name": "e@a.example", "state": "absent", "aliases": []},
            {"name": "f@a.example", "aliases": ["e@a.example"]},
        ],
    )
    assert names(read, "a@a.example")["gone"] == {"b@a.example": DECLARED_ABSENT}
    assert names(read, "e@a.example")["absent"] == DECLARED_ABSENT


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({SECRET: "alice@a.example"}, "not an email address"),
        ({7: SECRET}, "not a string"),
        ({"a@a.example": 12345}, "of a@a.example is not a string"),
        ({"a@a.example": [SECRET, {"x": SECRET}]}, "of a@a.example is not a string"),
        ({"a@a.example": [SECRET, ""]}, "of a@a.example is empty"),
        ({"a@a.example": []}, "list for a@a.example is empty"),
        ({"a@a.example": SECRET, "A@A.example": SECRET}, "A@A.example is the same as a@a.example"),
    ],
)
def test_unusable_passwords_are_refused(raw: dict[Any, Any], words: str) -> None:
    """The error for an unusable password names the address, but not the password."""
    with pytest.raises(InvalidInput, match=r"^passwords: ") as caught:
        read_passwords(raw)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


LAUGHS = "a: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)

READ = {
    "\ufeffa: b": {"a": "b"},
    "a: [2026-12-31, 2026-12-31T10:00:00Z, 7, 1.5, 0x1f, 12:30:45, =]": {
        "a": ["2026-12-31", "2026-12-31T10:00:00Z", "7", "1.5", "0x1f", "12:30:45", "="]
    },
    "a: [no, Off, FALSE, yes, On, TRUE, ~, null, Null]\nb:": {
        "a": [False, False, False, True, True, True, None, None, None],
        "b": None,
    },
    "a: ['no', \"null\", !!str no, '', !!int 7, ! 8]": {"a": ["no", "null", "no", "", "7", "8"]},
    "no: 1\nnull: 2": {"no": "1", "null": "2"},
    "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3": {
        "a": {"b": "1", "c": "2"},
        "d": {"b": "1", "c": "3"},
    },
    "--- # one\na: b\n...\n": {"a": "b"},
    "a: &x no\nb: *x": {"a": False, "b": False},
    "a: {'<<': {b: 1}}": {"a": {"<<": {"b": "1"}}},
}

# Invalid files, with the line of the problem and part of its text.
REFUSED_YAML: dict[str, tuple[int | None, str]] = {
    "# nothing\n": (None, "is empty"),
    "- a": (None, "not a mapping"),
    "a: 1\nb: 2\na: 3": (3, "'a' occurs twice"),
    "a: b\n---\nc: d": (2, "second document"),
    "a:\n  b: !!python/object/apply:os.system [x]": (2, "Tags"),
    "password: !s3cret": (1, "Tags"),
    "a:\n  b: !!set {c}": (2, "Tags"),
    "a:\n- !vault |\n  $ANSIBLE_VAULT;1.1;AES256": (2, "plain text"),
    "$ANSIBLE_VAULT;1.1;AES256\n6162": (None, "Decrypt"),
    "a: &x [*x]": (1, "alias"),
    "password: *s3cret": (1, "anchor"),
    "? [a]\n: b": (1, "key"),
    "a: b\nc: \x07": (2, "U+0007"),
    "a: b\nc: d: e\n": (2, "column 5"),
    "<<: a": (1, "<<"),
    "!x a: b": (1, "Tags"),
    "a: &x 1\nb: &x 2": (2, "anchor"),
    "[" * 100_000: (1, "nested"),
    "{a: " * 100_000: (1, "nested"),
    LAUGHS: (1, "aliases"),
}
REFUSED_JSON: dict[str, tuple[int | None, str]] = {
    "": (None, "is empty"),
    "[]": (None, "not a mapping"),
    '{"a": 1,\n "a": 2}': (2, "'a' occurs twice"),
    '{"a": 1,\n "a": 2,\n "b": {"c": 1,\n "c": 2}}': (2, "'a' occurs twice"),
    f'{{"a": {"[" * 30 + "]" * 30}, "a": 2}}': (None, "'a' occurs twice"),
    '{"a": 1,\n}': (2, "not valid JSON"),
    "[" * 100_000: (None, "nested"),
}
REFUSED = [
    *(("x.yml", text.encode(), *found) for text, found in REFUSED_YAML.items()),
    *(("x.JSON", text.encode(), *found) for text, found in REFUSED_JSON.items()),
    ("x.yml", b"a: b\nc: \xfc\n", 2, "UTF-8"),
    ("x.json", b"a: b\nc: \xfc\n", 2, "UTF-8"),
]


def loaded(tmp_path: Path, text: str, name: str = "tenant.yml") -> Source:
    """Return the contents of a file with this text."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return load_source(str(file))


@pytest.mark.parametrize("text", READ)
def test_a_file_is_plain_data(text: str, tmp_path: Path) -> None:
    """Scalars are read as strings, except null and booleans, and anchors are resolved."""
    assert loaded(tmp_path, text).data == READ[text]


def test_the_line_of_a_missing_part_is_that_of_its_parent(tmp_path: Path) -> None:
    """A missing part is reported at its parent's line. In deeply nested JSON, there is no line."""
    text = '{\n "a": [\n  "b"]}'
    for found, line in ((text, 2), (f'{{"a": {"[" * 30 + "]" * 30}}}', None)):
        lines = loaded(tmp_path, found, "x.json").find_line
        assert lines is not None
        assert lines(("a", 7)) == line


@pytest.mark.parametrize(("name", "content", "line", "words"), REFUSED)
def test_an_unusable_file_is_refused(
    name: str, content: bytes, line: int | None, words: str, tmp_path: Path
) -> None:
    """The error for an unusable file gives the line, if known, but no possible secret."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidDefinition) as caught:
        load_source(str(tmp_path / name))
    (problem,) = caught.value.details["problems"]
    assert (problem["file"], problem["where"]) == (str(tmp_path / name), "")
    # Newer versions of Python report a trailing comma one line earlier.
    assert problem["line"] == line or "trailing comma" in problem["text"]
    assert words in problem["text"]
    assert "s3cret" not in str(caught.value)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    """The error for a missing file contains the operating system's reason."""
    for path, reason in (
        (str(tmp_path), "Is a directory"),
        (str(tmp_path / "missing.yml"), "No such file"),
        ("a\0b", "not a path"),
    ):
        with pytest.raises(InvalidDefinition, match=reason):
            load_source(path)


def read_names(*texts: str) -> frozenset[Name]:
    """Read names as a service returns them."""
    return frozenset(map(read_name, texts))


TENANT: list[Principal] = [
    Forwarder(read_name("Team@example.com"), members=read_names("z@a.example", "b@c.eu")),
    Mailbox(read_name("zoe@example.com")),
    Mailbox(read_name("alice@example.com"), read_names("sales@example.com", "info@EXAMPLE.org")),
    Domain(read_name("xn--bcher-kva.example")),
    Domain(read_name("example.com")),
]
EMPTY: dict[str, list[object]] = {"domains": [], "mailboxes": [], "forwarders": []}


def test_everything_is_declared_in_order() -> None:
    """An export contains all objects in order, with all of their lists, even empty ones."""
    definition, warnings = export(TENANT)
    assert definition["forwarders"] == [
        {"name": "Team@example.com", "members": ["b@c.eu", "z@a.example"], "aliases": []}
    ]
    assert warnings == []
    assert export([]) == (EMPTY, [])
    assert list(export(TENANT, ["forwarder", "domain"])[0]) == ["domains", "forwarders"]
    assert export(TENANT, [])[0] == {}
    assert export([Mailbox(read_name('"a b"@example.com'))], ["domain"])[1] == []


UNDECLARABLE: list[Principal] = [
    UnmanagedPrincipal(read_name("staff@example.com"), "group"),
    Mailbox(read_name('"a b"@example.com')),
    Forwarder(read_name("@example.com"), members=read_names("a@b.example")),
    Domain(read_name("localhost")),
    Forwarder(read_name("team@example.com"), members=read_names("z@a.example", "a@z")),
]


@pytest.mark.parametrize("principal", UNDECLARABLE)
def test_an_object_that_can_not_be_declared_is_left_out_whole(principal: Principal) -> None:
    """An object that can't be declared is left out of an export, with a warning."""
    definition, (warning,) = export([principal])
    assert definition == EMPTY
    assert str(principal.name) in warning
    assert "left out" in warning


def test_an_alias_that_can_not_be_declared_is_left_out_alone() -> None:
    """An alias that can't be declared is left out. The warning names the `ignore` option."""
    box = Mailbox(read_name("a@example.com"), read_names("@example.com", "b@example.com"))
    definition, (warning,) = export([box])
    assert definition["mailboxes"] == [{"name": "a@example.com", "aliases": ["b@example.com"]}]
    assert "@example.com" in warning
    assert "ignore" in warning
