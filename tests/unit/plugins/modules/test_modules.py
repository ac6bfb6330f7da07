# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The modules' ``main`` functions with an in-memory service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.modules import (
    email_alias,
    email_dns_records,
    email_domain,
    email_forwarder,
    email_info,
    email_mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    Quirks,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    ScriptedServer,
    html,
    problem,
)
from ansible_collections.postroom.email.tests.support.clients import TOKEN, Serve
from ansible_collections.postroom.email.tests.support.modules import Main, run_module

pytestmark = pytest.mark.matrix
Arguments = dict[str, Any]

PASSWORD = "pw-8Kd!q0-Zebra"
MAIN: dict[str, Main] = {
    "alias": email_alias.main,
    "dns_records": email_dns_records.main,
    "domain": email_domain.main,
    "forwarder": email_forwarder.main,
    "info": email_info.main,
    "mailbox": email_mailbox.main,
}

BOX = {"name": "Alice@Example.com", "passwords": [PASSWORD], "aliases": ["sales@example.com"]}
#: The tenant, the module, its options, and the writes of the first run. tests/e2e has more cases.
CHANGES: dict[str, tuple[list[Arguments], str, Arguments, list[str]]] = {
    "delete a domain and all": (
        [
            domain("example.com"),
            mailbox("alice@example.com"),
            domain("other.example"),
            mailbox("zoe@other.example", "zoe@example.com"),
        ],
        "domain",
        {"name": "example.com", "state": "absent", "force": True},
        ["PATCH", "DELETE", "DELETE"],
    ),
    "create a mailbox": ([domain("example.com")], "mailbox", BOX, ["POST"]),
}


def run(server: ScriptedServer, module: str, arguments: Arguments, **mode: bool) -> dict[str, Any]:
    """Run a module on a server, and return its result."""
    connection = {"api_url": server.url, "api_token": TOKEN}
    return run_module(MAIN[module], {**connection, **arguments}, **mode)


def service_of(*principals: Arguments) -> InMemoryService:
    """Return a service with copies of these principals."""
    return InMemoryService(None, *({**principal} for principal in principals))


@pytest.mark.parametrize("case", CHANGES)
def test_check_mode_predicts_the_run_and_a_second_is_empty(case: str, serve: Serve) -> None:
    """Check mode predicts a run without a write, and a second run changes nothing."""
    # If the object is absent, another GET checks whether the API exists at all.
    before, module, arguments, writes = CHANGES[case]
    server = serve(service_of(*before))
    predicted = run(server, module, arguments, check=True, diff=True)
    assert predicted["changed"]
    assert "diff" not in run(server, module, arguments, check=True)
    assert server.writes == []
    done = run(server, module, arguments, diff=True)
    assert [line.split()[0] for line in server.writes] == writes
    result = next(iter(done.keys() & {"mailbox", "forwarder", "domain"}))
    for key in ("changes", "diff", "changed", result):
        assert done[key] == predicted[key]
    assert all(set(pair) >= {"before", "after"} for pair in done["diff"])
    assert PASSWORD not in str(done["diff"])
    is_probed = arguments.get("state") == "absent"
    for check in (True, False):
        sent = len(server.requests)
        again = run(server, module, arguments, check=check)
        assert (again["changed"], again["changes"]) == (False, [])
        assert [line.split()[0] for line in server.lines[sent:]] == ["GET"] * (1 + is_probed)


def test_the_name_is_returned_as_declared(serve: Serve) -> None:
    """A mailbox's name is returned as declared, even if an alias is its lower-case form."""
    server = serve(service_of(domain("example.com"), mailbox("alice@example.com")))
    given = {"name": "Alice@Example.com", "aliases": ["alice@example.com", "Sales@example.com"]}
    shown = run(server, "mailbox", given)["mailbox"]
    assert (shown["name"], shown["aliases"]) == ("Alice@Example.com", ["Sales@example.com"])


@pytest.mark.parametrize(
    "arguments", [{}, {"name": "alice@example.com"}, {"domain": "example.com"}]
)
def test_a_module_that_reads_changes_nothing(arguments: Arguments, serve: Serve) -> None:
    """A read-only module sends one GET, with or without check mode."""
    module = "dns_records" if "domain" in arguments else "info"
    server = serve(service_of(domain("example.com"), mailbox("alice@example.com")))
    results = [run(server, module, arguments, check=check) for check in (True, False)]
    assert results[0] == results[1]
    assert not results[0]["changed"]
    assert [line.split()[0] for line in server.lines] == ["GET", "GET"]


