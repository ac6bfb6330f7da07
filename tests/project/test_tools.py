# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The tools behind the nox sessions: what finds Pythons, lays out trees and counts results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ansible_collections.postroom.email.tests import conftest
from ansible_collections.postroom.email.tools import ansible_tree, pythons, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PASSED = '<testcase name="a"/>'
FAILED = '<testcase name="b"><failure/></testcase>'
ERROR = '<testcase name="c"><error/></testcase>'
SKIPPED = '<testcase name="d"><skipped message="no server"/></testcase>'
MANY = tuple(
    f'<testcase name="{number}"><failure message="{"x" * 999}">{"y&#10;" * 99}</failure></testcase>'
    for number in range(30)
)
SKIPPED_IN_TEXT = '<testcase name="e"><skipped>no\n  shell</skipped></testcase>'
BROKEN = """\
import pytest
@pytest.fixture
def bowl():
    raise ValueError('no bowl')
def test_right():
    pass
def check():
    raise AssertionError('it was apple\\nwith a core')
def test_without(bowl):
    pass
def test_wrong():
    check()
"""


class Run:
    """A finished run: nox's report and the JUnit files of its sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions: list[dict[str, object]] = []

    def add(self, name: str, result: str, *cases: str, reason: str | None = None) -> None:
        """Add a session, with a JUnit file if it has test cases."""
        self.sessions.append({"name": name, "result": result, "reason": reason, "duration": 1.0})
        if cases:
            file = self.folder / name / "junit.xml"
            file.parent.mkdir()
            file.write_text(f"<testsuite>{''.join(cases)}</testsuite>", "utf-8")

    def lines(self, *expected: str) -> list[str]:
        """Return the lines of the report."""
        told = self.folder / "nox.json"
        told.write_text(json.dumps({"result": 0, "sessions": self.sessions}), "utf-8")
        return list(report.render(report.read(told, self.folder, expected)))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return an empty run."""
    return Run(tmp_path)


def test_the_report_counts_tests_and_sessions(run: Run) -> None:
    """Counted tests count; a session without any is one; the count is the last line."""
    run.add("units", "success", PASSED, PASSED, SKIPPED, SKIPPED_IN_TEXT)
    run.add("lint", "success")
    lines = run.lines("units", "lint")
    assert lines[-1] == "3 passed, 0 failed, 2 skipped"
    assert any("1 skipped: no server" in line for line in lines)
    assert any("1 skipped: no shell" in line for line in lines)


def test_the_report_says_why_a_session_was_skipped(run: Run) -> None:
    """A skipped session counts as one that was skipped, never as passed."""
    run.add("units", "skipped", PASSED, reason="needs Python 3.14")
    lines = run.lines("units")
    assert lines[-1] == "0 passed, 0 failed, 1 skipped"
    assert "needs Python 3.14" in lines[1]


@pytest.mark.parametrize("result", ["failed", "aborted", "anything else"])
def test_a_session_that_failed_counts_as_failed(run: Run, result: str) -> None:
    """Even where all of its tests passed."""
    run.add("units", result, PASSED)
    lines = run.lines("units")
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"
    assert "FAILED" in lines[1]


@pytest.mark.parametrize("case", [FAILED, ERROR])
def test_a_test_that_failed_counts_once(run: Run, case: str) -> None:
    """A failed test makes its session fail; the two are one failure."""
    run.add("units", "failed", PASSED, case)
    assert run.lines("units")[-1] == "1 passed, 1 failed, 0 skipped"


def test_the_report_tells_how_tests_failed(run: Run) -> None:
    """After the table: what was asserted, and the calls that led there; of errors as well."""
    run.add("units", "failed")
    run.folder.joinpath("units").mkdir()
    run.folder.joinpath("test_written.py").write_text(BROKEN, "utf-8")
    command = (sys.executable, "-m", "pytest", "--junit-xml=units/pytest.xml", "test_written.py")
    subprocess.run(command, cwd=run.folder, check=False, capture_output=True)
    lines = run.lines("units")
    assert "FAILED" in lines[1]
    assert lines[2:] == [
        "",
        "FAILED in units: test_written::test_without",
        '    failed on setup with "ValueError: no bowl"',
        "    >       raise ValueError('no bowl')",
        "    test_written.py:4: ValueError",
        "",
        "FAILED in units: test_written::test_wrong",
        "    AssertionError: it was apple",
        "    with a core",
        "    >       check()",
        "    test_written.py:12:",
        "    >       raise AssertionError('it was apple\\nwith a core')",
        "    test_written.py:8: AssertionError",
        "",
        "1 passed, 2 failed, 0 skipped",
    ]


def test_many_failures_are_told_briefly(run: Run) -> None:
    """So that the table is still in sight."""
    run.add("units", "failed", *MANY)
    lines = run.lines("units")
    assert sum(line.startswith("FAILED in units: ") for line in lines) == 20
    assert "... and 10 more failed tests" in lines
    assert len(lines) < 20 * 15
    assert max(map(len, lines)) < 250


