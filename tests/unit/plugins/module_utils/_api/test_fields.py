# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every part of the code handles each field of a mailbox or forwarder.

A new field needs a row in VALUES. The tests then fail wherever the field is not handled.
"""

from __future__ import annotations

import contextlib
from dataclasses import fields, replace
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.plugins.module_utils._api.client import endpoints
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    SECTIONS,
    Forwarder,
    Individual,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import (
    DeclaredIndividual,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.export import (
    export,
    facts,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import (
    Plan,
    as_diff,
    digest,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import (
    InvalidDefinition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    read_definition,
)
from ansible_collections.postroom.email.plugins.modules import (
    email_forwarder,
    email_info,
    email_mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api import in_memory_service
from ansible_collections.postroom.email.tests.support.clients import TOKEN, Serve
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.planning import (
    NOW,
    PASSWORD,
    box,
    domain,
    named,
    names,
    plan,
)

#: Two values for each field, neither of which is the default.
VALUES: dict[str, tuple[Any, Any]] = {
    "name": (named("first"), named("first")),
    "aliases": (names(["alias1"]), names(["alias2"])),
    "members": (names(["member1"]), names(["member2"])),
}
KINDS: list[type[Individual]] = [Mailbox, Forwarder]
FIELDS = [(kind, each.name) for kind in KINDS for each in fields(kind) if each.name != "name"]
MODULES = {Mailbox: email_mailbox, Forwarder: email_forwarder}
TENANT: list[Principal] = [domain(), box("member1"), box("member2")]

each_kind = pytest.mark.parametrize("kind", KINDS)
each_field = pytest.mark.parametrize(("kind", "field"), FIELDS)


def filled(kind: type[Individual], changed: str = "") -> Individual:
    """Return an object with the second value in ``changed`` and the first value elsewhere."""
    return kind(**{each.name: VALUES[each.name][each.name == changed] for each in fields(kind)})


def entry_of(individual: Individual) -> dict[str, Any]:
    """Return an object's entry in a definition."""
    (entry,) = export([individual])[0][SECTIONS[individual.kind]]
    return dict(entry)


def planned(declared: Individual, *current: Individual) -> Plan:
    """Return the plan for a tenant that contains ``current``, which must cause no problems."""
    found = plan(
        [*TENANT, *current],
        export([declared])[0],
        passwords=["first"],
        purge=["alias"],
        max_deletions=1,
    )
    assert found.problems == ()
    return found


@each_field
def test_a_plan_changes_each_field(kind: type[Individual], field: str) -> None:
    """A plan creates and updates an object with each field, and is empty if nothing differs."""
    wanted, other = filled(kind), filled(kind, field)
    (created,) = planned(wanted).changes
    assert created.after == wanted
    (updated,) = planned(wanted, other).changes
    assert updated.reason
    assert (updated.before, updated.after) == (other, wanted)
    assert planned(wanted, wanted).changes == ()


@each_field
def test_a_review_shows_each_field(kind: type[Individual], field: str) -> None:
    """Each field is part of the diff, the digest and the facts."""
    wanted, other = filled(kind), filled(kind, field)
    (updated,) = planned(wanted, other).changes
    (diff,) = as_diff([updated])
    assert diff["before"] != diff["after"]
    unlike = [replace(updated, before=wanted), replace(updated, after=other)]
    assert digest([updated]) not in [digest([change]) for change in unlike]
    assert facts([wanted], SECTIONS) != facts([other], SECTIONS)


@each_field
def test_requests_contain_each_field(kind: type[Individual], field: str) -> None:
    """Requests and responses contain each field, and an update contains only changes."""
    wanted, other = filled(kind), filled(kind, field)
    created = endpoints.create(other).body or {}
    updated = endpoints.update(other, wanted).body or {}
    assert endpoints.read_principal(created) == other
    assert endpoints.read_principal(created | updated) == wanted
    assert len(updated) == 1


@each_field
def test_a_response_may_lack_a_field(kind: type[Individual], field: str) -> None:
    """A null field is treated as missing, and a value of another type is refused."""
    body = endpoints.create(filled(kind)).body or {}
    (key,) = endpoints.update(filled(kind, field), filled(kind)).body or {}
    missing = endpoints.read_principal({each: body[each] for each in body if each != key})
    assert not getattr(missing, field, None)
    assert endpoints.read_principal({**body, key: None}) == missing
    for value in (7, True, [7], {"a": "b"}):
        with pytest.raises(endpoints.InvalidResponse, match=key):
            endpoints.read_principal({**body, key: value})


@each_field
def test_definitions_are_merged_by_field(kind: type[Individual], field: str) -> None:
    """If two files declare the same object, each field is merged or reported as contradictory."""
    entry, other = entry_of(filled(kind)), entry_of(filled(kind, field))
    value, other_value = VALUES[field]
    name = {"name": entry["name"]}
    rest = {key: value for key, value in entry.items() if key != field}

    def declared(*entries: dict[str, Any]) -> DeclaredIndividual:
        parts = [{SECTIONS[kind.kind]: [each]} for each in entries]
        sources = [Source(f"{number}.yml", data) for number, data in enumerate(parts)]
        return read_definition(sources, NOW).individuals[named("first")]

    assert getattr(declared(entry), field) == value
    assert declared(rest, {**name, field: entry[field]}) == declared(entry)
    assert declared({**name, field: entry[field]}, rest) == declared(entry)
    with contextlib.suppress(InvalidDefinition):
        assert getattr(declared(entry, other), field) == value | other_value
    with pytest.raises(InvalidDefinition):
        declared({**name, "state": "absent", field: entry[field]})


@each_field
def test_a_module_sets_each_field(kind: type[Individual], field: str, serve: Serve) -> None:
    """A module sets and returns each field, and a second run without the option keeps its value."""
    members = [in_memory_service.mailbox(f"member{number}@example.com") for number in (1, 2)]
    server = serve(
        in_memory_service.InMemoryService(None, in_memory_service.domain("example.com"), *members)
    )

    def run(options: dict[str, Any]) -> dict[str, Any]:
        if kind is Mailbox:
            options = {**options, "passwords": [PASSWORD]}
        return run_module(
            MODULES[kind].main, {"api_url": server.url, "api_token": TOKEN, **options}
        )

    for individual in (filled(kind, field), filled(kind)):
        entry = entry_of(individual)
        result = run({**entry, "purge_aliases": True})
        assert (result["changed"], result.get("msg")) == (True, None)
        for options in ({**entry, "purge_aliases": True}, {"name": entry["name"]}):
            result = run(options)
            assert (result["changed"], result[kind.kind]) == (False, entry)


@each_kind
def test_modules_document_each_field(kind: type[Individual]) -> None:
    """Each field is documented in facts and results, and is an option of its module."""
    keys = filled(kind).as_dict().keys()
    assert keys == {each.name for each in fields(kind)}
    assert keys <= MODULES[kind].ARGUMENT_SPEC.keys()
    result = yaml.safe_load(MODULES[kind].RETURN)[kind.kind]
    info = yaml.safe_load(email_info.RETURN)[SECTIONS[kind.kind]]
    assert result["contains"].keys() == info["contains"].keys() == keys
