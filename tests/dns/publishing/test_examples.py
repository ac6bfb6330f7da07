# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of the module run at a name server, and return what its documentation says."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.dns.publishing.conftest import Publisher
from ansible_collections.postroom.email.tests.dns.publishing.stage import KEY
from ansible_collections.postroom.email.tests.docs.examples import (
    assert_as_documented,
    run_examples,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

MODULE = "email_dns_records"


def test_the_examples_run(publisher: Publisher, service: RunningService, tmp_path: Path) -> None:
    """Each task succeeds without a warning and returns what is documented, no secret."""
    here = {"update_server": str(publisher.stage.front), "nameservers": [str(publisher.stage.bind)]}
    variables = {"vault_tsig_secret": KEY.secret}
    run = run_examples(MODULE, tmp_path, service, options=here, variables=variables)
    assert_as_documented(MODULE, run, tmp_path)
    assert KEY.secret not in run.output
    # They publish and withdraw.
    assert publisher.stage.gate.updates == 2
    assert not any(publisher.stage.held().values())
