# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is refused, and how the answer says it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, path_of

DOMAIN = {"name": "NEW", "type": "domain"}
MAILBOX = {"name": "u@HERE", "type": "individual", "secrets": ["s"], "emails": ["u@HERE"]}
FORWARDER = {
    "name": "f@HERE",
    "type": "individual",
    "emails": ["f@HERE"],
    "members": ["x@y.example"],
}

Case = tuple[dict[str, Any], dict[str, Any], str, str | None]

FAILED = "validation_failed"

# A good body, what is done to it (None takes a field away), the code, and the field it points at.
CREATIONS: dict[str, Case] = {
    "no type": (DOMAIN, {"type": None}, FAILED, "/type"),
    "unknown type": (DOMAIN, {"type": "group"}, FAILED, "/type"),
    "type is no string": (DOMAIN, {"type": 1}, FAILED, "/type"),
    "type is a list": (DOMAIN, {"type": ["domain"]}, FAILED, "/type"),
    "no name": (DOMAIN, {"name": None}, FAILED, "/name"),
    "name is no string": (DOMAIN, {"name": 7}, FAILED, "/name"),
    "domain with emails": (DOMAIN, {"emails": ["a@HERE"]}, FAILED, "/emails"),
    "domain with secrets": (DOMAIN, {"secrets": ["s"]}, FAILED, "/secrets"),
    "domain with members": (DOMAIN, {"members": ["a@HERE"]}, FAILED, "/members"),
    "domain with an id": (DOMAIN, {"id": "x"}, FAILED, "/id"),
    "domain of one label": (DOMAIN, {"name": "localhost"}, FAILED, "/name"),
    "domain named as an address": (DOMAIN, {"name": "a@HERE"}, FAILED, "/name"),
    "domain is taken": (DOMAIN, {"name": "HERE"}, "name_taken", "/name"),
    "mailbox named as a domain": (MAILBOX, {"name": "HERE"}, FAILED, "/name"),
    "mailbox with an unknown field": (MAILBOX, {"quota": 1}, FAILED, "/quota"),
    "field with a slash in it": (MAILBOX, {"a/b~c": 1}, FAILED, "/a~1b~0c"),
    "mailbox without emails": (MAILBOX, {"emails": None}, FAILED, "/emails"),
    "emails is empty": (MAILBOX, {"emails": []}, FAILED, "/emails"),
    "emails is a string": (MAILBOX, {"emails": "u@HERE"}, FAILED, "/emails"),
    "emails holds a number": (MAILBOX, {"emails": ["u@HERE", 1]}, FAILED, "/emails/1"),
    "emails holds a non-address": (MAILBOX, {"emails": ["u@HERE", "x"]}, FAILED, "/emails/1"),
    "emails says one twice": (MAILBOX, {"emails": ["u@HERE", "U@HERE"]}, FAILED, "/emails"),
    "emails without name": (MAILBOX, {"emails": ["v@HERE"]}, "name_not_in_emails", "/emails"),
    "too many emails": (
        MAILBOX,
        {"emails": [f"u{n}@HERE" for n in range(1001)]},
        FAILED,
        "/emails",
    ),
    "secrets is empty": (MAILBOX, {"secrets": []}, FAILED, "/secrets"),
    "secrets is a string": (MAILBOX, {"secrets": "s"}, FAILED, "/secrets"),
    "secrets holds null": (MAILBOX, {"secrets": [None]}, FAILED, "/secrets/0"),
    "secrets holds nothing": (MAILBOX, {"secrets": [""]}, FAILED, "/secrets/0"),
    "secrets holds a NUL": (MAILBOX, {"secrets": ["a\0b"]}, FAILED, "/secrets/0"),
    "secret is too long": (MAILBOX, {"secrets": ["s" * 1025]}, FAILED, "/secrets/0"),
    "too many secrets": (MAILBOX, {"secrets": ["s"] * 6}, FAILED, "/secrets"),
    "neither secrets nor members": (
        MAILBOX,
        {"secrets": None},
        "secrets_or_members_required",
        None,
    ),
    "secrets and members": (MAILBOX, {"members": ["a@b.example"]}, "secrets_and_members", None),
    "unregistered domain": (
        MAILBOX,
        {"name": "u@no.example", "emails": ["u@no.example"]},
        "domain_not_registered",
        "/name",
    ),
    "unregistered alias domain": (
        MAILBOX,
        {"emails": ["u@HERE", "u@no.example"]},
        "domain_not_registered",
        "/emails/1",
    ),
    "parent domain is not the domain": (
        MAILBOX,
        {"emails": ["u@HERE", "u@sub.HERE"]},
        "domain_not_registered",
        "/emails/1",
    ),
    "mailbox is taken": (
        MAILBOX,
        {"name": "ann@HERE", "emails": ["ann@HERE"]},
        "name_taken",
        "/name",
    ),
    "name is another's alias": (
        MAILBOX,
        {"name": "alias@HERE", "emails": ["alias@HERE"]},
        "address_taken",
        "/emails/0",
    ),
    "alias is another's name": (
        MAILBOX,
        {"emails": ["u@HERE", "ann@HERE"]},
        "address_taken",
        "/emails/1",
    ),
    "alias is a forwarder's": (
        MAILBOX,
        {"emails": ["u@HERE", "info@HERE"]},
        "address_taken",
        "/emails/1",
    ),
    "members is empty": (FORWARDER, {"members": []}, FAILED, "/members"),
    "members holds a non-address": (FORWARDER, {"members": ["x"]}, FAILED, "/members/0"),
    "members says one twice": (
        FORWARDER,
        {"members": ["a@b.example", "a@B.example"]},
        FAILED,
        "/members",
    ),
    "members is null": (FORWARDER, {"members": "null"}, FAILED, "/members"),
    "forwarder without emails": (FORWARDER, {"emails": None}, FAILED, "/emails"),
    "forwarder without its name": (
        FORWARDER,
        {"emails": ["g@HERE"]},
        "name_not_in_emails",
        "/emails",
    ),
    "forwarder is taken": (
        FORWARDER,
        {"name": "info@HERE", "emails": ["info@HERE"]},
        "name_taken",
        "/name",
    ),
    "forwarder to itself": (
        FORWARDER,
        {"members": ["x@y.example", "F@HERE"]},
        "forwarder_cycle",
        "/members/1",
    ),
    "forwarder to its alias": (
        FORWARDER,
        {"emails": ["f@HERE", "g@HERE"], "members": ["g@HERE"]},
        "forwarder_cycle",
        "/members/0",
    ),
}

