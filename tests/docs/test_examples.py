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
    """Each task succeeds without a warning, and its result is the documented one, no password."""
    for name in TENANTS.get(module, DEFAULT_TENANT):
        tenant.create(name)
    assert_as_documented(module, run_examples(module, tmp_path, service), tmp_path)


def test_the_examples_find_whose_an_alias_is(
    tmp_path: Path, service: RunningService, tenant: Api
) -> None:
    """The expression over the list of mailboxes gives the one that has the alias, and no other."""
    for name in ("example.com", "bob@example.com"):
        tenant.create(name)
    tenant.create("alice@example.com", emails=["alice@example.com", "sales@example.com"])
    run = run_examples("email_info", tmp_path, service)
    assert run.status == 0, run.output
    assert re.search(r'"msg": \[\s+"alice@example.com"\s+\]', run.output), run.output
