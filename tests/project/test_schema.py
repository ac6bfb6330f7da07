# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The definition's schema: it is sound, explains itself, and its reference is up to date."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    Finding,
    InvalidDefinition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_definition,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import definition_reference

SCHEMA: dict[str, Any] = json.loads(repository.read("schemas/definition.schema.json"))


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part that a user meets, with the way to it: definitions and properties."""
    yield "the file", SCHEMA
    for name, part in SCHEMA["$defs"].items():
        yield name, part
    for name, part in (("the file", SCHEMA), *SCHEMA["$defs"].items()):
        for key, value in part.get("properties", {}).items():
            if "$ref" not in value:
                yield f"{name}.{key}", value


DESCRIBED = dict(described())


def test_the_schema_is_one() -> None:
    """It is a valid schema of the draft that it names, and its address is its place."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert SCHEMA["$id"] == f"{repository_url}/raw/main/schemas/definition.schema.json"


@pytest.mark.parametrize("part", DESCRIBED)
def test_each_part_explains_itself(part: str) -> None:
    """An editor has a title, a sentence and an example to show, and the example is valid."""
    about = DESCRIBED[part]
    assert about["title"]
    assert about["description"].endswith(".")
    assert about["examples"]
    for example in about["examples"]:
        Draft202012Validator({**about, "$defs": SCHEMA["$defs"]}).validate(example)


@pytest.mark.parametrize("part", [p for p in DESCRIBED if "properties" in DESCRIBED[p]])
def test_no_other_key_is_allowed(part: str) -> None:
    """An editor marks what is misspelled."""
    assert DESCRIBED[part]["additionalProperties"] is False


def test_the_reference_is_what_the_tool_prints() -> None:
    """`python tools/definition_reference.py > docs/definition.md` writes it anew."""
    assert repository.read("docs/definition.md") == definition_reference.reference(SCHEMA)


# --- against the reader ------------------------------------------------------------------------

VALIDATOR = Draft202012Validator(SCHEMA)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
#: What fits nowhere, or in few places. Names are made of the marks, each another one.
ADDRESS, DOMAIN = "?@", "?"
JUNK: list[Any] = [None, True, False, 7, "@", [], {}, [None], ["@"], {"name": 7}, [ADDRESS]]
SECTIONS = {"domains": "domain", "mailboxes": "mailbox", "forwarders": "forwarder"}

address, domain = st.just(ADDRESS), st.just(DOMAIN)
state = st.sampled_from(["present", "absent"])
TIMES = ["2027-01-31", "2027-01-31T12:00:00Z", "2027-01-31 12:00:00.5+01:00"]
NO_TIMES = ["2027-01-31T12:00:00", "2027-1-31", "2027-01-31T12:00Z", "", "tomorrow"]
expires = st.sampled_from(TIMES * 20 + NO_TIMES)


def mostly(right: st.SearchStrategy[Any], wrong: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return something that is wrong now and then."""
    return st.sampled_from([right] * 60 + [wrong]).flatmap(lambda chosen: chosen)


def mapping(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return mappings without some keys; now and then something is wrong in them."""
    optional = {key: mostly(part, st.sampled_from(JUNK)) for key, part in parts.items()}
    slips = {**optional, "nmae": st.just(ADDRESS)}
    needed = {key: optional.pop(key) for key in parts if key in ("name", "address")}
    nothing: dict[str, st.SearchStrategy[Any]] = {}
    return mostly(
        st.fixed_dictionaries(needed, optional=optional),
        st.fixed_dictionaries(nothing, optional=slips),
    )


def several(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return lists in which now and then an entry is wrong."""
    return st.lists(mostly(entry, st.sampled_from(JUNK)), max_size=3)


aliases = several(address | mapping(address=address, state=state, expires=expires))
members = several(address)
entries = {
    "domains": domain | mapping(name=domain, state=state, force=st.booleans()),
    "mailboxes": address | mapping(name=address, state=state, aliases=aliases),
    "forwarders": address
    | mapping(name=address, state=state, members=members, aliases=aliases, expires=expires),
}
definitions = mapping(
    **{"$schema": st.just("a URL")}, **{key: several(entry) for key, entry in entries.items()}
)


def named(data: Any, numbers: Iterator[int]) -> Any:
    """Return data with another name in place of each mark."""
    if isinstance(data, dict):
        return {key: named(value, numbers) for key, value in data.items()}
    if isinstance(data, list):
        return [named(value, numbers) for value in data]
    names = {ADDRESS: "m{}@a.example", DOMAIN: "d{}.example"}
    return names[data].format(next(numbers)) if data in (ADDRESS, DOMAIN) else data


def completed(data: Any) -> Any:
    """Return a second file, which has the members that no shape can ask for in the first."""
    forwarders = data.get("forwarders") if isinstance(data, dict) else None
    found = [one for one in forwarders if _lives(one)] if isinstance(forwarders, list) else []
    names = {name: one for one in found if (name := _name(one)) is not None}
    return {
        "forwarders": [
            {"name": name, "members": ["x@far.example"], **_end_of(one)}
            for name, one in sorted(names.items())
        ]
    }


def _end_of(forwarder: Any) -> dict[str, Any]:
    """Return when it expires, which another file has to say too."""
    has_end = isinstance(forwarder, dict) and "expires" in forwarder
    return {"expires": forwarder["expires"]} if has_end else {}


def _lives(forwarder: Any) -> bool:
    return not isinstance(forwarder, dict) or forwarder.get("state") != "absent"


def _name(entry: Any) -> str | None:
    name = entry.get("name") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) and name.startswith("m") else None


def problems(*sources: Any) -> list[Finding]:
    """Return what the reader finds wrong with files."""
    try:
        read_definition([Source(f"{n}.yml", data) for n, data in enumerate(sources)], NOW)
    except InvalidDefinition as error:
        return list(error.findings)
    return []


@settings(max_examples=1500, deadline=None)
@given(data=definitions.map(lambda data: named(data, itertools.count())))
def test_the_schema_and_the_reader_refuse_the_same_shapes(data: Any) -> None:
    """A file is valid for an editor exactly if email_tenant takes it, as far as shapes go."""
    mistakes = [error.message for error in VALIDATOR.iter_errors(data)]
    found = problems(data, completed(data))
    event("refused" if mistakes else "accepted")
    assert bool(mistakes) == bool(found), (mistakes, list(map(str, found)))


@pytest.mark.parametrize("section", SECTIONS)
def test_the_schema_and_the_reader_know_the_same_keys(section: str) -> None:
    """The reader tells its keys where one is not known."""
    name = "a.example" if section == "domains" else "a@a.example"
    told = [str(finding) for finding in problems({section: [{"name": name, "?": 0}]})]
    known = re.search(r"Known here are (.+)\.", told[0])
    assert known is not None
    keys = SCHEMA["$defs"][SECTIONS[section]]["properties"].keys()
    assert set(re.findall(r"\w+", known[1])) - {"and"} == keys
