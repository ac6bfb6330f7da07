# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every playbook runs as an AWX job, twice, and reveals no secret."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import refused
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.ops.runner.job import Account, Job, run_job
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant
from ansible_collections.postroom.email.tests.support.tenant_fixtures import recorder, tenant

__all__ = ["direct", "recorder", "service", "tenant"]

PASSWORDS: Mapping[str, str | list[str]] = {
    "alice@example.com": "Zx9#kPq!secret-ALPHA-7731-wvut",
    "bob@example.com": [
        'qT"b\\s/ü&=?+%41#{}<é>secret-BRAVO-5519',
        "secret-CHARLIE-2207: with 'quotes', commas  and two spaces",
    ],
}
#: A password that someone types into a survey.
TYPED = "{{ 7 * 7 }} typed-secret-DELTA-9136 %41"


@dataclass(frozen=True)
class Case:
    """A job to test.

    :param variables: the survey's answers, in its format, and the job template's variables
    :param changed: the number of changed tasks in the first run
    :param passwords: the passwords in the credential's file
    :param asks_dns: whether the job queries name servers
    :param missing: the objects that don't exist yet
    :param writes: the file that the job writes in its copy of the project
    :param secrets: secrets besides those in the credential
    """

    variables: Mapping[str, Any]
    changed: int
    passwords: Mapping[str, Any] = field(default_factory=dict)
    asks_dns: bool = False
    missing: tuple[str, ...] = ()
    writes: str = ""
    secrets: tuple[str, ...] = ()
    inventory: str = "json"


CASES = {
    "add_alias": Case(
        {"mail_alias": "hello@example.com", "mail_mailbox": "alice@example.com"}, changed=1
    ),
    "converge": Case(
        {"mail_definition_files": "tenant.yml"},
        changed=1,
        passwords=PASSWORDS,
        missing=("bob@example.com",),
    ),
    "drift": Case({"mail_definition_files": "tenant.yml"}, changed=0),
    "export": Case({"mail_definition_file": "exported.yml"}, changed=1, writes="exported.yml"),
    "forwarder": Case(
        {
            "mail_forwarder": "team@example.com",
            "mail_members": "alice@example.com\npartner@example.net\n",
        },
        changed=1,
    ),
    "offboard_mailbox": Case(
        {"mail_mailbox": "alice@example.com", "mail_colleague": "bob@example.com"}, changed=3
    ),
    "onboard_domain": Case(
        {"mail_domain": "new.example"}, changed=1, asks_dns=True, inventory="source"
    ),
    "onboard_mailbox": Case(
        {
            "mail_mailbox": "carol@example.com",
            "mail_aliases": "hello@example.com\nhi@example.com",
            "mail_forwarders": "team@example.com",
            "vault_mail_password": TYPED,
        },
        changed=2,
        secrets=(TYPED,),
    ),
    "remove_alias": Case(
        {"mail_alias": "sales@example.com", "mail_mailbox": "alice@example.com"}, changed=1
    ),
    "report": Case(
        {"mail_report_file": "report.html", "mail_definition_files": "tenant.yml"},
        changed=1,
        asks_dns=True,
        writes="report.html",
    ),
    "rotate_passwords": Case(
        {"mail_mailboxes": "alice@example.com\nbob@example.com"}, changed=1, passwords=PASSWORDS
    ),
}
#: Playbooks whose jobs are tested in tests/ops/awx, tests/ops/bot_role and tests/hosts.
ELSEWHERE = {"awx", "deploy_bot", *repository.mail_host_playbooks()}
LEAK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - debug: {msg: "{{ lookup('ansible.builtin.env', 'POSTROOM_API_TOKEN') }}"}
    - debug: {msg: Only the event names the item.}
      loop: "{{ lookup('ansible.builtin.file', mail_passwords_file) | from_yaml | dict2items }}"
      loop_control: {label: "{{ item.key }}"}
