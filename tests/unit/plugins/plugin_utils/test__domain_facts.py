# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the inventory tells of each domain, and which domains it tells of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    Forbidden,
    InvalidInput,
    ServiceError,
    Unauthorized,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.plugin_utils._domain_facts import (
    gather,
    is_gathered,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer, problem
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import answer, refused
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving

Serve = Callable[..., ScriptedServer]
Connect = Callable[[ScriptedServer], Client]

MX = answer("10 mail.example.net.")
SPF = answer('"v=spf1 include:example.net ~all"')


def options(**some: Any) -> dict[str, Any]:
    """Return the options, with their defaults."""
    usual = {"domains": ["*"], "exclude": [], "stage": False, "nameservers": [], "resolvers": []}
    return {**usual, **some}


def tenant() -> QuirkyService:
    """Return a tenant with three domains, one of them empty."""
    return QuirkyService(
        None,
        domain("one.example"),
        domain("xn--bcher-kva.example"),
        domain("Two.example"),
        mailbox("ann@one.example", "hi@one.example", "ho@Two.example"),
        mailbox("bob@one.example"),
        forwarder("all@two.example", "ann@one.example"),
        {**domain("list"), "type": "list"},
    )


def test_what_is_at_a_domain_is_counted(serve: Serve, connect: Connect) -> None:
    """Each domain has its numbers; an alias counts where it is, and not where its mailbox is."""
    domains, warnings = gather(connect(serve(tenant())), options())
    assert domains == {
        "one.example": {"email_mailboxes": 2, "email_forwarders": 0, "email_aliases": 1},
        "two.example": {"email_mailboxes": 0, "email_forwarders": 1, "email_aliases": 1},
        "xn--bcher-kva.example": {"email_mailboxes": 0, "email_forwarders": 0, "email_aliases": 0},
    }
    assert warnings == ()


@pytest.mark.parametrize(
    ("some", "left"),
    [
        ({"domains": ["T*"]}, ["two.example"]),
        ({"domains": ["one.example", "bücher.*"]}, ["one.example", "xn--bcher-kva.example"]),
        ({"exclude": ["*o.example", "B\u00fccher.example"]}, ["one.example"]),
        ({"domains": ["o*"], "exclude": ["*.example"]}, []),
        ({"domains": []}, []),
    ],
)
def test_patterns_choose(
    some: dict[str, Any], left: list[str], serve: Serve, connect: Connect
) -> None:
    """Domains that match are taken, but for those that are excluded, however they are spelled."""
    assert list(gather(connect(serve(tenant())), options(**some)).domains) == left


def test_a_misspelt_name_is_told(serve: Serve, connect: Connect) -> None:
    """It is a warning: what is left out by name would be a host else, without a word."""
    some = options(domains=["o*", "two.example"], exclude=["ome.example", "*.test"])
    sentence = "exclude: ome.example is no domain of the tenant. Check its spelling."
    assert gather(connect(serve(tenant())), some).warnings == (sentence,)


@pytest.mark.parametrize("odd", ["{{ 7 * 7 }}.example", "a b.example", "localhost", "-x.example"])
def test_what_is_no_domain_name_is_no_host(odd: str, serve: Serve, connect: Connect) -> None:
    """A name that Ansible might take for something else is left out, with a warning."""
    found = gather(connect(serve(QuirkyService(None, domain("a.example"), domain(odd)))), options())
    assert list(found.domains) == ["a.example"]
    assert found.warnings == (f"{odd!r} is registered but no domain name. It is no host.",)


def test_the_stage_is_what_name_servers_say(serve: Serve, connect: Connect) -> None:
    """Each domain that was chosen has one; the others are not asked for."""
    service = QuirkyService(
        None, *map(domain, ("new.example", "old.example", "shy.example", "x.y"))
    )
    habits = {
        ("old.example", "MX"): MX,
        ("old.example", "TXT"): SPF,
        ("shy.example", "*"): refused,
        ("*", "*"): answer("20 mx.elsewhere.example."),
    }
    server = serve(service)
    with misbehaving(habits) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)], exclude=["x.y"])
        domains = gather(connect(server), wanted).domains
    assert {name: facts["email_stage"] for name, facts in domains.items()} == {
        "new.example": "created",
        "old.example": "published",
        "shy.example": "unknown",
    }
    assert sorted(server.lines[1:]) == [
        f"GET /api/dns/{name}.example" for name in ("new", "old", "shy")
    ]


