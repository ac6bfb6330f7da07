# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole tenant from reading to having written, and what is told when it does not come about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.applying.whole import (
    TenantReport,
    Wanted,
    converge_tenant,
    raise_if_incomplete,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.drafts import Passwords
from ansible_collections.postroom.email.plugins.module_utils._api.planning.purging import PurgeRules
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.fussy import Fussy, service_of
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Handler,
    Reply,
    Request,
    json_reply,
    problem,
)
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    PASSWORD,
    Parts,
    declare,
    forward,
    gone,
    mail,
    named,
)

Connect = Callable[..., Client]
Serve = Callable[..., Any]

ALL = frozenset({"alias", "mailbox", "forwarder", "domain"})
PARTS: Parts = {
    "domains": ["example.com", "b.example"],
    "mailboxes": [mail("alice", "x"), mail("bob", "y"), gone("carol")],
    "forwarders": [forward("team", FAR)],
}
LIST = "GET /api/principal"


def inhabited(quirks: Quirks | None = None) -> QuirkyService:
    """Return a service for which PARTS are one change of each kind."""
    principals = [
        domain("example.com"), mailbox("alice@example.com", "y@example.com", "z@example.com"),
        mailbox("carol@example.com"), mailbox("dora@example.com"),
        forwarder("team@example.com", FAR),
    ]  # fmt: skip
    return QuirkyService(quirks, *principals)


def wanted(parts: Parts | None = None, expected: str | None = None, **rules: Any) -> Wanted:
    """Return what is wanted, with a password for each mailbox."""
    parts = PARTS if parts is None else parts
    passwords = {named(entry["name"]): (PASSWORD,) for entry in parts.get("mailboxes", ())}
    return Wanted(declare(parts), Passwords(passwords), PurgeRules(**rules), expected, 4)


def checked(client: Client, *args: Any, **rules: Any) -> TenantReport:
    """Converge in check mode."""
    return converge_tenant(client, wanted(*args, **rules), dry_run=True)


def converged(client: Client, *args: Any, **rules: Any) -> TenantReport:
    """Converge."""
    found = converge_tenant(client, wanted(*args, **rules), dry_run=False)
    raise_if_incomplete(found)
    return found


def test_check_mode_only_reads(serve: Serve, connect: Connect) -> None:
    """The server allows no more; and what is foretold is what is done."""
    service = inhabited()

    def read_only(request: Request) -> Reply:
        return service(request) if request.method == "GET" else problem(418, "No writes.")

    foretold = checked(connect(serve(read_only)))
    done = converged(connect(serve(service)))
    assert foretold.values() == done.values()
    assert foretold.summary() == {
        "created": 2, "updated": 1, "deleted": 1, "unchanged": 2, "failed": 0, "not_attempted": 0,
    }  # fmt: skip


def test_an_unchanged_run_is_one_request(serve: Serve, connect: Connect) -> None:
    """In both modes, once the tenant is what is declared."""
    service = inhabited()
    converged(connect(serve(service)))
    server = serve(service)
    for converge in (checked, converged):
        assert converge(connect(server)).values()["changes"] == []
    assert server.lines == [LIST, LIST]


def test_updates_alone_need_no_second_look_at_the_list(serve: Serve, connect: Connect) -> None:
    """What the list lacks can at most keep an address, and the service says so."""
    server = serve(inhabited())
    checked(connect(server), {"mailboxes": [mail("alice", "w")]})
    assert server.lines == [LIST]


def test_rows_tell_each_object_once(serve: Serve, connect: Connect) -> None:
    """Alice gives one alias up and takes another in two steps, and is one row."""
    found = checked(connect(serve(inhabited())))
    assert [(row["name"], row["outcome"]) for row in found.rows(unchanged=True)] == [
        ("b.example", "changed"), ("alice@example.com", "changed"), ("bob@example.com", "changed"),
        ("carol@example.com", "changed"), ("example.com", "unchanged"),
        ("team@example.com", "unchanged"),
    ]  # fmt: skip
    (alice,) = [row for row in found.rows(unchanged=False) if row["name"].startswith("alice")]
    assert alice["reason"] == (
        "its alias y@example.com moves to bob@example.com, it lacks the alias x@example.com"
    )


