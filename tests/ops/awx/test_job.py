# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The playbook as a job of the AWX that it sets up."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.ops.awx.stage import ALL, PASSWORD, SECRETS, Stage
from ansible_collections.postroom.email.tests.ops.runner.job import Account, job_of, run_job


def test_a_job_sets_awx_up(stage: Stage, tmp_path: Path) -> None:
    """Once: a second job changes nothing. The account is the credential's, and nothing is shown."""
    account = Account(
        "https://mail.example.net", "t0ken/of+the-job-Vu72", {"a@b.example": PASSWORD}
    )
    given = {"mail_api_url", "vault_mail_token", "vault_mail_passwords"}
    variables = {name: value for name, value in ALL.items() if name not in given}
    job = job_of("awx", {**variables, "awx_playbooks": ["converge"]}, environment=stage.connection)
    first, again = (run_job(tmp_path / name, account, job) for name in ("first", "again"))
    assert first.status == "successful", first.output
    assert first.changed > 0
    assert (again.status, again.changed) == ("successful", 0), again.output
    for ended in (first, again):
        assert ended.leaks(account, *SECRETS.values(), stage.controller.token) == []
    kept = stage.controller.named("credentials", "Postroom tenant")
    assert kept["inputs"]["api_token"] == account.token