def test_what_is_deleted_meanwhile_is_no_host(serve: Serve, connect: Connect) -> None:
    """A domain that is gone when its records are read is left out, with a warning."""
    service = QuirkyService(None, *map(domain, ("a.example", "b.example")))
    service.meddle("GET", lambda: service.principals.pop("b.example"))
    with misbehaving({("*", "*"): refused}) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)])
        found = gather(connect(serve(service)), wanted)
    assert list(found.domains) == ["a.example"]
    assert is_gathered(found.domains)
    (warning,) = found.warnings
    assert warning == "'b.example' was deleted while its stage was looked up. It is no host."


@pytest.mark.parametrize(
    "planted",
    [
        None,
        ["a.example"],
        {"{{ 7 * 7 }}.example": {"email_aliases": 0}},
        {"a.example ": {"email_aliases": 0}},
        {7: {"email_aliases": 0}},
        {"a.example": "{{ 7 * 7 }}"},
        {"a.example": {"email_aliases": "{{ 7 * 7 }}"}},
        {"a.example": {"email_stage": "{{ 7 * 7 }}"}},
        {"a.example": {"ansible_connection": 1}},
    ],
)
def test_what_was_not_gathered_is_known(planted: object) -> None:
    """Nothing that Ansible could take for a template, and no variables of others."""
    assert is_gathered({"a.example": {"email_aliases": 0, "email_stage": "active"}})
    assert not is_gathered(planted)


def test_servers_are_checked_before_anybody_is_asked(serve: Serve, connect: Connect) -> None:
    """One that is none is told at once, and only where it would be asked."""
    server = serve(tenant())
    with pytest.raises(InvalidInput, match=r"resolvers: 'dns\.example\.net' is not the address"):
        gather(connect(server), options(stage=True, resolvers=["dns.example.net"]))
    assert server.lines == []
    assert gather(connect(server), options(resolvers=["dns.example.net"])).domains


def test_no_half_an_inventory(serve: Serve, connect: Connect) -> None:
    """Where the records of one domain can't be had, it is told, and no domain left out."""
    service = QuirkyService(None, domain("a.example"), domain("b.example"))
    service.disturb("GET", problem(500, "Out of keys."), skip=2)
    with misbehaving({("*", "*"): answer("20 mx.elsewhere.example.")}) as nameserver:
        wanted = options(stage=True, nameservers=[str(nameserver)])
        domains, warnings = gather(connect(serve(service)), wanted)
    assert list(domains) == ["a.example", "b.example"]
    assert sorted(facts["email_stage"] for facts in domains.values()) == ["created", "unknown"]
    (warning,) = warnings
    assert warning.startswith("The stage of '")
    assert "(Out of keys)" in warning


@pytest.mark.parametrize(
    ("status", "error"), [(401, Unauthorized), (403, Forbidden)], ids=["401", "403"]
)
def test_what_is_not_about_one_domain_is_an_error(
    status: int, error: type[ServiceError], serve: Serve, connect: Connect
) -> None:
    """A token that is no longer taken makes no inventory of domains that nothing is known of."""
    service = QuirkyService(None, domain("a.example"))
    service.disturb("GET", problem(status), skip=1)
    with pytest.raises(error):
        gather(connect(serve(service)), options(stage=True, nameservers=["127.0.0.1:5353"]))
