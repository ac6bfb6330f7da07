# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of every module run, and return what its documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs.examples import (
    assert_as_documented,
    run_examples,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

# Those of this one need name servers and run in tests/dns.
MODULES = [module for module in repository.modules() if module != "email_dns_records"]
# What a tenant has to hold for a module's examples, where it is not the default.
TENANTS: dict[str, tuple[str, ...]] = {"email_domain": (), "email_mailbox": ("example.com",)}
DEFAULT_TENANT = ("example.com", "alice@example.com", "bob@example.com")


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(
    module: str, tmp_path: Path, service: RunningService, tenant: Api
) -> None:
    """Each task succeeds without a warning, and returns what is documented, but no password."""
    for name in TENANTS.get(module, DEFAULT_TENANT):
        is_owner = module == "email_info" and name == "alice@example.com"
        tenant.create(name, [name, "sales@example.com"] if is_owner else None)
    run = run_examples(module, tmp_path, service)
    assert_as_documented(module, run, tmp_path)
    if module == "email_info":
        # The expression over the list of mailboxes finds the only owner of the alias.
        assert re.search(r'"msg": \[\s+"alice@example.com"\s+\]', run.output), run.output
