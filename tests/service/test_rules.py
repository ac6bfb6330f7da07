# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests that break a rule, the codes of the errors, and the syntax of names."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, path_of
from postroom_service import names

Body = dict[str, Any]

DOMAIN: Body = {"name": "new-HERE", "type": "domain"}
MAILBOX: Body = {"name": "u@HERE", "type": "individual", "secrets": ["s"], "emails": ["u@HERE"]}
FORWARDER: Body = {**MAILBOX, "name": "f@HERE", "emails": ["f@HERE"], "members": ["x@y.z"]}
del FORWARDER["secrets"]
FAILED, CYCLE, MISSING = "validation_failed", "forwarder_cycle", "name_not_in_emails"
UNREGISTERED, NOT_FOUND = "domain_not_registered", "principal_not_found"

GONE = object()
#: A valid body, the fields to replace (GONE removes a field), the code and the pointer.
CREATIONS: list[tuple[Body, Body, str, str | None]] = [
    (DOMAIN, {"type": GONE}, FAILED, "/type"),
    (DOMAIN, {"type": "group"}, FAILED, "/type"),
    (DOMAIN, {"name": GONE}, FAILED, "/name"),
    (DOMAIN, {"name": 7}, FAILED, "/name"),
    (DOMAIN, {"name": "a@HERE"}, FAILED, "/name"),
    (DOMAIN, {"emails": ["a@HERE"]}, FAILED, "/emails"),
    (DOMAIN, {"name": "HERE"}, "name_taken", "/name"),
    (MAILBOX, {"name": "HERE"}, FAILED, "/name"),
    (MAILBOX, {"a/b~c": 1}, FAILED, "/a~1b~0c"),
    (MAILBOX, {"emails": GONE}, FAILED, "/emails"),
    (MAILBOX, {"emails": []}, FAILED, "/emails"),
    (MAILBOX, {"emails": "u@HERE"}, FAILED, "/emails"),
    (MAILBOX, {"emails": ["u@HERE", 1]}, FAILED, "/emails/1"),
    (MAILBOX, {"emails": ["u@HERE", "U@HERE"]}, FAILED, "/emails"),
    (MAILBOX, {"emails": [f"u{n}@HERE" for n in range(1001)]}, FAILED, "/emails"),
    (MAILBOX, {"emails": ["v@HERE"]}, MISSING, "/emails"),
    (MAILBOX, {"secrets": []}, FAILED, "/secrets"),
    (MAILBOX, {"secrets": [None]}, FAILED, "/secrets/0"),
    (MAILBOX, {"secrets": [""]}, FAILED, "/secrets/0"),
    *(
        (MAILBOX, {"secrets": [secret]}, "secret_has_control", "/secrets/0")
        for secret in ("a\0b", "a\nb", "\x7f", "\x85")
    ),
    (MAILBOX, {"emails": ["u@HERE", "*@HERE"]}, "catch_all_not_supported", "/emails/1"),
    (MAILBOX, {"name": "a%b@HERE", "emails": ["a%b@HERE"]}, "local_part_has_route", "/emails/0"),
    (FORWARDER, {"members": ["a!b@c.example"]}, "local_part_has_route", "/members/0"),
    (MAILBOX, {"emails": ["u@HERE", "-u@HERE"]}, "local_part_has_hyphen", "/emails/1"),
    (MAILBOX, {"secrets": ["s" * 1025]}, FAILED, "/secrets/0"),
    (MAILBOX, {"secrets": ["s"] * 6}, FAILED, "/secrets"),
    (MAILBOX, {"secrets": GONE}, "secrets_or_members_required", None),
    (MAILBOX, {"members": ["a@b.example"]}, "secrets_and_members", None),
    (MAILBOX, {"name": "u@no.example", "emails": ["u@no.example"]}, UNREGISTERED, "/name"),
    (MAILBOX, {"emails": ["u@HERE", "u@sub.HERE"]}, UNREGISTERED, "/emails/1"),
    (MAILBOX, {"name": "ann@HERE", "emails": ["ann@HERE"]}, "name_taken", "/name"),
    (MAILBOX, {"name": "alias@HERE", "emails": ["alias@HERE"]}, "address_taken", "/emails/0"),
    (MAILBOX, {"emails": ["u@HERE", "ann@HERE"]}, "address_taken", "/emails/1"),
    (FORWARDER, {"members": []}, FAILED, "/members"),
    (FORWARDER, {"members": None}, FAILED, "/members"),
    (FORWARDER, {"members": ["x"]}, FAILED, "/members/0"),
    (FORWARDER, {"members": ["a@b.example", "a@B.example"]}, FAILED, "/members"),
    (FORWARDER, {"emails": ["g@HERE"]}, MISSING, "/emails"),
    (FORWARDER, {"name": "info@HERE", "emails": ["info@HERE"]}, "name_taken", "/name"),
    (FORWARDER, {"members": ["x@y.example", "F@HERE"]}, CYCLE, "/members/1"),
    (FORWARDER, {"emails": ["f@HERE", "g@HERE"], "members": ["g@HERE"]}, CYCLE, "/members/0"),
]