def test_rows_tell_what_is_to_be_there(serve: Serve, connect: Connect) -> None:
    """What is to be gone is told apart from what is to stay, whether it is gone already or not."""
    gone = {"state": "absent"}
    parts: Parts = {
        "domains": ["example.com", {"name": "old.example", **gone}],
        "mailboxes": [mail("alice"), {"name": "dora@example.com", **gone}],
    }
    found = checked(connect(serve(inhabited())), parts)
    assert [(row["name"], row["state"]) for row in found.rows(unchanged=True)] == [
        ("dora@example.com", "absent"), ("example.com", "present"), ("old.example", "absent"),
        ("alice@example.com", "present"),
    ]  # fmt: skip


def test_what_is_undeclared_is_told(serve: Serve, connect: Connect) -> None:
    """By kind; aliases with their owners."""
    parts: Parts = {"mailboxes": [mail("alice", "y")]}
    assert checked(connect(serve(inhabited())), parts).undeclared() == {
        "domains": ["example.com"],
        "mailboxes": ["carol@example.com", "dora@example.com"],
        "forwarders": ["team@example.com"],
        "aliases": [{"address": "z@example.com", "owner": "alice@example.com"}],
    }


def lacking(service: QuirkyService, lacks: Callable[[str], bool], total: int | None) -> Handler:
    """Leave some names out of the list of everything; the lists by type are whole.

    :param total: what the list says of its length, if it does
    """

    def answer(request: Request) -> Reply:
        if request.line != LIST:
            return service(request)
        rows = [row for name, row in service.principals.items() if not lacks(name)]
        return json_reply(rows if total is None else {"items": rows, "total": total})

    return answer


