# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every playbook runs as a job of AWX, again and again, and shows no secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.fakes.nameserver.habits import refused
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.ops.runner.cases import (
    CASES,
    PASSWORDS,
    Case,
    arguments,
    fill,
    unanswered,
)
from ansible_collections.postroom.email.tests.ops.runner.job import Account, Ended, Job, run_job
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.site import Site

#: Their jobs are where what they need is: in tests/ops/awx and tests/ops/bot_role.
ELSEWHERE = {"awx", "deploy_bot"}
LEAK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "{{ lookup('ansible.builtin.env', 'POSTROOM_API_TOKEN') }}"
    - ansible.builtin.debug:
        msg: Only the event tells of the item.
      loop: "{{ lookup('ansible.builtin.file', mail_passwords_file) | from_yaml | dict2items }}"
      loop_control:
        label: "{{ item.key }}"
"""


@pytest.fixture(scope="module")
def nameserver() -> Iterator[str]:
    """Run a name server that knows of nothing."""
    with misbehaving({("*", "*"): refused}) as server:
        yield str(server)


def account_of(site: Site, case: Case) -> Account:
    """Return the tenant's credential, with the passwords of a case."""
    return Account(site.url, site.token, case.passwords)


def case_job(name: str, nothing: str | None, nameserver: str) -> Job:
    """Return a playbook's job, with nothing for an answer to what need not be answered."""
    case = CASES[name]
    variables = {**unanswered(name, nothing), **case.variables}
    if case.asks_dns:
        variables["dns_nameservers"] = [nameserver]
    return Job(f"{name}.yml", variables, inventory=case.inventory)


def test_every_playbook_has_a_job() -> None:
    """A playbook that comes has to get a case here, or a test of its own."""
    assert {*repository.playbooks()} == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_a_playbook_runs_twice(name: str, tmp_path: Path, site: Site, nameserver: str) -> None:
    """The second time nothing changes, where that is promised; no secret shows at any time."""
    case = CASES[name]
    fill(site, case)
    account = account_of(site, case)
    first = run_job(tmp_path / "first", account, case_job(name, "", nameserver))
    assert (first.status, first.changed) == ("successful", case.changed), first.output
    again = run_job(tmp_path / "again", account, case_job(name, None, nameserver))
    assert again.status == "successful", again.output
    assert not arguments(name)["repeatable"] or again.changed == 0, again.output
    assert arguments(name).get("reads_only", False) <= (site.recorder.take_writes() == [])
    for ended in (first, again):
        assert ended.leaks(account, *case.secrets) == []
        assert not case.writes or (ended.project / case.writes).is_file()


@pytest.mark.parametrize("name", ["converge", "onboard_mailbox", "rotate_passwords"])
def test_a_job_that_fails_shows_no_secret(name: str, tmp_path: Path, site: Site) -> None:
    """With a token that is not accepted, too, whatever the service says of it."""
    case = CASES[name]
    account = Account(site.url, "wrong-token-ECHO-8842-qwpo", PASSWORDS)
    ended = run_job(tmp_path / "job", account, Job(f"{name}.yml", case.variables))
    assert ended.status == "failed"
    assert "status 401" in ended.failures
    assert ended.leaks(account, *case.secrets) == []


def test_a_leak_would_be_found(tmp_path: Path, site: Site) -> None:
    """The control: a token that is printed, and passwords that are looped over, are found."""
    account = Account(site.url, site.token, PASSWORDS)
    job = Job("leak.yml", files={"leak.yml": LEAK})
    ended = run_job(tmp_path / "job", account, job)
    assert ended.status == "successful", ended.output
    found = ended.leaks(account)
    for place in ("/stdout: ", "/job_events/", "/stream: ", "/console: "):
        assert any(place in line and site.token in line for line in found), place
    for secret in ("secret-ALPHA-7731", "secret-BRAVO-5519", "secret-CHARLIE-2207"):
        assert any("/job_events/" in line and secret in line for line in found), secret


def test_a_job_goes_over_the_hosts_of_the_inventory(
    tmp_path: Path, site: Site, nameserver: str
) -> None:
    """A slice of the domains that the project's source of an inventory finds is worked on."""
    site.create("one.example", "two.example", "three.test")
    variables = {"mail_hosts": "*.example", "dns_nameservers": [nameserver]}
    account = Account(site.url, site.token)
    job = Job("onboard_domain.yml", variables, inventory="source")
    ended = run_job(tmp_path / "job", account, job)
    assert (ended.status, ended.changed) == ("successful", 0), ended.output
    assert ended.hosts == {"one.example", "two.example"}
    assert ended.leaks(account) == []


def review_of(folder: Path, account: Account, **variables: str) -> Ended:
    """Run the review of the workflow."""
    return run_job(
        folder, account, Job("converge.yml", {**CASES["converge"].variables, **variables}, True)
    )


def test_a_workflow_carries_out_what_was_reviewed(tmp_path: Path, site: Site) -> None:
    """The check hands its plan to the next node, which carries that out, and nothing without it."""
    case = CASES["converge"]
    fill(site, case)
    account = account_of(site, case)
    with site.recorder.forbidding_writes():
        review = review_of(tmp_path / "review", account)
    assert (review.status, list(review.artifacts)) == ("successful", ["mail_expected_plan"])
    before = site.listing()
    needing = {**case.variables, "mail_plan_needed": True}
    planless = run_job(tmp_path / "planless", account, Job("converge.yml", needing))
    assert planless.status == "failed"
    assert "Give mail_expected_plan" in planless.failures
    assert site.listing() == before
    variables = {**needing, **review.artifacts}
    site.delete("team@example.com")
    refusal = run_job(tmp_path / "other", account, Job("converge.yml", variables))
    assert refusal.status == "failed"
    assert "The plan is not the one expected" in refusal.failures
    assert refusal.artifacts == {}
    site.create("team@example.com", members=["alice@example.com", "bob@example.com"])
    applied = run_job(tmp_path / "apply", account, Job("converge.yml", variables))
    assert (applied.status, applied.changed) == ("successful", 1), applied.output
    assert site.listing().keys() == before.keys() | {"bob@example.com"}
