# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""BIND loads the zone lines exactly as Ansible printed them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.dns.role import dkim_text, joined, register
from ansible_collections.postroom.email.tests.ops.runner.job import Account, job_of, run_job
from ansible_collections.postroom.email.tests.support import bind, playbooks, repository
from ansible_collections.postroom.email.tests.support.collection_playbooks import PlaybookRunner
from ansible_collections.postroom.email.tests.support.service import RunningService

DOMAIN, EXAMPLE = "printed.example", "example.printed.example"
#: A whole line of a zone file that begins in the first column.
ZONE_LINE = re.compile(r"^\S+\. +\d+ +IN +(?:MX|TXT) .*$", re.MULTILINE)
ONBOARDING = {"mail_domain": DOMAIN, "dns_verify": False}


def check_in_bind(output: str, service: RunningService, folder: Path, domain: str = DOMAIN) -> None:
    """Assert that BIND serves the domain's records after loading the printed lines."""
    zone = "\n".join(ZONE_LINE.findall(output.replace("\r", "")))
    with bind.running(folder, {domain: zone}) as server:
        assert server.lookup(domain, "MX") == ("10 mail.postroom.test.",), output
        assert server.lookup(domain, "TXT") == ('"v=spf1 include:spf.postroom.test ~all"',)
        (key,) = server.lookup(f"service._domainkey.{domain}", "TXT")
    assert joined(key) == dkim_text(service, domain)


@pytest.mark.parametrize("settings", ["", "callback_result_format=yaml", "stdout_callback=minimal"])
def test_ansible_playbook(settings: str, service: RunningService, tmp_path: Path) -> None:
    """The lines of `onboard_domain`, and thus of the `dns` role, survive each output format."""
    runner = PlaybookRunner(tmp_path, service.url, service.token)
    (tmp_path / "settings" / "ansible.cfg").write_text(f"[defaults]\n{settings}\n", "utf-8")
    run = runner.play("onboard_domain", **ONBOARDING)
    assert run.status == 0, run.output
    check_in_bind(run.output, service, tmp_path)


def test_a_job(service: RunningService, tmp_path: Path) -> None:
    """The lines survive ansible-runner, with which AWX runs jobs."""
    job = job_of("onboard_domain", ONBOARDING)
    ended = run_job(tmp_path / "job", Account(service.url, service.token), job)
    assert ended.status == "successful", ended.output
    check_in_bind(ended.output, service, tmp_path)


def test_the_example(service: RunningService, tmp_path: Path) -> None:
    """The example playbook prints the `zone` that `email_dns_records` returns."""
    register(service, EXAMPLE)
    example = tmp_path / "dns_records.yml"
    shutil.copy(repository.ROOT / "playbooks" / "examples" / example.name, example)
    (tmp_path / "tenant_vars.yml").write_text(f"mail_domains: [{EXAMPLE}]\n", "utf-8")
    account = ("-e", f"mail_api_url={service.url}", "-e", f"vault_mail_token={service.token}")
    run = playbooks.run_playbook(example, playbooks.environment(tmp_path), *account)
    assert run.status == 0, run.output
    check_in_bind(run.output, service, tmp_path, EXAMPLE)
