# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The six endpoints match the contract, the OpenAPI document and the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.service.api import (
    Api,
    forwarder_body,
    mailbox_body,
    path_of,
    unused_domain,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_service.cli import main
from postroom_service.errors import KINDS
from postroom_service.faults import Plan
from postroom_service.node_commands import move, node
from postroom_service.openapi import DOCUMENT

ROOT = Path(__file__).parents[2]
README = (ROOT / "service" / "README.md").read_text(encoding="utf-8")
API_PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
# All checks are enabled. A schema can't express that an address's domain must be registered, or
# that emails must include name. The schema therefore allows such requests, but the service refuses
# them with 422.
CONFIGURATION = """
headers = { Authorization = "Bearer ${TOKEN}" }

[[operations]]
include-method = ["POST", "PATCH"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""


def check_creation(api: Api, body: dict[str, Any], shape: dict[str, Any]) -> None:
    """Assert that POST and GET return exactly these fields."""
    created = api.create(body)
    assert created.status_code == 201
    assert created.headers["Location"] == path_of(shape["name"])
    assert created.json() == api.get(shape["name"]).json() == shape


def test_principals_have_exactly_the_fields_of_their_shape(api: Api) -> None:
    """Responses contain exactly the documented fields, and no secrets."""
    assert api.listing() == []
    domain = unused_domain()
    check_creation(
        api,
        {"name": domain, "type": "domain"},
        {"id": domain, "name": domain, "type": "domain"},
    )
    ann, info = f"ann@{domain}", f"info@{domain}"
    individual = {"type": "individual"}
    check_creation(
        api,
        mailbox_body(ann, f"a@{domain}"),
        {**individual, "id": ann, "name": ann, "emails": [ann, f"a@{domain}"]},
    )
    members = ["x@elsewhere.example", f"later@{domain}"]
    check_creation(
        api,
        forwarder_body(info, members),
        {**individual, "id": info, "name": info, "emails": [info], "members": members},
    )


def test_patch_replaces_whole_lists(api: Api) -> None:
    """PATCH replaces whole lists and leaves omitted fields unchanged."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}", f"a@{domain}")
    info = api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    changed = api.patch(ann, emails=[f"b@{domain}", ann])
    assert changed.status_code == 200
    assert changed.json()["emails"] == [f"b@{domain}", ann]
    for nothing_visible in ({}, {"secrets": ["another", "and one more"]}):
        assert api.patch(ann, **nothing_visible).json() == changed.json()
    assert api.get(ann).json() == changed.json()
    api.mailbox(f"bob@{domain}", f"a@{domain}")
    both = api.patch(info, emails=[info, f"i@{domain}"], members=["y@elsewhere.example"]).json()
    assert (both["emails"], both["members"]) == ([info, f"i@{domain}"], ["y@elsewhere.example"])
    assert api.patch(info, members=["z@elsewhere.example"]).json()["emails"] == both["emails"]


def test_deleted_principals_are_gone(api: Api) -> None:
    """A deleted principal can no longer be found."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    info = api.forwarder(f"info@{domain}", ["x@elsewhere.example"])
    for name in (ann, info, domain):
        deleted = api.delete(name)
        assert (deleted.status_code, deleted.json()) == (200, {"success": True})
        assert api.get(name).status_code == api.delete(name).status_code == 404


@pytest.mark.parametrize(
    "backend",
    ["memory", pytest.param("postgresql", marks=pytest.mark.full)],
    indirect=True,
    scope="session",
)
def test_each_database_serves(api: Api) -> None:
    """Principals can be created, changed, listed and deleted on each of the other databases."""
    test_delete_of_a_domain_takes_all_that_is_on_it(api)
    test_patch_replaces_whole_lists(api)


def test_list_is_a_bare_array_of_all_kinds(api: Api) -> None:
    """The list is a bare array of all principals or, with a filter, of one type."""
    domain = api.domain()
    mailbox, forwarder = f"ann@{domain}", f"info@{domain}"
    api.mailbox(mailbox, f"b@{domain}", f"a@{domain}")
    api.forwarder(forwarder, ["x@elsewhere.example"])
    everything = api.listing()
    assert [principal["name"] for principal in everything] == [domain, mailbox, forwarder]
    assert everything == [api.get(principal["name"]).json() for principal in everything]
    assert api.listing(type="domain") == everything[:1]
    assert api.listing(type="individual") == everything[1:]


def test_delete_of_a_domain_takes_all_that_is_on_it(api: Api) -> None:
    """Deleting a domain deletes everything on it, including other mailboxes' aliases."""
    gone, kept = api.domain(), api.domain()
    api.mailbox(f"ann@{gone}", f"ann@{kept}")
    api.forwarder(f"info@{gone}", ["x@elsewhere.example"])
    bob = api.mailbox(f"bob@{kept}", f"bob@{gone}", f"b@{kept}")
    team = api.forwarder(f"team@{kept}", [f"ann@{gone}"], f"team@{gone}")
    api.delete(gone)
    assert [principal["name"] for principal in api.listing()] == [kept, bob, team]
    assert api.get(bob).json()["emails"] == [bob, f"b@{kept}"]
    assert api.get(team).json()["emails"] == [team]
    # Members can be on any domain, so the list of members is not changed.
    assert api.get(team).json()["members"] == [f"ann@{gone}"]
    api.mailbox(f"new@{kept}", f"ann@{kept}")


