# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `tenant` role applies a definition, returns the DNS records and writes a report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

README = repository.read("roles/tenant/README.md")
PASSWORD = "Quokka-tenant-0/alice"
PASSWORDS = {"ann@one.example": PASSWORD}
DEFINITION: dict[str, Any] = {
    "domains": ["one.example", {"name": "gone.example", "state": "absent"}],
    "mailboxes": [{"name": "ann@one.example", "aliases": ["hi@one.example"]}],
}
#: Variables that disable queries to name servers.
VARIABLES: dict[str, Any] = {
    "vault_mail_passwords": PASSWORDS,
    "dns_verify": False,
    "tenant_verify_dns": False,
}
TIME = re.compile(r"<time>(\d{4}-\d\d-\d\d \d\d:\d\d UTC)</time>")

KEEPING: dict[str, Any] = {
    "ansible.builtin.copy": {
        "content": "{{ tenant_result | to_json }}",
        "dest": "{{ playbook_dir }}/result.json",
        "mode": "0600",
    },
    "check_mode": False,
    "changed_when": False,
}


class RoleRunner(PlaybookRunner):
    """A directory with a definition, and the tenant to which the role is applied."""

    def run(self, tasks: list[dict[str, Any]], *options: str, **variables: Any) -> Run:
        """Run tasks on the controller, and store the role's fact."""
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [*tasks, KEEPING]}
        self.save("playbook.yml", [play])
        return self.play_own("playbook.yml", *options, **VARIABLES, **variables)

    def use(self, *options: str, **variables: Any) -> Run:
        """Use the role with the given variables."""
        task = {"ansible.builtin.include_role": {"name": "postroom.email.tenant"}}
        return self.run([{**task, "vars": variables}], *options)

    @property
    def result(self) -> dict[str, Any]:
        """The fact that the role has set."""
        done: dict[str, Any] = json.loads((self.folder / "result.json").read_text("utf-8"))
        return done


@pytest.fixture
def runner(tmp_path: Path, tenant: RecordedTenant) -> RoleRunner:
    """Provide a directory with a definition for the tenant."""
    runner = RoleRunner(tmp_path, tenant.url, tenant.token)
    runner.save("tenant.yml", DEFINITION)
    return runner


@pytest.mark.full
@pytest.mark.matrix
def test_the_example_of_the_readme(runner: RoleRunner, tenant: RecordedTenant) -> None:
    """The README's example works, and a second run only updates the time in the report."""
    example = fenced_blocks.blocks("yaml", file=repository.ROOT / "roles" / "tenant" / "README.md")[
        0
    ]
    (play,) = yaml.safe_load(example.text)
    report = runner.folder / "report.html"
    with tenant.recorder.forbidding_writes():
        done = runner.run(play["tasks"], "--check", "--diff")
    assert (done.status, done.recap.failed) == (0, 0), done.output
    assert not report.exists()
    assert runner.result["report"] == ""
    reviewed = runner.result["plan_digest"]
    done = runner.run(play["tasks"])
    assert (done.status, done.recap.changed) == (0, 2), done.output
    assert set(tenant.listing()) == {"one.example", "ann@one.example"}
    page = report.read_text("utf-8")
    assert "ann@one.example" in page
    assert runner.result["plan_digest"] == reviewed
    assert runner.result["report"] == str(report)
    # Make the report look an hour old, so that its time certainly changes.
    report.write_text(TIME.sub("<time>an hour ago</time>", page), "utf-8")
    with tenant.recorder.forbidding_writes():
        done = runner.run(play["tasks"])
        assert (done.status, done.recap.changed) == (0, 1), done.output
        again = report.read_text("utf-8")
        assert TIME.sub("", again) == TIME.sub("", page)
        (date,) = TIME.findall(again)
        done = runner.run(play["tasks"], tenant_report_date=date)
    assert (done.status, done.recap.changed) == (0, 0), done.output


@pytest.mark.full
@pytest.mark.matrix
def test_no_password_shows(runner: RoleRunner, service: RunningService) -> None:
    """Passwords from a vault are set, and no password, valid or malformed, is shown at -vvvv."""
    (runner.folder / "key").write_text("the key of the vault")
    (runner.folder / "word").write_text(PASSWORD)
    runner.encrypt("word", "key")
    word = indent((runner.folder / "word").read_text(), "    ")
    passwords = f"tenant_passwords:\n  ann@one.example: !vault |\n{word}"
    (runner.folder / "passwords.yml").write_text(passwords)
    encrypted = ("-e", "@passwords.yml", "--vault-password-file", "key")
    done = runner.use("-vvvv", *encrypted, tenant_definition_files="tenant.yml")
    assert done.status == 0, done.output
    assert PASSWORD not in done.output
    assert opens(service, "ann@one.example", PASSWORD)
    wrong: dict[str, Any] = {"ann@one.example": {"password": PASSWORD}}
    for given, named in ((PASSWORD, "'tenant_passwords'"), (wrong, "passwords: The password of")):
        done = runner.use("-vvvv", tenant_definition_files="tenant.yml", tenant_passwords=given)
        assert done.status == 2, done.output
        assert named in output_text(done)
        assert PASSWORD not in done.output


@pytest.mark.full
def test_the_result(runner: RoleRunner, tenant: RecordedTenant) -> None:
    """The result has the keys in the README, and the records of the domains declared present."""
    tenant.create("gone.example", "more.example", "eve@more.example")
    given = {"tenant_definition_files": ["tenant.yml"], "tenant_dns_provider": "none"}
    done = runner.use(**given, tenant_passwords=PASSWORDS)
    assert done.status == 0, done.output
    result = runner.result
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
    # Without a declared domain, there are no records to publish.
    runner.save("tenant.yml", {"domains": [{"name": "gone.example", "state": "absent"}]})
    done = runner.use(**given, tenant_report_file=None)
    assert (done.status, done.recap.changed) == (0, 0), done.output
    assert runner.result["dns"] == {}
    # If only the report is written, the fact has no results from an earlier use of the role.
    role = {"name": "postroom.email.tenant"}
    tasks = [
        {"ansible.builtin.include_role": {**role, **u}} for u in ({}, {"tasks_from": "report"})
    ]
    done = runner.run(tasks, **given, tenant_report_file="report.html")
    assert runner.result == {"report": str(runner.folder / "report.html")}, done.output


@pytest.mark.full
def test_wrong_variables_change_nothing(runner: RoleRunner, tenant: RecordedTenant) -> None:
    """The definition, provider and report file are checked before anything is written."""
    given = {"tenant_definition_files": "tenant.yml", "tenant_passwords": PASSWORDS}
    slips: list[tuple[dict[str, Any], str]] = [
        ({"tenant_definition_files": []}, "tenant_definition_files is empty"),
        ({"tenant_dns_provider": "bind"}, "tenant_dns_provider must be one of"),
        ({"tenant_dns_provider": "rfc2136", "dns_tsig_name": "mail"}, "dns_tsig_secret"),
        ({"tenant_dns_provider": "none", "dns_ttl": "abc"}, "Nothing was changed."),
        ({"tenant_report_file": "none/x.html"}, "tenant_report_file"),
        ({"tenant_report_file": str(runner.folder)}, "tenant_report_file"),
        ({"tenant_report_file": "x.html", "tenant_report_mode": 640}, "tenant_report_mode"),
    ]
    with tenant.recorder.forbidding_writes():
        for slip, named in slips:
            done = runner.use(**{**given, **slip})
            assert done.status == 2, done.output
            assert named in output_text(done)
    assert tenant.listing() == {}