"""


def fill(tenant: RecordedTenant, case: Case) -> None:
    """Create the objects that the project declares, except those that the case omits."""
    tenant.create("example.com", "bob@example.com")
    tenant.create("alice@example.com", emails=["alice@example.com", "sales@example.com"])
    tenant.create("team@example.com", members=["alice@example.com", "bob@example.com"])
    for name in case.missing:
        tenant.delete(name)


@pytest.fixture(scope="module")
def nameserver() -> Iterator[str]:
    """Run a name server that refuses every query."""
    with fake_nameserver({("*", "*"): refused}) as server:
        yield str(server)


def test_every_playbook_has_a_job() -> None:
    """Each playbook has a case in this file, or its own test elsewhere."""
    assert {*repository.playbooks()} == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_a_playbook_runs_twice(
    name: str, tmp_path: Path, tenant: RecordedTenant, nameserver: str
) -> None:
    """A second job of a repeatable playbook changes nothing, and no job reveals a secret.

    In the first job, unanswered survey questions are empty strings; in the second, they are null.
    """
    case = CASES[name]
    fill(tenant, case)
    account = Account(tenant.url, tenant.token, case.passwords)
    arguments = repository.read_yaml(f"playbooks/arguments/{name}.yml")
    optional = [
        question
        for question, option in arguments["options"].items()
        if "survey" in option and not option.get("required", False)
    ]
    jobs = []
    for run, nothing in (("first", ""), ("again", None)):
        variables = {**dict.fromkeys(optional, nothing), **case.variables}
        if case.asks_dns:
            variables["dns_nameservers"] = [nameserver]
        job = Job(f"{name}.yml", variables, inventory=case.inventory)
        jobs.append(run_job(tmp_path / run, account, job))
    first, again = jobs
    assert (first.status, first.changed) == ("successful", case.changed), first.output
    assert again.status == "successful", again.output
    assert not arguments["repeatable"] or again.changed == 0, again.output
    assert not arguments.get("reads_only") or tenant.recorder.take_writes() == []
    for ended in jobs:
        assert ended.leaks(account, *case.secrets) == []
        assert not case.writes or (ended.project / case.writes).is_file()


def test_a_failed_job_shows_no_secret(tmp_path: Path, tenant: RecordedTenant) -> None:
    """A failed job reveals neither the token nor a password."""
    case = CASES["onboard_mailbox"]
    account = Account(tenant.url, "wrong-token-ECHO-8842-qwpo", PASSWORDS)
    ended = run_job(tmp_path / "job", account, Job("onboard_mailbox.yml", case.variables))
    assert ended.status == "failed"
    assert "status 401" in ended.failures
    assert ended.leaks(account, *case.secrets) == []


def test_a_leak_is_found(tmp_path: Path, tenant: RecordedTenant) -> None:
    """As a control, a token and passwords that loop items print are found."""
    account = Account(tenant.url, tenant.token, PASSWORDS)
    ended = run_job(tmp_path / "job", account, Job("leak.yml", files={"leak.yml": LEAK}))
    found = ended.leaks(account)
    for place in ("/stdout: ", "/job_events/", "/stream: ", "/console: "):
        assert any(place in line and tenant.token in line for line in found), place
    for secret in ("secret-ALPHA-7731", "secret-BRAVO-5519", "secret-CHARLIE-2207"):
        assert any("/job_events/" in line and secret in line for line in found), secret


def test_a_job_runs_on_a_slice_of_the_inventory(
    tmp_path: Path, tenant: RecordedTenant, nameserver: str
) -> None:
    """mail_hosts selects domains from the project's inventory source."""
    tenant.create("one.example", "two.example", "three.test")
    variables = {"mail_hosts": "*.example", "dns_nameservers": [nameserver]}
    account = Account(tenant.url, tenant.token)
    job = Job("onboard_domain.yml", variables, inventory="source")
    ended = run_job(tmp_path / "job", account, job)
    assert (ended.status, ended.changed) == ("successful", 0), ended.output
    assert ended.hosts == {"one.example", "two.example"}