#: What the list of everything lacks, and the total that it gives.
CUTS: dict[str, tuple[Callable[[str], bool], int | None]] = {
    "silently": (lambda name: name > "e" and name != "example.com", None),
    "silently, one mailbox and one domain": (lambda name: name[:4] in ("dora", "zz.e"), None),
    "silently, all individuals and a domain": (lambda name: name != "example.com", None),
    "with a total": (lambda name: name > "d" and name != "example.com", 6),
}
#: What is asked for; each would create or delete something.
ASKED: dict[str, tuple[Parts, dict[str, Any]]] = {
    "a mailbox that may be there": ({"mailboxes": [mail("dora"), mail("new")]}, {}),
    "a forwarder that may be there": (
        {"forwarders": [forward("team", "dora"), forward("other", FAR)]},
        {},
    ),
    "a domain that is there": ({"domains": ["example.com", "zz.example"]}, {}),
    "purge": ({"domains": ["example.com", "new.example"]}, {"kinds": ALL, "max_deletions": 99}),
    "a domain that is to go": (
        {"domains": [{"name": "example.com", "state": "absent", "force": True}]},
        {"max_deletions": 99},
    ),
    "a mailbox that is to go": ({"mailboxes": [gone("alice"), mail("bob")]}, {}),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("how", CUTS)
def test_a_list_that_is_cut_short_decides_nothing(
    how: str, asked: str, serve: Serve, connect: Connect
) -> None:
    """Nothing is created that seems to lack, nothing deleted that seems to be alone."""
    service = inhabited()
    service.principals["zz.example"] = domain("zz.example")
    server = serve(lacking(service, *CUTS[how]))
    parts, rules = ASKED[asked]
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        converged(connect(server), parts, **rules)
    assert server.writes == []


def test_what_comes_between_two_readings_is_no_false_alarm(serve: Serve, connect: Connect) -> None:
    """Someone creates a mailbox after the list was read: it is in the list that is read then."""
    service = inhabited()
    late = mailbox("late@example.com")
    service.meddle("GET", lambda: service.principals.update({late["name"]: late}))
    found = converged(connect(serve(service)))
    assert found.done
    assert "late@example.com" in service.principals


def test_an_expected_plan_is_carried_out_and_no_other(serve: Serve, connect: Connect) -> None:
    """By its digest, which check mode tells; in check mode another one is refused as well."""
    service = inhabited()
    server = serve(service)
    foretold = checked(connect(server)).digest
    service.principals["alice@example.com"]["emails"].remove("z@example.com")
    for converge in (checked, converged):
        with pytest.raises(errors.Refused, match=f"expected_plan is {foretold}") as caught:
            converge(connect(server), PARTS, foretold)
        assert "Nothing was changed." in str(caught.value)
    assert server.writes == []
    now = checked(connect(server)).digest
    assert now != foretold
    assert converged(connect(server), PARTS, now).digest == now


def test_a_plan_is_reviewed_without_the_passwords(serve: Serve, connect: Connect) -> None:
    """What is created needs some in any case; who reviews need not know them."""
    server = serve(inhabited())
    bare = wanted()._replace(passwords=Passwords())
    foretold = converge_tenant(connect(server), bare, dry_run=True)
    assert foretold.summary()["created"] == 2
    assert "bob@example.com does not exist yet" in "".join(foretold.warnings)
    assert converged(connect(server), PARTS, foretold.digest).digest == foretold.digest


def test_an_empty_plan_is_always_expected(serve: Serve, connect: Connect) -> None:
    """So that the same command can be run twice."""
    service = inhabited()
    server = serve(service)
    expected = checked(connect(server)).digest
    assert converged(connect(server), PARTS, expected).done
    assert converged(connect(server), PARTS, expected).done == []


@pytest.mark.parametrize("expected", ["", "sha256:", "SHA256:" + "0" * 64, "0" * 64, "sha256:0\n"])
def test_what_is_no_digest_is_refused(expected: str, serve: Serve, connect: Connect) -> None:
    """Before anything is sent, for nothing can be meant by it."""
    server = serve(inhabited())
    with pytest.raises(errors.InvalidInput, match="is no plan_digest"):
        checked(connect(server), PARTS, expected)
    assert server.requests == []


def test_patterns_that_match_nothing_are_told(serve: Serve, connect: Connect) -> None:
    """They may be misspelt, and what they were to protect is not."""
    patterns = {"scope": ("*@EXAMPLE.com", "*@b.example"), "ignore": ("y@*", "carol@exmaple.com")}
    found = checked(connect(serve(inhabited())), PARTS, None, **patterns)
    idle = [warning for warning in found.warnings if "matches nothing" in warning]
    assert idle == [
        "scope: *@b.example matches nothing that the tenant holds. Check its spelling.",
        "ignore: carol@exmaple.com matches nothing that the tenant holds. Check its spelling.",
    ]


def test_findings_refuse_the_whole(serve: Serve, connect: Connect) -> None:
    """All at once, each with its place; check mode lets pass what may come, with a warning."""
    parts: Parts = {"mailboxes": [mail("alice", "w@c.example"), mail("bob", "team")]}
    server = serve(inhabited())
    with pytest.raises(errors.Refused, match="There are 2 problems; nothing was changed") as caught:
        converged(connect(server), parts)
    where = [found["where"] for found in caught.value.details["problems"]]
    assert where == ["mailboxes[1].aliases[0]", "mailboxes[0].aliases[0]"]
    with pytest.raises(errors.Refused, match=r"team@example\.com is taken"):
        checked(connect(server), parts)
    foretold = checked(connect(server), {"mailboxes": [mail("alice", "w@c.example")]})
    (warning,) = foretold.warnings
    assert warning.startswith("mailboxes[0].aliases[0]: w@c.example: the domain c.example is not")
    assert warning.endswith(" A real run fails on this.")
    assert server.writes == []


@pytest.mark.parametrize("concurrency", [0, 65, -1])
def test_a_concurrency_out_of_range_is_refused(
    concurrency: int, serve: Serve, connect: Connect
) -> None:
    """Before anything is asked."""
    server = serve(inhabited())
    with pytest.raises(errors.InvalidInput) as caught:
        converge_tenant(
            connect(server), wanted()._replace(concurrency=concurrency), dry_run=True
        )  # fmt: skip
    assert str(caught.value) == f"concurrency: {concurrency} can't be used. Give 1 to 64."
    assert server.requests == []


def test_what_is_incomplete_tells_all_of_it(serve: Serve, connect: Connect) -> None:
    """What stands, what failed, what was not attempted, and of which plan."""
    server = serve(Fussy(inhabited(), {"POST b.example": problem(422, "no")}))
    parts: Parts = {**PARTS, "mailboxes": [*PARTS["mailboxes"], {"name": "q@b.example"}]}
    digest = checked(connect(server), parts).digest
    with pytest.raises(errors.Incomplete) as caught:
        converged(connect(server), parts)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "1 of 5 objects could not be changed, and 1 were not attempted. What was done stands; run "
        "again for the rest."
    )
    assert lines[2] == "mailbox q@b.example: it needs the domain b.example to be changed first"
    details, done = caught.value.details, list(caught.value.done)
    assert [(change["action"], change["name"]) for change in done] == [
        ("update", "alice@example.com"), ("update", "alice@example.com"),
        ("create", "bob@example.com"), ("delete", "carol@example.com"),
    ]  # fmt: skip
    assert details["changes"] == done
    assert details["plan_digest"] == digest
    outcomes = {row["name"]: row["outcome"] for row in details["results"]}
    assert outcomes == {
        "b.example": "failed", "alice@example.com": "changed", "bob@example.com": "changed",
        "q@b.example": "not_attempted", "carol@example.com": "changed",
    }  # fmt: skip
    assert details["summary"] == {
        "created": 1, "updated": 1, "deleted": 1, "unchanged": 2, "failed": 1, "not_attempted": 1,
    }  # fmt: skip
    assert PASSWORD not in f"{caught.value} {details}"