def test_names_are_kept_in_normal_form(api: Api) -> None:
    """Names are normalized: letters become lower case, and U-labels become A-labels."""
    domain = unused_domain()
    spelt, normal = f"Bücher.{domain}".upper(), f"xn--bcher-kva.{domain}"
    assert api.create({"name": spelt, "type": "domain"}).json()["name"] == normal
    created = api.create(mailbox_body(f"Ann@{spelt}", f"A@{normal}"))
    assert created.json()["name"] == f"ann@{normal}"
    assert created.json()["emails"] == [f"ann@{normal}", f"a@{normal}"]
    assert api.get(f"ANN@{spelt}").json() == created.json()
    assert api.dns(spelt).status_code == 200
    assert api.create({"name": normal, "type": "domain"}).status_code == 409


@pytest.mark.parametrize("local", ["a/b", "a?b", "a#b"])
def test_path_names_are_percent_encoded(api: Api, local: str) -> None:
    """Every valid address can be used in a path if it is percent-encoded."""
    name = api.mailbox(f"{local}@{api.domain()}")
    assert api.get(name).json()["name"] == name
    assert api.patch(name, secrets=["x"]).status_code == 200
    assert api.delete(name).status_code == 200


def test_dns_records_are_those_of_the_contract(api: Api) -> None:
    """The DNS records contain an MX, an SPF and a DKIM entry in the documented format."""
    domain = api.domain()
    records = api.dns(domain).json()
    assert set(records) == {"mx", "txt"}
    assert records["mx"] == [{"host": "@", "value": "mail.postroom.test", "priority": 10}]
    spf, dkim = records["txt"]
    assert spf == {"host": "@", "value": "v=spf1 include:spf.postroom.test ~all"}
    assert dkim["host"] == "service._domainkey"
    assert dkim["value"].startswith("v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A")


def test_head_is_get_without_a_body(api: Api) -> None:
    """HEAD returns the same response as GET, but without the body."""
    domain = api.domain()
    response = api.call("HEAD", path_of(domain))
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) == len(api.get(domain).content)


def test_every_domain_has_its_own_key_and_keeps_it(api: Api) -> None:
    """Each domain keeps its own DKIM key until it is registered again."""
    one, two = api.domain(), api.domain()
    records = api.dns(one).content
    assert api.dns(two).content != records
    api.mailbox(f"ann@{one}")
    assert api.dns(one).content == records
    api.delete(one)
    api.domain(one)
    assert api.dns(one).content != records


@pytest.mark.full
def test_the_service_conforms_to_its_document(file_service: RunningService, tmp_path: Path) -> None:
    """Examples, boundary values and generated calls conform to the OpenAPI document."""
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    with Api(file_service.url, file_service.token) as api:
        api.domain("example.com")
    program = Path(sys.executable).with_name("schemathesis")
    phases = ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10"]
    result = subprocess.run(
        [
            *(program, "run", f"{file_service.url}/openapi.json"),
            *("--checks", "all", "--seed", "1", *phases),
        ],
        cwd=tmp_path,
        env={**os.environ, "TOKEN": file_service.token, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert '"status": 500' not in file_service.log_path.read_text()


def test_every_operation_and_code_is_described() -> None:
    """The OpenAPI document describes the six endpoints and all codes."""
    described = DOCUMENT
    operations = {(method, path) for path, item in described["paths"].items() for method in item}
    assert {operation for operation in operations if operation[0] != "parameters"} == {
        ("get", "/api/principal"),
        ("post", "/api/principal"),
        ("get", "/api/principal/{name}"),
        ("patch", "/api/principal/{name}"),
        ("delete", "/api/principal/{name}"),
        ("get", "/api/dns/{domain}"),
        ("get", "/healthz"),
    }
    codes = described["components"]["schemas"]["ProblemDocument"]["properties"]["code"]["enum"]
    assert codes == list(KINDS)


def test_the_api_page_lists_every_field_and_code() -> None:
    """The page about the API lists the fields of all requests and responses, and all codes."""
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", API_PAGE, re.MULTILINE)
    assert {code: int(status) for status, code in rows} == {
        code: kind.status for code, kind in KINDS.items()
    }
    documented = set(re.findall(r"^\| `(\w+)` \|", API_PAGE, re.MULTILINE))
    schemas = DOCUMENT["components"]["schemas"]
    records = schemas["RecordSet"]["properties"]
    bodies = [schemas[name] for name in ("NewDomain", "NewMailbox", "NewForwarder", "Changes")]
    bodies += [schemas[name] for name in ("Domain", "Mailbox", "Forwarder", "RecordSet")]
    bodies += [records["mx"]["items"], records["txt"]["items"]]
    assert documented == {field for body in bodies for field in body["properties"]}


def test_the_tables_of_the_readme_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's tables list exactly the options, faults and required packages."""
    faults = README.split("## Faults")[1].split("## Storage")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", faults, re.MULTILINE)) == set(Plan.model_fields)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = README.split("## Requirements")[1]
    packages = re.findall(r"^\| ([\w.\[\]-]+) \| ([\d.]+) \|", requirements, re.MULTILINE)
    extras = project["optional-dependencies"]
    assert [">=".join(row) for row in packages] == [*extras["service"], *extras["mail"]]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in requirements
    tokens = ("token create", "token list", "token revoke")
    nodes = [f"{group.name} {name}" for group in (node, move) for name in group.commands]
    assert set(re.findall(r"^\| `((?:node|move) \w+)", README, re.MULTILINE)) == set(nodes)
    for command in ("serve", "mail", "migrate", "grant", "domain verify", *tokens, *nodes):
        assert main([*command.split(), "--help"]) == 0
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    text = re.sub(r"^curl (.*\\\n)*.*$", "", README, flags=re.MULTILINE)
    assert known == set(re.findall(r"(?<=[`\[ ])--[a-z][a-z-]+", text))
