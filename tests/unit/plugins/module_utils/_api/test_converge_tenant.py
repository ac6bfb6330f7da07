# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
# ruff: noqa: E501 - each problem of a plan is one line
"""Converging a tenant: dry runs, incomplete lists, reviewed plans, failures and purges."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.models import Domain, Principal
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.converge_tenant import (
    TenantReport,
    converge_tenant,
    raise_if_incomplete,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import Passwords
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.purge import (
    KINDS,
    Purge,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    Quirks,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.refusing_service import RefusingService
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Handler,
    Reply,
    Request,
    json_reply,
    problem,
)
from ansible_collections.postroom.email.tests.support.clients import Connect, Serve
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
    LEAVING,
    PASSWORD,
    Parts,
    box,
    declare,
    foreign,
    forward,
    gone,
    mail,
    named,
    no_alias,
    plan,
    problems,
    team,
)

ALL = frozenset({"alias", "mailbox", "forwarder", "domain"})
PARTS: Parts = {
    "domains": ["example.com", "b.example"],
    "mailboxes": [mail("alice", "x"), mail("bob", "y"), gone("carol")],
    "forwarders": [forward("team", FAR)],
}
LIST = "GET /api/principal"


def populated(quirks: Quirks | None = None) -> InMemoryService:
    """Return a service on which applying PARTS makes one change of each kind."""
    principals = [
        domain("example.com"),
        mailbox("alice@example.com", "y@example.com", "z@example.com"),
        mailbox("carol@example.com"),
        mailbox("dora@example.com"),
        forwarder("team@example.com", FAR),
    ]
    return InMemoryService(quirks, *principals)


def wanted(parts: Parts | None = None, expected: str | None = None, **rules: Any) -> dict[str, Any]:
    """Return the arguments of ``converge_tenant``, with a password for each mailbox."""
    parts = PARTS if parts is None else parts
    passwords = {named(entry["name"]): (PASSWORD,) for entry in parts.get("mailboxes", ())}
    return {
        "definition": declare(parts),
        "passwords": Passwords(passwords),
        "purge": Purge(**rules),
        "expected_plan": expected,
        "concurrency": 4,
    }


def checked(client: Client, *args: Any, **rules: Any) -> TenantReport:
    """Converge the tenant in check mode."""
    return converge_tenant(client, **wanted(*args, **rules), dry_run=True)


def converged(client: Client, *args: Any, **rules: Any) -> TenantReport:
    """Converge the tenant."""
    found = converge_tenant(client, **wanted(*args, **rules), dry_run=False)
    raise_if_incomplete(found)
    return found


def test_check_mode_only_reads(serve: Serve, connect: Connect) -> None:
    """Check mode sends no write and predicts the real run."""
    service = populated()
    server = serve(service)
    foretold = checked(connect(server))
    assert server.writes == []
    done = converged(connect(server))
    assert foretold.values() == done.values()
    assert tuple(foretold.values()["summary"].items()) == (
        *(("created", 2), ("updated", 1), ("deleted", 1)),
        *(("unchanged", 2), ("failed", 0), ("not_attempted", 0)),
    )
    server = serve(service)
    for converge in (checked, converged):
        assert converge(connect(server)).values()["changes"] == []
    checked(connect(server), {"mailboxes": [mail("alice", "w")]})
    assert server.lines == [LIST] * 3


def lacking(service: InMemoryService, *lacks: str) -> Handler:
    """Return a handler that omits names from the list of everything, but not from lists by type."""

    def answer(request: Request) -> Reply:
        if request.line != LIST:
            return service(request)
        return json_reply([row for name, row in service.principals.items() if name not in lacks])

    return answer


#: Definitions and options, each of which would create or delete something.
ASKED: dict[str, tuple[Parts, dict[str, Any]]] = {
    "a mailbox that may be there": ({"mailboxes": [mail("dora"), mail("new")]}, {}),
    "purge": ({"domains": ["example.com", "new.example"]}, {"kinds": ALL, "max_deletions": 99}),
    "a domain that is to go": (
        {"domains": [{"name": "example.com", "state": "absent", "force": True}]},
        {"max_deletions": 99},
    ),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_cut_list_decides_nothing(asked: str, serve: Serve, connect: Connect) -> None:
    """Nothing is created or deleted on the basis of an incomplete list."""
    service = populated()
    service.principals["zz.example"] = domain("zz.example")
    server = serve(lacking(service, "dora@example.com", "team@example.com", "zz.example"))
    parts, rules = ASKED[asked]
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        converged(connect(server), parts, **rules)
    assert server.writes == []


def test_only_the_expected_plan_is_applied(serve: Serve, connect: Connect) -> None:
    """Only a plan with the expected digest is applied, but an empty plan is always accepted."""
    service = populated()
    server = serve(service)
    foretold = checked(connect(server)).digest
    service.principals["alice@example.com"]["emails"].remove("z@example.com")
    for converge in (checked, converged):
        with pytest.raises(errors.Refused, match=f"expected_plan is {foretold}"):
            converge(connect(server), PARTS, foretold)
    assert server.writes == []
    now = checked(connect(server)).digest
    assert now != foretold
    assert converged(connect(server), PARTS, now).digest == now
    assert converged(connect(server), PARTS, now).done == []


def test_a_plan_is_reviewed_without_the_passwords(serve: Serve, connect: Connect) -> None:
    """A plan can be reviewed without passwords. A warning lists the mailboxes that need one."""
    server = serve(populated())
    bare = wanted() | {"passwords": Passwords()}
    foretold = converge_tenant(connect(server), **bare, dry_run=True)
    assert foretold.values()["summary"]["created"] == 2
    assert "bob@example.com" in "".join(foretold.warnings)
    assert converged(connect(server), PARTS, foretold.digest).digest == foretold.digest


@pytest.mark.parametrize(
    "expected", ["v2:sha256:", "0" * 64, f"v2:sha256:{0:064}\n", f"sha256:{0:064}"]
)
def test_a_malformed_digest_is_refused(expected: str, serve: Serve, connect: Connect) -> None:
    """A malformed digest, such as one of the first release, is refused before any request."""
    server = serve(populated())
    with pytest.raises(errors.InvalidInput, match=r"^expected_plan: "):
        checked(connect(server), PARTS, expected)
    assert server.requests == []


def test_patterns_that_match_nothing_are_told(serve: Serve, connect: Connect) -> None:
    """A pattern that matches nothing causes a warning, because it may be misspelled."""
    patterns = {"scope": ("*@EXAMPLE.com", "*@b.example"), "ignore": ("y@*", "carol@exmaple.com")}
    found = checked(connect(serve(populated())), PARTS, None, **patterns)
    idle = [warning for warning in found.warnings if "matches nothing" in warning]
    assert [warning.split(" matches")[0] for warning in idle] == [
        "scope: *@b.example",
        "ignore: carol@exmaple.com",
    ]


def test_a_pattern_may_match_what_the_plan_creates(serve: Serve, connect: Connect) -> None:
    """A pattern that matches only objects to be created causes no warning."""
    parts: Parts = {"domains": ["example.com", "new.example"]}
    found = checked(connect(serve(populated())), parts, None, scope=("new.example",))
    assert not [warning for warning in found.warnings if "matches nothing" in warning]


def test_findings_refuse_the_whole_plan(serve: Serve, connect: Connect) -> None:
    """All problems with a plan are reported together, and nothing is applied."""
    parts: Parts = {"mailboxes": [mail("alice", "w@c.example"), mail("bob", "team")]}
    server = serve(populated())
    with pytest.raises(errors.Refused, match="2 problems") as caught:
        converged(connect(server), parts)
    where = [found["where"] for found in caught.value.details["problems"]]
    assert where == ["mailboxes[1].aliases[0]", "mailboxes[0].aliases[0]"]
    with pytest.raises(errors.Refused, match=r"team@example\.com is already in use"):
        checked(connect(server), parts)
    assert server.writes == []


def test_an_incomplete_run_reports_every_object(serve: Serve, connect: Connect) -> None:
    """An incomplete run reports the outcome of each object and the plan's digest."""
    server = serve(RefusingService(populated(), {"POST b.example": problem(422, "no")}))
    parts: Parts = {**PARTS, "mailboxes": [*PARTS["mailboxes"], {"name": "q@b.example"}]}
    digest = checked(connect(server), parts).digest
    with pytest.raises(errors.Incomplete, match="1 of 5 objects") as caught:
        converged(connect(server), parts)
    assert "q@b.example: it needs the domain b.example" in str(caught.value)
    assert "correct what the service refuses" in str(caught.value)
    assert "run again" not in str(caught.value)
    details, done = caught.value.details, list(caught.value.done)
    assert [(change["action"], change["name"]) for change in done] == [
        ("update", "alice@example.com"),
        ("update", "alice@example.com"),
        ("create", "bob@example.com"),
        ("delete", "carol@example.com"),
    ]
    assert (details["changes"], details["plan_digest"]) == (done, digest)
    rows = [(row["name"], row["outcome"], row["state"]) for row in details["results"]]
    assert rows == [
        ("b.example", "failed", "present"),
        ("alice@example.com", "changed", "present"),
        ("bob@example.com", "changed", "present"),
        ("q@b.example", "not_attempted", "present"),
        ("carol@example.com", "changed", "absent"),
    ]
    assert "y@example.com moves to bob@example.com" in details["results"][1]["reason"]
    assert list(details["summary"].values()) == [1, 1, 1, 2, 1, 1]
    assert PASSWORD not in f"{caught.value} {details}"


