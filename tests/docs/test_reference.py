# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The README's tables and the modules' documentation list what there is, all of it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.plugins.doc_fragments.api import ModuleDocFragment
from ansible_collections.postroom.email.plugins.module_utils._module import API_OPTIONS
from ansible_collections.postroom.email.tests.docs import documentation, readme
from ansible_collections.postroom.email.tests.support import repository

MODULES = "ansible_collections.postroom.email.plugins.modules"
PAGES = [file for file in repository.files() if file.suffix == ".md"]
SHARED: dict[str, Any] = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]


def writes(module: str) -> bool:
    """Return whether a module changes anything, which its fragments tell."""
    fragments = documentation.texts(module)["DOCUMENTATION"]["extends_documentation_fragment"]
    return "postroom.email.api.read_only" not in fragments


# Fragments can't hold return values, so every module spells these out.
SHARED_VALUES = {
    "failure": repository.modules(),
    # Those of this one are changes of record sets, none of them at the service.
    "changes": [m for m in repository.modules() if writes(m) and m != "email_dns_records"],
    "mailbox": ["email_alias", "email_mailbox"],
}


def compare(spec: dict[str, Any], documented: dict[str, Any]) -> None:
    """Fail unless both have the same options, with the same types, defaults and choices."""
    assert spec.keys() == documented.keys()
    for name, rules in spec.items():
        about = documented[name]
        for key in ("type", "default", "choices", "elements", "required"):
            assert rules.get(key) == about.get(key), (name, key)
        assert about["description"]


@pytest.mark.parametrize("module", repository.modules())
def test_every_option_of_a_module_is_documented(module: str) -> None:
    """What the module takes is what it documents."""
    options = documentation.texts(module)["DOCUMENTATION"]["options"]
    compare(importlib.import_module(f"{MODULES}.{module}").ARGUMENT_SPEC, options)


def test_every_shared_option_is_documented() -> None:
    """The fragment documents what every module takes, and the README lists it."""
    compare(API_OPTIONS, SHARED)
    assert sorted(readme.listed_options()) == sorted(API_OPTIONS)


@pytest.mark.parametrize(("value", "modules"), SHARED_VALUES.items())
def test_a_shared_return_value_is_documented_once(value: str, modules: list[str]) -> None:
    """A return value that modules share has the same documentation in each of them."""
    first, *others = (documentation.texts(module)["RETURN"][value] for module in modules)
    assert others
    for other in others:
        # As text, because the order of the fields is shown too.
        assert yaml.safe_dump(other, sort_keys=False) == yaml.safe_dump(first, sort_keys=False)


@pytest.mark.parametrize("folder", ["modules", "filter", "inventory"])
def test_the_readme_lists_every_plugin(folder: str) -> None:
    """The table of modules is the folder of modules, in order, and so are the other tables."""
    files = repository.sources(f"plugins/{folder}/")
    assert readme.listed(folder) == [file.stem for file in files]


def test_the_readme_lists_every_role() -> None:
    """By the name to use it by, with a link to its variables."""
    row = re.compile(r"^\| \[`postroom\.email\.(\w+)`\]\(roles/(\w+)/README\.md\) \|", re.MULTILINE)
    rows = row.findall(repository.read("README.md"))
    assert sorted(rows) == [(role, role) for role in repository.roles()]


def test_every_guide_is_listed_once() -> None:
    """The front page of the guides leads to each of them, by a row of one of its tables."""
    front = repository.read("docs/README.md")
    rows = re.findall(r"^\| \[[^]]+\]\(([\w-]+)\.md\) \|", front, re.MULTILINE)
    assert sorted(rows) == [file.stem for file in readme.GUIDES if file.stem != "README"]


@pytest.mark.parametrize("file", PAGES, ids=str)
def test_every_link_leads_somewhere(file: Path) -> None:
    """Each file that the README, the guides and other pages link to exists."""
    folder = repository.ROOT / file.parent
    links = readme.links(repository.ROOT / file)
    assert [link for link in links if not (folder / link).exists()] == []


@pytest.mark.parametrize("file", PAGES, ids=str)
def test_no_row_is_cut_off_its_table(file: Path) -> None:
    """After an empty line a table begins anew, with its head, or what follows is no table."""
    lines = [*repository.read(file).splitlines(), ""]
    begins = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1]]
    assert [lines[i] for i in begins if not re.fullmatch(r"\|[-:| ]+\|", lines[i + 1])] == []


def test_the_readme_states_the_supported_versions() -> None:
    """The table of versions agrees with the metadata."""
    text = repository.read("README.md")
    core = repository.read_yaml("meta/runtime.yml")["requires_ansible"].removeprefix(">=")
    project = repository.read_toml("pyproject.toml")["project"]
    floors = (requirement.partition(">=")[2] for requirement in project["dependencies"])
    dnspython, httpx, idna = floors
    assert f"| ansible-core | {core.removesuffix('.0')} and newer |" in text
    assert f"reference service | {project['requires-python'].removeprefix('>=')} and" in text
    assert f"| dnspython, for name servers | {dnspython} and newer |" in text
    assert f"| httpx | {httpx} and newer |" in text
    assert f"| idna, for names that are not ASCII | {idna} and newer |" in text
    config = repository.read_yaml("tests/config.yml")["modules"]["python_requires"]
    assert f"modules run | {config.removeprefix('>=')} and newer |" in text
