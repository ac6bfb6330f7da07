# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role `tenant`: from a definition to a tenant, its records and a report.

Publishing itself is tested with the role `dns`, and both together by molecule.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Site

README = repository.read("roles/tenant/README.md")
PASSWORD = "Quokka-tenant-0/alice"
PASSWORDS = {"ann@one.example": PASSWORD}
DEFINITION: dict[str, Any] = {
    "domains": ["one.example", {"name": "gone.example", "state": "absent"}],
    "mailboxes": [{"name": "ann@one.example", "aliases": ["hi@one.example"]}],
}
#: There are no name servers to ask.
VARIABLES: dict[str, Any] = {
    "vault_mail_passwords": PASSWORDS,
    "dns_verify": False,
    "tenant_verify_dns": False,
}
TIME = re.compile(r"<time>(\d{4}-\d\d-\d\d \d\d:\d\d UTC)</time>")
#: What Ansible would make another name of, or take for the beginning of something.
HOSTILE = ["{#x#}@one.example", "{%x%}@one.example", "{{7*7}}@one.example"]

KEEPING: dict[str, Any] = {
    "ansible.builtin.copy": {
        "content": "{{ tenant_result | to_json }}",
        "dest": "{{ playbook_dir }}/result.json",
        "mode": "0600",
    },
    "check_mode": False,
    "changed_when": False,
}


class RoleDesk(Desk):
    """A folder with a definition, and the tenant that the role is used on."""

    def run(self, tasks: list[dict[str, Any]], *options: str, **variables: Any) -> Run:
        """Run tasks on the machine of Ansible, and keep the role's fact."""
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [*tasks, KEEPING]}
        self.save("playbook.yml", [play])
        return self.play_own("playbook.yml", *options, **VARIABLES, **variables)

    def use(self, *options: str, **variables: Any) -> Run:
        """Use the role with these variables."""
        task = {"ansible.builtin.include_role": {"name": "postroom.email.tenant"}}
        return self.run([{**task, "vars": variables}], *options)

    @property
    def result(self) -> dict[str, Any]:
        """The fact that the role has left."""
        told: dict[str, Any] = json.loads((self.folder / "result.json").read_text("utf-8"))
        return told


@pytest.fixture
def desk(tmp_path: Path, site: Site) -> RoleDesk:
    """Return a folder for the tenant, with its definition."""
    desk = RoleDesk(tmp_path, site.url, site.token)
    desk.save("tenant.yml", DEFINITION)
    return desk


@pytest.mark.matrix
def test_the_example_of_the_readme(desk: RoleDesk, site: Site) -> None:
    """It makes the tenant, tells what to publish and reports; again, it changes but the time."""
    example = readme.blocks("yaml", file=repository.ROOT / "roles" / "tenant" / "README.md")[0]
    (play,) = yaml.safe_load(example.text)
    report = desk.folder / "report.html"
    with site.recorder.forbidding_writes():
        told = desk.run(play["tasks"], "--check", "--diff")
    assert (told.status, told.recap.failed) == (0, 0), told.output
    assert not report.exists()
    assert desk.result["report"] == ""
    reviewed = desk.result["plan_digest"]
    told = desk.run(play["tasks"])
    assert (told.status, told.recap.changed) == (0, 2), told.output
    assert '"one.example is not looked at"' in told.output
    assert set(site.listing()) == {"one.example", "ann@one.example"}
    page = report.read_text("utf-8")
    assert "ann@one.example" in page
    assert desk.result["plan_digest"] == reviewed
    assert desk.result["report"] == str(report)
    # As if it were an hour ago, whichever minute it is.
    report.write_text(TIME.sub("<time>an hour ago</time>", page), "utf-8")
    with site.recorder.forbidding_writes():
        told = desk.run(play["tasks"])
        assert (told.status, told.recap.changed) == (0, 1), told.output
        again = report.read_text("utf-8")
        assert TIME.sub("", again) == TIME.sub("", page)
        (date,) = TIME.findall(again)
        told = desk.run(play["tasks"], tenant_report_date=date)
    assert (told.status, told.recap.changed) == (0, 0), told.output


