# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tell what a whole test run did: what ran, what was skipped and why, what failed, and the counts.

The outcome of a session is nox's own word (its JSON report); how many tests it ran is read from
the JUnit files that it left. A session that was asked for and is not in nox's report has failed.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# Of the failed tests so much is shown that it fits on the last page of a log.
MOST_FAILURES = 20
MESSAGE_LINES = 7
TRACE_LINES = 8
LINE_WIDTH = 200
# The line of code that made a call, and the place of it.
TRACED = re.compile(r">|[^\s:]+:\d+: ")


@dataclasses.dataclass(frozen=True)
class Failure:
    """A test that failed: its session, its name, and some lines of what was said of it."""

    session: str
    test: str
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one session."""

    name: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    why_skipped: Counter[str] = dataclasses.field(default_factory=Counter)
    failures: tuple[Failure, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing in it failed."""
        return self.failed == 0 and self.status in {"success", "skipped"}


def read(nox_report: Path, results: Path, expected: Iterable[str]) -> list[Outcome]:
    """Return the outcome of every session that was expected, in that order."""
    ran = {}
    if nox_report.is_file():
        sessions = json.loads(nox_report.read_text("utf-8"))["sessions"]
        ran = {entry["name"]: entry for entry in sessions}
    missing = {"result": "failed", "reason": "it did not run"}
    return [_outcome(name, ran.get(name, missing), results / name) for name in expected]


def render(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of the report; the last one is the count."""
    width = max((len(outcome.name) for outcome in outcomes), default=0)
    yield f"{'session':{width}}  {'result':7} {'time':>6}{'passed':>7} {'failed':>7} {'skipped':>8}"
    for one in outcomes:
        status = {"success": "passed"}.get(one.status, one.status) if one.ok else "FAILED"
        counts = f"{one.passed:7} {one.failed:7} {one.skipped:8}"
        yield f"{one.name:{width}}  {status:7} {one.seconds:5.0f}s{counts}  {one.reason}".rstrip()
        for why, times in one.why_skipped.items():
            yield f"{'':{width}}  - {times} skipped: {why}"
    yield ""
    yield from _render_failures([failure for one in outcomes for failure in one.failures])
    passed, failed, skipped = (
        sum(getattr(one, kind) for one in outcomes) for kind in ("passed", "failed", "skipped")
    )
    yield f"{passed} passed, {failed} failed, {skipped} skipped"


def _render_failures(failures: list[Failure]) -> Iterator[str]:
    for failure in failures[:MOST_FAILURES]:
        yield f"FAILED in {failure.session}: {failure.test}"
        yield from (f"    {line}" for line in failure.lines)
        yield ""
    if len(failures) > MOST_FAILURES:
        yield f"... and {len(failures) - MOST_FAILURES} more failed tests"
        yield ""


def tests_in(folder: Path) -> int:
    """Return how many tests the JUnit files in a folder tell of."""
    counts, _why = _count(folder)
    return counts.total()


def count_targets(junit: Path, folder: Path) -> int:
    """Leave in `folder` one test for each integration target that passed; return how many.

    What ansible-test leaves itself tells of single tasks, and counts one that is rescued as failed.
    """
    targets = sorted({file.name.rsplit("-", 2)[0] for file in junit.glob("*.xml")})
    leave(folder, "integration", targets)
    return len(targets)


def leave(
    folder: Path, suite: str, passed: Iterable[str], skipped: Mapping[str, str] | None = None
) -> None:
    """Leave a JUnit file in `folder`.

    :param skipped: why, by test
    """
    root = ET.Element("testsuite", name=suite)
    for test in passed:
        ET.SubElement(root, "testcase", classname=suite, name=test)
    for test, why in (skipped or {}).items():
        case = ET.SubElement(root, "testcase", classname=suite, name=test)
        ET.SubElement(case, "skipped", message=why)
    folder.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(folder / f"{suite}.xml", encoding="utf-8")


def _outcome(name: str, entry: dict[str, object], folder: Path) -> Outcome:
    counts, why = _count(folder)
    status = str(entry["result"])
    if status == "success":
        # A session without counted tests is one test itself.
        counts["passed"] += counts.total() == 0
    elif status == "skipped":
        counts, why = Counter({"skipped": 1}), Counter()
    else:
        # Whatever its files say, nox saw it fail: a crash after the tests, or before them.
        counts["failed"] += counts["failed"] == 0
    seconds = entry.get("duration")
    return Outcome(
        name=name,
        status=status,
        reason=str(entry.get("reason") or ""),
        seconds=seconds if isinstance(seconds, float) else 0.0,
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        why_skipped=why,
        failures=tuple(_failures(name, folder)),
    )


def _cases(folder: Path) -> Iterator[ET.Element]:
    for file in sorted(folder.glob("**/*.xml")):
        yield from ET.parse(file).iter("testcase")


def _failures(session: str, folder: Path) -> Iterator[Failure]:
    for case in _cases(folder):
        if _kind(case) == "failed":
            test = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            said = [found for found in case if found.tag in {"failure", "error"}]
            yield Failure(session, test, tuple(line for one in said for line in _said(one)))


def _said(failure: ET.Element) -> Iterator[str]:
    """Yield the beginning of the message, and where pytest's traceback says it came from."""
    message = (failure.get("message") or "").splitlines()
    text = (failure.text or "").splitlines()
    calls = [line for line in text if TRACED.match(line)]
    for line in message[:MESSAGE_LINES] + (calls or text)[-TRACE_LINES:]:
        yield line[:LINE_WIDTH].rstrip()


def _count(folder: Path) -> tuple[Counter[str], Counter[str]]:
    counts: Counter[str] = Counter()
    why: Counter[str] = Counter()
    for case in _cases(folder):
        kind = _kind(case)
        counts[kind] += 1
        if kind == "skipped":
            why[_reason(case)] += 1
    return counts, why


def _kind(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "skipped"


def _reason(case: ET.Element) -> str:
    skipped = case.find("skipped")
    if skipped is None:
        return ""
    # pytest puts the reason into an attribute, ansible-test into the text.
    return skipped.get("message") or " ".join((skipped.text or "no reason given").split())