def test_one_object_that_half_failed_is_one_failure(serve: Serve, connect: Connect) -> None:
    """An object whose change failed halfway is reported as changed and counted as failed."""
    service = populated()
    service.disturb("PATCH", problem(422, "no"), skip=1)
    parts: Parts = {**PARTS, "domains": []}
    found = converge_tenant(
        connect(serve(service)), **(wanted(parts) | {"concurrency": 1}), dry_run=False
    )
    (alice,) = [row for row in found.rows.values() if row["name"] == "alice@example.com"]
    assert alice["outcome"] == "failed"
    summary = found.values()["summary"]
    assert (summary["updated"], summary["failed"]) == (0, 1)
    done = [change.subject.name.key for change in found.done]
    assert done == ["alice@example.com", "bob@example.com", "carol@example.com"]


HOME, OLD, EMPTY, IDN = (
    Domain(named(text))
    for text in ("example.com", "old.example", "empty.example", "b\u00fccher.example")
)
TENANT: list[Principal] = [
    HOME,
    OLD,
    EMPTY,
    IDN,
    box("alice", "sales", "x@old.example", "Mix@Old.Example"),
    box("bob", "info"),
    box("carol@old.example"),
    box("dora@b\u00fccher.example"),
    team("team", FAR),
    foreign("staff", "all"),
]
DECLARED: Parts = {
    "domains": ["example.com", "old.example", "b\u00fccher.example"],
    "mailboxes": [mail("alice")],
}
ALIASES = {"sales@example.com", "x@old.example", "Mix@Old.Example"}
BOXES = {"bob@example.com", "carol@old.example", "dora@b\u00fccher.example"}