def test_a_session_that_succeeded_with_a_failed_test_has_failed(run: Run) -> None:
    """Files are believed before a status."""
    run.add("units", "success", PASSED, FAILED)
    lines = run.lines("units")
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"
    assert "FAILED" in lines[1]


def test_a_session_that_did_not_run_has_failed(run: Run) -> None:
    """What was asked for and is not in nox's report is a failure."""
    run.add("lint", "success")
    lines = run.lines("lint", "units")
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"
    assert "it did not run" in lines[2]


def test_a_run_that_left_no_report_has_failed(tmp_path: Path) -> None:
    """As when nox itself was ended."""
    outcomes = report.read(tmp_path / "none.json", tmp_path, ["lint"])
    assert [outcome.ok for outcome in outcomes] == [False]


def test_integration_targets_are_counted_by_name(tmp_path: Path) -> None:
    """ansible-test leaves a file for each run of a target, with random parts in its name."""
    junit = tmp_path / "junit"
    junit.mkdir()
    for name in ("email_info-ab12-1.5.xml", "email_info-cd34-2.5.xml", "email_alias-e-3.xml"):
        junit.joinpath(name).touch()
    assert report.count_targets(junit, tmp_path / "results") == 2
    assert report.tests_in(tmp_path / "results") == 2


def test_what_is_left_out_is_told_as_skipped(tmp_path: Path) -> None:
    """A scenario that this machine can't run has not passed."""
    nox_report = tmp_path / "nox.json"
    sessions = [{"name": "molecule", "result": "success"}]
    nox_report.write_text(json.dumps({"sessions": sessions}))
    report.leave(tmp_path / "molecule", "molecule", ["tenant"], {"dns": "BIND is not installed"})
    lines = list(report.render(report.read(nox_report, tmp_path, ["molecule"])))
    assert lines[-1] == "1 passed, 0 failed, 1 skipped"
    assert lines[2].endswith("- 1 skipped: BIND is not installed")


@pytest.fixture
def fresh_search() -> Iterator[None]:
    """Forget which interpreters were found."""
    pythons.find.cache_clear()
    yield
    pythons.find.cache_clear()


@pytest.mark.usefixtures("fresh_search")
def test_an_interpreter_that_does_not_run_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the shim of a version that is installed and not active."""
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n", "utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert pythons.find("3.99") is None


@pytest.mark.usefixtures("fresh_search")
def test_pyenv_is_found_through_its_shims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where neither HOME nor PYENV_ROOT lead there."""
    real = tmp_path / "versions" / "3.99.1" / "bin" / "python3.99"
    real.parent.mkdir(parents=True)
    real.write_text("#!/bin/sh\necho 3.99\n", "utf-8")
    real.chmod(0o755)
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("PATH", str(tmp_path / "shims"), prepend=os.pathsep)
    assert pythons.find("3.99") == real


@pytest.mark.usefixtures("fresh_search")
def test_the_first_wanted_python_is_taken() -> None:
    """Versions that are not installed are passed over."""
    found = pythons.first(["3.99", HERE])
    assert found is not None
    assert found[0] == HERE


def test_a_copy_holds_what_the_artefact_would(tmp_path: Path) -> None:
    """New files are copied, ignored ones are not, and old copies go, but for environments."""
    checkout, root = tmp_path / "checkout", tmp_path / "root"
    for name in ("plugins/a.py", "plugins/service.py", "service/b.py", "c.log"):
        file = checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    checkout.joinpath(".gitignore").write_text("*.log\n", "utf-8")
    checkout.joinpath("galaxy.yml").write_text("build_ignore: [.gitignore, service]\n", "utf-8")
    subprocess.run(["git", "init", "--quiet", checkout], check=True)
    collection = ansible_tree.copy_collection(checkout, root)
    kept, stale = "tests/output/.tmp/environment", "plugins/stale.py"
    for name in (kept, stale):
        file = collection / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert ansible_tree.copy_collection(checkout, root) == collection
    assert collection == root / "ansible_collections" / "postroom" / "email"
    copied = {str(path.relative_to(collection)) for path in collection.rglob("*") if path.is_file()}
    assert copied == {"galaxy.yml", "plugins/a.py", "plugins/service.py", kept}


def test_a_clone_is_importable_from_any_path(tmp_path: Path) -> None:
    """A tree of links stands in for the place where Ansible looks; making it twice is fine."""
    tmp_path.joinpath("galaxy.yml").touch()
    for _attempt in range(2):
        root = conftest.collections_root(tmp_path)
    assert root.joinpath("ansible_collections/postroom/email/galaxy.yml").is_file()


def test_a_clone_in_its_place_needs_no_links(tmp_path: Path) -> None:
    """As in ansible-test's tree."""
    checkout = tmp_path / "ansible_collections" / "postroom" / "email"
    checkout.mkdir(parents=True)
    assert conftest.collections_root(checkout) == tmp_path
    assert not list(checkout.iterdir())
