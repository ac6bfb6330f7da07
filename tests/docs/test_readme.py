# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The commands in the README work."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.processes import Running
from ansible_collections.postroom.email.tests.support.service import PATHS, RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api
from ansible_collections.postroom.email.tools import ansible_tree
from ansible_collections.postroom.email.tools.check_built import dead_links

ADDRESS = "http://127.0.0.1:8025"
TOKEN = "the-token-of-your-tenant"
TESTED = {"Try it", "Install", "Start the service", "Run a playbook"}
GUIDE = fenced_blocks.CHECKOUT / "docs" / "reference" / "modules.md"
DEVELOPMENT = fenced_blocks.CHECKOUT / "docs" / "guides" / "development.md"
(REQUIREMENTS,) = fenced_blocks.blocks("yaml", "Install")
LIST_MODULES = "ansible-doc --list --type module postroom.email"
# Files, other than the plugins, that the built collection must contain.
NEEDED = {"README.md", "schemas/definition.schema.json"}
NEEDED |= {"docs/reference/definition.md", "docs/guides/purge.md"}
NEEDED |= {"playbooks/export.yml", "playbooks/templates/definition.yml.j2"}
NEEDED |= {"playbooks/examples/tenant.yml"}


def commands(section: str) -> list[str]:
    """Return the commands under a heading."""
    return [
        command for block in fenced_blocks.blocks("console", section) for command in block.commands
    ]


def shell(script: list[str], folder: Path, env: dict[str, str], typed: str = "") -> playbooks.Run:
    """Run commands as one bash script, which stops at the first failure."""
    return playbooks.run(["bash", "-ec", "\n".join(script)], env, folder, typed)


def test_every_block_is_tested() -> None:
    """Every fenced block in the README is in a section that a test here covers."""
    assert {block.section for block in fenced_blocks.all_blocks()} <= TESTED
    for language in ("yaml", "ini"):
        assert all(block.file_name for block in fenced_blocks.blocks(language))


def test_make_has_the_targets() -> None:
    """Every make target that a README mentions exists in the Makefile."""
    makefile = repository.read("Makefile")
    targets = " ".join(re.findall(r"^([\w -]+):", makefile, re.MULTILINE)).split()
    pages = "\n".join(map(repository.read, ("README.md", "bot/README.md")))
    assert set(re.findall(r"(?:`|^)make ([\w-]+)", pages, re.MULTILINE)) <= set(targets)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Provide settings with which git fetches this checkout in place of the repository's URL."""
    clone = tmp_path_factory.mktemp("repository")
    ansible_tree.copy_files(fenced_blocks.CHECKOUT, clone)
    author = "-c user.name=tests -c user.email=tests@example.com"
    commit = f"git {author} commit --quiet --message Snapshot"
    run = shell(["git init --quiet -b main .", "git add .", commit], clone, {**os.environ})
    assert run.status == 0, run.output
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{clone.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": repository.read_yaml("galaxy.yml")["repository"],
    }


def assert_installed(output: str, installed: Path) -> None:
    """Check that all modules and the pages' targets are installed. The output lists the modules."""
    assert all(f"postroom.email.{name}" in output for name in repository.modules())
    names = {str(file.relative_to(installed)) for file in installed.rglob("*") if file.is_file()}
    pages = {name: (installed / name).read_text("utf-8") for name in names if name.endswith(".md")}
    assert "README.md" in pages
    assert list(dead_links(names, pages)) == []


def test_the_collection_installs_from_git(tmp_path: Path, published: dict[str, str]) -> None:
    """The repository can be cloned, and installed with a command or from requirements.yml."""
    clone, *_make = commands("Try it")
    _venv, _pip, install, install_from_file = commands("Install")
    (tmp_path / str(REQUIREMENTS.file_name)).write_text(REQUIREMENTS.text, "utf-8")
    scripts = {"clone": [clone, "test -f Makefile", "cd ..", install], "file": [install_from_file]}
    for name, script in scripts.items():
        home = tmp_path / "collections" / name
        env = playbooks.environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(home), **published)
        run = shell([*script, LIST_MODULES], tmp_path, env)
        assert run.status == 0, run.output
        assert_installed(run.output, home / "ansible_collections" / "postroom" / "email")


@pytest.mark.full
def test_an_installation_from_git_is_complete(
    folder: Path, service: RunningService, tenant: Api, published: dict[str, str]
) -> None:
    """The commands under Install are enough to run the service and the playbook."""
    *install, _from_file = commands("Install")
    home = str(folder.parent)
    env = {
        **reader_environment(folder),
        **published,
        "HOME": home,
        "ANSIBLE_HOME": f"{home}/.ansible",
    }
    del env["ANSIBLE_COLLECTIONS_PATH"]
    check, run = commands("Run a playbook")
    done = shell([*install, "postroom-service --version", check, run], folder, env)
    assert done.status == 0, done.output
    assert [recap.changed for recap in done.recaps] == [3, 3]


