# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The six endpoints, as the contract shows them."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.service.api import (
    Api,
    forwarder_body,
    mailbox_body,
    path_of,
    unused_domain,
)


def test_domain_has_the_three_fields_of_its_shape(api: Api) -> None:
    """A domain response contains id, name and type, and nothing else."""
    name = unused_domain()
    shape = {"id": name, "name": name, "type": "domain"}
    created = api.create({"name": name, "type": "domain"})
    assert created.status_code == 201
    assert created.headers["Location"] == path_of(name)
    assert created.json() == shape
    assert api.get(name).json() == shape


def test_mailbox_shows_its_addresses_and_no_secrets(api: Api) -> None:
    """A mailbox response contains id, name, type and emails."""
    domain = api.domain()
    name, alias = f"ann@{domain}", f"a@{domain}"
    shape = {"id": name, "name": name, "type": "individual", "emails": [name, alias]}
    created = api.create(mailbox_body(name, alias))
    assert created.status_code == 201
    assert created.headers["Location"] == path_of(name)
    assert created.json() == shape
    assert api.get(name).json() == shape


def test_forwarder_shows_its_members(api: Api) -> None:
    """A forwarder response contains id, name, type, emails and members."""
    domain = api.domain()
    name = f"info@{domain}"
    members = ["x@elsewhere.example", f"ann@{domain}"]
    shape = {
        "id": name,
        "name": name,
        "type": "individual",
        "emails": [name],
        "members": members,
    }
    created = api.create(forwarder_body(name, members))
    assert created.status_code == 201
    assert created.json() == shape
    assert api.get(name).json() == shape


def test_list_is_a_bare_array_of_all_kinds(api: Api) -> None:
    """Without a filter everything is listed, with one only that type."""
    domain = api.domain()
    mailbox, forwarder = f"ann@{domain}", f"info@{domain}"
    api.mailbox(mailbox, f"b@{domain}", f"a@{domain}")
    api.forwarder(forwarder, ["x@elsewhere.example"])
    everything = api.listing()
    assert [principal["name"] for principal in everything] == [domain, mailbox, forwarder]
    assert everything == [api.get(principal["name"]).json() for principal in everything]
    assert api.listing(type="domain") == everything[:1]
    assert api.listing(type="individual") == everything[1:]


def test_list_of_nothing_is_empty(api: Api) -> None:
    """An account without principals lists none."""
    assert api.listing() == []


def test_patch_of_emails_replaces_the_whole_list(api: Api) -> None:
    """An address that is omitted is removed and free for another."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}", f"a@{domain}")
    changed = api.patch(ann, emails=[f"b@{domain}", ann])
    assert changed.status_code == 200
    assert changed.json() == {
        "id": ann,
        "name": ann,
        "type": "individual",
        "emails": [f"b@{domain}", ann],
    }
    assert api.get(ann).json() == changed.json()
    api.mailbox(f"bob@{domain}", f"a@{domain}")


def test_patch_of_secrets_answers_the_principal(api: Api) -> None:
    """Replacing passwords shows the mailbox, without them."""
    ann = api.mailbox(f"ann@{api.domain()}")
    changed = api.patch(ann, secrets=["another", "and one more"])
    assert changed.status_code == 200
    assert changed.json() == api.get(ann).json()


def test_patch_of_members_replaces_the_destinations(api: Api) -> None:
    """A forwarder's members are replaced entirely, its addresses kept."""
    domain = api.domain()
    info = api.forwarder(f"info@{domain}", ["x@elsewhere.example"], f"i@{domain}")
    changed = api.patch(info, members=["y@elsewhere.example"])
    assert changed.status_code == 200
    assert changed.json()["members"] == ["y@elsewhere.example"]
    assert changed.json()["emails"] == [info, f"i@{domain}"]


def test_patch_of_everything_at_once(api: Api) -> None:
    """Several fields change together."""
    domain = api.domain()
    info = api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    changed = api.patch(info, emails=[info, f"i@{domain}"], members=["y@elsewhere.example"])
    assert changed.json()["emails"] == [info, f"i@{domain}"]
    assert changed.json()["members"] == ["y@elsewhere.example"]


