# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Versions, requirements and role variables are the same in all files that mention them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.plugins.doc_fragments.api import ModuleDocFragment
from ansible_collections.postroom.email.plugins.modules import email_tenant
from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import repository
from postroom_service.cli import serve_api

VERSION = repository.read_yaml("galaxy.yml")["version"]
PROJECT = repository.read_toml("pyproject.toml")["project"]
README = repository.read("README.md")
#: The names of built artifacts that contain a version.
ARTIFACT = re.compile(
    r"postroom-email-([0-9.]+)\.tar|postroom-([0-9.]+)-py3|postroom\[bot\]==([0-9.]*[0-9])"
    r"|postroom-ee:([0-9.]+)|postroom\.email\n +version: (\S+)|This is version ([0-9.]*[0-9])"
)
ROLES = repository.roles()
#: The files that users run.
PROGRAMS = [
    file
    for file in repository.files()
    if file.parts[0] in ("bot", "playbooks", "plugins", "roles", "service", "tools")
]
COMMENT = re.compile(r"^ *#.*$|\{#[\s\S]*?#\}", re.MULTILINE)


def requirements(file: str) -> list[str]:
    """Return the requirements in a file."""
    lines = (line.strip() for line in repository.read(file).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def test_requirements_are_stated_once() -> None:
    """The wheel, execution environment, modules and unit tests require the same packages."""
    needed = PROJECT["dependencies"]
    file = repository.read_yaml("meta/execution-environment.yml")["dependencies"]["python"]
    assert requirements(file) == needed
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["requirements"]
    # Only email_tenant needs pydantic.
    own = yaml.safe_load(email_tenant.DOCUMENTATION)["requirements"]
    documented += [one for one in own if one.startswith("pydantic")]
    assert [one.partition(" (")[0].replace(" ", "") for one in documented] == needed
    names = {requirement.partition(">")[0] for requirement in needed}
    assert names <= set(requirements("tests/unit/requirements.txt"))


def test_the_readme_states_the_supported_versions() -> None:
    """The README and the metadata list the same supported versions."""
    core = repository.read_yaml("meta/runtime.yml")["requires_ansible"].removesuffix(".0")
    modules = repository.read_yaml("tests/config.yml")["modules"]["python_requires"]
    packages = [requirement.partition(">")[2] for requirement in PROJECT["dependencies"]]
    stated = re.findall(r"^\| .* \| ([\d.]+) and newer \|$", README, re.MULTILINE)
    wanted = [core, modules, PROJECT["requires-python"], *packages]
    assert sorted(stated) == sorted(one.lstrip(">=") for one in wanted)


def test_documents_name_this_version() -> None:
    """Examples name artifacts of the version in galaxy.yml, and that version has release notes."""
    texts = [repository.read(str(file)) for file in repository.files() if file.suffix == ".md"]
    texts.append(repository.read("roles/bot/meta/argument_specs.yml"))
    named = ["".join(groups) for text in texts for groups in ARTIFACT.findall(text)]
    assert len(named) >= 10
    assert set(named) == {VERSION}
    released = repository.read_yaml("changelogs/changelog.yaml")["releases"]
    fragments = [file for file in repository.files() if file.match("changelogs/fragments/*.yml")]
    assert VERSION in released or fragments


def test_the_action_group_holds_every_module() -> None:
    """The action group contains every module that uses the API, so `module_defaults` apply."""
    groups = repository.read_yaml("meta/runtime.yml")["action_groups"]
    assert groups["api"] == [name for name in repository.modules() if name.startswith("email_")]


# --- roles -------------------------------------------------------------------------------------


def variables(role: str, text: str) -> set[str]:
    """Return the variables with the role's prefix that a text contains."""
    return set(re.findall(rf"(?<![\w./]){role}_\w+", text))


def code(role: str) -> str:
    """Return the tasks, handlers, templates and variables of a role, without comments."""
    files = [file for file in repository.files() if file.parts[:2] == ("roles", role)]
    folders = ("tasks", "handlers", "templates", "vars")
    texts = [repository.read(file) for file in files if file.parts[2] in folders]
    return COMMENT.sub("", "\n".join(texts))


@pytest.mark.parametrize("role", ROLES)
def test_the_variables_of_a_role_are_documented(role: str) -> None:
    """The argument spec, defaults and README of a role list exactly the variables that it uses."""
    specification = repository.read(f"roles/{role}/meta/argument_specs.yml")
    main = yaml.safe_load(specification)["argument_specs"]["main"]["options"]
    defaults = repository.read_yaml(f"roles/{role}/defaults/main.yml")
    options = repository.role_options(role)
    assert {name for name, option in main.items() if not option.get("required")} == set(defaults)
    documented = {name: option["default"] for name, option in main.items() if "default" in option}
    fixed = {name: value for name, value in defaults.items() if "{{" not in str(value)}
    assert documented == fixed
    page = repository.read(f"roles/{role}/README.md")
    assert re.findall(rf"^\| `({role}_\w+)` \|", page, re.MULTILINE) == list(options)
    used = variables(role, code(role))
    facts = {
        name
        for name in used
        if re.search(rf"^\s+({name}:(\s|$)|register: {name}$)", code(role), re.MULTILINE)
    }
    assert used - facts <= options.keys()
    assert options.keys() <= used | variables(role, yaml.safe_dump(defaults))
    # With no_log, ansible-core before 2.19 rejects mappings that contain vaulted values.
    assert not re.search(r"^ +no_log:", specification, re.MULTILINE)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_examples_and_a_scenario(role: str) -> None:
    """The README's examples use documented variables, and Molecule tests the role.

    The `mail_host` role needs a complete host, which tests/hosts boots.
    """
    blocks = fenced_blocks.blocks("yaml", file=repository.ROOT / "roles" / role / "README.md")
    examples = yaml.safe_dump([yaml.safe_load(block.text) for block in blocks], width=1000)
    assert set() < variables(role, examples) <= {*repository.role_options(role), f"{role}_result"}
    scenario = repository.ROOT / "extensions" / "molecule" / role / "molecule.yml"
    assert scenario.is_file() == (role != "mail_host")
    assert f"| [`postroom.email.{role}`](roles/{role}/README.md) |" in README


@pytest.mark.parametrize(("name", "lacking"), [("bot", "pydantic"), ("service", "sqlalchemy")])
def test_a_program_names_the_extra_that_it_lacks(name: str, lacking: str) -> None:
    """If a program's packages are missing, its error names the extra to install."""
    module, _, function = PROJECT["scripts"][f"postroom-{name}"].partition(":")
    run = f"from {module} import {function} as main; sys.exit(main())"
    for hide, status, text in (
        ("", 0, f"postroom-{name}"),
        (f"sys.modules[{lacking!r}] = None;", 2, f"pip install 'postroom[{name}]'"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; {hide} {run}", "--version"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, text in done.stdout + done.stderr) == (status, True)


# --- pages and ports that programs mention ------------------------------------------------------


def test_mentioned_pages_exist() -> None:
    """Every page of the repository that a program, playbook or role mentions exists."""
    place = re.compile(r"github\.com/postroom/email/(?:blob|raw)/main/([\w./-]*\w)")
    texts = {file: (repository.ROOT / file).read_text("utf-8", "replace") for file in PROGRAMS}
    named = {(file, page) for file, text in texts.items() for page in place.findall(text)}
    for demo in ("tools/demo.py", "tools/demo_bot.py"):
        pages = re.findall(r"\b[\w/-]+\.md\b", repository.read(demo))
        assert pages
        named |= {(Path(demo), page) for page in pages}
    assert [each for each in sorted(named) if not (repository.ROOT / each[1]).is_file()] == []


def test_the_demo_states_the_default_ports() -> None:
    """After `make demo`, the ports of the API and of a mail client are those of `serve --mail`."""
    defaults = {option.name: option.default for option in serve_api.params}
    text = repository.read("tools/demo.py")
    assert f"http://127.0.0.1:{defaults['port']}:" in text
    assert f"IMAP  127.0.0.1, port {defaults['imap_port']}, TLS" in text
    assert f"SMTP  127.0.0.1, port {defaults['submission_port']}, STARTTLS" in text
