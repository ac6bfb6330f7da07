# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Report on a run of several sessions: results, skips, failures, times and coverage.

Each session's result is in nox's JSON report, and the results of its tests are in the JUnit files
that the session wrote. A requested session that is missing from nox's report counts as failed.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

MAX_FAILURES = 20
MESSAGE_LINES = 7
TRACE_LINES = 8
LINE_WIDTH = 200
SLOWEST = 5
# The packages in a reason that comes from tests/support/system_programs.py.
PACKAGES = re.compile(r"\(Debian: ([^)]+)\)")
# A line of code in a traceback, or the line that gives its location.
TRACED = re.compile(r">|[^\s:]+:\d+: ")
#: Its tests need PostgreSQL, so only `make test-all` runs them.
NOT_MEASURED = "service/postroom_service/mail_host/"
PRODUCTS = {
    "plugins": "plugins",
    "bot": "bot/postroom_bot",
    "service": "service/postroom_service",
    "common": "common/postroom_common",
}


@dataclasses.dataclass(frozen=True)
class Test:
    """The result of a test, and the lines to show if it failed."""

    name: str
    result: str
    seconds: float
    reason: str
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a session and its tests."""

    name: str
    status: str
    reason: str
    seconds: float
    tests: tuple[Test, ...]
    coverage: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether the session and all its tests succeeded or were skipped."""
        return self.status in {"success", "skipped"} and not self.count("failed")

    def count(self, result: str) -> int:
        """Return the number of tests with a result. A session without tests counts as one test."""
        own = {"success": "passed", "skipped": "skipped"}.get(self.status, "failed")
        found = sum(test.result == result for test in self.tests)
        if not self.tests or (own == "failed" == result and not found):
            return int(own == result)
        return found


def read(nox_reports: Iterable[Path], results: Path, expected: Iterable[str]) -> list[Outcome]:
    """Return the outcomes of the expected sessions, in the order of ``expected``."""
    ran: dict[str, Any] = {}
    for each in nox_reports:
        if each.is_file():
            sessions = json.loads(each.read_text("utf-8"))["sessions"]
            ran |= {entry["name"]: entry for entry in sessions}
    missing = {"result": "failed", "reason": "it did not run"}
    outcomes = []
    for name in expected:
        entry = ran.get(name, missing)
        outcomes.append(
            Outcome(
                name=name,
                status=str(entry["result"]),
                reason=str(entry.get("reason") or ""),
                seconds=float(entry.get("duration") or 0),
                tests=tuple(_tests(results / name)),
                coverage=_coverage(results / name / "coverage.json"),
            )
        )
    return outcomes