def lost(planned: Plan) -> set[str]:
    """Return the deleted objects, and the removed aliases of other objects."""
    changes = planned.changes
    deleted = {str(change.subject.name) for change in changes if change.action == "delete"}
    return deleted | {str(a) for change in changes for a in change.edit.remove_aliases}


#: The purged kinds, the patterns, and the deleted objects.
PURGED: dict[str, tuple[list[str], dict[str, Any], set[str]]] = {
    "aliases": (["alias"], {}, ALIASES),
    "in scope, an address": (["mailbox"], {"scope": ("*@example.com",)}, {"bob@example.com"}),
    "in scope, U-labels": (
        ["mailbox"],
        {"scope": ("*@B\u00dcCHER.example",)},
        {"dora@b\u00fccher.example"},
    ),
    "in scope, an alias by its own address": (
        ["alias"],
        {"scope": ("*@old.example",)},
        {"x@old.example", "Mix@Old.Example"},
    ),
    "ignored, by an alias": (["mailbox"], {"ignore": ("INFO@*",)}, BOXES - {"bob@example.com"}),
    "ignored, an alias": (["alias"], {"ignore": ("mix@*",)}, ALIASES - {"Mix@Old.Example"}),
    "ignored wins": (["mailbox"], {"scope": ("bob@*",), "ignore": ("*",)}, set()),
}


@pytest.mark.parametrize("case", PURGED)
def test_what_goes_and_what_is_left_alone(case: str) -> None:
    """A purge deletes undeclared objects of the chosen kinds within the scope."""
    purge, rules, wanted = PURGED[case]
    planned = plan(TENANT, DECLARED, purge=purge, max_deletions=99, **rules)
    assert problems(planned) == []
    assert lost(planned) == wanted


def test_aliases_are_left_alone_where_none_are_declared() -> None:
    """Aliases of a mailbox are not purged if its definition contains no list of aliases."""
    planned = plan(TENANT, {"mailboxes": ["alice@example.com"]}, purge=["alias"], max_deletions=99)
    assert planned.changes == ()