CHANGES: dict[str, tuple[str, Any, int, str, str | None]] = {
    "domain": ("HERE", {}, 422, "domain_not_updatable", None),
    "domain with emails": ("HERE", {"emails": ["a@HERE"]}, 422, "domain_not_updatable", None),
    "absent": ("nobody@HERE", {}, 404, "principal_not_found", None),
    "no name at all": ("_", {}, 404, "principal_not_found", None),
    "name": ("ann@HERE", {"name": "x@HERE"}, 422, FAILED, "/name"),
    "type": ("ann@HERE", {"type": "individual"}, 422, FAILED, "/type"),
    "unknown field": ("ann@HERE", {"quota": 1}, 422, FAILED, "/quota"),
    "null": ("ann@HERE", {"emails": None}, 422, FAILED, "/emails"),
    "null secrets": ("ann@HERE", {"secrets": None}, 422, FAILED, "/secrets"),
    "no secrets": ("ann@HERE", {"secrets": []}, 422, FAILED, "/secrets"),
    "no emails": ("ann@HERE", {"emails": []}, 422, FAILED, "/emails"),
    "no members": ("info@HERE", {"members": []}, 422, FAILED, "/members"),
    "list as a body": ("ann@HERE", [], 422, FAILED, ""),
    "primary left out": (
        "ann@HERE",
        {"emails": ["alias@HERE"]},
        422,
        "name_not_in_emails",
        "/emails",
    ),
    "forwarder's primary left out": (
        "info@HERE",
        {"emails": ["i@HERE"]},
        422,
        "name_not_in_emails",
        "/emails",
    ),
    "unregistered alias": (
        "ann@HERE",
        {"emails": ["ann@HERE", "a@no.example"]},
        422,
        "domain_not_registered",
        "/emails/1",
    ),
    "another's address": (
        "ann@HERE",
        {"emails": ["ann@HERE", "info@HERE"]},
        409,
        "address_taken",
        "/emails/1",
    ),
    "members of a mailbox": (
        "ann@HERE",
        {"members": ["a@b.example"]},
        422,
        "not_a_forwarder",
        "/members",
    ),
    "secrets of a forwarder": ("info@HERE", {"secrets": ["s"]}, 422, "not_a_mailbox", "/secrets"),
    "forwarder to itself": (
        "info@HERE",
        {"members": ["info@HERE"]},
        422,
        "forwarder_cycle",
        "/members/0",
    ),
    "emails make it its own": (
        "info@HERE",
        {"emails": ["info@HERE", "i@HERE"], "members": ["i@HERE"]},
        422,
        "forwarder_cycle",
        "/members/0",
    ),
}


