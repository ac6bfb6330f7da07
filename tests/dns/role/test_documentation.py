# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role's README tells of its result and has an example for each provider.

What holds for the documentation of every role is tested in tests/project.
"""

from __future__ import annotations

import re
from typing import Any

import jinja2
import yaml

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support.playbooks import COLLECTIONS

ROLE = COLLECTIONS / "ansible_collections/postroom/email/roles/dns"
README = (ROLE / "README.md").read_text()
OPTIONS: dict[str, dict[str, Any]] = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())[
    "argument_specs"
]["main"]["options"]


def test_result() -> None:
    """The README tells of every key that the role leaves, and its example takes a stage of null."""
    table = README.partition("## Result")[2].partition("## Providers")[0]
    *_tasks, last = yaml.safe_load((ROLE / "tasks/domain.yml").read_text())
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(
        last["vars"]["__dns_told"]
    )
    (play,) = yaml.safe_load(readme.blocks("yaml", file=ROLE / "README.md")[0].text)
    shown = jinja2.Template(play["tasks"][1]["ansible.builtin.debug"]["msg"])
    stages = {"stage": "active"}, {"stage": None}
    assert [shown.render(item={"key": "a.b", "value": value}) for value in stages] == [
        "a.b is active",
        "a.b is not looked at",
    ]


def test_examples() -> None:
    """Every provider has one."""
    named = set(re.findall(r"^ +dns_provider: (\w+)$", README, re.MULTILINE))
    assert named == set(OPTIONS["dns_provider"]["choices"])