@pytest.mark.matrix
def test_names_stay_what_they_are(desk: RoleDesk, site: Site) -> None:
    """Those that are special to templates are told as they are: exported, on the page, as drift."""
    box, alias, forwarder = HOSTILE
    site.create("one.example")
    site.create(box, emails=[box, alias])
    site.create(forwarder, members=[box])
    given = {"export": "export.yml", "report": "report.html", "drift": "drift.txt"}
    plays = [
        {
            "ansible.builtin.import_playbook": f"postroom.email.{name}",
            "vars": {"mail_definition_file": file, "mail_report_file": file},
        }
        for name, file in given.items()
    ]
    desk.save("playbook.yml", plays)
    desk.save(
        "tenant.yml", {"domains": ["one.example"], "mailboxes": [{"name": box, "aliases": []}]}
    )
    told = desk.play_own(
        "playbook.yml", mail_definition_files="tenant.yml", mail_verify_dns=False, **VARIABLES
    )
    assert (told.status, told.recap.failed) == (2, 1), told.output
    assert (desk.folder / "drift.txt").read_text("utf-8").splitlines() == [
        f"there, not declared: forwarder {forwarder}",
        f"there, not declared: alias {alias} of {box}",
    ]
    assert desk.load("export.yml") == {
        "domains": ["one.example"],
        "mailboxes": [{"name": box, "aliases": [alias]}],
        "forwarders": [{"name": forwarder, "members": [box], "aliases": []}],
    }
    page = (desk.folder / "report.html").read_text("utf-8")
    assert [name for name in HOSTILE if page.count(name) < 2] == []


@pytest.mark.matrix
def test_no_password_shows(desk: RoleDesk, service: RunningService) -> None:
    """Not at -vvvv, where the role's arguments are looked at, and not where they are none."""
    (desk.folder / "key").write_text("the key of the vault")
    (desk.folder / "word").write_text(PASSWORD)
    desk.encrypt("word", "key")
    word = indent((desk.folder / "word").read_text(), "    ")
    passwords = f"tenant_passwords:\n  ann@one.example: !vault |\n{word}"
    (desk.folder / "passwords.yml").write_text(passwords)
    encrypted = ("-e", "@passwords.yml", "--vault-password-file", "key")
    told = desk.use("-vvvv", *encrypted, tenant_definition_files="tenant.yml")
    assert told.status == 0, told.output
    assert PASSWORD not in told.output
    assert opens(service, "ann@one.example", PASSWORD)
    no_map = "argument 'tenant_passwords' is of type"
    no_text = "passwords: The password of ann@one.example is no text. Give a string, in quotes,"
    wrong = {"ann@one.example": {"password": PASSWORD}}
    for given, sentence in ((PASSWORD, no_map), ([PASSWORD], no_map), (wrong, no_text)):
        told = desk.use("-vvvv", tenant_definition_files="tenant.yml", tenant_passwords=given)
        assert told.status == 2, told.output
        assert sentence in words(told)
        assert PASSWORD not in told.output


def test_the_result(desk: RoleDesk, site: Site) -> None:
    """It has the keys that the README tells, and records of those domains that are to be there."""
    site.create("gone.example", "more.example", "eve@more.example")
    told = desk.use(
        tenant_definition_files=["tenant.yml"],
        tenant_passwords=PASSWORDS,
        tenant_dns_provider="none",
    )
    assert told.status == 0, told.output
    result = desk.result
    table = README.partition("## Result")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(result)
    assert [f"{change['action']} {change['name']}" for change in result["plan"]] == [
        "create one.example",
        "create ann@one.example",
        "delete gone.example",
    ]
    assert result["summary"]["created"] == 2
    assert result["undeclared"]["mailboxes"] == ["eve@more.example"]
    assert list(result["dns"]) == ["one.example"]
    assert result["report"] == ""
    # The second time the domain is gone already, and that is no domain to publish either.
    told = desk.use(tenant_definition_files=["tenant.yml"], tenant_dns_provider="none")
    assert told.status == 0, told.output
    assert list(desk.result["dns"]) == ["one.example"]