def fill(value: Any, here: str) -> Any:
    """Put the test's domain in place of HERE and another in place of NEW."""
    if isinstance(value, dict):
        return {key: fill(item, here) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, here) for item in value]
    return (
        value.replace("HERE", here).replace("NEW", f"new-{here}")
        if isinstance(value, str)
        else value
    )


@pytest.fixture
def here(api: Api) -> str:
    """Register a domain with a mailbox that has an alias, and a forwarder."""
    domain = api.domain()
    api.mailbox(f"ann@{domain}", f"alias@{domain}")
    api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    return domain


def test_refused_creations_say_why_and_create_nothing(api: Api, here: str) -> None:
    """Each body that breaks a rule is answered by that rule's code and leaves no trace."""
    before = api.listing()
    for label, (good, changes, code, pointer) in CREATIONS.items():
        body = {**good, **changes}
        body = {key: value for key, value in body.items() if value is not None}
        if changes.get("members") == "null":
            body["members"] = None
        response = api.create(fill(body, here))
        status = 409 if code.endswith("_taken") else 422
        try:
            check_problem(response, status, code, pointer)
        except AssertionError as error:
            raise AssertionError(label) from error
    assert api.listing() == before
    for good in (DOMAIN, MAILBOX, FORWARDER):
        assert api.create(fill(good, here)).status_code == 201


def test_refused_changes_say_why_and_change_nothing(api: Api, here: str) -> None:
    """Each change that breaks a rule is answered by that rule's code and leaves no trace."""
    before = api.listing()
    for label, (name, body, status, code, pointer) in CHANGES.items():
        response = api.call("PATCH", path_of(fill(name, here)), fill(body, here))
        try:
            check_problem(response, status, code, pointer)
        except AssertionError as error:
            raise AssertionError(label) from error
    assert api.listing() == before


@pytest.mark.parametrize("body", ["[]", '"text"', "1", "null", "true"])
def test_body_is_an_object(api: Api, body: str) -> None:
    """JSON that is no object is refused as such."""
    headers = {"Content-Type": "application/json"}
    response = api.call("POST", "/api/principal", content=body, headers=headers)
    check_problem(response, 422, FAILED, "")


