# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What every module does: through ``main``, over a service in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import (
    email_alias,
    email_dns_records,
    email_domain,
    email_forwarder,
    email_info,
    email_mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    ScriptedServer,
    html,
    problem,
)
from ansible_collections.postroom.email.tests.support.clients import TOKEN
from ansible_collections.postroom.email.tests.support.modules import Main, run_module

Serve = Callable[..., ScriptedServer]
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
TEAM = {"name": "team@example.com", "members": ["bob@elsewhere.example"]}
SALES = {"address": "sales@example.com", "mailbox": "alice@example.com"}

#: What there is before, the module, its options, and the writes of a first run.
CHANGES: dict[str, tuple[list[Arguments], str, Arguments, list[str]]] = {
    "register": ([], "domain", {"name": "Example.com"}, ["POST"]),
    "delete a domain": (
        [domain("example.com")], "domain", {"name": "example.com", "state": "absent"}, ["DELETE"],
    ),
    "delete a domain and all": (
        [domain("example.com"), mailbox("alice@example.com"), domain("other.example"),
         mailbox("zoe@other.example", "zoe@example.com")],
        "domain", {"name": "example.com", "state": "absent", "force": True},
        ["PATCH", "DELETE", "DELETE"],
    ),
    "create a mailbox": ([domain("example.com")], "mailbox", BOX, ["POST"]),
    "add an alias to a mailbox": (
        [domain("example.com"), mailbox("alice@example.com")], "mailbox", BOX, ["PATCH"],
    ),
    "purge aliases": (
        [domain("example.com"), mailbox("alice@example.com", "old@example.com")], "mailbox",
        {"name": "alice@example.com", "aliases": [], "purge_aliases": True}, ["PATCH"],
    ),
    "delete a mailbox": (
        [mailbox("alice@example.com")], "mailbox",
        {"name": "alice@example.com", "state": "absent"}, ["DELETE"],
    ),
    "create a forwarder": ([domain("example.com")], "forwarder", TEAM, ["POST"]),
    "change a forwarder": (
        [domain("example.com"), forwarder("team@example.com", "x@y.example")], "forwarder", TEAM,
        ["PATCH"],
    ),
    "delete a forwarder": (
        [forwarder("team@example.com", "x@y.example")], "forwarder",
        {"name": "team@example.com", "state": "absent"}, ["DELETE"],
    ),
    "add an alias": (
        [domain("example.com"), mailbox("alice@example.com")], "alias", SALES, ["PATCH"],
    ),
    "move an alias": (
        [domain("example.com"), mailbox("alice@example.com"),
         mailbox("bob@example.com", "sales@example.com")],
        "alias", {**SALES, "move": True}, ["PATCH", "PATCH"],
    ),
    "remove an alias": (
        [domain("example.com"), mailbox("alice@example.com", "sales@example.com")], "alias",
        {**SALES, "state": "absent"}, ["PATCH"],
    ),
}  # fmt: skip

READS: dict[str, tuple[str, Arguments]] = {
    "the tenant": ("info", {}),
    "one name": ("info", {"name": "alice@example.com"}),
    "DNS records": ("dns_records", {"domain": "example.com"}),
}


def run(server: ScriptedServer, module: str, arguments: Arguments, **mode: bool) -> dict[str, Any]:
    """Run a module against a server."""
    connection = {"api_url": server.url, "api_token": TOKEN}
    return run_module(MAIN[module], {**connection, **arguments}, **mode)


def service_of(*principals: Arguments) -> QuirkyService:
    """Return a service that holds copies of these."""
    return QuirkyService(None, *({**principal} for principal in principals))


def methods(server: ScriptedServer) -> list[str]:
    """Return the methods of the writes."""
    return [line.split()[0] for line in server.writes]


@pytest.mark.parametrize("case", CHANGES)
def test_check_mode_foretells_the_run_and_only_reads(case: str, serve: Serve) -> None:
    """The same changes, the same result and the same diff as the real run, without a write."""
    before, module, arguments, writes = CHANGES[case]
    server = serve(service_of(*before))
    foretold = run(server, module, arguments, check=True, diff=True)
    assert foretold["changed"]
    assert server.writes == []
    done = run(server, module, arguments, diff=True)
    assert methods(server) == writes
    for key in ("changes", "diff", "changed"):
        assert done[key] == foretold[key]
    result = next(iter(done.keys() & {"mailbox", "forwarder", "domain"}))
    assert done[result] == foretold[result]


@pytest.mark.parametrize("mode", [{}, {"check": True}, {"diff": True}], ids=str)
@pytest.mark.parametrize("case", CHANGES)
def test_the_second_run_changes_nothing(case: str, mode: dict[str, bool], serve: Serve) -> None:
    """It sends one GET; one more where nothing was found, to see that the API is there at all."""
    before, module, arguments, _writes = CHANGES[case]
    server = serve(service_of(*before))
    run(server, module, arguments)
    sent = len(server.requests)
    again = run(server, module, arguments, **mode)
    assert not again["changed"]
    assert again["changes"] == []
    probe = ["GET /api/principal?type=domain"] if arguments.get("state") == "absent" else []
    if module == "alias":
        probe = []
    assert server.lines[sent + 1 :] == probe
    assert server.lines[sent].startswith("GET ")