def test_nothing_is_left_to_publish(desk: RoleDesk) -> None:
    """A definition without a domain that is to be there needs no name server."""
    desk.save("tenant.yml", {"domains": [{"name": "gone.example", "state": "absent"}]})
    told = desk.use(tenant_definition_files="tenant.yml", tenant_dns_provider="none")
    assert (told.status, told.recap.changed) == (0, 0), told.output
    assert desk.result["dns"] == {}
    told = desk.use(
        tenant_definition_files="tenant.yml", tenant_dns_provider=None, tenant_report_file=None
    )
    assert told.status == 0, told.output
    assert desk.result["report"] == ""


def test_a_report_alone_tells_of_no_other_run(desk: RoleDesk) -> None:
    """What an earlier use of the role has left is not told with it."""
    role = {"name": "postroom.email.tenant"}
    told = desk.run(
        [
            {"ansible.builtin.include_role": role},
            {"ansible.builtin.include_role": {**role, "tasks_from": "report"}},
        ],
        tenant_definition_files="tenant.yml",
        tenant_passwords=PASSWORDS,
        tenant_report_file="report.html",
    )
    assert told.status == 0, told.output
    assert desk.result == {"report": str(desk.folder / "report.html")}


def test_what_is_missing_is_told_before_anything_is_written(desk: RoleDesk, site: Site) -> None:
    """A definition, a choice that there is, and what the DNS provider needs."""
    given = {"tenant_definition_files": "tenant.yml", "tenant_passwords": PASSWORDS}
    with site.recorder.forbidding_writes():
        told = desk.use(**{**given, "tenant_definition_files": []})
        assert told.status == 2
        assert "tenant_definition_files is empty, so there is nothing to do." in words(told)
        assert "tenant_definition_files" in words(desk.use())
        told = desk.use(**given, tenant_dns_provider="bind")
        assert told.status == 2
        assert "value of tenant_dns_provider must be one of" in words(told)
        told = desk.use(**given, tenant_dns_provider="rfc2136", dns_tsig_name="mail")
        assert told.status == 2
        assert "dns_tsig_secret is not set, and dns_provider=rfc2136 needs it." in words(told)
        told = desk.use(**given, tenant_dns_provider="none", dns_ttl="abc")
        assert told.status == 2
        assert "int. Correct it. Nothing was changed." in words(told)
        slips: dict[str, object] = {
            "{}/none/x.html, and there is no such folder.": "none/x.html",
            "{}, which is a folder. Name a file in it.": str(desk.folder),
        }
        for sentence, slip in slips.items():
            told = desk.use(**given, tenant_report_file=slip)
            assert told.status == 2
            assert f"tenant_report_file is {sentence.format(desk.folder)}" in words(told)
        told = desk.use(**given, tenant_report_file="report.html", tenant_report_mode=640)
        assert "tenant_report_mode is the number 640. Write it in quotes" in words(told)
    assert site.listing() == {}


def test_the_options_of_the_module_pass(desk: RoleDesk, site: Site) -> None:
    """Purging has its limits, and a plan that nobody expected is not carried out."""
    site.create("one.example", "eve@one.example", "zoe@one.example")
    desk.save("tenant.yml", {"domains": ["one.example"]})
    given = {"tenant_definition_files": "tenant.yml", "tenant_purge": "mailbox"}
    limits: list[tuple[dict[str, Any], str]] = [
        ({}, "max_deletions allows 0"),
        ({"tenant_max_deletions": 2, "tenant_max_delete_percent": 50}, "allows 50."),
        ({"tenant_max_deletions": 2, "tenant_expected_plan": f"sha256:{0:064}"}, "not the one"),
    ]
    with site.recorder.forbidding_writes():
        for limit, sentence in limits:
            told = desk.use(**given, **limit)
            assert told.status == 2
            assert sentence in words(told)
        told = desk.use(**given, tenant_scope="*@two.example")
        assert told.status == 0, told.output
    told = desk.use(**given, tenant_max_deletions=1, tenant_ignore=["zoe@*"])
    assert told.status == 0, told.output
    assert set(site.listing()) == {"one.example", "zoe@one.example"}