@pytest.mark.parametrize(
    "query", ["?type=group", "?type=", "?type=domain&type=domain", "?typ=domain", "?page=2"]
)
def test_query_parameters_are_checked(api: Api, query: str) -> None:
    """A misspelt filter is refused, since ignoring it would list everything."""
    check_problem(api.call("GET", f"/api/principal{query}"), 422, FAILED)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/principal/x"), ("DELETE", "/api/principal/x"), ("GET", "/api/dns/x")],
)
def test_other_paths_take_no_query(api: Api, method: str, path: str) -> None:
    """Where the contract shows no query parameters, there are none."""
    check_problem(api.call(method, f"{path}?force=true"), 422, FAILED, "?force")


@pytest.mark.parametrize(
    "name", ["nope.example", "a@nope.example", "nope", "a@", "@", "..", "%", "x" * 300]
)
def test_absent_names_are_not_found(api: Api, name: str) -> None:
    """What can't be a name is as absent as what isn't there."""
    # A dot segment doesn't reach the service unless its dots are encoded, too.
    encoded = path_of(name).replace("..", "%2E%2E")
    for method in ("GET", "DELETE"):
        check_problem(api.call(method, encoded), 404, "principal_not_found")
    check_problem(api.dns(name.replace("..", "no")), 404, "domain_not_found")


def test_records_need_a_registered_domain(api: Api, here: str) -> None:
    """A mailbox has no records of its own, and neither has a domain that isn't registered."""
    check_problem(api.dns(f"ann@{here}"), 404, "domain_not_found")
    check_problem(api.dns(f"sub.{here}"), 404, "domain_not_found")


def test_several_errors_are_told_at_once(api: Api, here: str) -> None:
    """All fields in error are named in one answer."""
    body = {"name": "x", "type": "individual", "secrets": [], "emails": ["y"], "more": 1}
    response = api.create(body)
    pointers = {error["pointer"] for error in response.json()["errors"]}
    assert pointers == {"/name", "/secrets", "/emails/0", "/more"}


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_forwarder_cycles_of_any_length_are_refused(api: Api, length: int) -> None:
    """A chain of forwarders can't be closed, whether by creating or by changing its last link."""
    domain = api.domain()
    names = [f"f{n}@{domain}" for n in range(length + 1)]
    for name, following in itertools.pairwise(names):
        api.forwarder(name, ["x@elsewhere.example", following])
    closing = {"name": names[-1], "type": "individual", "emails": [names[-1]]}
    check_problem(
        api.create({**closing, "members": [names[0].upper()]}), 422, "forwarder_cycle", "/members"
    )
    api.forwarder(names[-1], ["x@elsewhere.example"])
    check_problem(
        api.patch(names[-1], members=["y@elsewhere.example", names[0]]), 422, "forwarder_cycle"
    )
    assert api.get(names[-1]).json()["members"] == ["x@elsewhere.example"]


def test_cycles_through_aliases_are_refused(api: Api) -> None:
    """An alias of a forwarder is as good a way back as its name, also when it comes later."""
    domain = api.domain()
    one = api.forwarder(f"one@{domain}", [f"alias@{domain}"])
    two = api.forwarder(f"two@{domain}", [one])
    check_problem(api.patch(two, emails=[two, f"alias@{domain}"]), 422, "forwarder_cycle")
    api.patch(one, members=["x@elsewhere.example"])
    assert api.patch(two, emails=[two, f"alias@{domain}"]).status_code == 200


def test_a_diamond_of_forwarders_is_no_cycle(api: Api) -> None:
    """Two ways to one destination are allowed."""
    domain = api.domain()
    end = api.forwarder(f"end@{domain}", ["x@elsewhere.example"])
    left, right = (api.forwarder(f"{side}@{domain}", [end]) for side in ("left", "right"))
    api.forwarder(f"start@{domain}", [left, right, end])


def test_a_forwarder_to_a_mailbox_that_forwards_nothing(api: Api) -> None:
    """A mailbox ends every chain, so it closes no circle."""
    domain = api.domain()
    api.mailbox(f"ann@{domain}", f"a@{domain}")
    api.forwarder(f"info@{domain}", [f"a@{domain}", f"ann@{domain}"])
