# /// script
# requires-python = ">=3.11"
# dependencies = ["antsibull-nox>=1.10,<2", "nox[uv]>=2026.10", "pyyaml>=6"]
# ///
# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The repository's checks. `nox -s test` checks every change, and `nox -s test-all` runs the rest.

`nox -s demo` and `nox -s demo-bot` show what Postroom does. nox installs what a session needs.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import antsibull_nox
import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools import pythons  # noqa: E402
from tools.sessions import (  # noqa: E402
    ANSIBLE,
    BASE,
    BOT,
    CORES,
    HOME,
    LATEST_CORE,
    MAIN_CORE,
    OLDEST_CORE,
    OLDEST_PYTHON,
    RESULTS,
    SERVICE,
    STATE,
    ansible_core,
    ansible_test,
    groups,
    import_to_galaxy,
    integrate,
    link_collection,
    npm_install,
    pytest,
    run_all,
    run_molecule,
    run_tier,
    run_with_coverage,
    target_env,
    use_temporary_directory,
    version_of,
)

MAIN_PYTHONS = CORES[MAIN_CORE]
OTHER_CORES = {core: wanted for core, wanted in CORES.items() if core != MAIN_CORE}
OLDEST_AND_LATEST = {core: CORES[core] for core in (OLDEST_CORE, LATEST_CORE)}
PROGRAM_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROGRAMS = ("bot/postroom_bot", "service/postroom_service", "common/postroom_common")
# The directories whose tests `make test` runs, except for tests marked `full`. The slowest tests
# come first, so that no process has to run them alone at the end.
TESTED = ("e2e", "bot", "docs", "mail", "service", "mail_host", "unit", "fakes")
TEST_FOLDERS = [f"tests/{name}" for name in TESTED]

