# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The reference lists every option, variable and error, and the modules' examples work."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.plugins.doc_fragments.api import ModuleDocFragment
from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.dns import spf
from ansible_collections.postroom.email.plugins.module_utils._module import API_OPTIONS
from ansible_collections.postroom.email.tests.docs import module_examples
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api
from ansible_collections.postroom.email.tools import message_reference, playbook_reference
from postroom_bot.config import Settings

MODULES = "ansible_collections.postroom.email.plugins.modules"
PAGES = [file for file in repository.files() if file.suffix == ".md"]
USER_PAGES = [page for page in PAGES if page.parts[0] in ("README.md", "bot", "docs", "roles")]
README = repository.read("README.md")
#: The principals that a module's examples need, if they differ from the default.
TENANTS: dict[str, tuple[str, ...]] = {"email_domain": (), "email_mailbox": ("example.com",)}
DEFAULT_TENANT = ("example.com", "alice@example.com", "bob@example.com")
_LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")
#: The beginning of an absolute link to a file.
_FILES = f"{repository.read_yaml('galaxy.yml')['repository']}/blob/main/"
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
#: A variable that is not part of a longer name or of a file name.
_VARIABLE = re.compile(r"(?<![\w./-])(?:awx|bot|dns|mail|tenant)_\w+(?![\w-]|\.(?:ya?ml|py)\b)")
#: A variable that a task sets.
_FACT = re.compile(r"\bregister: (\w+)|^ +(\w+_(?:drift|result)):", re.MULTILINE)


def compare(spec: dict[str, Any], documented: dict[str, Any]) -> None:
    """Assert that two specs have the same options with the same types, defaults and choices."""
    assert spec.keys() == documented.keys()
    for name, rules in spec.items():
        about = documented[name]
        for key in ("type", "default", "choices", "elements", "required"):
            assert rules.get(key) == about.get(key), (name, key)
        assert about["description"]


@pytest.mark.parametrize("module", repository.modules())
def test_the_options_of_a_module_are_documented(module: str) -> None:
    """A module accepts exactly the options that it documents."""
    options = module_examples.texts(module)["DOCUMENTATION"]["options"]
    compare(importlib.import_module(f"{MODULES}.{module}").ARGUMENT_SPEC, options)


# The examples of email_dns_records need name servers, so tests/dns runs them.
@pytest.mark.parametrize("module", sorted({*repository.modules()} - {"email_dns_records"}))
def test_the_examples_of_a_module_run(
    module: str, tmp_path: Path, service: RunningService, tenant: Api
) -> None:
    """The examples succeed without warnings, and return the documented values but no password."""
    for name in TENANTS.get(module, DEFAULT_TENANT):
        is_owner = module == "email_info" and name == "alice@example.com"
        tenant.create(name, [name, "sales@example.com"] if is_owner else None)
    run = module_examples.run_examples(module, tmp_path, service)
    module_examples.assert_as_documented(module, run, tmp_path)
    if module == "email_info":
        # The example's expression over the list of mailboxes finds the alias's only owner.
        assert re.search(r'"msg": \[\s+"alice@example.com"\s+\]', run.output), run.output


def test_the_shared_options_are_documented() -> None:
    """The documentation fragment and the guide list the options that every module accepts."""
    compare(API_OPTIONS, yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"])
    guide = repository.read("docs/reference/modules.md").partition("\n## Names")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)) == sorted(API_OPTIONS)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub creates for a page's headings."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_linked_file_exists(page: Path) -> None:
    """Each link on a page to the repository points to an existing file and heading."""
    for link, anchor in _LINK.findall(repository.read(page)):
        if link.startswith(_FILES):
            file = repository.ROOT / link.removeprefix(_FILES)
        elif "://" in link or link.startswith("mailto:"):
            continue
        else:
            file = repository.ROOT / (page.parent / link if link else page)
        assert file.exists(), link
        assert not anchor or anchor in anchors(file), (link, anchor)


def facts(text: str) -> set[str]:
    """Return the variables that the given tasks set."""
    return {one or other for one, other in _FACT.findall(text)}


def variables() -> Iterator[str]:
    """Yield the variables of playbooks, roles and the bot, and the facts that the roles set."""
    for arguments in playbook_reference.read_all().values():
        yield from arguments["options"]
    for role in repository.roles():
        yield from repository.role_options(role)
        for file in repository.ROOT.glob(f"roles/{role}/tasks/*.yml"):
            yield from facts(file.read_text("utf-8"))
    yield from Settings.model_fields


def test_every_named_variable_exists() -> None:
    """Each variable that a page mentions is defined by a playbook, a role, the bot or that page."""
    known = {*variables(), *repository.playbooks()}
    for page in USER_PAGES:
        text = repository.read(page)
        named = {
            name
            for code in _CODE.findall(_FENCED.sub("", text))
            for name in _VARIABLE.findall(code)
        }
        assert named - known - facts(text) == set(), page


def codes_of(error: type[errors.PostroomError]) -> dict[str, str]:
    """Return the codes of an error class and its subclasses, keyed by class name."""
    codes = {error.__name__: error.code}
    for subclass in error.__subclasses__():
        codes |= codes_of(subclass)
    return codes


def test_the_reference_of_messages_is_up_to_date() -> None:
    """docs/reference/messages.md is up to date with tools/message_reference.py."""
    assert repository.read("docs/reference/messages.md") == message_reference.page()


def test_every_kind_of_failure_is_explained() -> None:
    """The reference of messages contains the code and kind of each `failure` once."""
    rows = [(kind.strip("`"), code.strip("`")) for code, kind, _ in message_reference.failures()]
    codes = codes_of(errors.PostroomError)
    for abstract in ("PostroomError", "ServiceError"):
        del codes[abstract]
    assert len(set(codes.values())) == len(codes)
    assert sorted(rows) == sorted(codes.items())


def test_spf_records_are_merged_as_documented() -> None:
    """Each row of the table in docs/guides/dns.md matches the actual result of merging."""
    page = repository.read("docs/guides/dns.md")
    rows = re.findall(r"^\| `(v=spf1 [^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) >= 3
    for before, after in rows:
        assert spf.merge([before], "v=spf1 include:spf.postroom.test ~all") == after