def test_patch_of_nothing_changes_nothing(api: Api) -> None:
    """All body fields are optional."""
    ann = api.mailbox(f"ann@{api.domain()}")
    changed = api.patch(ann)
    assert changed.status_code == 200
    assert changed.json() == api.get(ann).json()


@pytest.mark.parametrize("kind", ["domain", "mailbox", "forwarder"])
def test_delete_answers_success_and_the_principal_is_gone(api: Api, kind: str) -> None:
    """Deleting answers an object with success, and then there is nothing of that name."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    info = api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    name = {"domain": domain, "mailbox": ann, "forwarder": info}[kind]
    deleted = api.delete(name)
    assert (deleted.status_code, deleted.json()) == (200, {"success": True})
    assert api.get(name).status_code == 404
    assert api.delete(name).status_code == 404


def test_delete_of_a_domain_takes_all_that_is_on_it(api: Api) -> None:
    """Mailboxes and forwarders of the domain go, and the aliases on it that others have."""
    gone, kept = api.domain(), api.domain()
    api.mailbox(f"ann@{gone}", f"ann@{kept}")
    api.forwarder(f"info@{gone}", ["x@elsewhere.example"])
    bob = api.mailbox(f"bob@{kept}", f"bob@{gone}", f"b@{kept}")
    team = api.forwarder(f"team@{kept}", [f"ann@{gone}"], f"team@{gone}")
    api.delete(gone)
    assert [principal["name"] for principal in api.listing()] == [kept, bob, team]
    assert api.get(bob).json()["emails"] == [bob, f"b@{kept}"]
    assert api.get(team).json()["emails"] == [team]
    # Where mail is redirected to may be anywhere, so it stays as it was set.
    assert api.get(team).json()["members"] == [f"ann@{gone}"]
    api.mailbox(f"new@{kept}", f"ann@{kept}")


def test_names_are_kept_in_normal_form(api: Api) -> None:
    """Case is folded and U-labels become A-labels, in names, addresses and paths."""
    domain = unused_domain()
    spelt, normal = f"Bücher.{domain}".upper(), f"xn--bcher-kva.{domain}"
    assert api.create({"name": spelt, "type": "domain"}).json()["name"] == normal
    created = api.create(mailbox_body(f"Ann@{spelt}", f"A@{normal}"))
    assert created.json()["name"] == f"ann@{normal}"
    assert created.json()["emails"] == [f"ann@{normal}", f"a@{normal}"]
    assert api.get(f"ANN@{spelt}").json() == created.json()
    assert api.dns(spelt).status_code == 200
    assert api.create({"name": normal, "type": "domain"}).status_code == 409


@pytest.mark.parametrize("local", ["a/b", "a%2fb", "a?b", "a+b", "a#b", "a.b", "{a}"])
def test_path_names_are_percent_encoded(api: Api, local: str) -> None:
    """Every legal address can be named in a path."""
    name = api.mailbox(f"{local}@{api.domain()}")
    assert api.get(name).json()["name"] == name
    assert api.patch(name, secrets=["x"]).status_code == 200
    assert api.delete(name).status_code == 200


def test_forwarder_may_point_at_addresses_that_do_not_exist(api: Api) -> None:
    """Members may be on any domain, including external and not yet existing ones."""
    domain = api.domain()
    api.forwarder(f"info@{domain}", [f"later@{domain}", "x@elsewhere.example"])
    api.mailbox(f"later@{domain}")


def test_dns_records_are_those_of_the_contract(api: Api) -> None:
    """The record set has the MX, the SPF and the DKIM entry in their shapes."""
    domain = api.domain()
    records = api.dns(domain).json()
    assert set(records) == {"mx", "txt"}
    assert records["mx"] == [{"host": "@", "value": "mail.postroom.test", "priority": 10}]
    spf, dkim = records["txt"]
    assert spf == {"host": "@", "value": "v=spf1 include:spf.postroom.test ~all"}
    assert dkim["host"] == "service._domainkey"
    assert dkim["value"].startswith("v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A")


def test_head_is_get_without_a_body(api: Api) -> None:
    """HEAD is answered wherever GET is."""
    domain = api.domain()
    response = api.call("HEAD", path_of(domain))
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) == len(api.get(domain).content)
