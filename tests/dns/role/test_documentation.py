# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role's variables are said in three places, which agree, and its examples use them rightly."""

from __future__ import annotations

import re
from typing import Any

import jinja2
import yaml

from ansible_collections.postroom.email.tests.support.playbooks import COLLECTIONS

ROLE = COLLECTIONS / "ansible_collections/postroom/email/roles/dns"
README = (ROLE / "README.md").read_text()
OPTIONS: dict[str, dict[str, Any]] = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())[
    "argument_specs"
]["main"]["options"]
DEFAULTS: dict[str, Any] = yaml.safe_load((ROLE / "defaults/main.yml").read_text())


def test_defaults() -> None:
    """Whatever is not needed has a default, and that is the one that is documented."""
    assert {n for n, option in OPTIONS.items() if not option.get("required")} == set(DEFAULTS)
    told = {name: option["default"] for name, option in OPTIONS.items() if "default" in option}
    computed = {name for name, value in DEFAULTS.items() if "{{" in str(value)}
    assert told == {name: DEFAULTS[name] for name in DEFAULTS.keys() - computed}


def test_readme() -> None:
    """The table of the README has all variables, in the order of the specification."""
    assert re.findall(r"^\| `(dns_\w+)` \|", README, re.MULTILINE) == list(OPTIONS)


def test_result() -> None:
    """The README tells of every key that the role leaves, and its example takes a stage of null."""
    table = README.partition("## Result")[2].partition("## Providers")[0]
    *_tasks, last = yaml.safe_load((ROLE / "tasks/domain.yml").read_text())
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(
        last["vars"]["__dns_told"]
    )
    (play,) = yaml.safe_load(
        re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
    )
    shown = jinja2.Template(play["tasks"][1]["ansible.builtin.debug"]["msg"])
    stages = {"stage": "active"}, {"stage": None}
    assert [shown.render(item={"key": "a.b", "value": value}) for value in stages] == [
        "a.b is active",
        "a.b is not looked at",
    ]


def test_examples() -> None:
    """Every provider has an example, and examples use no variable that is not there."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    text = yaml.safe_dump([yaml.safe_load(block) for block in blocks], width=1000)
    known = {*OPTIONS, "dns_result"}
    assert set(re.findall(r"\bdns_\w+", text)) <= known
    assert set(re.findall(r"dns_provider: (\w+)", text)) == set(OPTIONS["dns_provider"]["choices"])