def test_a_module_imports_only_what_its_object_needs() -> None:
    """A module imports only the files it needs, because each module process compiles them."""
    path = os.pathsep.join([str(Path(email_mailbox.__file__).parents[5]), *sys.path])
    loaded = "[name.rpartition('.')[2] for name in sys.modules if '_api.' in name]"
    code = f"import sys; from {email_mailbox.__name__} import *; print(*{loaded})"
    run = [sys.executable, "-c", code]
    names = subprocess.check_output(run, text=True, env={**os.environ, "PYTHONPATH": path})
    assert set(names.split()) == {
        *("errors", "names", "models", "client", "tenant", "endpoints", "pacing", "transport"),
        *("converge_object", "declared", "desired_state", "plan", "planner", "problems", "state"),
    }


def test_the_environment_has_the_connection(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API's address and token can be set in the environment instead of the options."""
    server = serve(service_of())
    result = run_module(MAIN["info"], {})
    assert result["failed"]
    assert "api_url" in result["msg"]
    assert "api_token" in result["msg"]
    monkeypatch.setenv("POSTROOM_API_URL", server.url)
    monkeypatch.setenv("POSTROOM_API_TOKEN", TOKEN)
    assert not run_module(MAIN["info"], {})["failed"]
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


#: The server's response to every request, and a word of the message.
ANSWERS = {
    "Unauthorized": (problem(401, f"unknown token {TOKEN}"), "api_token"),
    "Forbidden": (problem(403), "api_token"),
    "ServerFailed": (problem(500), "operator"),
    "BadAnswer": (html(200, "Welcome"), "api_url"),
    "Rejected": (problem(402, f"pay for {TOKEN} and {PASSWORD}"), "status 402"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_failure_is_returned_as_data(kind: str, serve: Serve) -> None:
    """A failure is returned as data, without the token or a password."""
    reply, word = ANSWERS[kind]
    result = run(serve(lambda _: reply), "mailbox", BOX, diff=True)
    assert (result["failed"], result["changed"]) == (True, False)
    assert word in result["msg"]
    failure = result["failure"]
    assert set(failure) == {"code", "kind", "status", "method", "path", "detail"}
    assert (failure["kind"], failure["status"]) == (kind, reply.status)
    assert failure["code"] == getattr(errors, kind).code
    assert failure["path"].startswith("/api/")
    shown = str({key: value for key, value in result.items() if key != "invocation"})
    assert [one for one in (TOKEN, PASSWORD, "Traceback") if one in shown] == []


BAD: list[tuple[str, Arguments, str]] = [
    ("mailbox", {"name": "alice"}, "name: 'alice'"),
    ("mailbox", {"name": "alice@example.com", "aliases": ["sales"]}, "aliases: 'sales'"),
    ("mailbox", {"name": "alice@example.com", "passwords": [PASSWORD, ""]}, "entry 2 of 2"),
    (
        "mailbox",
        {"name": "a@example.com", "update_password": "always"},
        "passwords: at least one is required if update_password",
    ),
    *(
        ("mailbox", {"name": "alice@example.com", "passwords": value}, "passwords: entry 1 of 1")
        for value in ([[PASSWORD, "x"]], {"pw": PASSWORD}, True, [7], [None])
    ),
    ("forwarder", {"name": "team@example.com", "members": ["a@@b"]}, "members: "),
    ("alias", {"address": "sales@example.com", "mailbox": "alice"}, "mailbox: 'alice'"),
    ("domain", {"name": "alice@example.com"}, "looks like an email address"),
    ("dns_records", {"domain": "a..b"}, "domain: 'a..b'"),
    ("info", {"api_url": "mail.example.com"}, "api_url: 'mail.example.com'"),
    ("info", {"api_token": "two words"}, "api_token: "),
    ("info", {"timeout": 0}, "timeout: 0"),
    ("info", {"retries": -1}, "retries: -1"),
]


def test_a_failure_after_the_write_is_a_change(serve: Serve) -> None:
    """A failure after the write is reported as a change."""
    quirks = Quirks(create_answers_id=True, envelope=True)
    service = InMemoryService(quirks, domain("example.com"))
    service.disturb("GET", problem(500), skip=2, times=9)
    result = run(serve(service), "mailbox", {"name": "a@example.com", "passwords": [PASSWORD]})
    assert (result["failed"], result["changed"]) == (True, True)
    assert "a@example.com was written" in result["msg"]
    assert [change["name"] for change in result["changes"]] == ["a@example.com"]


def test_replaced_passwords_are_in_one_request_with_the_lists(serve: Serve) -> None:
    """Passwords that are always replaced are sent in one request with the aliases."""
    server = serve(service_of(domain("example.com"), mailbox("alice@example.com")))
    two = {"name": "alice@example.com", "passwords": [PASSWORD, "second-Qx71"]}
    assert not run(server, "mailbox", two)["changed"]
    for _time in range(2):
        always = {**two, "update_password": "always", "aliases": ["new@example.com"]}
        assert run(server, "mailbox", always)["changed"]
    first, second = [request.json for request in server.requests if request.method == "PATCH"]
    assert set(first) == {"emails", "secrets"}
    assert second == {"secrets": [PASSWORD, "second-Qx71"]}


def test_a_string_is_one_password(serve: Serve) -> None:
    """A string is treated as one password, even if it contains commas or looks like a list."""
    for text in ("correct,horse battery-Zq8", '["x-Zq8","y-Zq8"]'):
        server = serve(service_of(domain("example.com")))
        assert run(server, "mailbox", {"name": "a@example.com", "passwords": text})["changed"]
        assert [r.json["secrets"] for r in server.requests if r.method == "POST"] == [[text]]


def test_a_wrong_path_is_not_an_absent_object(serve: Serve) -> None:
    """A 404 for the API's own path is an error, and does not mean that the object is absent."""
    server = serve(lambda request: problem(404, "There is nothing at this path."))
    for module, arguments in {
        "mailbox": {"name": "a@example.com", "state": "absent"},
        "domain": {"name": "example.com", "state": "absent"},
        "info": {"name": "example.com"},
        "dns_records": {"domain": "example.com"},
    }.items():
        result = run(server, module, arguments)
        assert result["failed"], module
        assert "api_url" in result["msg"]
        assert result["failure"]["code"] == "unexpected_response"
        assert result["failure"]["kind"] == "BadAnswer"


GROUP = {"name": "staff@example.com", "type": "group", "emails": ["staff@example.com"]}
PRINCIPALS = (
    domain("example.com"),
    domain("example.org"),
    mailbox("zoe@example.org"),
    mailbox("alice@example.com", "sales@example.org", "info@example.com"),
    forwarder("team@example.com", "zoe@example.org", "alice@example.com"),
)
ALICE = {"name": "alice@example.com", "aliases": ["info@example.com", "sales@example.org"]}
ZOE: dict[str, Any] = {"name": "zoe@example.org", "aliases": []}
BOTH: dict[str, Any] = {
    "name": "team@example.com",
    "members": ["alice@example.com", "zoe@example.org"],
    "aliases": [],
}


def info(serve: Serve, *more: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return the result of email_info on a tenant, with additional principals."""
    service = InMemoryService(None, *({**principal} for principal in (*PRINCIPALS, *more)))
    connection = {"api_url": serve(service).url, "api_token": TOKEN}
    result = run_module(email_info.main, {**connection, **options})
    assert not result["failed"], result
    return {key: value for key, value in result.items() if key != "invocation"}


ALL = {"domains": ["example.com", "example.org"], "mailboxes": [ALICE, ZOE], "forwarders": [BOTH]}
DEFINITIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, ALL),
    # A mailbox on the domain keeps all its aliases, including those on other domains.
    ({"domains": ["Example.com"]}, {**ALL, "domains": ["example.com"], "mailboxes": [ALICE]}),
    ({"kinds": ["mailbox"], "domains": ["example.org"]}, {"mailboxes": [ZOE]}),
    ({"name": "none.example", "kinds": ["domain"]}, {"domains": []}),
    ({"name": "zoe@example.org"}, {"domains": [], "mailboxes": [ZOE], "forwarders": []}),
]


@pytest.mark.parametrize("row", range(len(DEFINITIONS)))
def test_a_definition_holds_what_was_asked_for(row: int, serve: Serve) -> None:
    """The requested objects are returned as facts or, on request, as a definition."""
    options, definition = DEFINITIONS[row]
    facts = info(serve, **options)
    assert "definition" not in facts
    if not options:
        assert [one["name"] for one in facts["domains"]] == definition["domains"]
        assert (facts["mailboxes"], facts["forwarders"]) == ([ALICE, ZOE], [BOTH])
    result = info(serve, **{**options, "as": "definition"})
    assert result == {"changed": False, "failed": False, "definition": definition}


def test_what_a_definition_lacks_is_warned_of(serve: Serve) -> None:
    """A warning names each principal that a definition can't contain."""
    result = info(serve, GROUP, **{"as": "definition"})
    assert len(result["warnings"]) == 1
    assert "staff@example.com" in str(result["warnings"])
    assert "warnings" not in info(serve, GROUP)


SECRET = "c2VjcmV0LXRoYXQtbm9ib2R5LWtub3dzLTQ3MTE="
TSIG = {"tsig_name": "mail", "tsig_secret": SECRET}
PACKAGE = "ansible_collections.postroom.email.plugins.module_utils."


def records(server: ScriptedServer, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Return the result of email_dns_records."""
    return run(server, "dns_records", {"domain": "example.com", **options}, check=check)


VERIFIED: dict[str, Any] = {"state": "verified"}
PRESENT: dict[str, Any] = {"state": "present", **TSIG}
ABSENT: dict[str, Any] = {"state": "absent", **TSIG}
BAD_RECORDS: list[tuple[dict[str, Any], str]] = [
    ({**VERIFIED, "nameservers": ["a.b", "192.0.2"]}, "nameservers: '192.0.2'"),
    ({**VERIFIED, "resolvers": ["dns.example.net"]}, "resolvers: 'dns.example.net'"),
    *(({**VERIFIED, "wait_timeout": no}, f"wait_timeout: {no}") for no in (-1, 604801)),
    ({**PRESENT, "update_server": "ns1 example"}, "update_server: 'ns1 example'"),
    *(({**PRESENT, option: ""}, f"{option}: ") for option in TSIG),
    *(({**ABSENT, option: None}, f"{option}: ") for option in TSIG),
    ({**PRESENT, "tsig_name": "my key..name"}, "tsig_name: 'my key..name'"),
    ({**PRESENT, "tsig_secret": "certainly not base64!"}, "tsig_secret: "),
    ({**PRESENT, "ttl": -1}, "ttl: -1"),
]


BAD += [("dns_records", {"domain": "example.com", **more}, says) for more, says in BAD_RECORDS]


@pytest.mark.parametrize("row", range(len(BAD)))
def test_invalid_options_send_no_request(row: int, serve: Serve) -> None:
    """The error for an invalid option gives its name and value, but no password.

    It is reported before any request.
    """
    module, arguments, words = BAD[row]
    server = serve(service_of())
    result = run(server, module, arguments)
    assert words in result["msg"]
    assert result["failure"] == {"code": "invalid_input", "kind": "InvalidInput"}
    assert PASSWORD not in result["msg"]
    assert SECRET not in str(result)
    assert server.requests == []


def test_a_domain_that_is_not_registered(serve: Serve) -> None:
    """An unregistered domain is an error, but only a warning in check mode or when withdrawing."""
    server = serve(InMemoryService(Quirks()))
    refused = "example.com is not registered in this tenant. Register it first."
    for state in ("retrieved", "verified", "present"):
        assert records(server, **{**PRESENT, "state": state})["msg"] == refused
        foretold = records(server, check=True, **{**PRESENT, "state": state})
        assert (foretold["failed"], foretold["changed"], foretold["records"]) == (False, False, [])
        assert "example.com is not registered yet" in str(foretold["warnings"])
    for check in (True, False):
        gone = records(server, check=check, **{**PRESENT, "state": "absent"})
        assert (gone["failed"], gone["changed"], gone["changes"]) == (False, False, [])
        assert "Nothing is withdrawn" in str(gone["warnings"])
    found = records(server, check=True, state="verified")
    assert (found["verified"], found["stage"]) == (False, "unknown")


def test_nothing_to_wait_for_is_a_warning(serve: Serve) -> None:
    """The `wait` option causes a warning if the state has nothing to wait for."""
    server = serve(InMemoryService(Quirks(), domain("example.com")))
    common: dict[str, Any] = {**TSIG, "nameservers": ["192.0.2.1"], "wait_timeout": 5}
    assert "state retrieved" in str(records(server, wait=True, **common)["warnings"])
    assert not records(server, **common).get("warnings")
    empty = serve(InMemoryService(Quirks()))
    gone = records(empty, **{**ABSENT, "wait": True})
    assert "state absent" in str(gone["warnings"])


@pytest.fixture
def _without_dnspython(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all imports of dnspython fail from now on."""
    for name in list(sys.modules):
        if name.startswith(("dns.", PACKAGE + "_dns_", PACKAGE + "_api.dns.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dns", None)


@pytest.mark.usefixtures("_without_dnspython")
def test_retrieving_does_without_dnspython(serve: Serve) -> None:
    """The `retrieved` state works without dnspython."""
    server = serve(InMemoryService(Quirks(), domain("example.com")))
    assert records(server)["records"]
    asking = tuple(f"{PACKAGE}_api.dns.{name}" for name in ("query", "resolver", "update"))
    assert not any(name.startswith(asking) for name in sys.modules)


@pytest.mark.usefixtures("_without_dnspython")
@pytest.mark.parametrize("state", ["verified", "present", "absent"])
def test_missing_dnspython_is_named(state: str, serve: Serve) -> None:
    """If dnspython is missing, Ansible's own message is reported before any query."""
    server = serve(InMemoryService(Quirks(), domain("example.com")))
    result = records(server, state=state)
    assert "Failed to import the required Python library (dnspython)" in result["msg"]
    assert server.requests == []