#: The principal, the body of a PATCH, the status, the code and the pointer.
CHANGES: list[tuple[str, Any, int, str, str | None]] = [
    ("HERE", {"emails": ["a@HERE"]}, 422, "domain_not_updatable", None),
    ("none@HERE", {}, 404, NOT_FOUND, None),
    ("_", {}, 404, NOT_FOUND, None),
    ("ann@HERE", {"name": "x@HERE"}, 422, FAILED, "/name"),
    ("ann@HERE", {"emails": None}, 422, FAILED, "/emails"),
    ("ann@HERE", {"secrets": []}, 422, FAILED, "/secrets"),
    ("info@HERE", {"members": []}, 422, FAILED, "/members"),
    ("ann@HERE", [], 422, FAILED, ""),
    ("ann@HERE", {"emails": ["alias@HERE"]}, 422, MISSING, "/emails"),
    ("ann@HERE", {"emails": ["ann@HERE", "a@no.example"]}, 422, UNREGISTERED, "/emails/1"),
    ("ann@HERE", {"emails": ["ann@HERE", "info@HERE"]}, 409, "address_taken", "/emails/1"),
    ("ann@HERE", {"members": ["a@b.example"]}, 422, "not_a_forwarder", "/members"),
    ("info@HERE", {"secrets": ["s"]}, 422, "not_a_mailbox", "/secrets"),
    ("info@HERE", {"members": ["info@HERE"]}, 422, CYCLE, "/members/0"),
    ("info@HERE", {"emails": ["info@HERE", "i@HERE"], "members": ["i@HERE"]}, 422, CYCLE, None),
]


def fill(value: Any, here: str) -> Any:
    """Return a value with HERE replaced by the test's domain."""
    if isinstance(value, dict):
        return {key: fill(item, here) for key, item in value.items() if item is not GONE}
    if isinstance(value, list):
        return [fill(item, here) for item in value]
    return value.replace("HERE", here) if isinstance(value, str) else value


@pytest.fixture
def here(api: Api) -> str:
    """Create a domain with a mailbox that has an alias, and with a forwarder."""
    domain = api.domain()
    api.mailbox(f"ann@{domain}", f"alias@{domain}")
    api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    return domain


def test_refused_creations_create_nothing(api: Api, here: str) -> None:
    """The creation of an invalid principal is refused with the rule's code and pointer."""
    before = api.listing()
    for good, changes, code, pointer in CREATIONS:
        body = fill({**good, **changes}, here)
        check_problem(api.create(body), 409 if code.endswith("_taken") else 422, code, pointer)
    assert api.listing() == before
    for good in (DOMAIN, MAILBOX, FORWARDER):
        assert api.create(fill(good, here)).status_code == 201


def test_refused_changes_change_nothing(api: Api, here: str) -> None:
    """An invalid change is refused with the rule's code and pointer."""
    before = api.listing()
    for name, body, status, code, pointer in CHANGES:
        response = api.call("PATCH", path_of(fill(name, here)), fill(body, here))
        check_problem(response, status, code, pointer)
    assert api.listing() == before


def test_all_errors_are_in_one_answer(api: Api, here: str) -> None:
    """A body with several errors is refused with a pointer to each error."""
    body = {"name": "x", "type": "individual", "secrets": [], "emails": ["y"], "more": 1}
    pointers = {error["pointer"] for error in api.create(body).json()["errors"]}
    assert pointers == {"/name", "/secrets", "/emails/0", "/more"}


@pytest.mark.parametrize("body", ["[]", '"text"', "null"])
def test_a_body_is_an_object(api: Api, body: str) -> None:
    """A JSON body that is not an object is refused."""
    headers = {"Content-Type": "application/json"}
    response = api.call("POST", "/api/principal", content=body, headers=headers)
    check_problem(response, 422, FAILED, "")


def test_query_parameters_are_checked(api: Api) -> None:
    """A misspelled filter is refused, because ignoring it would list everything."""
    for query in ("type=group", "type=", "type=domain&type=domain", "typ=domain"):
        check_problem(api.call("GET", f"/api/principal?{query}"), 422, FAILED)
    for method, path in (("GET", "principal/x"), ("DELETE", "principal/x"), ("GET", "dns/x")):
        check_problem(api.call(method, f"/api/{path}?force=true"), 422, FAILED, "?force")


def test_absent_names_are_not_found(api: Api, here: str) -> None:
    """Absent and invalid names are not found, and a mailbox has no DNS records."""
    for name in ("none.example", f"a@{here}", "none", "a@", "..", "%", "x" * 300):
        # A dot segment reaches the service only if its dots are encoded.
        encoded = path_of(name).replace("..", "%2E%2E")
        for method in ("GET", "DELETE"):
            check_problem(api.call(method, encoded), 404, NOT_FOUND)
    for name in (f"ann@{here}", f"sub.{here}", "no"):
        check_problem(api.dns(name), 404, "domain_not_found")


