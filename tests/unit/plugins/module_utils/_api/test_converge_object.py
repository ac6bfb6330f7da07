# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Planning and changing single objects, including refusals and rollbacks."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
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
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.converge_object import (
    Converged,
    apply_changes,
    converge_object,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import (
    Declared,
    DeclaredDomain,
    DeclaredForwarder,
    DeclaredMailbox,
    Passwords,
    definition_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.planner import plan_tenant
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import (
    DECLARED_ABSENT,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.state import TenantState
from ansible_collections.postroom.email.plugins.module_utils._passwords import (
    mailbox_passwords,
    read_passwords,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    Quirks,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.support.clients import Clock, Connect, Serve

HOME, OTHER = parse_domain("example.com"), parse_domain("other.example")
ALICE, BOB = parse_address("alice@example.com"), parse_address("bob@example.com")
SALES, OLD = parse_address("sales@example.com"), parse_address("old@example.com")
TEAM, FAR = parse_address("team@example.com"), parse_address("someone@far.example")
STRAY = parse_address("alice@unknown.example")
PASSWORDS = ("pw-8Kd!q0-Zebra",)


class Task(NamedTuple):
    """The declaration of a single object by a task."""

    declared: Declared
    passwords: Passwords = Passwords()


def names(*members: Name) -> frozenset[Name]:
    """Return a set of the given names."""
    return frozenset(members)


def plan(task: Task, *principals: Principal) -> Plan:
    """Plan a task for a tenant with these principals, and with two domains if they include none."""
    domains = (
        [] if any(isinstance(p, Domain) for p in principals) else [Domain(HOME), Domain(OTHER)]
    )
    state = TenantState(principals=[*domains, *principals])
    return plan_tenant(state, definition_of(task.declared), passwords=task.passwords)


def converge(client: Client, task: Task, *, dry_run: bool) -> Converged:
    """Run a task."""
    return converge_object(client, task.declared, dry_run=dry_run, passwords=task.passwords)


def box(
    name: Name = ALICE, passwords: tuple[str, ...] = (), replace: bool = False, **options: Any
) -> Task:
    """Declare a mailbox."""
    return Task(DeclaredMailbox(name, **options), Passwords({name: passwords}, replace))


def team(name: Name = TEAM, members: frozenset[Name] | None = None, **options: Any) -> Task:
    """Declare a forwarder."""
    return Task(DeclaredForwarder(name, members=members, **options))


def alias(address: Name = SALES, mailbox: Name = ALICE, *, move: bool = False) -> Task:
    """Declare an alias present."""
    return Task(DeclaredMailbox(mailbox, aliases=names(address), only_aliases=True, move=move))


def no_alias(address: Name = SALES, mailbox: Name = ALICE) -> Task:
    """Declare an alias absent."""
    absent = {address: DECLARED_ABSENT}
    return Task(DeclaredMailbox(mailbox, absent_aliases=absent, only_aliases=True))


def no_domain(name: Name = HOME, *, force: bool = False) -> Task:
    """Declare a domain absent."""
    return Task(DeclaredDomain(name, absent=True, force=force))


def gone(name: Name, kind: type[DeclaredMailbox | DeclaredForwarder] = DeclaredMailbox) -> Task:
    """Declare a mailbox or a forwarder absent."""
    return Task(kind(name, absent=True))


ALICES = Mailbox(ALICE, names(SALES, OLD))
TEAMS = Forwarder(TEAM, names(), names(ALICE, FAR))


#: The tenant, the task and the planned actions. The modules' tests have more cases.
CHANGES: dict[str, tuple[list[Principal], Task, list[str]]] = {
    "alias": ([Mailbox(ALICE)], alias(), ["update alice@example.com"]),
    "no mailbox": ([ALICES], gone(ALICE), ["delete alice@example.com"]),
    "alias, moved": (
        [Mailbox(ALICE), Mailbox(BOB, names(SALES))],
        alias(move=True),
        ["update bob@example.com", "update alice@example.com"],
    ),
    "no domain and nothing in it": (
        [ALICES, TEAMS, Mailbox(parse_address("z@other.example"), names(BOB))],
        no_domain(force=True),
        [
            "update z@other.example",
            "delete alice@example.com",
            "delete team@example.com",
            "delete example.com",
        ],
    ),
}

UNCHANGED: dict[str, tuple[list[Principal], Task]] = {
    "mailbox": ([ALICES], box(passwords=PASSWORDS)),
    "mailbox, primary among aliases": ([Mailbox(ALICE)], box(aliases=names(ALICE))),
    "forwarder": ([TEAMS], team(members=names(ALICE, FAR))),
    "forwarder, members untouched": ([TEAMS], team()),
    "forwarder, members kept": ([TEAMS], team(members=names(FAR), purge_members=False)),
    "alias that is the primary address": ([ALICES], alias(ALICE)),
    "no alias": ([Mailbox(ALICE)], no_alias(SALES, ALICE)),
    "no mailbox": ([], gone(ALICE)),
    "no alias of nobody": ([], no_alias(SALES, ALICE)),
}

#: The tenant, the task, and words in the problem's message: the object and the remedy.
PROBLEMS: dict[str, tuple[list[Principal], Task, list[str]]] = {
    "unregistered domain": (
        [],
        box(STRAY, passwords=PASSWORDS),
        ["alice@unknown.example", "unknown.example", "domain_missing"],
    ),
    "no password": ([], box(), ["alice@example.com", "Set passwords"]),
    "taken by an alias": (
        [Mailbox(BOB, names(ALICE))],
        box(passwords=PASSWORDS),
        ["mailbox bob@example.com", "address_in_use"],
    ),
    "alias taken": (
        [Mailbox(ALICE), Mailbox(BOB, names(SALES))],
        box(aliases=names(SALES)),
        ["address_in_use", "sales@example.com", "bob@example.com"],
    ),
    "alias elsewhere": ([Mailbox(ALICE)], box(aliases=names(STRAY)), ["unknown.example"]),
    "forwarder as mailbox": ([TEAMS], box(TEAM), ["team@example.com is a forwarder"]),
    "mailbox as forwarder": (
        [ALICES],
        team(ALICE, members=names(FAR)),
        ["wrong_kind", "and its stored mail"],
    ),
    "foreign": ([UnmanagedPrincipal(ALICE, "group")], box(), ["wrong_kind", "is a group"]),
    "no members": ([], team(members=names()), ["team@example.com", "members"]),
    "members not given": ([], team(), ["has no members"]),
    "circle": (
        [Forwarder(SALES, names(), names(TEAM))],
        team(members=names(SALES)),
        ["team@example.com -> sales@example.com -> team@example.com"],
    ),
    "alias not moved": (
        [Mailbox(ALICE), Mailbox(BOB, names(SALES))],
        alias(),
        ["alias_in_use", "sales@example.com", "bob@example.com", "move: true"],
    ),
    "alias of nobody": ([], alias(), ["mailbox alice@example.com does not exist", "Create it"]),
    "alias of a forwarder": ([TEAMS], alias(SALES, TEAM), ["is a forwarder, not a mailbox"]),
    "no alias of a forwarder": (
        [TEAMS],
        no_alias(SALES, TEAM),
        ["is a forwarder, not a mailbox"],
    ),
    "primary address moved": (
        [Mailbox(ALICE), Mailbox(BOB)],
        alias(BOB, move=True),
        ["primary_address_in_use", "bob@example.com"],
    ),
    "primary address removed": (
        [ALICES],
        no_alias(ALICE, ALICE),
        ["primary address", "Delete the mailbox"],
    ),
    "domain in use": ([ALICES], no_domain(), ["mailbox alice@example.com", "force"]),
    "domain with strange things": (
        [UnmanagedPrincipal(ALICE, "group")],
        no_domain(force=True),
        ["group alice@example.com", "manually"],
    ),
}


def actions(planned: Plan) -> list[str]:
    """Return the actions of a plan and their objects."""
    return [f"{change.action} {change.subject.name}" for change in planned.changes]


@pytest.mark.parametrize("case", CHANGES)
def test_a_plan_lists_the_changes_and_leaves_nothing_to_plan(case: str) -> None:
    """Each change has a reason. After all changes have been applied, the next plan is empty."""
    principals, task, wanted = CHANGES[case]
    state: dict[Name, Principal] = {p.name: p for p in [Domain(HOME), Domain(OTHER), *principals]}
    planned = plan_tenant(
        TenantState(principals=state.values()),
        definition_of(task.declared),
        passwords=task.passwords,
    )
    assert (actions(planned), planned.problems) == (wanted, ())
    for change in planned.changes:
        assert change.reason
        assert state.pop(change.subject.name, None) == change.before
        if change.after is not None:
            state[change.after.name] = change.after
    again = plan_tenant(
        TenantState(principals=state.values()),
        definition_of(task.declared),
        passwords=task.passwords,
    )
    assert actions(again) == [] or again.changes[0].secrets == PASSWORDS
    assert again.problems == ()


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_there_is_left_alone(case: str) -> None:
    """An object that is already as declared causes no change and no problem."""
    principals, task = UNCHANGED[case]
    planned = plan(task, *principals)
    assert (planned.changes, planned.problems, planned.warnings) == ((), (), ())


@pytest.mark.parametrize("case", PROBLEMS)
def test_a_problem_names_the_object_and_the_remedy(case: str) -> None:
    """A problem names the object, the obstacle and the remedy."""
    principals, task, words = PROBLEMS[case]
    found = plan(task, *principals).problems
    text = " ".join(f"{problem.code} {problem.text}" for problem in found)
    assert [word for word in words if word not in text] == []


#: A task, the object, and whether the plan also needs the list of all principals.
READS: dict[str, tuple[Task, dict[str, Any] | None, bool]] = {
    "new domain": (Task(DeclaredDomain(HOME)), None, False),
    "forwarder, fewer members": (
        team(ALICE, members=names(FAR)),
        forwarder(ALICE.key, BOB.key, FAR.key),
        False,
    ),
    "existing alias": (alias(), mailbox(ALICE.key, SALES.key), False),
    "wrong kind": (box(), forwarder(ALICE.key, FAR.key), False),
    "new mailbox": (box(passwords=PASSWORDS), None, True),
    "new alias": (box(aliases=names(SALES)), mailbox(ALICE.key), True),
    "new member": (team(members=names(ALICE, FAR)), forwarder(TEAM.key, FAR.key), True),
    "alias": (alias(), mailbox(ALICE.key), True),
    "no domain": (no_domain(OTHER), domain(OTHER.key), True),
}


@pytest.mark.parametrize("case", READS)
def test_a_plan_reads_what_it_needs(case: str, serve: Serve, connect: Connect) -> None:
    """A plan reads the list of all principals only if necessary."""
    task, found, needs_list = READS[case]
    rows = [found] if found else []
    server = serve(InMemoryService(None, *rows, *([domain(HOME.key)] if needs_list else [])))
    client = connect(server)
    with suppress(errors.Refused):
        converge_object(client, task.declared, dry_run=True, passwords=task.passwords)
    assert server.lines[0].startswith("GET /api/principal/")
    assert ("GET /api/principal" in server.lines) == needs_list


def test_only_missing_objects_are_prerequisites() -> None:
    """Only missing objects are prerequisites, because an earlier task may create them."""
    missing = plan(box(STRAY, passwords=PASSWORDS))
    taken = plan(box(aliases=names(SALES)), Mailbox(ALICE), Mailbox(BOB, names(SALES)))
    assert [problem.prerequisite for problem in missing.problems] == [True]
    assert [problem.prerequisite for problem in taken.problems] == [False]


BOUNCES: dict[str, tuple[list[Principal], Task, str]] = {
    "a mailbox goes": ([ALICES, TEAMS], gone(ALICE), "alice@example.com"),
    "an alias goes": (
        [ALICES, Forwarder(TEAM, names(), names(OLD))],
        no_alias(OLD, ALICE),
        "old@example.com",
    ),
    "an alias is purged": (
        [ALICES, Forwarder(TEAM, names(), names(OLD))],
        box(aliases=names(), purge_aliases=True),
        "old@example.com",
    ),
    "a forwarder goes": (
        [TEAMS, Forwarder(BOB, names(), names(TEAM))],
        gone(TEAM, DeclaredForwarder),
        "team@example.com",
    ),
    "its domain goes": (
        [Forwarder(parse_address("all@other.example"), names(), names(ALICE)), ALICES],
        no_domain(force=True),
        "alice@example.com",
    ),
}


@pytest.mark.parametrize("case", BOUNCES)
def test_a_change_that_makes_mail_bounce_is_a_warning(case: str) -> None:
    """A change that makes mail bounce is planned, with a warning."""
    principals, task, address = BOUNCES[case]
    planned = plan(task, *principals)
    assert planned.problems == ()
    (warning,) = planned.warnings
    assert (warning.code, warning.params["member"].key) == ("member_removed", address)


def test_a_new_member_that_does_not_exist_is_a_warning(serve: Serve, connect: Connect) -> None:
    """A new member that does not exist causes a warning, both with and without check mode."""
    for check in (True, False):
        server = serve(InMemoryService(None, domain(HOME.key)))
        found = converge(connect(server), team(members=names(BOB)), dry_run=check)
        (warning,) = found.warnings
        assert BOB.key in warning


def test_purging_without_a_list_is_a_warning() -> None:
    """`purge_aliases` without `aliases` changes nothing and causes a warning."""
    for task, principal in ((box(purge_aliases=True), ALICES), (team(purge_aliases=True), TEAMS)):
        planned = plan(task, principal)
        assert planned.changes == ()
        assert [warning.code for warning in planned.warnings] == ["purge_without_aliases"]


@pytest.mark.parametrize("password", ["secret\n", "se\0cret", "se\tcret", "secret\x7f", "  ", ""])
def test_an_unusable_password_is_refused(password: str) -> None:
    """The error for an unusable password gives its position, but not the password itself."""
    with pytest.raises(errors.InvalidInput, match="entry 2 of 2") as caught:
        mailbox_passwords(
            {"passwords": ["two words ", password], "update_password": "on_create"}, ALICE
        )
    assert "secret" not in str(caught.value)
    with pytest.raises(errors.InvalidInput, match=r"of alice@example\.com "):
        read_passwords({"alice@example.com": password})


def test_one_missing_domain_is_one_warning(serve: Serve, connect: Connect) -> None:
    """In check mode, all tasks with the same missing domain cause the same warning."""
    server = serve(InMemoryService(None))
    warnings = {
        warning
        for task in (
            box(passwords=PASSWORDS),
            box(BOB, passwords=PASSWORDS),
            alias(SALES),
            team(members=names(FAR)),
        )
        for warning in converge(connect(server), task, dry_run=True).warnings
    }
    assert len(warnings) == 1


def test_another_run_creates_the_same_mailbox(serve: Serve, connect: Connect) -> None:
    """A mailbox that another run creates first is not changed, unless passwords are always set."""
    for always in (False, True):
        service = InMemoryService(None, domain(HOME.key))
        create = partial(service.principals.update, {ALICE.key: mailbox(ALICE.key)})
        service.interfere("GET", lambda: None)
        service.interfere("GET", create)
        server = serve(service)
        wanted = box(passwords=PASSWORDS, replace=always)
        found = converge(connect(server), wanted, dry_run=False)
        assert [change.action for change in found.changes] == ["update"] * always
        assert len([line for line in server.lines if line.startswith("PATCH")]) == always


def test_a_delete_reads_the_object_again(serve: Serve, connect: Connect) -> None:
    """An object is read again right before it is deleted."""
    service = InMemoryService(None, mailbox(ALICE.key))
    server = serve(service)
    converge(connect(server), gone(ALICE), dry_run=False)
    path = "/api/principal/alice%40example.com"
    listing = "GET /api/principal"
    assert server.lines == [f"GET {path}", listing, f"GET {path}", f"DELETE {path}"]
    service.principals[ALICE.key] = mailbox(ALICE.key)
    planned = plan(gone(ALICE), Mailbox(ALICE))
    service.principals.clear()
    apply_changes(connect(server), planned)
    assert len(server.writes) == 1


def test_an_object_of_another_kind_is_not_deleted(serve: Serve, connect: Connect) -> None:
    """An object is not deleted if an object of another kind has replaced it in the meantime."""
    service = InMemoryService(None, mailbox(ALICE.key))
    other = forwarder(ALICE.key, "x@y.example")
    service.interfere("GET", lambda: service.principals.update({ALICE.key: other}))
    with pytest.raises(errors.Refused, match="forwarder"):
        converge(connect(serve(service)), gone(ALICE), dry_run=False)
    assert ALICE.key in service.principals


def test_a_domain_whose_name_begins_alike_is_left_alone(serve: Serve, connect: Connect) -> None:
    """Deleting a domain does not affect its subdomains or domains with a similar name."""
    others = ["example.com.au", "sub.example.com", "anexample.com"]
    service = InMemoryService(None, domain(HOME.key), mailbox(ALICE.key), *map(domain, others))
    service.principals["a@sub.example.com"] = mailbox("a@sub.example.com")
    converge(connect(serve(service)), no_domain(force=True), dry_run=False)
    assert list(service.principals) == [*others, "a@sub.example.com"]


def test_a_domain_that_fills_while_it_is_emptied_is_left(serve: Serve, connect: Connect) -> None:
    """A domain is not deleted if an object has been created on it in the meantime."""
    late = "late@example.com"
    service = InMemoryService(None, domain(HOME.key), mailbox(ALICE.key))
    service.interfere("DELETE", lambda: service.principals.update({late: mailbox(late)}))
    with pytest.raises(errors.Refused, match=late) as caught:
        converge(connect(serve(service)), no_domain(force=True), dry_run=False)
    assert set(service.principals) == {HOME.key, late}
    assert [change["name"] for change in caught.value.done] == [str(ALICE)]


def test_a_list_cut_short_empties_no_domain(serve: Serve, connect: Connect) -> None:
    """No domain is deleted on the basis of an incomplete list."""
    others = [domain(f"a{number}.example") for number in range(3)]
    boxes = [mailbox(f"m{number}@example.com") for number in range(6)]
    quirks = Quirks(page_rows=4, pages="silent")
    server = serve(InMemoryService(quirks, domain(HOME.key), *others, *boxes))
    for task in (no_domain(force=True), no_domain()):
        with pytest.raises(errors.BadAnswer, match=r"incomplete|lacks example\.com"):
            converge(connect(server), task, dry_run=False)
    assert server.writes == []
    quirks = Quirks(page_rows=3, pages="silent")
    server = serve(InMemoryService(quirks, *others, domain(HOME.key)))
    with pytest.raises(errors.BadAnswer, match=r"lacks example\.com"):
        converge(connect(server), no_domain(force=True), dry_run=False)
    assert server.writes == []


def service_with_alias() -> InMemoryService:
    """Return a service on which Bob has the alias."""
    boxes = mailbox(ALICE.key), mailbox(BOB.key, SALES.key)
    return InMemoryService(None, domain(HOME.key), *boxes)


@pytest.mark.parametrize("times", [1, 3], ids=["taken back", "stays"])
def test_a_half_failed_move_is_taken_back(times: int, serve: Serve, connect: Connect) -> None:
    """If the second half of a move fails, the first half is either reverted or reported as done."""
    service = service_with_alias()
    service.disturb("PATCH", problem(400), skip=1, times=times)
    with pytest.raises(errors.Rejected) as caught:
        converge(connect(serve(service)), alias(move=True), dry_run=False)
    aliases = service.principals[BOB.key]["emails"][1:]
    done = [(row["action"], row["name"]) for row in caught.value.done]
    if times == 1:
        assert (aliases, done) == ([SALES.key], [])
    else:
        assert (aliases, done) == ([], [("update", BOB.key)])


def test_a_move_is_taken_back_after_the_deadline(serve: Serve, connect: Connect) -> None:
    """A failed move is reverted even after the deadline."""
    service = service_with_alias()
    clock = Clock()
    service.interfere("PATCH", lambda: clock.sleep(4.9))
    with pytest.raises(errors.DeadlineExceeded, match="given back") as caught:
        converge(connect(serve(service), clock, timeout=5.0), alias(move=True), dry_run=False)
    assert list(caught.value.done) == []
    assert service.principals[BOB.key]["emails"] == [BOB.key, SALES.key]


SERVERS = {
    "contract": Quirks(),
    "Stalwart": Quirks(
        integer_ids=True,
        envelope=True,
        items=True,
        create_answers_id=True,
        update_answers="null",
        delete_answers="null",
        single_strings=True,
        drop_empty=True,
        counts=True,
        shows_secrets=True,
        errors_as_200=True,
        domain_delete="refuses",
    ),
    "names, by pages with a total": Quirks(page_rows=2, envelope=True, bare_names=True),
    "pages by link, empty answers": Quirks(
        page_rows=1, pages="link", update_answers="empty", delete_answers="empty"
    ),
    "capitals, without content": Quirks(
        spelling=str.upper, update_answers="no content", delete_answers="no content"
    ),
    "U-labels, leaves mailboxes behind": Quirks(
        spelling=lambda name: name if "@" in name else name.encode().decode("idna"),
        domain_delete="leaves",
    ),
}

UMLAUT = parse_domain("Bücher.example")
CAPITALS = parse_address("Alice@Bücher.example")
INFO = parse_address("info@bücher.example")
CREW = parse_address("team@bücher.example")
OUTSIDE = frozenset({parse_address("Someone@elsewhere.example")})

STEPS = [
    Task(DeclaredDomain(UMLAUT)),
    box(CAPITALS, PASSWORDS, aliases=names(INFO)),
    team(CREW, OUTSIDE | {CAPITALS}),
    team(CREW, OUTSIDE),
    box(CAPITALS, aliases=names(), purge_aliases=True),
    no_domain(UMLAUT, force=True),
]


@pytest.mark.parametrize("kind", SERVERS)
def test_steps_are_idempotent_over_any_server(kind: str, serve: Serve, connect: Connect) -> None:
    """Each step changes something on any kind of service. Repeating the step sends no write."""
    service = InMemoryService(SERVERS[kind], domain("other.example"), mailbox("zoe@other.example"))
    server = serve(service)
    client = connect(server, timeout=300.0)
    for number, task in enumerate(STEPS):
        assert converge(client, task, dry_run=False).changes
        writes = len(server.writes)
        assert not converge(client, task, dry_run=False).changes
        assert len(server.writes) == writes
        if number == 3:
            box, team = (
                Mailbox(CAPITALS, frozenset({INFO})),
                Forwarder(CREW, frozenset(), OUTSIDE),
            )
            assert (client.find(CAPITALS), client.find(CREW)) == (box, team)
            assert client.find(parse_address("nobody@bücher.example")) is None
            assert set(client.list_principals()) >= {box, team}
            assert len(client.list_principals()) == len(service.principals) == 5
    assert sorted(service.principals) == ["other.example", "zoe@other.example"]
