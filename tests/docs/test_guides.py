# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the guides in docs/ tell to type works, from the first block to the last."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.records.merging import merge
from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import Desk, missing
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

COMMANDS = [
    file for file in readme.GUIDES if any(b.language == "console" for b in readme.all_blocks(file))
]
#: This one needs a name server, and is followed where there is one: by tests/dns.
WITH_NAME_SERVER = "dns"
HERE = [file for file in COMMANDS if file.stem != WITH_NAME_SERVER]


def prepare(tenant: Api) -> None:
    """Fill the tenant with what the guides take to be there."""
    tenant.create("example.com")
    tenant.create("example.org")
    tenant.create("alice@example.com", ["alice@example.com", "sales@example.com"])
    tenant.create("bob@example.com", ["bob@example.com", "info@example.org"])
    tenant.create("team@example.com", members=["alice@example.com", "partner@example.net"])


@pytest.fixture
def desk(tmp_path: Path, service: RunningService) -> Desk:
    """Return a folder with the README's account.yml."""
    return Desk(tmp_path, service)


@pytest.mark.parametrize("guide", HERE, ids=lambda file: file.stem)
def test_a_guide_does_what_it_says(guide: Path, desk: Desk, tenant: Api) -> None:
    """Every command succeeds or fails as shown, and prints what is shown, without a secret."""
    prepare(tenant)
    desk.follow(guide)


def test_the_guides_are_found() -> None:
    """There are guides with commands; the reference has none."""
    assert {file.stem for file in COMMANDS} >= {"dns", "existing-account", "purge"}


def test_output_is_compared_in_order() -> None:
    """A line that is missing or stands earlier is noticed; lines may be left out."""
    output = os.linesep.join(["one", "two  ", "three"])
    assert missing("one\n...\nthree\n", output) is None
    assert missing("two\none\n", output) == "one"
    assert missing("four\n", output) == "four"


SPF_ROW = re.compile(r"^\| `(v=spf1 [^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def test_spf_records_are_merged_as_the_guide_says() -> None:
    """Each row of the guide's table is what merging really gives."""
    rows = SPF_ROW.findall((readme.CHECKOUT / "docs" / "dns.md").read_text("utf-8"))
    assert len(rows) >= 3
    for before, after in rows:
        assert merge([before], "v=spf1 include:spf.postroom.test ~all") == after


QUOTED = re.compile(r'\*"([^"]+)"\*')


def said(file: Path) -> Iterator[str]:
    """Yield the texts of a source file, those of an f-string one by one."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("guide", COMMANDS, ids=lambda file: file.stem)
def test_quoted_messages_are_those_of_the_code(guide: Path) -> None:
    """Each part of a message that a guide quotes stands in a source file or a playbook."""
    sources = [repository.ROOT / file for file in repository.sources("plugins/")]
    texts = [text for file in sources for text in said(file)]
    folder = repository.ROOT / "playbooks"
    texts += [" ".join(file.read_text("utf-8").split()) for file in folder.glob("*.yml")]
    for quote in QUOTED.findall(guide.read_text("utf-8")):
        parts = [part.strip(" .:,") for part in re.split(r"\.\.\.|\d+|\n", quote)]
        for part in filter(None, parts):
            assert any(part in text for text in texts), part