def render(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of the report; the last one is the summary."""
    width = max(len(outcome.name) for outcome in outcomes)
    yield f"{'session':{width}}  {'result':7} {'time':>6}{'passed':>7} {'failed':>7} {'skipped':>8}"
    for one in outcomes:
        status = {"success": "passed"}.get(one.status, one.status) if one.ok else "FAILED"
        numbers = f"{one.count('passed'):7} {one.count('failed'):7} {one.count('skipped'):8}"
        yield f"{one.name:{width}}  {status:7} {one.seconds:5.0f}s{numbers}  {one.reason}".rstrip()
        skipped = Counter(test.reason for test in one.tests if test.result == "skipped")
        for why, times in skipped.items():
            yield f"{'':{width}}  - {times} skipped: {why}"
    if packages := _missing_packages(outcomes):
        yield ""
        yield "To run the tests that need other programs: sudo apt-get install " + " ".join(
            packages
        )
    for one in outcomes:
        yield from _render_times(one)
    yield ""
    failures = [(one.name, test) for one in outcomes for test in one.tests if test.lines]
    for session, test in failures[:MAX_FAILURES]:
        yield f"FAILED in {session}: {test.name}"
        yield from (f"    {line}" for line in test.lines)
        yield ""
    if len(failures) > MAX_FAILURES:
        yield f"... and {len(failures) - MAX_FAILURES} more failed tests"
        yield ""
    counts = (
        f"{sum(one.count(result) for one in outcomes)} {result}"
        for result in ("passed", "failed", "skipped")
    )
    yield ", ".join(counts)


def _missing_packages(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the Debian packages that the reasons of skipped tests name."""
    reasons = {test.reason for outcome in outcomes for test in outcome.tests}
    named = (PACKAGES.findall(reason) for reason in reasons)
    return sorted({package for group in named for names in group for package in names.split()})


def _render_times(outcome: Outcome) -> Iterator[str]:
    """Yield the times of a session's tests by directory, its slowest tests and its coverage."""
    folders: defaultdict[str, float] = defaultdict(float)
    for test in outcome.tests:
        folders["/".join(re.split(r"[./]", test.name.partition("::")[0])[:2])] += test.seconds
    if len(folders) > 1 and any(folders.values()):
        yield ""
        ranked = sorted(folders, key=lambda folder: -folders[folder])
        times = (f"{folder} {folders[folder]:.0f}s" for folder in ranked)
        yield f"{outcome.name}, time in tests (over all processes): {', '.join(times)}"
        for test in sorted(outcome.tests, key=lambda test: -test.seconds)[:SLOWEST]:
            yield f"{test.seconds:6.1f}s  {test.name}"
    if outcome.coverage:
        covered = (f"{product} {share}" for product, share in outcome.coverage.items())
        yield f"{outcome.name}, branch coverage: {', '.join(covered)}"


def write_target_results(junit: Path, folder: Path) -> int:
    """Write a JUnit file with a test for each integration target that passed; return their number.

    ansible-test's own files describe single tasks and count a rescued task as failed.
    """
    targets = sorted({file.name.rsplit("-", 2)[0] for file in junit.glob("*.xml")})
    write_junit(folder, "integration", targets)
    return len(targets)


def write_junit(
    folder: Path, suite: str, passed: Iterable[str], skipped: Mapping[str, str] | None = None
) -> None:
    """Write a JUnit file to `folder`.

    :param skipped: the reason for skipping each skipped test
    """
    root = ET.Element("testsuite", name=suite)
    for test in passed:
        ET.SubElement(root, "testcase", classname=suite, name=test)
    for test, why in (skipped or {}).items():
        case = ET.SubElement(root, "testcase", classname=suite, name=test)
        ET.SubElement(case, "skipped", message=why)
    folder.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(folder / f"{suite}.xml", encoding="utf-8")


def has_results(folder: Path) -> bool:
    """Return whether the JUnit files in a directory contain any test."""
    return any(True for _ in _tests(folder))


def _tests(folder: Path) -> Iterator[Test]:
    for file in sorted(folder.glob("**/*.xml")):
        for case in ET.parse(file).iter("testcase"):
            problems = [each for each in case if each.tag in {"failure", "error"}]
            skipped = case.find("skipped")
            reason = ""
            if skipped is not None:
                # pytest writes the reason to an attribute, and ansible-test writes it to the text.
                reason = skipped.get("message") or " ".join((skipped.text or "no reason").split())
            yield Test(
                name="::".join(filter(None, (case.get("classname"), case.get("name")))),
                result="failed" if problems else "passed" if skipped is None else "skipped",
                seconds=float(case.get("time") or 0),
                reason=reason,
                lines=tuple(_lines(case, problems)),
            )


def _lines(case: ET.Element, problems: list[ET.Element]) -> Iterator[str]:
    """Yield the lines that describe a failed test: its guarantee and its errors."""
    if problems:
        properties = {each.get("name"): each.get("value") for each in case.iter("property")}
        if guarantee := properties.get("guarantee"):
            yield f"guarantee: {guarantee}"
    for problem in problems:
        yield from _excerpt(problem)


def _excerpt(problem: ET.Element) -> Iterator[str]:
    """Yield the beginning of an error's message and the calls in pytest's traceback."""
    message = (problem.get("message") or "").splitlines()
    text = (problem.text or "").splitlines()
    calls = [line for line in text if TRACED.match(line)]
    for line in message[:MESSAGE_LINES] + (calls or text)[-TRACE_LINES:]:
        yield line[:LINE_WIDTH].rstrip()


def _coverage(file: Path) -> dict[str, str]:
    """Return the branch coverage of each product, such as `97.1 %`."""
    if not file.is_file():
        return {}
    files = json.loads(file.read_text("utf-8"))["files"]
    shares = {}
    for product, folder in PRODUCTS.items():
        found = [
            entry["summary"]
            for name, entry in files.items()
            if name.startswith(folder) and not name.startswith(NOT_MEASURED)
        ]
        branches = sum(each["num_branches"] for each in found)
        covered = sum(each["covered_branches"] for each in found)
        shares[product] = f"{100 * covered / max(branches, 1):.1f} %"
    return shares


def unmeasured(root: Path, file: Path) -> list[str]:
    """Return the products' files that no process imported, which therefore lack coverage data."""
    measured = json.loads(file.read_text("utf-8"))["files"]
    return [
        name
        for folder in PRODUCTS.values()
        for path in sorted(root.glob(f"{folder}/**/*.py"))
        if path.name != "__init__.py"
        and (name := path.relative_to(root).as_posix()) not in measured
        and not name.startswith(NOT_MEASURED)
    ]
