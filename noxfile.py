# /// script
# requires-python = ">=3.11"
# dependencies = ["antsibull-nox>=1.10,<2", "nox[uv]>=2026.10", "pyyaml>=6"]
# ///
# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every check of this repository. `nox -s test` runs them all; each can be run by itself.

nox installs what the block above names by itself, so `pip install nox` is all it takes.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import antsibull_nox
import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools import pythons, report  # noqa: E402
from tools.sessions import (  # noqa: E402
    ANSIBLE,
    BASE,
    BOT,
    HOME,
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
    target_env,
    version_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# The supported ansible-cores, each with the Pythons that it runs on, the preferred one first.
# Together the first ones cover the supported range.
CORES = {
    "2.17": ("3.10", "3.11", "3.12"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.21": ("3.13", "3.12", "3.14"),
}
# Where the programs run too, and they need Python 3.11.
PROGRAM_CORES = {core: tuple(v for v in wanted if v != "3.10") for core, wanted in CORES.items()}
OLDEST_CORE = "2.17"
MAIN_CORE = "2.19"
LATEST_CORE = "2.21"
ENDS = {core: CORES[core] for core in (OLDEST_CORE, LATEST_CORE)}
PROGRAM_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROGRAMS = ("bot/postroom_bot", "service/postroom_service")

nox.needs_version = ">=2026.10"
nox.options.sessions = ["test"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
os.environ.setdefault("NOX_ENABLE_STALENESS_CHECK", "1")
# Ansible leaves the user's own folder alone.
os.environ["ANSIBLE_HOME"] = str(STATE / "ansible-home")
# uv then trusts whom the machine trusts, as pip does.
os.environ.setdefault("UV_SYSTEM_CERTS", "true")
nox.options.download_python = "never"
# A Python that is missing is reported as skipped, with its reason, by the sessions themselves.
nox.options.error_on_missing_interpreters = True

antsibull_nox.load_antsibull_nox_toml()

# What `test` runs, in this order. The first two come from antsibull-nox.toml.
LEAVES = ["extra-checks", "ansible-lint"]


def interpreter(wanted: Iterable[str]) -> str | bool:
    """Return what nox takes for a Python: the first that is installed, or False for none."""
    found = pythons.first(wanted)
    return str(found[1]) if found else False


def leaf(
    wanted: Iterable[str], name: str | None = None, **values: str
) -> Callable[[Callable[..., None]], None]:
    """Register a check that `test` runs, on the first of the wanted Pythons that is installed."""
    python = interpreter(wanted)

    def register(function: Callable[..., None]) -> None:
        @functools.wraps(function)
        def run(session: nox.Session) -> None:
            shutil.rmtree(RESULTS / session.name, ignore_errors=True)
            if not python:
                session.skip(f"needs one of Python {', '.join(wanted)}, none of which is installed")
            function(session, **values)

        label = name or function.__name__.replace("_", "-")
        LEAVES.append(label)
        nox.session(name=label, python=python, default=False)(run)

    return register


def per_core(prefix: str, cores: Mapping[str, tuple[str, ...]]) -> Callable[..., None]:
    """Register a check once for each ansible-core, as `prefix-2.19`, and one for all of them."""
    names = [f"{prefix}-{core}" for core in cores]

    def notify(session: nox.Session) -> None:
        for name in names:
            session.notify(name, session.posargs)

    def register(function: Callable[..., None]) -> None:
        for name, (core, wanted) in zip(names, cores.items(), strict=True):
            leaf(wanted, name, core=core)(function)
        notify.__doc__ = f"All of {', '.join(names)}."
        nox.session(name=prefix, venv_backend="none", default=False)(notify)

    return register


# --- reading the code --------------------------------------------------------------------------


@leaf(PROGRAM_PYTHONS)
def lint(session: nox.Session) -> None:
    """Check style, layers, licences and the changelog, without running anything of ours."""
    session.install(*groups("lint"))
    link_collection(session)
    run_all(
        session,
        ("ruff", "format", "--check", "--quiet", "."),
        ("ruff", "check", "--quiet", "."),
        ("yamllint", "--strict", "."),
        ("lint-imports", "--no-cache"),
        ("reuse", "lint", "--lines"),
        ("antsibull-changelog", "lint"),
        env={"PYTHONPATH": os.pathsep.join([".collections", "bot", "service"])},
    )


@leaf(PROGRAM_PYTHONS)
def docs_check(session: nox.Session) -> None:
    """Check the documentation of the modules."""
    session.install("antsibull-docs>=2.28,<3", ansible_core(MAIN_CORE))
    link_collection(session)
    check = ("lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", ".")
    # It keeps a log in the home folder.
    HOME.mkdir(parents=True, exist_ok=True)
    session.run("antsibull-docs", *check, env=ANSIBLE | {"HOME": str(HOME)})


@nox.session(default=False)
def fix(session: nox.Session) -> None:
    """Format the code, and repair what ruff knows how to repair."""
    session.install(*groups("lint"))
    session.run("ruff", "check", "--fix", "--exit-zero", "--quiet", *(session.posargs or ["."]))
    session.run("ruff", "format", *(session.posargs or ["."]))


@nox.session(default=False)
def changelog(session: nox.Session) -> None:
    """Write the notes of the version that galaxy.yml states, out of the fragments."""
    session.install(*groups("lint"), ansible_core(MAIN_CORE))
    link_collection(session)
    session.run("antsibull-changelog", "release", *session.posargs, env=ANSIBLE)


@leaf(PROGRAM_PYTHONS)
def types(session: nox.Session) -> None:
    """Check types: the plugins as the oldest Python that runs them, the programs as theirs."""
    session.install(*groups("types"), "antsibull-nox", *BASE, *SERVICE, *BOT)
    link_collection(session)
    collection = ".collections/ansible_collections/postroom/email"
    run_all(
        session,
        ("mypy", "--python-version", "3.10", f"{collection}/plugins", f"{collection}/tests/unit"),
        ("mypy", "--python-version", "3.11", *PROGRAMS, "tools", "docs/site", "noxfile.py"),
        ("mypy", "--python-version", "3.11", f"{collection}/tests"),
    )


@leaf(CORES[MAIN_CORE])
def project(session: nox.Session) -> None:
    """Check what the repository promises of itself: sizes, names, versions, tables."""
    session.install(*groups("test"), ansible_core(MAIN_CORE), *BASE)
    pytest(session, "tests/project")


# --- running it --------------------------------------------------------------------------------


@per_core("units", CORES)
def units(session: nox.Session, core: str) -> None:
    """Run the unit tests with pytest."""
    session.install(*groups("test"), ansible_core(core), *BASE)
    pytest(session, "tests/unit")


@leaf(CORES[OLDEST_CORE])
def floors(session: nox.Session) -> None:
    """Run the unit tests on the lowest releases that pyproject.toml allows."""
    lowest = [requirement.replace(">=", "==") for requirement in BASE]
    session.install(*groups("test"), ansible_core(OLDEST_CORE), *lowest)
    pytest(session, "tests/unit")


@leaf(PROGRAM_PYTHONS)
def service(session: nox.Session) -> None:
    """Run the tests of the reference service."""
    session.install(*groups("test-service"), *BASE, *SERVICE)
    pytest(session, "tests/service", spread="loadfile")


@leaf(PROGRAM_CORES[MAIN_CORE])
def bot(session: nox.Session) -> None:
    """Run the tests of the Slack bot, against stand-ins over HTTP and the reference service."""
    session.install(*groups("test-bot"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    # Somebody else's Slack, for a second opinion; later releases of that name are something else.
    place = npm_install(session, "emulate@~0.12.2")
    session.env["POSTROOM_EMULATE"] = str(place)
    pytest(session, "tests/bot", spread="loadfile")


@leaf(PROGRAM_PYTHONS)
def bot_floors(session: nox.Session) -> None:
    """Run the bot's own tests on the lowest releases that pyproject.toml allows."""
    lowest = [requirement.replace(">=", "==") for requirement in sorted({*BASE, *BOT})]
    session.install(*groups("test-bot"), ansible_core(MAIN_CORE), *SERVICE, *lowest)
    rooms = (f"tests/bot/{room}" for room in ("policy", "store", "words", "work"))
    pytest(session, *rooms, spread="loadfile")


@per_core("e2e", PROGRAM_CORES)
def e2e(session: nox.Session, core: str) -> None:
    """Run playbooks against the reference service: all tests on one core, some on the others."""
    session.install(*groups("test-service"), ansible_core(core), *BASE, *SERVICE)
    # On the latest core modules run on the oldest Python, where that is installed.
    if core == LATEST_CORE and (target := target_env()):
        session.env["POSTROOM_TEST_MODULE_PYTHON"] = str(target)
    some = () if core == MAIN_CORE else ("-m", "matrix")
    pytest(session, "tests/e2e", *some, spread="loadfile")


@leaf(PROGRAM_CORES[MAIN_CORE])
def dns(session: nox.Session) -> None:
    """Publish and verify records on real name servers, and at DNS providers' interfaces."""
    session.install(*groups("test-dns"), ansible_core(MAIN_CORE), *BASE, *SERVICE)
    pytest(session, "tests/dns")


@leaf(PROGRAM_CORES[MAIN_CORE])
def demo(session: nox.Session) -> None:
    """Converge an example tenant against the reference service and show what happens."""
    session.install(ansible_core(MAIN_CORE), *BASE, *SERVICE)
    # On Ctrl-C it ends what it started, which takes longer than nox waits by default.
    session.run("python", "tools/demo.py", interrupt_timeout=15.0, terminate_timeout=5.0)


@leaf(PROGRAM_CORES[MAIN_CORE])
def demo_bot(session: nox.Session) -> None:
    """Show the Slack bot at work in a workspace that is played on this machine."""
    session.install(*groups("test-bot"), *BASE, *SERVICE, *BOT)
    session.run("python", "tools/demo_bot.py", interrupt_timeout=15.0, terminate_timeout=5.0)


@leaf(PROGRAM_CORES[MAIN_CORE])
def docs(session: nox.Session) -> None:
    """Run what the README and the modules' documentation show."""
    session.install(*groups("test-bot"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    pytest(session, "tests/docs", spread="worksteal")


@leaf(PROGRAM_CORES[MAIN_CORE])
def ops(session: nox.Session) -> None:
    """Run playbooks as AWX does, set AWX up, deploy the bot, and look at the report."""
    session.install(*groups("test-ops"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    pytest(session, "tests/ops", spread="loadfile")


@leaf(PROGRAM_CORES[MAIN_CORE])
def molecule(session: nox.Session) -> None:
    """Converge the roles with molecule, twice, and look at what they did."""
    session.install(*groups("molecule"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    link_collection(session)
    run_molecule(session)


@leaf(PROGRAM_CORES[MAIN_CORE])
def docsite(session: nox.Session) -> None:
    """Build the docsite into .nox/site, and look at its pages."""
    session.install(*groups("docsite"), ansible_core(MAIN_CORE), *BASE)
    link_collection(session)
    mermaid = npm_install(session, "mermaid@~12.3.0")
    session.run("python", "tools/docsite.py", str(STATE / "site"), str(mermaid))
    pytest(session, "tests/docsite")


@leaf(PROGRAM_PYTHONS)
def release(session: nox.Session) -> None:
    """Build what is published, and take it in as Galaxy and its users do."""
    session.install(*groups("build"), ansible_core(MAIN_CORE))
    dist = STATE / "dist"
    session.run("python", "tools/release.py", str(dist))
    session.run("python", "tools/check_built.py", str(dist))
    (wheel,), (collection,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    import_to_galaxy(session, collection)
    users = STATE / "users"
    session.run("python", "-m", "venv", "--clear", str(users))
    python = str(users / "bin" / "python")
    session.run(python, "-m", "pip", "install", "--quiet", f"{wheel}[bot,service]", external=True)
    # Outside of the checkout, so that nothing but the wheel can answer.
    with session.chdir(dist):
        session.run(python, str(ROOT / "tools" / "use_wheel.py"), external=True)


@nox.session(python=interpreter(PROGRAM_CORES[MAIN_CORE]), default=False)
def benchmark(session: nox.Session) -> None:
    """Measure what the project promises, as ratios within one run."""
    session.install(*groups("test-bot"), ansible_core(MAIN_CORE), *BASE, *SERVICE, *BOT)
    session.run("python", "tests/benchmark", *session.posargs, env=ANSIBLE)


# --- ansible-test ------------------------------------------------------------------------------


@per_core("sanity", ENDS)
def sanity(session: nox.Session, core: str) -> None:
    """Run ansible-test's sanity tests. There is no file of things to ignore."""
    session.install(ansible_core(core))
    ansible_test(session, "sanity", "--venv", "--junit")


@per_core("ansible-units", ENDS)
def ansible_units(session: nox.Session, core: str) -> None:
    """Run the unit tests as ansible-test does."""
    session.install(ansible_core(core), *groups("test"), "mock", "pytest-mock", *BASE)
    ansible_test(session, "units", "--python", version_of(session))


@per_core("integration", PROGRAM_CORES)
def integration(session: nox.Session, core: str) -> None:
    """Run the integration targets."""
    integrate(session, core, "--python", version_of(session))


@leaf(PROGRAM_CORES[LATEST_CORE], f"integration-{LATEST_CORE}-py{OLDEST_PYTHON}")
def integration_old_target(session: nox.Session) -> None:
    """Run the integration targets with modules that run on the oldest supported Python."""
    python = target_env()
    if python is None:
        session.skip(f"needs Python {OLDEST_PYTHON}, which is not installed")
    controller = f"origin:python={version_of(session)}"
    target = f"controller:python={OLDEST_PYTHON}@{python}"
    integrate(session, LATEST_CORE, "--controller", controller, "--target", target)


# --- everything --------------------------------------------------------------------------------


@nox.session(venv_backend="none", default=True)
def test(session: nox.Session) -> None:
    """Run every check, or those named after `--`, and report what ran and what was skipped."""
    names = session.posargs or LEAVES
    told = RESULTS / "nox.json"
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    # A nox of its own runs them, because its report is the truth about what became of each.
    session.run(
        *(sys.executable, "-m", "nox", "--report", str(told), "--sessions", *names),
        env={"NOX_SCRIPT_MODE": "none", "PYTHONUNBUFFERED": "1"},
        success_codes=range(256),
        external=True,
    )
    outcomes = report.read(told, RESULTS, names)
    print("", *report.render(outcomes), "", sep="\n")
    if not all(outcome.ok for outcome in outcomes):
        session.error("failed: " + ", ".join(one.name for one in outcomes if not one.ok))