def test_a_long_failure_is_told_in_ten_lines(serve: Serve, connect: Connect) -> None:
    """The rest is in the results."""
    parts: Parts = {"mailboxes": [mail(f"b{number:02}") for number in range(14)]}
    server = serve(Fussy(service_of(), {"POST b": problem(422, "no")}))
    with pytest.raises(errors.Incomplete) as caught:
        converged(connect(server), parts)
    lines = str(caught.value).splitlines()
    assert lines[-1] == "And 4 more, see results."
    assert len(lines) == 12
    assert len(caught.value.details["results"]) == 14


def test_one_object_that_half_failed_is_one_failure(serve: Serve, connect: Connect) -> None:
    """Alice gave her alias away but could not take another: changed in part, counted as failed."""
    service = inhabited()
    service.disturb("PATCH", problem(422, "no"), skip=1)
    parts: Parts = {**PARTS, "domains": []}
    found = converge_tenant(
        connect(serve(service)), wanted(parts)._replace(concurrency=1), dry_run=False
    )
    (alice,) = [row for row in found.rows(unchanged=False) if row["name"] == "alice@example.com"]
    assert alice["outcome"] == "failed"
    summary = found.summary()
    assert (summary["updated"], summary["failed"]) == (0, 1)
    assert [change.subject.name.key for change in found.done] == [
        "alice@example.com", "bob@example.com", "carol@example.com",
    ]  # fmt: skip


def test_what_was_written_unconfirmed_is_among_the_changes(serve: Serve, connect: Connect) -> None:
    """It failed, for nobody knows how it stands; and it was written."""
    service = inhabited()
    fussy = Fussy(service, {})
    service.meddle("PATCH", lambda: fussy.refusals.update({"GET /api/principal": problem(500)}))
    with pytest.raises(errors.Incomplete) as caught:
        converged(connect(serve(fussy), retries=0), {"mailboxes": [mail("alice", "w")]})
    assert [change["name"] for change in caught.value.done] == ["alice@example.com"]
    assert caught.value.details["summary"]["failed"] == 1