@pytest.mark.parametrize("length", [1, 3])
def test_forwarder_cycles_are_refused(api: Api, length: int) -> None:
    """A forwarder can't be created or changed in a way that closes a forwarding loop."""
    domain = api.domain()
    names = [f"f{n}@{domain}" for n in range(length + 1)]
    for name, following in itertools.pairwise(names):
        api.forwarder(name, ["x@elsewhere.example", following])
    last = names[-1]
    closing = {"name": last, "type": "individual", "emails": [last], "members": [names[0].upper()]}
    check_problem(api.create(closing), 422, CYCLE, "/members")
    api.forwarder(last, ["x@elsewhere.example"])
    check_problem(api.patch(last, members=["y@elsewhere.example", names[0]]), 422, CYCLE)
    assert api.get(last).json()["members"] == ["x@elsewhere.example"]


def test_cycles_through_aliases_are_refused(api: Api) -> None:
    """An alias may connect forwarders, but adding one can't close a forwarding loop."""
    domain = api.domain()
    one = api.forwarder(f"one@{domain}", [f"alias@{domain}"])
    two = api.forwarder(f"two@{domain}", [one])
    check_problem(api.patch(two, emails=[two, f"alias@{domain}"]), 422, CYCLE)
    api.patch(one, members=["x@elsewhere.example"])
    assert api.patch(two, emails=[two, f"alias@{domain}"]).status_code == 200
    api.mailbox(f"ann@{domain}", f"a@{domain}")
    api.forwarder(f"info@{domain}", [f"a@{domain}", f"ann@{domain}", one, two])


DOMAINS = {
    "EXAMPLE.Com": "example.com",
    "a-b.c--d.example": "a-b.c--d.example",
    "BÜCHER.example": "xn--bcher-kva.example",
    "bu\u0308cher.example": "xn--bcher-kva.example",
    "XN--BCHER-KVA.example": "xn--bcher-kva.example",
    "faß.example": "xn--fa-hia.example",
    "例え.テスト": "xn--r8jz45g.xn--zckzah",
    "1.2.example": "1.2.example",
    "x" * 63 + ".example": "x" * 63 + ".example",
    ".".join(["x" * 49] * 5 + ["abc"]): ".".join(["x" * 49] * 5 + ["abc"]),
}
BAD_DOMAINS = [
    *("", "com", "example.com.", "example..com", "-a.example", "a-.example", "a_b.example"),
    *(
        " example.com",
        "example.com\n",
        "exa\0mple.com",
        "*.example.com",
        "127.0.0.1",
        "a/b.example",
    ),
    *("x" * 64 + ".example", ".".join(["x" * 50] * 5), "ü" * 60 + ".example", "é" * 10_000),
    *("xn--a.example", "ab--c.example", "a\u200db.example", "\u212aiwi.example", "☃.example"),
    *("\u212aüche.example", "example。com", ".".join(["ü" * 30] * 7)),
]
ADDRESSES = {
    "Ann.B@EXAMPLE.com": "ann.b@example.com",
    "!#$%&'*+/=?^_`{|}~-@example.com": "!#$%&'*+/=?^_`{|}~-@example.com",
    "ann@bücher.example": "ann@xn--bcher-kva.example",
    "x" * 64 + "@example.com": "x" * 64 + "@example.com",
}
BAD_ADDRESSES = [
    *("", "ann", "ann@", "@example.com", "ann@com", ".ann@example.com", "ann.@example.com"),
    *("a..b@example.com", '"ann"@example.com', "an n@example.com", "ann@ example.com"),
    *("ann@example.com\n", "a@b@example.com", "änn@example.com", "\u212aim@example.com"),
    *("ann@[127.0.0.1]", "Ann <ann@example.com>", "a,b@example.com", "x" * 65 + "@example.com"),
    "x" * 10 + "@" + ".".join(["y" * 60] * 4) + ".com",
]


def test_domains_have_a_normal_form() -> None:
    """A domain is normalized to lower-case A-labels. Normalizing it again changes nothing."""
    for text, normal in DOMAINS.items():
        assert names.domain(text) == names.domain(normal) == normal


@pytest.mark.parametrize("text", BAD_DOMAINS)
def test_bad_domains_are_refused(text: str) -> None:
    """An invalid domain raises InvalidName, and is not accepted as a name in a path either."""
    with pytest.raises(names.InvalidName):
        names.domain(text)
    assert names.any_name(text) is None


def test_addresses_have_a_normal_form() -> None:
    """An address is normalized to lower case, and its domain to A-labels."""
    for text, normal in ADDRESSES.items():
        assert names.address(text) == names.address(normal) == names.any_name(text) == normal
        assert normal.endswith("@" + names.domain_of(normal))


@pytest.mark.parametrize("text", BAD_ADDRESSES)
def test_bad_addresses_are_refused(text: str) -> None:
    """An invalid address raises InvalidName."""
    with pytest.raises(names.InvalidName):
        names.address(text)