nox.needs_version = ">=2026.10"
nox.options.sessions = ["test"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
os.environ.setdefault("NOX_ENABLE_STALENESS_CHECK", "1")
# Keep Ansible's files out of ~/.ansible.
os.environ["ANSIBLE_HOME"] = str(STATE / "ansible-home")
# Make uv use the system's certificates, as pip does.
os.environ.setdefault("UV_SYSTEM_CERTS", "true")
use_temporary_directory()
# With this variable, each of the thousands of processes would compile its imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
nox.options.download_python = "never"
# Skip a session, with a reason, if no suitable Python is installed.
nox.options.error_on_missing_interpreters = True

antsibull_nox.load_antsibull_nox_toml()

# The sessions that `make test` and `make test-all` run, in order. antsibull-nox.toml defines the
# first two of TEST_ALL_SESSIONS.
TEST_SESSIONS: list[str] = []
TEST_ALL_SESSIONS = ["extra-checks", "ansible-lint"]

Register = Callable[[Callable[..., None]], None]


def interpreter(wanted: Iterable[str]) -> str | bool:
    """Return the path of the first installed Python, or False to run without an environment."""
    found = pythons.first(wanted)
    return str(found[1]) if found else False


def tier_session(
    sessions: list[str], wanted: Iterable[str], name: str = "", **values: str
) -> Register:
    """Return a decorator that adds a session, run on the first installed Python, to a tier."""
    python = interpreter(wanted)

    def register(function: Callable[..., None]) -> None:
        @functools.wraps(function)
        def run(session: nox.Session) -> None:
            shutil.rmtree(RESULTS / session.name, ignore_errors=True)
            if not python:
                session.skip(f"needs one of Python {', '.join(wanted)}, none of which is installed")
            function(session, **values)

        label = name or function.__name__.replace("_", "-")
        sessions.append(label)
        nox.session(name=label, python=python, default=False)(run)

    return register


def session_per_core(prefix: str, cores: Mapping[str, tuple[str, ...]]) -> Register:
    """Return a decorator that registers a `test-all` session for each ansible-core version."""

    def register(function: Callable[..., None]) -> None:
        for core, wanted in cores.items():
            tier_session(TEST_ALL_SESSIONS, wanted, f"{prefix}-{core}", core=core)(function)

    return register


def install_everything(session: nox.Session, *more: str) -> None:
    """Install all products, their test dependencies and the main ansible-core."""
    core = ansible_core(MAIN_CORE)
    session.install(*groups("test-products"), core, *BASE, *SERVICE, *BOT, *more)


# --- static checks -----------------------------------------------------------------------------


@tier_session(TEST_SESSIONS, PROGRAM_PYTHONS)
def lint(session: nox.Session) -> None:
    """Check style, GitHub configuration, import layers, licenses and changelog fragments."""
    session.install(*groups("lint"))
    link_collection(session)
    schema = ("check-jsonschema", "--quiet", "--builtin-schema")
    run_all(
        session,
        ("ruff", "format", "--check", "--quiet", "."),
        ("ruff", "check", "--quiet", "."),
        ("yamllint", "--strict", "."),
        (*schema, "vendor.github-workflows", ".github/workflows/ci.yml"),
        (*schema, "vendor.dependabot", ".github/dependabot.yml"),
        ("lint-imports", "--no-cache", "--no-logo"),
        ("reuse", "lint", "--lines"),
        ("antsibull-changelog", "lint"),
        env={"PYTHONPATH": os.pathsep.join([".collections", "bot", "service", "common"])},
    )


@tier_session(TEST_ALL_SESSIONS, PROGRAM_PYTHONS)
def docs_check(session: nox.Session) -> None:
    """Check the documentation of the modules."""
    session.install("antsibull-docs>=2.28,<3", ansible_core(MAIN_CORE))
    link_collection(session)
    check = ("lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", ".")
    # antsibull-docs writes a log to the home directory.
    HOME.mkdir(parents=True, exist_ok=True)
    session.run("antsibull-docs", *check, env=ANSIBLE | {"HOME": str(HOME)})


@nox.session(default=False)
def fix(session: nox.Session) -> None:
    """Format the code, and apply ruff's automatic fixes."""
    session.install(*groups("lint"))
    session.run("ruff", "check", "--fix", "--exit-zero", "--quiet", *(session.posargs or ["."]))
    session.run("ruff", "format", *(session.posargs or ["."]))


@nox.session(python=interpreter(MAIN_PYTHONS), default=False)
def reference(session: nox.Session) -> None:
    """Update the generated pages in docs/reference."""
    session.install(ansible_core(MAIN_CORE), *BASE, *BOT)
    link_collection(session)
    for page in ("bot", "definition", "message", "playbook", "policy"):
        session.run("python", f"tools/{page}_reference.py", env={"PYTHONPATH": ".collections"})


@nox.session(default=False)
def changelog(session: nox.Session) -> None:
    """Compile the changelog fragments into release notes for the version in galaxy.yml."""
    session.install(*groups("lint"), ansible_core(MAIN_CORE))
    link_collection(session)
    session.run("antsibull-changelog", "release", *session.posargs, env=ANSIBLE)


@tier_session(TEST_SESSIONS, PROGRAM_PYTHONS)
def types(session: nox.Session) -> None:
    """Type-check the collection for Python 3.10, and everything else for Python 3.11."""
    session.install(*groups("types"), "antsibull-nox", *BASE, *SERVICE, *BOT)
    link_collection(session)
    collection = ".collections/ansible_collections/postroom/email"
    run_all(
        session,
        ("mypy", "--python-version", "3.10", f"{collection}/plugins", f"{collection}/tests/unit"),
        ("mypy", "--python-version", "3.11", *PROGRAMS, "tools", "docs/site", "noxfile.py"),
        ("mypy", "--python-version", "3.11", f"{collection}/tests"),
    )


# --- tests --------------------------------------------------------------------------------------


@tier_session(TEST_SESSIONS, MAIN_PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests of the collection, the bot and the service, and measure branch coverage."""
    install_everything(session)
    run_with_coverage(session, *TEST_FOLDERS, marker="not full")


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def tests_full(session: nox.Session) -> None:
    """Run the tests marked `full`: PostgreSQL, several replicas, long random runs.

    The `core` sessions run those that are also marked `matrix`.
    """
    install_everything(session)
    pytest(session, *TEST_FOLDERS, marker="full and not matrix")


@session_per_core("core", OTHER_CORES)
def core(session: nox.Session, core: str) -> None:
    """Run the Ansible-related tests with another ansible-core version.

    Those also marked `full` run only with the oldest and the latest version.
    """
    session.install(*groups("test-products"), ansible_core(core), *BASE, *SERVICE)
    # With the latest ansible-core, run modules on the oldest Python if it is installed.
    if core == LATEST_CORE and (target := target_env()):
        session.env["POSTROOM_TEST_MODULE_PYTHON"] = str(target)
    marker = "matrix" if core in OLDEST_AND_LATEST else "matrix and not full"
    pytest(session, "tests/unit", "tests/e2e", marker=marker)


@tier_session([], ("3.13", "3.14"))
def core_next(session: nox.Session) -> None:
    """Run the Ansible-related tests with a pre-release of the next ansible-core.

    This session is in neither tier.
    """
    session.install(*groups("test-products"), "ansible-core~=2.22.0b1", *BASE, *SERVICE)
    pytest(session, "tests/unit", "tests/e2e", marker="matrix")


@tier_session(TEST_ALL_SESSIONS, (OLDEST_PYTHON,))
def floors(session: nox.Session) -> None:
    """Run the client core's tests with the lowest supported dependencies, on Python 3.10."""
    lowest = [requirement.replace(">=", "==") for requirement in BASE]
    session.install(*groups("test"), ansible_core(OLDEST_CORE), *lowest)
    pytest(session, "tests/unit/plugins/module_utils/_api", marker="not full")


@tier_session(TEST_ALL_SESSIONS, PROGRAM_PYTHONS)
def bot_floors(session: nox.Session) -> None:
    """Run the bot's policy, store, ui and workflow tests with its lowest dependencies."""
    # If both lists contain a package, use the bot's requirement, which is the higher version.
    needed = {requirement.partition(">=")[0]: requirement for requirement in (*BASE, *BOT)}
    lowest = [requirement.replace(">=", "==") for requirement in needed.values()]
    session.install(*groups("test-bot"), ansible_core(MAIN_CORE), *SERVICE, *lowest)
    rooms = (f"tests/bot/{room}" for room in ("policy", "store", "ui", "workflow"))
    pytest(session, *rooms, marker="not full")


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def dns(session: nox.Session) -> None:
    """Test DNS publishing and verification, with the oldest supported provider collections."""
    session.install(*groups("test-dns"), ansible_core(MAIN_CORE), *BASE, *SERVICE)
    pytest(session, "tests/dns")


@tier_session(TEST_ALL_SESSIONS, CORES[LATEST_CORE])
def dns_current(session: nox.Session) -> None:
    """Test publishing at DNS providers, with the current releases of their collections."""
    session.install(*groups("test-providers", "current-collections"), *BASE, *SERVICE)
    pytest(session, "tests/dns/test_providers.py")


@nox.session(name="minimal-debian", venv_backend="none", default=False)
def minimal_debian(session: nox.Session) -> None:
    """Run the README's commands in a minimal Debian. Requires root, mmdebstrap, systemd-nspawn.

    An argument selects the release: `trixie` (the default) or `bookworm`.
    """
    (release,) = session.posargs or ("trixie",)
    state = str(STATE / "minimal-debian")
    session.run(sys.executable, "tools/minimal_debian.py", release, state, external=True)


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def demo(session: nox.Session) -> None:
    """Demonstrate converging an example tenant against the reference service."""
    session.install(ansible_core(MAIN_CORE), *BASE, *SERVICE)
    # On Ctrl-C, the demo stops its processes, which takes longer than nox's default timeout.
    session.run("python", "tools/demo.py", interrupt_timeout=15.0, terminate_timeout=5.0)


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def demo_bot(session: nox.Session) -> None:
    """Demonstrate the Slack bot in a simulated workspace."""
    session.install(*groups("demo-bot"), *BASE, *SERVICE, *BOT)
    session.run("python", "tools/demo_bot.py", interrupt_timeout=15.0, terminate_timeout=5.0)


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def ops(session: nox.Session) -> None:
    """Test AWX jobs, AWX setup, the bot's deployment and the HTML report."""
    session.install(*groups("test-ops"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    pytest(session, "tests/ops")


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def hosts(session: nox.Session) -> None:
    """Build mail hosts with the `mail_host` role, and test them over the network."""
    session.install(*groups("test-hosts"), ansible_core(MAIN_CORE), *BASE, *SERVICE)
    # Use one process, because all tests share one host.
    pytest(session, "tests/hosts", processes=0)


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def molecule(session: nox.Session) -> None:
    """Converge each role twice with molecule, and verify the result."""
    session.install(*groups("molecule"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    link_collection(session)
    run_molecule(session)


@tier_session(TEST_ALL_SESSIONS, MAIN_PYTHONS)
def docsite(session: nox.Session) -> None:
    """Build the docsite into .nox/site, and test its pages."""
    session.install(*groups("docsite"), ansible_core(MAIN_CORE), *BASE)
    link_collection(session)
    mermaid = npm_install(session, "mermaid@~12.3.0")
    session.run("python", "tools/docsite.py", str(STATE / "site"), str(mermaid))
    pytest(session, "tests/docsite")


@tier_session(TEST_ALL_SESSIONS, PROGRAM_PYTHONS)
def release(session: nox.Session) -> None:
    """Build the release, run Galaxy's importer on the collection, and test the wheel."""
    session.install(*groups("build"), ansible_core(MAIN_CORE))
    dist = STATE / "dist"
    session.run("python", "tools/release.py", str(dist))
    session.run("python", "tools/check_built.py", str(dist))
    (wheel,), (collection,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    import_to_galaxy(session, collection)
    users = STATE / "users"
    session.run("python", "-m", "venv", "--clear", str(users))
    python = str(users / "bin" / "python")
    install = (python, "-m", "pip", "install", "--quiet")
    session.run(*install, f"{wheel}[bot,service,mail]", ansible_core(MAIN_CORE), external=True)
    # Run outside the checkout, so that only the installed wheel can be imported.
    with session.chdir(dist):
        tool = str(ROOT / "tools" / "use_wheel.py")
        policy = str(ROOT / "bot" / "examples" / "policy.yml")
        session.run(python, tool, str(collection), policy, external=True)


@nox.session(python=interpreter(MAIN_PYTHONS), default=False)
def benchmark(session: nox.Session) -> None:
    """Run the benchmarks, which compare measurements from the same run."""
    install_everything(session, *groups("test-hosts"))
    session.run("python", "tests/benchmark", *session.posargs, env=ANSIBLE)


@nox.session(python=interpreter(MAIN_PYTHONS), default=False)
def pictures(session: nox.Session) -> None:
    """Regenerate the pictures in docs/pictures. Requires chromium, bind9 and npm."""
    needed = groups("test-ops", "pictures")
    session.install(*needed, ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    renderer = npm_install(session, "slack-blocks-to-jsx@~1.1")
    session.run("python", "tools/pictures.py", str(renderer), env=ANSIBLE)


# --- ansible-test ------------------------------------------------------------------------------


@session_per_core("sanity", OLDEST_AND_LATEST)
def sanity(session: nox.Session, core: str) -> None:
    """Run ansible-test's sanity tests, without ignore files."""
    session.install(ansible_core(core))
    ansible_test(session, "sanity", "--venv", "--junit")


@tier_session(TEST_ALL_SESSIONS, CORES[LATEST_CORE])
def ansible_units(session: nox.Session) -> None:
    """Run the unit tests of the modules and plugin utilities with ansible-test."""
    session.install(ansible_core(LATEST_CORE), *groups("test"), "mock", "pytest-mock", *BASE)
    rooms = [f"tests/unit/plugins/{room}/" for room in ("modules", "plugin_utils")]
    ansible_test(session, "units", "--python", version_of(session), *rooms)


@session_per_core("integration", OLDEST_AND_LATEST)
def integration(session: nox.Session, core: str) -> None:
    """Run the integration targets.

    With the latest ansible-core, the modules run on the oldest Python if it is installed.
    """
    hosts = ["--python", version_of(session)]
    if core == LATEST_CORE and (target := target_env()):
        hosts = ["--controller", f"origin:python={version_of(session)}"]
        hosts += ["--target", f"controller:python={OLDEST_PYTHON}@{target}"]
    integrate(session, core, *hosts)


# --- the two tiers -----------------------------------------------------------------------------


@nox.session(venv_backend="none")
def test(session: nox.Session) -> None:
    """Run the checks that every change must pass."""
    run_tier(session, TEST_SESSIONS)


@nox.session(name="test-all", venv_backend="none", default=False)
def test_all(session: nox.Session) -> None:
    """Run the remaining checks, which are not part of `test`."""
    run_tier(session, TEST_ALL_SESSIONS, beside="hosts")


# --- quality of the tests -----------------------------------------------------------------------


@nox.session(python=interpreter(MAIN_PYTHONS), default=False)
def mutation(session: nox.Session) -> None:
    """Mutate the code that makes decisions, and count the mutants that the tests catch."""
    install_everything(session, "mutmut>=3.8,<4")
    work = str(STATE / "mutation")
    session.run("python", "tools/mutation.py", work, *session.posargs, env=ANSIBLE)


@nox.session(python=interpreter(MAIN_PYTHONS), default=False)
def sabotage(session: nox.Session) -> None:
    """Break one guarantee at a time in a copy of the code, and report whether any test fails."""
    install_everything(session)
    work = str(STATE / "sabotage")
    session.run("python", "tools/sabotage.py", work, *session.posargs, env=ANSIBLE)
