# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Names are idempotent in every spelling: mixed case, U-labels, A-labels."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.site import Site

Task = tuple[str, dict[str, Any]]

U_LABEL, A_LABEL = "bücher.example", "xn--bcher-kva.example"
FAR = "exämple.example"
DECOMPOSED = "bu\u0308cher.example"
SPELLINGS = [U_LABEL, A_LABEL, "BÜCHER.Example", "XN--BCHER-KVA.EXAMPLE", f"{U_LABEL}.", DECOMPOSED]


@pytest.fixture
def books(site: Site) -> Site:
    """Return a tenant with a domain of a non-ASCII name, and on it one of each kind."""
    site.create(A_LABEL, "plain.example")
    site.create(f"ann@{A_LABEL}", emails=[f"ann@{A_LABEL}", f"info@{A_LABEL}", "ann@plain.example"])
    site.create(f"all@{A_LABEL}", members=[f"ann@{A_LABEL}", "x@xn--exmple-cua.example"])
    site.recorder.take()
    return site


def tasks(domain: str) -> list[Task]:
    """Return tasks that declare what is there, with the domain in one spelling."""
    return [
        ("email_domain", {"name": domain}),
        ("email_mailbox", {"name": f"Ann@{domain}", "passwords": ["x"]}),
        (
            "email_mailbox",
            {
                "name": f"ann@{domain}",
                "aliases": [f"INFO@{domain}", "Ann@Plain.Example"],
                "purge_aliases": True,
            },
        ),
        ("email_alias", {"address": f"iNfO@{domain}", "mailbox": f"ANN@{domain}"}),
        ("email_forwarder", {"name": f"All@{domain}", "members": [f"Ann@{domain}", f"X@{FAR}"]}),
        ("email_dns_records", {"domain": domain}),
        ("email_info", {"name": f"ALL@{domain}"}),
    ]


@pytest.mark.parametrize("domain", SPELLINGS)
def test_other_spellings_are_the_same_names(books: Site, domain: str) -> None:
    """Declaring what is there in another spelling changes nothing and writes nothing."""
    for module, options in tasks(domain):
        for mode in (True, False):
            result = books.run(module, check=mode, **options)
            assert (result["changed"], result["failed"]) == (False, False), result
    assert books.recorder.take_writes() == []


@pytest.mark.parametrize("domain", SPELLINGS)
def test_created_in_one_spelling_found_in_all(site: Site, domain: str) -> None:
    """What is created in any spelling is there under its normal form, and found in every one."""
    site.create("plain.example")
    creating: list[Task] = [
        ("email_domain", {"name": domain}),
        ("email_mailbox", {"name": f"Ann@{domain}", "passwords": ["x"]}),
        ("email_alias", {"address": f"Info@{domain}", "mailbox": f"Ann@{domain}"}),
        ("email_alias", {"address": "Ann@plain.example", "mailbox": f"Ann@{domain}"}),
        ("email_forwarder", {"name": f"All@{domain}", "members": [f"ann@{domain}", f"X@{FAR}"]}),
    ]
    for module, options in creating:
        foretold = site.run(module, check=True, **options)
        assert site.run(module, **options) == foretold
        assert foretold["changed"] is True
    assert set(site.listing()) == {A_LABEL, "plain.example", f"ann@{A_LABEL}", f"all@{A_LABEL}"}
    site.recorder.take()
    for module, options in [task for spelling in SPELLINGS for task in tasks(spelling)]:
        assert site.run(module, **options)["changed"] is False
    assert site.recorder.take_writes() == []


def test_own_spelling_is_shown(books: Site) -> None:
    """A result shows names as the task wrote them, in both modes, changed or found."""
    domain, alias, member = "BÜCHER.example", f"New@{U_LABEL}", f"X@{FAR}"
    tasks: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("email_domain", "domain", {"name": domain}, {"name": domain}),
        (
            "email_mailbox",
            "mailbox",
            {"name": f"Ann@{domain}", "aliases": [alias], "purge_aliases": True},
            {"name": f"Ann@{domain}", "aliases": [alias]},
        ),
        (
            "email_alias",
            "mailbox",
            {"mailbox": f"ann@{U_LABEL}", "address": alias.upper()},
            {"name": f"ann@{U_LABEL}", "aliases": [alias.upper()]},
        ),
        (
            "email_forwarder",
            "forwarder",
            {"name": f"ALL@{domain}", "members": [member]},
            {"name": f"ALL@{domain}", "aliases": [], "members": [member]},
        ),
    ]
    for module, key, options, shown in tasks:
        for mode in (True, False, True, False):
            assert books.run(module, check=mode, **options)[key] == shown


@pytest.mark.parametrize("domain", [U_LABEL, "BÜCHER.EXAMPLE", A_LABEL.upper()])
def test_deleted_in_another_spelling(books: Site, domain: str) -> None:
    """Deleting works in every spelling too."""
    deleting: list[Task] = [
        ("email_alias", {"address": f"INFO@{domain}", "mailbox": f"Ann@{domain}"}),
        ("email_forwarder", {"name": f"ALL@{domain}"}),
        ("email_mailbox", {"name": f"ANN@{domain}"}),
        ("email_domain", {"name": domain}),
    ]
    for module, options in deleting:
        assert books.run(module, state="absent", **options)["changed"] is True
    assert set(books.listing()) == {"plain.example"}