def test_a_workflow_applies_the_reviewed_plan(tmp_path: Path, tenant: RecordedTenant) -> None:
    """The review passes its plan to the next node, which applies only that plan."""
    case = CASES["converge"]
    fill(tenant, case)
    account = Account(tenant.url, tenant.token, case.passwords)
    with tenant.recorder.forbidding_writes():
        review = run_job(
            tmp_path / "review", account, Job("converge.yml", case.variables, check=True)
        )
    assert (review.status, list(review.artifacts)) == ("successful", ["mail_expected_plan"])
    before = tenant.listing()
    required = {**case.variables, "mail_plan_needed": True}
    without = run_job(tmp_path / "without", account, Job("converge.yml", required))
    assert without.status == "failed"
    assert "mail_expected_plan is required" in without.failures
    assert tenant.listing() == before
    planned = Job("converge.yml", {**required, **review.artifacts})
    tenant.delete("team@example.com")
    outdated = run_job(tmp_path / "outdated", account, planned)
    assert outdated.status == "failed"
    assert "not the expected plan" in outdated.failures
    assert outdated.artifacts == {}
    tenant.create("team@example.com", members=["alice@example.com", "bob@example.com"])
    applied = run_job(tmp_path / "apply", account, planned)
    assert (applied.status, applied.changed) == ("successful", 1), applied.output
    assert tenant.listing().keys() == before.keys() | {"bob@example.com"}


FOLDER = repository.ROOT / "extensions" / "ee"
OURS = "postroom.email"
#: Names of plugins in expressions, as in `| a.b.c`, `is a.b.c` or `lookup('a.b.c'`.
IN_EXPRESSIONS = re.compile(
    r"(?:\|\s*|\bis (?:not )?|(?:lookup|query)\(\s*['\"])(\w+\.\w+)\.\w+(?=[\s(}'\",|)]|$)"
)
#: Names of modules, which are keys of tasks.
AS_KEYS = re.compile(r"^[ -]+(\w+\.\w+)\.\w+:", re.MULTILINE)


def run(folder: Path, *command: str) -> str:
    """Run a program from the environment, and return its output."""
    program = str(Path(sys.executable).with_name(command[0]))
    done = playbooks.run([program, *command[1:]], playbooks.environment(folder), folder)
    assert done.status == 0, done.output
    return done.output


def used() -> set[str]:
    """Return the collections that playbooks and roles use."""
    found: set[str] = set()
    for file in repository.files():
        if file.parts[0] in ("playbooks", "roles") and file.suffix in (".yml", ".yaml", ".j2"):
            text = repository.read(file)
            found |= {*IN_EXPRESSIONS.findall(text), *AS_KEYS.findall(text)}
    return found


def test_the_image_has_every_collection_in_use() -> None:
    """The image contains exactly the collections that are used."""
    rows = repository.read_yaml("extensions/ee/requirements.yml")["collections"]
    listed = {row["name"] for row in rows}
    assert {"ansible.builtin", OURS, "amazon.aws"} <= used()
    assert used() - {"ansible.builtin", OURS} == listed
    # Collections that are required only by the `dns` role.
    needs = repository.read_yaml("roles/dns/vars/main.yml")["__dns_needs"].values()
    assert {need["collection"] for need in needs if "collection" in need} <= listed


def test_the_definition_builds(tmp_path: Path) -> None:
    """ansible-builder creates a build context that installs the collection and its requirements."""
    built = tmp_path / "ee"
    shutil.copytree(FOLDER, built, ignore=shutil.ignore_patterns("*.gz"))
    run(built, "ansible-galaxy", "collection", "build", str(repository.ROOT))
    output = run(built, "ansible-builder", "create", "--output-filename", "Containerfile")
    assert "No matches" not in output
    (archive,) = (built / "context" / "_build" / "collections").iterdir()
    assert archive.name == f"postroom-email-{repository.read_yaml('galaxy.yml')['version']}.tar.gz"
    steps = (built / "context" / "Containerfile").read_text("utf-8")
    assert "ansible-galaxy collection install --offline" in steps
    # This command comes from the definition. It runs in a new environment, as in the image.
    definition = yaml.safe_load((built / "execution-environment.yml").read_text("utf-8"))
    (step,) = definition["additional_build_steps"]["append_galaxy"]
    command = step.removeprefix("RUN ").replace("/usr/share/ansible", str(tmp_path))
    shell = command.replace("/build/collections", str(built))
    env = playbooks.environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(tmp_path))
    done = playbooks.run(["sh", "-c", shell], env, tmp_path)
    assert done.status == 0, done.output
    output = run(tmp_path, "ansible-builder", "introspect", str(tmp_path / "collections"))
    found = yaml.safe_load(output[output.index("---") :])
    lines = repository.read("meta/ee-requirements.txt").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    assert [row.partition("#")[0].strip() for row in found["python"]] == wanted
    assert found["system"] == []
