# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Paths, requirements and helpers for the sessions in noxfile.py."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nox
from nox.command import CommandFailed

from tools import ansible_tree, pythons, report

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = "3.10"
# The supported versions of ansible-core, each with the Python versions that it runs on, in order of
# preference. The bot and the service need Python 3.11 or newer.
CORES = {
    "2.17": ("3.11", "3.12"),
    "2.18": ("3.12", "3.11", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.13", "3.12", "3.14"),
}
OLDEST_CORE = "2.17"
MAIN_CORE = "2.19"
LATEST_CORE = "2.21"
STATE = ROOT / ".nox"
RESULTS = STATE / "results"
# The home directory for tools that write to it.
HOME = STATE / "home"
ANSIBLE = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_NOCOLOR": "1"}
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
BASE: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
SERVICE = [*EXTRAS["service"], *EXTRAS["mail"]]
BOT = EXTRAS["bot"]


def use_temporary_directory() -> None:
    """Delete the temporary files of all programs at the end, unless the command line selects tests.

    uv and pytest leave files in the directory for temporary files.
    """
    prefix = "nox-"
    is_nested = Path(tempfile.gettempdir()).name.startswith(prefix)
    if is_nested or "--" in sys.argv:
        return
    folder = tempfile.mkdtemp(prefix=prefix)
    # Tests also run programs as other users.
    Path(folder).chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def groups(*names: str) -> list[str]:
    """Return the requirements in the dependency groups of pyproject.toml."""
    return list(nox.project.dependency_groups(PROJECT, *names))


def ansible_core(core: str) -> str:
    """Return the requirement for the newest release of an ansible-core version such as `2.19`."""
    return f"ansible-core~={core}.0"


def version_of(session: nox.Session) -> str:
    """Return the Python version of a session, such as `3.11`."""
    return Path(str(session.python)).name.removeprefix("python")


def link_collection(session: nox.Session) -> None:
    """Install the collection as links to the checkout."""
    session.run("python", "tests/conftest.py", silent=True)


def pytest(
    session: nox.Session,
    *paths: str,
    marker: str = "",
    processes: int = 4,
    runner: tuple[str, ...] = ("python", "-m"),
) -> None:
    """Run pytest with the command line's arguments or, if there are none, on the given paths.

    :param marker: the `-m` expression, unless the command line contains another one
    :param processes: four by default, even on two cores, because many tests wait for programs
    """
    results = RESULTS / session.name
    results.mkdir(parents=True, exist_ok=True)
    spread = (f"--numprocesses={processes}", "--dist=loadfile", "--no-loadscope-reorder")
    arguments = session.posargs or (*paths, *spread)
    chosen = ("-m", marker) if marker and "-m" not in session.posargs else ()
    options = ("-p", "tools.progress", f"--junit-xml={results / 'pytest.xml'}", *chosen)
    session.run(*runner, "pytest", *options, *arguments, env=ANSIBLE)


def run_with_coverage(session: nox.Session, *paths: str, marker: str) -> None:
    """Run pytest and measure the products' branch coverage in all processes."""
    folder = STATE / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # The paths are absolute, because the processes run in different directories.
    session.env["COVERAGE_ROOT"] = str(ROOT)
    session.env["COVERAGE_FILE"] = str(folder / "data")
    output = RESULTS / session.name / "coverage.json"
    try:
        pytest(session, *paths, marker=marker, runner=("coverage", "run", "-m"))
    finally:
        if any(folder.iterdir()):
            # Tests kill processes, which then leave incomplete data files.
            quiet = {"PYTHONWARNINGS": "ignore"}
            session.run("coverage", "combine", "--quiet", env=quiet)
            session.run("coverage", "json", "--quiet", "-o", str(output), env=quiet)
    if not session.posargs and (unmeasured := report.unmeasured(ROOT, output)):
        session.error("No coverage data for " + ", ".join(unmeasured))


def run_tier(session: nox.Session, names: list[str], beside: str = "") -> None:
    """Run the given sessions, or those on the command line, and report their results.

    :param beside: a session that mostly waits; it runs in parallel with the others, and its output
        is printed at the end
    """
    names = session.posargs or names
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    log = RESULTS / "beside.log"
    reports: list[Path] = []
    running: list[subprocess.Popen[bytes]] = []
    for chosen in ([beside] if beside in names else [], [n for n in names if n != beside]):
        # This runs a separate nox, because only nox's report contains the result of each session.
        reports.append(RESULTS / f"nox-{len(reports)}.json")
        command = [sys.executable, "-m", "nox", "--report", str(reports[-1]), "--sessions", *chosen]
        env = {**os.environ, "NOX_SCRIPT_MODE": "none", "PYTHONUNBUFFERED": "1"}
        output = log.open("wb") if chosen == [beside] else None
        if chosen:
            running.append(subprocess.Popen(command, env=env, stdout=output, stderr=output))
    try:
        for each in reversed(running):
            each.wait()
    finally:
        for each in running:
            each.terminate()
            each.wait()
        if log.exists():
            print(log.read_text("utf-8", "replace"))
    outcomes = report.read(reports, RESULTS, names)
    print("", *report.render(outcomes), sep="\n")
    if not all(one.ok for one in outcomes):
        session.error("failed: " + ", ".join(one.name for one in outcomes if not one.ok))


def target_env() -> Path | None:
    """Return the oldest supported Python, with the modules' requirements installed, or None."""
    found = pythons.find(OLDEST_PYTHON)
    return found and pythons.environment(found, STATE / f"target-{OLDEST_PYTHON}", *BASE, "pyyaml")


def npm_install(session: nox.Session, package: str) -> Path:
    """Install an npm package if it is missing, and return the directory with its `node_modules`."""
    place = STATE / "npm" / package
    if not place.is_dir():
        install = ("npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix")
        cache = {"npm_config_cache": str(STATE / "npm" / "cache")}
        session.run_install(*install, f"{place}.new", package, env=cache)
        Path(f"{place}.new").rename(place)
    return place


SCENARIOS = {each.parent.name for each in ROOT.glob("extensions/molecule/*/converge.yml")}

#: A false warning: the importer and ansible-lint both append the same directory to the collections'
#: path, so playbooks are not found by name. The `ansible-lint` session does find all of them.
_NOT_FOUND = re.compile(r"WARNING: ERROR +Failed to find postroom\.email\.\w+ playbook\.")


def import_to_galaxy(session: nox.Session, tarball: Path) -> None:
    """Check a collection with Galaxy's importer. Its warnings also fail the session."""
    with session.chdir(tarball.parent):
        command = ("python", "-m", "galaxy_importer.main", tarball.name)
        output = str(session.run(*command, silent=True, env=ANSIBLE | {"HOME": str(HOME)}))
    complaints = [line for line in output.splitlines() if line.startswith(("ERROR", "WARNING"))]
    if unexplained := [line for line in complaints if not _NOT_FOUND.fullmatch(line)]:
        session.error("Galaxy's importer reports: " + "; ".join(unexplained))


def run_molecule(session: nox.Session) -> None:
    """Run Molecule's scenarios: those on the command line, or all that this machine supports."""
    # Debian installs some programs in directories that are only on root's PATH.
    path = os.pathsep.join([session.bin, os.environ["PATH"], "/usr/sbin", "/sbin"])
    place = {"HOME": str(HOME), "MOLECULE_EPHEMERAL_DIRECTORY": str(STATE / "scenarios")}
    env = ANSIBLE | {"PATH": path} | place
    HOME.mkdir(parents=True, exist_ok=True)
    lacking = {} if session.posargs else lacking_for_molecule(path)
    leave_out = [word for name in lacking for word in ("--exclude", name)]
    try:
        session.run("molecule", "test", *(session.posargs or ("--all", *leave_out)), env=env)
    finally:
        # If a scenario fails during cleanup, molecule does not destroy `default`.
        session.run("molecule", "destroy", "--scenario-name", "default", env=env, silent=True)
    if not session.posargs:
        report.write_junit(RESULTS / session.name, "molecule", SCENARIOS - lacking.keys(), lacking)


def lacking_for_molecule(path: str) -> dict[str, str]:
    """Return the reason for each of Molecule's scenarios that can't run on this machine."""
    lacking = {}
    if os.geteuid() != 0:
        lacking["bot"] = "only root can create the bot role's user"
    if not shutil.which("named", path=path):
        lacking["dns"] = "BIND's named is not installed"
    return lacking


def run_all(session: nox.Session, *commands: tuple[str, ...], **keywords: Any) -> None:
    """Run all commands, even after a failure, and fail if any of them failed."""
    failed = []
    for command in commands:
        try:
            session.run(*command, **keywords)
        except CommandFailed:
            failed.append(" ".join(command))
    if failed:
        session.error("failed: " + "; ".join(failed))


def ansible_test_tree(session: nox.Session) -> tuple[Path, dict[str, str]]:
    """Copy the collection for ansible-test, and return the copy and the environment variables."""
    collection = ansible_tree.copy_collection(ROOT, STATE / "trees" / session.name)
    ansible_tree.make_home(HOME, Path(session.bin).parent)
    # Real interpreters come first, because pyenv's shims exist even for inactive versions.
    path = os.pathsep.join([session.bin, *pythons.bin_dirs(), os.environ["PATH"]])
    return collection, {"HOME": str(HOME), "PATH": path}


def ansible_test(session: nox.Session, *arguments: str) -> None:
    """Run ansible-test on a copy of the collection and keep its JUnit files."""
    collection, env = ansible_test_tree(session)
    junit = collection / "tests" / "output" / "junit"
    try:
        with session.chdir(collection):
            session.run("ansible-test", *arguments, "--color", "no", *session.posargs, env=env)
    finally:
        if junit.is_dir():
            shutil.copytree(junit, RESULTS / session.name, dirs_exist_ok=True)
    if not report.has_results(RESULTS / session.name):
        session.error("ansible-test ran no test")


def integrate(session: nox.Session, core: str, *arguments: str) -> None:
    """Run the integration targets against the reference service, over real HTTP."""
    session.install(ansible_core(core), *BASE, *SERVICE)
    collection, env = ansible_test_tree(session)
    # ansible-test doesn't pass environment variables to the targets, but it passes this file.
    config = f"---\npostroom_python: {session.bin}/python\npostroom_checkout: {ROOT}\n"
    collection.joinpath("tests/integration/integration_config.yml").write_text(config, "utf-8")
    command = ("ansible-test", "integration", *arguments, "--color", "no", *session.posargs)
    with session.chdir(collection):
        session.run(*command, env=env)
    junit = collection / "tests" / "output" / "junit"
    if not report.write_target_results(junit, RESULTS / session.name):
        session.error("ansible-test ran no target")