def test_the_readme_names_the_required_packages() -> None:
    """The command for users without the service installs the modules' requirements."""
    needed = repository.read_toml("pyproject.toml")["project"]["dependencies"]
    packages = " ".join(requirement.partition(">")[0] for requirement in needed)
    assert f"`pip install ansible-core {packages}`" in repository.read("README.md")


def test_the_collection_builds_and_installs(tmp_path: Path) -> None:
    """The tarball does not contain the files that the README's reader creates."""
    build, install = (
        command
        for block in fenced_blocks.blocks("console", "Build the collection", file=DEVELOPMENT)
        for command in block.commands
    )
    checkout = ansible_tree.copy_collection(fenced_blocks.CHECKOUT, tmp_path / "tree")
    shutil.copy(fenced_blocks.CHECKOUT / ".gitignore", checkout)
    database = [f"postroom.sqlite3{suffix}" for suffix in ("", "-journal", "-shm", "-wal")]
    made = {"token", "account.yml", "mail.yml", *database}
    for name in made:
        (checkout / name).write_text("secret", "utf-8")
    home = str(tmp_path / "collections")
    env = playbooks.environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=home)
    untracked = "git ls-files --others --exclude-standard"
    script = ["git init --quiet .", build, install, LIST_MODULES, untracked]
    run = shell(script, checkout, env)
    assert run.status == 0, run.output
    assert all(f"postroom.email.{name}" in run.output for name in repository.modules())
    assert not set(run.output.splitlines()) & made
    with tarfile.open(next(checkout.glob("*.tar.gz"))) as archive:
        names = set(archive.getnames())
    assert names >= NEEDED
    assert not names & made


@pytest.fixture
def folder(tmp_path: Path, service: RunningService) -> Path:
    """Provide the directory of the README's reader, with files for the running service."""
    enter = commands("Start the service")[0]
    run = shell([enter, "pwd"], tmp_path, {**os.environ, "HOME": str(tmp_path)})
    tmp_path = Path(run.output.strip())
    for block in [*fenced_blocks.blocks("yaml"), *fenced_blocks.blocks("ini")]:
        text = block.text.replace(ADDRESS, service.url).replace(TOKEN, service.token)
        (tmp_path / str(block.file_name)).write_text(text, "utf-8")
    (tmp_path / "vault").write_text("a password for the test's own vault", "utf-8")
    return tmp_path


def reader_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which only the reader's ansible.cfg turns off warnings."""
    env = playbooks.environment(folder, ANSIBLE_VAULT_PASSWORD_FILE=str(folder / "vault"))
    return {name: value for name, value in env.items() if not name.endswith("_WARNING")}


def test_the_playbook_to_copy_converges(folder: Path, tenant: Api) -> None:
    """Check mode writes nothing, a run creates everything, and a second run changes nothing."""
    env = reader_environment(folder)
    check, run = commands("Run a playbook")
    (encrypt,) = re.findall(r"`(ansible-vault encrypt [^`]+)`", repository.read("README.md"))
    assert shell([encrypt], folder, env).status == 0
    assert "alice" not in (folder / "account.yml").read_text("utf-8")
    checked = shell([check], folder, env)
    assert (checked.status, checked.recap.changed, tenant.listing()) == (0, 3, {}), checked.output
    assert checked.output.count("[WARNING]") == 1, checked.output
    (preview,) = fenced_blocks.blocks("text", "Run a playbook")
    assert preview.text in re.sub(r" +$", "", checked.output, flags=re.MULTILINE)
    first, second = shell([run], folder, env), shell([run], folder, env)
    assert (first.status, first.recap.changed) == (0, 3), first.output
    assert (second.status, second.recap.changed) == (0, 0), second.output
    assert len(tenant.listing()) == 3
    assert "WARNING" not in first.output + second.output


def test_the_environment_is_enough(folder: Path, service: RunningService, tenant: Api) -> None:
    """The API's address and token can be set in the environment. The token is never printed."""
    tenant.create("example.com")
    (block,) = fenced_blocks.blocks("bash", file=GUIDE)
    script = [
        command.replace("https://mail.example.net", service.url) for command in block.commands
    ]
    run = shell(script, folder, playbooks.environment(folder), service.token + "\n")
    assert run.status == 0, run.output
    assert '"name": "example.com"' in run.output
    assert service.token not in run.output


def test_the_service_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's command starts the service, and only the owner can read the token file."""
    _enter, serve = commands("Start the service")
    arguments = serve.removeprefix("postroom-service ").partition(" 2>")[0].split()
    # The README's port might be in use on this machine.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "POSTROOM_SERVICE_PORT": "0"}
    command = [sys.executable, "-m", "postroom_service", *arguments, "--ready-file", "ready"]
    monkeypatch.chdir(tmp_path)
    process = Running(command, env, tmp_path / "log", patience=60)
    process.wait_until((tmp_path / "ready").exists, seconds=60)
    assert process.stop() == 0
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
