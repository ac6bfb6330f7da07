# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Policy files: their schema and meaning, and errors that have a line and a remedy."""

from __future__ import annotations

import copy
import functools
import json
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from ansible_collections.postroom.email.tests.bot.policy.policies import BASE, policy_of
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import policy_reference
from postroom_bot.policy.loader import PolicyError, Problem, cross_key_problems, load, parse
from postroom_bot.policy.model import Policy

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
RULE = "rules.own-password"
#: A part of the file above, its replacement, and the line, key and text of the resulting problem.
MISTAKES = [
    ("version: 1", "version: '1'", 1, "version", "Must be 1"),
    ("approvers: admins\n", "", 1, "approvers", "required"),
    ("U024BE7LJ", "7", 4, "groups.admins.users.2", "a string"),
    ("U024BE7LJ", "bob", 4, "groups.admins.users.2", 'Example: ["U024BE7LH"'),
    ("admins:\n", "Admins!:\n", 3, "groups.Admins!", 'Example: {"mail-admins"'),
    ("own: true", "own: 1", 11, f"{RULE}.own", "true or false"),
    ("own: true", "own:", 11, f"{RULE}.own", "missing"),
    ("C024BE91L", "#mail", 7, "channels.approvals", "# begins a comment"),
    ("own: true", "won: true", 11, f"{RULE}.won", "Unknown key. The valid keys are"),
    ("own: true", "colour: true", 11, f"{RULE}.colour", "Unknown key. The valid keys are"),
    ("own: true", "own: true\n    own: false", 12, "", "twice"),
    ("own: true", "3: true", 11, f"{RULE}.3", "Unknown key"),
    ("own: true", "<<: {own: false}", 11, f"{RULE}.<<", "Unknown key"),
    ("own: true", "own: 2026-99-99", 11, f"{RULE}.own", "true or false"),
    ("own: true", "own: !!bool true", 11, "", "Tags"),
    ("own: true", "!x own: true", 11, "", "Tags"),
    ("rules:", "limits: {open_requests: 010}\nrules:", 8, "limits.open_requests", "whole number"),
    ("rules:", "limits: {open_requests: '5'}\nrules:", 8, "limits.open_requests", "whole number"),
    ("rules:", "limits: {open_requests: 1000000000}\nrules:", 8, "limits.open_requests", "10000"),
    ("rules:", "limits: {open_requests: -1}\nrules:", 8, "limits.open_requests", "equal to 1"),
    ("automatic: true", "automatic: false", 12, f"{RULE}.automatic", "Must be true"),
    ("automatic: true", "deny: ''", 12, f"{RULE}.deny", "at least 1"),
    ("    automatic: true\n", "", 9, RULE, "exactly one of deny"),
    ("automatic: true", "approvals: {admins: 0}", 12, f"{RULE}.approvals.admins", "or equal to 1"),
    ("automatic: true", "approvals: {}", 12, f"{RULE}.approvals", "not be empty"),
    ("[password]", "password", 9, f"{RULE}.actions", "list. Example:"),
    ("[password]", "[passwd]", 9, f"{RULE}.actions.1", "'alias.add', "),
    ("    name: own-password\n", "", 9, "rules.1.name", "required"),
    ("rules:", "requests: {tombstone: 9 d}\nrules:", 8, "requests.tombstone", "such as 24h"),
    ("rules:", "identity: {pinned: {U1BC: al}}\nrules:", 8, "identity.pinned.U1BC", "'al'"),
]
#: Files that are refused with a single problem, with the problem's line and text.
BROKEN = [
    ("# only a comment\n", None, "is empty"),
    ("a:\n\tb: 1\n", 2, "not tabs"),
    ("a: 1\nb: &x 2\n", 2, "Anchors"),
    ("a: 1\nb: *x\n", 2, "Anchors"),
    ("just words\n", 1, "keys with values"),
]


def problems_of(text: str) -> list[Problem]:
    """Return the problems in a file."""
    try:
        parse(text)
    except PolicyError as error:
        return list(error.problems)
    return []


def test_the_example_is_valid_with_and_without_a_byte_order_mark(tmp_path: Path) -> None:
    """The example policy is valid with and without a byte order mark, which some editors write."""
    path = tmp_path / "policy.yml"
    path.write_text(EXAMPLE, "utf-8-sig")
    assert load(path) == load(repository.ROOT / "bot/examples/policy.yml")
    policy = parse(GOOD)
    assert policy.rules[0].name == "own-password"
    assert policy.requests.expire_after.total_seconds() == 24 * 3600
    assert policy.limits.open_requests == 5
    short = parse(GOOD.replace("rules:", "requests: {expire_after: 2h}\nrules:", 1)).requests
    assert short.remind_after.total_seconds() == 3600
    assert policy.identity.slack_email is None


