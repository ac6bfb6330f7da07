# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tenants see nothing of each other."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, unused_domain

pytestmark = pytest.mark.parametrize(
    "backend",
    ["file", pytest.param("postgresql", marks=pytest.mark.full)],
    indirect=True,
    scope="session",
)


def test_what_others_have_is_absent(api: Api, other_api: Api) -> None:
    """Another tenant's names answer exactly as names that nobody has."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    for name in (domain, ann):
        for call in (other_api.get, other_api.delete, other_api.patch):
            check_problem(call(name), 404, "principal_not_found")
            assert call(name).text == call("nobody." + unused_domain()).text
    check_problem(other_api.dns(domain), 404, "domain_not_found")
    assert other_api.listing() == []
    assert len(api.listing()) == 2


def test_a_domain_is_held_once(api: Api, other_api: Api) -> None:
    """A domain that another holds can't be taken, and the answer doesn't say whose it is."""
    domain = api.domain()
    theirs = other_api.create({"name": domain.upper(), "type": "domain"})
    check_problem(theirs, 409, "name_taken", "/name")
    assert theirs.text == api.create({"name": domain, "type": "domain"}).text
    api.delete(domain)
    other_api.domain(domain)


def test_another_tenants_domain_is_not_registered(api: Api, other_api: Api) -> None:
    """Neither a mailbox nor an alias can be put on a domain of somebody else."""
    mine, theirs = api.domain(), other_api.domain()
    ann = api.mailbox(f"ann@{mine}")
    other_api.mailbox(f"bob@{theirs}")
    body = {"type": "individual", "secrets": ["s"]}
    for name in (f"eve@{theirs}", f"bob@{theirs}"):
        created = api.create({**body, "name": name, "emails": [name]})
        check_problem(created, 422, "domain_not_registered", "/name")
        check_problem(api.patch(ann, emails=[ann, name]), 422, "domain_not_registered", "/emails/1")


def test_others_forwarders_are_not_told_by_cycles(api: Api, other_api: Api) -> None:
    """A forwarder may point at another tenant's that points back: refusing would tell of it."""
    mine, theirs = api.domain(), other_api.domain()
    other_api.forwarder(f"there@{theirs}", [f"here@{mine}"])
    api.forwarder(f"here@{mine}", [f"there@{theirs}"])


def test_one_tenants_deletion_leaves_the_other_alone(api: Api, other_api: Api) -> None:
    """A cascade ends at the tenant's border."""
    mine, theirs = api.domain(), other_api.domain()
    bob = other_api.mailbox(f"bob@{theirs}")
    other_api.forwarder(f"to@{theirs}", [f"x@{mine}"])
    before = other_api.listing()
    api.delete(mine)
    assert other_api.listing() == before
    assert other_api.get(bob).status_code == 200