@pytest.mark.parametrize("case", CHANGES)
def test_a_diff_is_there_when_it_was_asked_for(case: str, serve: Serve) -> None:
    """Without diff mode there is none; with it, no password is in it."""
    before, module, arguments, _writes = CHANGES[case]
    server = serve(service_of(*before))
    assert "diff" not in run(server, module, arguments, check=True)
    diff = run(server, module, arguments, check=True, diff=True)["diff"]
    assert diff
    assert all(set(pair) >= {"before", "after"} for pair in diff)
    assert PASSWORD not in str(diff)


@pytest.mark.parametrize("case", READS)
def test_a_module_that_reads_changes_nothing(case: str, serve: Serve) -> None:
    """One GET in either mode."""
    module, arguments = READS[case]
    server = serve(service_of(domain("example.com"), mailbox("alice@example.com")))
    results = [run(server, module, arguments, check=check) for check in (True, False)]
    assert results[0] == results[1]
    assert not results[0]["changed"]
    assert [line.split()[0] for line in server.lines] == ["GET", "GET"]


def test_the_connection_comes_from_the_environment(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the options are not given."""
    server = serve(service_of())
    monkeypatch.setenv("POSTROOM_API_URL", server.url)
    monkeypatch.setenv("POSTROOM_API_TOKEN", TOKEN)
    for module in ("info", "domain"):
        assert not run_module(MAIN[module], {} if module == "info" else {"name": "a.example"},
                              check=True)["failed"]  # fmt: skip
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("module", MAIN)
def test_a_task_without_a_connection_is_told_what_is_missing(module: str) -> None:
    """Both options are named."""
    result = run_module(MAIN[module], {})
    assert result["failed"]
    assert "api_url" in result["msg"]
    assert "api_token" in result["msg"]


#: What a server answers every request with, and what the failure is then.
ANSWERS = {
    "Unauthorized": (problem(401, f"unknown token {TOKEN}"), "api_token"),
    "Forbidden": (problem(403), "api_token"),
    "ServerFailed": (problem(500), "operator"),
    "BadAnswer": (html(200, "Welcome"), "api_url"),
    "Rejected": (problem(402, f"pay for {TOKEN} and {PASSWORD}"), "status 402"),
}
NAMED: dict[str, Arguments] = {
    "alias": {**SALES},
    "dns_records": {"domain": "example.com"},
    "domain": {"name": "example.com"},
    "forwarder": {**TEAM},
    "info": {},
    "mailbox": {**BOX},
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("module", MAIN)
def test_a_failure_says_where_and_what(module: str, kind: str, serve: Serve) -> None:
    """A sentence with the remedy, the failure as data, and neither token nor password."""
    reply, remedy = ANSWERS[kind]
    server = serve(lambda _: reply)
    result = run(server, module, NAMED[module], diff=True)
    assert result["failed"]
    assert not result["changed"]
    assert remedy in result["msg"]
    failure = result["failure"]
    assert set(failure) == {"kind", "status", "method", "path", "detail"}
    assert (failure["kind"], failure["status"]) == (kind, reply.status)
    assert failure["path"].startswith("/api/")
    shown = {key: value for key, value in result.items() if key != "invocation"}
    assert TOKEN not in str(shown)
    # The others were never told the password, and can't know one when they see it.
    assert module != "mailbox" or PASSWORD not in str(shown)
    assert "Traceback" not in str(shown)


@pytest.mark.parametrize("module", MAIN)
def test_an_unreachable_service_is_named(module: str, serve: Serve) -> None:
    """The address stands in the sentence."""
    server = serve(service_of())
    server.stop()
    result = run(server, module, {**NAMED[module], "retries": 0})
    assert result["failure"]["kind"] == "Unreachable"
    assert server.url in result["msg"]


BAD: list[tuple[str, Arguments, str]] = [
    ("mailbox", {"name": "alice"}, "name: 'alice'"),
    ("mailbox", {"name": "al ice@example.com"}, "name: 'al ice@example.com'"),
    ("mailbox", {"name": "alice@example"}, "name: "),
    ("mailbox", {"name": "alice@example.com", "aliases": ["sales"]}, "aliases: 'sales'"),
    ("mailbox", {"name": "alice@example.com", "passwords": [PASSWORD, ""]}, "entry 2 of 2"),
    ("forwarder", {"name": "team", "members": ["a@b.example"]}, "name: 'team'"),
    ("forwarder", {"name": "team@example.com", "members": ["a@@b"]}, "members: "),
    ("alias", {"address": "sales", "mailbox": "alice@example.com"}, "address: 'sales'"),
    ("alias", {"address": "sales@example.com", "mailbox": "alice"}, "mailbox: 'alice'"),
    ("domain", {"name": "alice@example.com"}, "looks like an email address"),
    ("domain", {"name": "https://example.com"}, "name: "),
    ("domain", {"name": "localhost"}, "name: "),
    ("domain", {"name": ""}, "name: ''"),
    ("dns_records", {"domain": "a..b"}, "domain: 'a..b'"),
    ("dns_records", {"domain": "example.com", "ttl": -1}, "ttl: -1"),
    ("info", {"domains": ["x"]}, "domains: 'x'"),
    ("info", {"name": "x"}, "name: 'x'"),
    ("info", {"api_url": "mail.example.com"}, "api_url: 'mail.example.com'"),
    ("info", {"api_token": "two words"}, "api_token: "),
    ("info", {"timeout": 0}, "timeout: 0"),
    ("info", {"timeout": "nan"}, "timeout: nan"),
    ("info", {"retries": -1}, "retries: -1"),
]


@pytest.mark.parametrize("row", range(len(BAD)))
def test_bad_input_is_one_sentence_and_no_request(row: int, serve: Serve) -> None:
    """It names the option and the value, says what to write, and sends nothing."""
    module, arguments, words = BAD[row]
    server = serve(service_of())
    result = run(server, module, arguments)
    assert result["failed"]
    assert words in result["msg"]
    assert result["failure"] == {"kind": "InvalidInput"}
    assert PASSWORD not in result["msg"]
    assert server.requests == []


REFUSED: dict[str, tuple[list[Arguments], str, Arguments, str]] = {
    "unregistered domain": ([], "mailbox", BOX, "xample.com is not registered"),
    "alias on an unregistered domain": (
        [domain("example.com"), mailbox("alice@example.com")], "mailbox",
        {"name": "alice@example.com", "aliases": ["a@other.example"]}, "other.example",
    ),
    "taken alias": (
        [domain("example.com"), mailbox("alice@example.com"),
         mailbox("bob@example.com", "sales@example.com")],
        "alias", SALES, "bob@example.com",
    ),
    "forwarder named as a mailbox": (
        [forwarder("alice@example.com", "a@b.example")], "mailbox", BOX, "never converted",
    ),
    "mailbox named as a forwarder": (
        [mailbox("team@example.com")], "forwarder", TEAM, "mail stored in it",
    ),
    "no password": (
        [domain("example.com")], "mailbox", {"name": "alice@example.com"}, "passwords",
    ),
    "no members": (
        [domain("example.com")], "forwarder", {"name": "team@example.com", "members": []},
        "members",
    ),
    "domain in use": (
        [domain("example.com"), mailbox("alice@example.com")], "domain",
        {"name": "example.com", "state": "absent"}, "mailbox alice@example.com",
    ),
    "circle": (
        [domain("example.com"), forwarder("a@example.com", "team@example.com")], "forwarder",
        {"name": "team@example.com", "members": ["a@example.com"]}, "circle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_before_any_write(case: str, serve: Serve) -> None:
    """The sentence names the object that is in the way."""
    before, module, arguments, words = REFUSED[case]
    server = serve(service_of(*before))
    result = run(server, module, arguments)
    assert result["failed"]
    assert result["failure"] == {"kind": "Refused"}
    assert words in result["msg"]
    assert server.writes == []


def test_check_mode_warns_where_an_earlier_task_may_help(serve: Serve) -> None:
    """A mailbox on a domain that this play would register first is a change with a warning."""
    result = run(serve(service_of()), "mailbox", BOX, check=True)
    assert result["changed"]
    assert "xample.com is not registered" in str(result["warnings"])


def test_the_second_step_failing_gives_the_alias_back(serve: Serve) -> None:
    """A move whose second PATCH is refused leaves the tenant as it was, and says so."""
    before, module, arguments, _writes = CHANGES["move an alias"]
    service = service_of(*before)
    service.disturb("PATCH", problem(400, "no"), skip=1)
    result = run(serve(service), module, arguments)
    assert result["failed"]
    assert not result["changed"]
    assert result["changes"] == []
    assert service.principals["bob@example.com"]["emails"] == [
        "bob@example.com", "sales@example.com",
    ]  # fmt: skip


def test_what_was_done_before_a_failure_is_told(serve: Serve) -> None:
    """Deleting a domain stops at a failure; what is gone by then is in the result."""
    service = service_of(domain("example.com"), mailbox("alice@example.com"))
    service.disturb("DELETE", problem(400, "no"), skip=1)
    arguments = {"name": "example.com", "state": "absent", "force": True}
    result = run(serve(service), "domain", arguments)
    assert result["failed"]
    assert result["changed"]
    assert [change["name"] for change in result["changes"]] == ["alice@example.com"]


def test_passwords_are_replaced_only_when_asked(serve: Serve) -> None:
    """``on_create`` leaves them alone, ``always`` sets them every time and sends no list."""
    service = service_of(domain("example.com"), mailbox("alice@example.com"))
    server = serve(service)
    two = {"name": "alice@example.com", "passwords": [PASSWORD, "second-Qx71"]}
    assert not run(server, "mailbox", two)["changed"]
    for _time in range(2):
        assert run(server, "mailbox", {**two, "update_password": "always"})["changed"]
    bodies = [request.json for request in server.requests if request.method == "PATCH"]
    assert bodies == [{"secrets": [PASSWORD, "second-Qx71"]}] * 2