@pytest.mark.parametrize(("right", "wrong", "line", "where", "text"), MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_key(
    right: str, wrong: str, line: int, where: str, text: str
) -> None:
    """Each error is reported as one problem with its line and key."""
    assert right in GOOD
    [problem] = problems_of(GOOD.replace(right, wrong, 1))
    assert (problem.line, problem.where) == (line, where)
    assert text in problem.text


@pytest.mark.parametrize(("source", "line", "text"), BROKEN)
def test_a_file_that_is_not_plain_yaml_is_refused(source: str, line: int | None, text: str) -> None:
    """A file that is not plain YAML is refused with one problem that states the reason."""
    [problem] = problems_of(source)
    assert (problem.line, problem.where) == (line, "")
    assert text in problem.text


def test_a_policy_of_the_first_release_is_valid() -> None:
    """The example policy of the first release is still valid."""
    assert parse(repository.read("tests/bot/policy/first_release.yml")).rules


def test_all_mistakes_are_reported_together() -> None:
    """All errors are reported together, in the order of their lines."""
    source = GOOD
    for right, wrong in [("version: 1", "version: 2"), ("C024BE91L", "mail"), ("own:", "won:")]:
        source = source.replace(right, wrong)
    assert [problem.line for problem in problems_of(source)] == [1, 7, 11]
    with pytest.raises(PolicyError) as caught:
        parse(source)
    assert str(caught.value).splitlines()[1].startswith("line 7: channels.approvals: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """If a policy file is missing or not text, the error names the file."""
    path = tmp_path / "policy.yml"
    for raw, text in (
        (None, "No such file or directory"),
        (b"version: 1\n# \xff\n", "policy.yml: line 2: .*not in UTF-8"),
    ):
        if raw is not None:
            path.write_bytes(raw)
        with pytest.raises(PolicyError, match=text) as caught:
            load(path)
        assert str(path) in str(caught.value)


SCHEMA: dict[str, Any] = json.loads(repository.read("schemas/policy.schema.json"))
DATA = yaml.safe_load(EXAMPLE)
VALIDATOR = Draft202012Validator(SCHEMA)


def keys() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key with its part of the schema."""
    for name, about in (("Policy", SCHEMA), *SCHEMA["$defs"].items()):
        for key, value in about.get("properties", {}).items():
            target = value.get("$ref", "").rpartition("/")[2]
            yield f"{name}.{key}", {**SCHEMA["$defs"].get(target, {}), **value}


def test_the_published_schema_is_the_model_s() -> None:
    """The published schema and its reference page match the model."""
    assert (
        repository.read("schemas/policy.schema.json")
        == json.dumps(policy_reference.schema(), indent=2) + "\n"
    )
    Draft202012Validator.check_schema(SCHEMA)
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert SCHEMA["$id"] == f"{repository_url}/raw/main/schemas/policy.schema.json"
    assert SCHEMA["$id"] in EXAMPLE
    assert repository.read("docs/reference/policy.md") == policy_reference.reference(SCHEMA)


def test_each_key_has_a_description_and_valid_examples() -> None:
    """Each key in the schema has a description and examples, and unknown keys are not allowed."""
    for key, about in keys():
        assert about["description"], key
        for example in about["examples"]:
            Draft202012Validator({**about, "$defs": SCHEMA["$defs"]}).validate(example)
    for key, about in [("Policy", SCHEMA), *SCHEMA["$defs"].items(), *keys()]:
        assert about.get("type") != "object" or about["additionalProperties"] is False, key


JUNK: list[Any] = [True, False, 0, 7, 11, "x", "X!", "24h", "U024BE7LH", [], {}, ["x"], {"x": 1}]


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every part of the data."""
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from paths(value, (*path, key))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([path for path in paths(DATA) if path]), st.sampled_from([*JUNK, None]))
def test_the_schema_and_the_reader_accept_the_same(path: tuple[Any, ...], value: Any) -> None:
    """The schema and the reader agree on the example with any part replaced or removed."""
    data = copy.deepcopy(DATA)
    parent = functools.reduce(operator.getitem, path[:-1], data)
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    assert all(problem.line for problem in problems_of(yaml.safe_dump(data)))
    valid = VALIDATOR.is_valid(data)
    try:
        Policy.model_validate(data)
    except ValidationError:
        # Only the reader checks whether names are valid.
        assert not valid or {"pinned", "domains"} & set(path)
    else:
        assert valid


PASSWORD = {"actions": ["password"], "own": True, "automatic": True}
ALIAS = {"actions": ["alias.add"], "automatic": True}
FORWARD = {"actions": ["forward.add"]}
BY_ADMINS = {"approvals": {"admins": 1}}
GROUPS = BASE["groups"]
ONE_ADMIN = {**GROUPS, "admins": {"users": ["U00000001"]}}


def wrong(*rules: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    """Return the path and the message of each error in a policy."""
    found = cross_key_problems(policy_of(*(rules or [PASSWORD]), **more))
    return [(".".join(map(str, way)), text) for way, text in found]


@pytest.mark.parametrize(
    ("more", "way", "text"),
    [
        (
            {"identity": {"pinned": {"U111": "a@b.example", "U222": "A@b.example"}}},
            "identity.pinned.U222",
            "a@b.example is already pinned to U111",
        ),
        ({"groups": {**GROUPS, "everyone": {"users": ["U111"]}}}, "groups.everyone", "built in"),
        ({"groups": {**GROUPS, "empty": {}}}, "groups.empty", "no members"),
        ({"approvers": "nobody"}, "approvers", "nobody"),
        ({"groups": ONE_ADMIN}, "approvers", "2 approvals from admins"),
        (
            {"requests": {"remind_after": "1d", "expire_after": "24h"}},
            "requests.remind_after",
            "expire before the reminder",
        ),
        ({"requests": {"retention": "23h"}}, "requests.retention", "Set at least 24h"),
    ],
)
def test_a_mistake_in_a_section_is_reported_at_its_key(
    more: dict[str, Any], way: str, text: str
) -> None:
    """An error in the identities, groups, approvers or times is reported at its key."""
    [(found, message)] = wrong(**more)
    assert found == way
    assert text in message


@pytest.mark.parametrize(
    ("rule", "way", "text"),
    [
        ({**ALIAS, "groups": ["everyone", "staff"]}, "groups.1", "no group staff"),
        ({**PASSWORD, "name": "x", "own": None}, "automatic", "own: true"),
        ({**FORWARD, "approvals": {"staff": 1}}, "approvals.staff", "no group staff"),
        ({**FORWARD, "approvals": {"admins": 4}}, "approvals.admins", "the group has 3 members"),
        ({**FORWARD, "automatic": True}, "automatic", "destinations: internal"),
        ({"automatic": True, "reserved": True}, "automatic", "Two approvals"),
        ({"own": True, **BY_ADMINS}, "own", "alias.add, alias.remove, password"),
        ({"destinations": "internal", **BY_ADMINS}, "destinations", "forward.add"),
        ({"deny": "No.", "max_days": 9}, "max_days", "Remove this key"),
        ({**PASSWORD, "name": "x", "end_date": "required"}, "end_date", "Remove this key"),
    ],
)
def test_a_mistake_in_a_rule_is_reported_at_its_key(
    rule: dict[str, Any], way: str, text: str
) -> None:
    """An error in a rule's groups, conditions or effect is reported at its key."""
    [(found, message)] = wrong(rule)
    assert found == f"rules.0.{way}"
    assert text in message


def test_a_group_must_be_large_enough_for_the_floor() -> None:
    """A group must have enough members for two approvals, unless it is a user group."""
    groups = {**GROUPS, "boss": {"users": ["U00000009", "U00000009"]}}
    [(found, message)] = wrong(
        {**ALIAS, "automatic": None, "approvals": {"boss": 1}}, groups=groups
    )
    assert found == "rules.0.approvals.boss"
    assert message.startswith("2 approvals from boss ")
    own_password = {**PASSWORD, "automatic": None, "approvals": {"boss": 1}}
    assert not wrong(own_password, groups=groups)
    assert not wrong({"approvals": {"security": 10}})
    assert not wrong({"approvals": {"everyone": 10}})
    [(_, message)] = wrong({**own_password, "groups": ["boss"]}, groups=groups)
    assert message.startswith("1 approval from boss ")


def test_a_requester_does_not_count_as_an_approver() -> None:
    """If all requesters belong to an approving group, the group needs one more member."""
    groups = {**GROUPS, "two": {"users": ["U00000001", "U00000002"]}}
    three = {**GROUPS, "two": {"users": ["U00000001", "U00000002", "U00000003"]}}
    for rule in (
        {"actions": ["password"], "own": True, "approvals": {"two": 2}},
        {"actions": ["password"], "own": False, "approvals": {"two": 1}},
        {"reserved": True, "approvals": {"two": 1}},
    ):
        [(found, message)] = wrong({**rule, "groups": ["two"]}, groups=groups)
        assert found == "rules.0.approvals.two"
        assert message.startswith("2 approvals from two ")
        assert "All requesters" in message
        for askers in (["everyone"], ["admins"], ["two", "security"]):
            assert not wrong({**rule, "groups": askers}, groups=groups)
        assert not wrong({**rule, "groups": ["two"]}, groups=three)


def test_approvers_groups_and_rule_names_are_checked() -> None:
    """Too few approvers, unknown groups and duplicate rule names are reported as errors."""
    groups = {**GROUPS, "admins": {"users": ["U00000001", "U00000002"]}}
    [(found, message)] = wrong({**ALIAS, "groups": ["admins"]}, groups=groups)
    assert found == "approvers"
    assert "2 members" in message
    assert not wrong(ALIAS, groups=groups)
    assert not wrong({**ALIAS, "automatic": None, "deny": "No."}, groups=ONE_ADMIN)
    groups = {**GROUPS, "everyone": {"users": ["U111"]}}
    found_at = dict(wrong({**PASSWORD, "groups": ["staff"]}, groups=groups))
    assert found_at["rules.0.groups.0"].endswith("everyone, admins, security.")
    rules = [{**ALIAS, "name": "x", "addresses": [f"{n}@*"]} for n in "ab"]
    assert [way for way, _ in wrong(*rules)] == ["rules.1.name"]