FED: Parts = {"mailboxes": [mail("alice")], "forwarders": [forward("team", "bob", FAR)]}
TEAM: list[Principal] = [HOME, box("alice"), team("team", FAR)]
EVERYTHING: dict[str, Any] = {"purge": KINDS, "max_deletions": 9}
INDIVIDUALS = {**EVERYTHING, "purge": ["alias", "mailbox", "forwarder"]}
#: The tenant, the definition and options, the problems, and what is deleted despite them.
CASES: dict[str, tuple[list[Principal], Parts, dict[str, Any], list[str], set[str]]] = {
    "a domain in use is not purged": (
        [OLD, box("x@old.example")],
        {"mailboxes": []},
        EVERYTHING,
        ["domain_in_use_undeclared domain=old.example holders=1 object: mailbox x@old.example"],
        {"x@old.example"},
    ),
    "nor one that the definition uses": (
        [EMPTY],
        {"mailboxes": [{"name": "x@empty.example"}]},
        {**EVERYTHING, "passwords": ["x@empty.example"]},
        ["* mailboxes[0]: domain_purged domain=empty.example names=x@empty.example"],
        {"empty.example"},
    ),
    "a domain declared absent is emptied by purging, without force": (
        [OLD, box("x@old.example")],
        LEAVING,
        {"purge": ["mailbox"], "max_deletions": 1},
        [],
        {"x@old.example", "old.example"},
    ),
    "a member of a declared forwarder is not purged": (
        [*TEAM, box("x", "bob")],
        FED,
        INDIVIDUALS,
        [
            "forwarders[0]: member_removed lost=mailbox x member=bob name=team or_keep=, declare it, or add it to ignore why=not declared"
        ],
        {"x@example.com"},
    ),
    "nor an alias": (
        [HOME, box("alice", "bob"), team("team", FAR)],
        FED,
        INDIVIDUALS,
        [
            "forwarders[0]: member_removed lost=alias bob of mailbox alice member=bob name=team or_keep=, declare it, or add it to ignore why=not declared"
        ],
        {"bob@example.com"},
    ),
    "or its address moves": (
        [HOME, box("alice"), team("team", "bob"), box("bob")],
        {"mailboxes": [mail("alice", "bob")], "forwarders": [forward("team", "bob")]},
        {"purge": ["mailbox"], "max_deletions": 1},
        [],
        {"bob@example.com"},
    ),
    "force deletes no ignored mailbox": (
        [HOME, OLD, box("legal@old.example"), box("x@old.example")],
        FORCED,
        {"ignore": ("legal@*",), "max_deletions": 9},
        [
            "domains[0]: domain_in_use_ignored domain=old.example holders=1 object: mailbox legal@old.example"
        ],
        {"old.example"},
    ),
    "nor a forwarder with an ignored alias": (
        [HOME, OLD, team("x@old.example", FAR, aliases=["legal"])],
        FORCED,
        {"ignore": ("LEGAL@*",), "max_deletions": 9},
        [
            "domains[0]: domain_in_use_ignored domain=old.example holders=1 object: forwarder x@old.example"
        ],
        {"old.example"},
    ),
    "nor an ignored alias": (
        [HOME, OLD, box("alice", "legal@old.example", "x@old.example")],
        FORCED,
        {"ignore": ("*@OLD.example",), "max_deletions": 9},
        [
            (
                "domains[0]: domain_in_use_ignored domain=old.example holders=2 objects: "
                "alias legal@old.example of the mailbox alice, alias x@old.example of the mailbox alice"
            )
        ],
        {"old.example"},
    ),
    "what is declared absent is deleted, even if it is ignored": (
        [HOME, OLD, box("legal@old.example"), box("alice", "legal", "x@old.example")],
        {**FORCED, "mailboxes": [{"name": "legal@old.example", "state": "absent"}]},
        {"ignore": ("legal@*", "old.example"), "max_deletions": 1},
        [],
        {"legal@old.example", "x@old.example", "old.example"},
    ),
    # Moves don't count either. Expired objects don't count, because the definition sets their end.
    "what is declared absent does not count": (
        [HOME, OLD, box("a", "x", "y", "z"), box("b"), box("m"), team("c", FAR), team("d", FAR)],
        {
            "domains": ["example.com", {"name": "old.example", "state": "absent"}],
            "mailboxes": [
                mail("a", no_alias("x"), no_alias("y", expires="2026-12-31")),
                gone("b"),
                mail("m", "z"),
            ],
            "forwarders": [gone("c"), forward("d", FAR, expires="2026-12-31")],
        },
        {"purge": KINDS},
        [],
        {"old.example", *(f"{name}@example.com" for name in "xyzbcd")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_limits_of_purge_and_force(case: str) -> None:
    """Purges and forced deletions keep objects that are ignored or that the definition needs."""
    tenant, parts, options, patterns, wanted = CASES[case]
    planned = plan(tenant, parts, **options)
    assert [text.replace("@example.com", "") for text in problems(planned)] == patterns
    assert lost(planned) == wanted


#: The tenant, the definition and options, and the number of undeclared deletions.
COUNTED: dict[str, tuple[list[Principal], Parts, dict[str, Any], int]] = {
    "of all kinds": (
        [HOME, EMPTY, box("a", "b", "c"), box("d", "e"), team("f", FAR)],
        {"domains": ["example.com"], "mailboxes": [mail("a")]},
        {"purge": [*KINDS]},
        5,
    ),
    "with force": (
        [HOME, OLD, box("a@old.example", "b"), box("c", "d@old.example", "e@old.example")],
        FORCED,
        {},
        3,
    ),
}


@pytest.mark.parametrize("case", COUNTED)
def test_max_deletions_counts_what_is_not_named(case: str) -> None:
    """Only undeclared deletions count against max_deletions, and a single excess one is refused."""
    tenant, parts, options, count = COUNTED[case]
    assert problems(plan(tenant, parts, max_deletions=count, **options)) == []
    (problem,) = plan(tenant, parts, max_deletions=count - 1, **options).problems
    assert (problem.code, problem.prerequisite) == ("too_many_deletions", True)
    assert (problem.params["allowed"], problem.params["total"]) == (count - 1, count)


def test_the_message_counts_by_kind_and_names_ten() -> None:
    """The message counts the deletions by kind and names the first ten."""
    boxes = [box(f"b{n:02}") for n in range(9)]
    tenant: list[Principal] = [HOME, EMPTY, *boxes, team("f", FAR), team("g", FAR)]
    (found,) = plan(tenant, {"domains": ["example.com"]}, purge=[*KINDS]).problems
    listed = "".join(f"mailbox b{n:02}@example.com, " for n in range(9))
    assert found.params["counts"] == "9 mailboxes, 2 forwarders and 1 domain"
    assert found.params["names"] == f"{listed}forwarder f@example.com and 2 more"


@pytest.mark.parametrize(
    ("kind", "most", "words"),
    [
        ("alias", 40, "40 % of all aliases (2 of 5)"),
        ("domain", 33.4, "33.3 % of all domains (1 of"),
    ],
)
def test_max_delete_percent_is_of_each_kind(kind: str, most: float, words: str) -> None:
    """max_delete_percent limits the share of deleted objects separately for each kind."""
    boxes = box("alice", "a", "b", "c"), box("bob", "d", "e"), box("carl")
    parts: Parts = {
        "domains": ["example.com", "old.example"],
        "mailboxes": [mail("alice", "a")],
    }
    options: dict[str, Any] = {"purge": [kind], "max_deletions": 9}
    tenant: list[Principal] = [HOME, OLD, EMPTY, *boxes, team("team", FAR)]
    assert problems(plan(tenant, parts, max_percent=most, **options)) == []
    (problem,) = plan(tenant, parts, max_percent=most - 0.5, **options).problems
    assert (problem.code, problem.prerequisite) == ("percentage_exceeded", True)
    assert problem.text.startswith(words)


@pytest.mark.parametrize(
    ("option", "rules"),
    [
        ("max_deletions: -1", {"max_deletions": -1}),
        ("max_delete_percent: -0.1", {"max_percent": -0.1}),
        ("max_delete_percent: 100.1", {"max_percent": 100.1}),
        ("max_delete_percent: nan", {"max_percent": float("nan")}),
        ("scope: ", {"scope": ("*", "")}),
        ("ignore: ", {"ignore": (" ",)}),
    ],
)
def test_invalid_rules_are_refused(option: str, rules: dict[str, Any]) -> None:
    """The error for an invalid option names the option."""
    with pytest.raises(InvalidInput, match=f"^{option}"):
        Purge(**rules)
    assert Purge(max_percent=100).max_percent == 100
