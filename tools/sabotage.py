# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Break one guarantee at a time in a copy of the repository, and report which tests notice.

    python tools/sabotage.py WORK [NAME ...]

For each guarantee, the tests in the directories that cover it run until the first failure. The run
fails if all tests pass although a guarantee is broken.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.ansible_tree import copy_files  # noqa: E402

CORE = "plugins/module_utils/_api"


@dataclasses.dataclass(frozen=True)
class Sabotage:
    """A small change to the code that breaks a guarantee."""

    guarantee: str
    file: str
    original: str
    replacement: str
    tests: tuple[str, ...]


SABOTAGES = {
    "check-mode": Sabotage(
        "check mode sends no write",
        "plugins/module_utils/_module.py",
        "outcome = ensure(client, params, check_mode=check_mode)",
        "outcome = ensure(client, params, check_mode=False)",
        ("tests/unit/plugins/modules", "tests/e2e"),
    ),
    "lease": Sabotage(
        "a worker that lost its lease changes nothing",
        "bot/postroom_bot/store/requests.py",
        "table.c.lease_holder == request.lease_holder,\n"
        "        table.c.lease_count == request.lease_count,",
        "",
        ("tests/bot/store", "tests/bot/workflow"),
    ),
    "password": Sabotage(
        "a password never reaches a log",
        "bot/postroom_bot/ops/logs.py",
        'return _RESPONSE_URL.sub(rf"\\g<1>{HIDDEN}", _SECRET.sub(HIDDEN, text))',
        "return text",
        ("tests/bot/ops", "tests/bot/test_secrets.py"),
    ),
    "precondition": Sabotage(
        "a domain that is in use is not deleted",
        f"{CORE}/tenant/apply.py",
        "if now.name in occupants:",
        "if False:",
        (f"tests/unit/{CORE}", "tests/e2e"),
    ),
    "self-approval": Sabotage(
        "a requester's own approval does not count",
        "bot/postroom_bot/policy/engine.py",
        "return voter.user == request.requester or same_mailbox",
        "return same_mailbox and voter.user != request.requester",
        ("tests/bot/workflow",),
    ),
    "purge-limit": Sabotage(
        "a purge never deletes more than max_deletions",
        f"{CORE}/tenant/purge.py",
        "if total > self.max_deletions:",
        "if total > self.max_deletions + 1:",
        (f"tests/unit/{CORE}", "tests/e2e"),
    ),
    "spf-merge": Sabotage(
        "an SPF record gets its new mechanism before `all`",
        f"{CORE}/dns/spf.py",
        "    place = spf.first_all",
        "    place = len(spf.terms)",
        (f"tests/unit/{CORE}",),
    ),
    "repeated-post": Sabotage(
        "a POST whose response was lost is repeated only after a GET",
        f"{CORE}/client/client.py",
        "if is_unknown and may_be_ours and self._read_outcome(error, took_effect):",
        "if False:",
        (f"tests/unit/{CORE}",),
    ),
    "audit-row": Sabotage(
        "an edited audit row is detected",
        "bot/postroom_bot/store/audit.py",
        "unchanged = unchanged and row.hash == _hash(row)",
        "unchanged = unchanged and bool(row.hash)",
        ("tests/bot/store",),
    ),
    "swallowed-error": Sabotage(
        "a failed change is reported as failed",
        f"{CORE}/tenant/apply.py",
        "return Result(FAILED, str(error), error, written=error.wrote)",
        "return Result(CHANGED, change.reason)",
        (f"tests/unit/{CORE}", "tests/e2e"),
    ),
}


def run(name: str, work: Path) -> str:
    """Break a guarantee in a copy and return the first test that fails, or an empty string."""
    sabotage = SABOTAGES[name]
    copy = work / name
    shutil.rmtree(copy, ignore_errors=True)
    copy_files(ROOT, copy)
    file = copy / sabotage.file
    text = file.read_text("utf-8")
    if text.count(sabotage.original) != 1:
        sys.exit(f"{name}: {sabotage.file} must contain the original just once. Update SABOTAGES.")
    file.write_text(text.replace(sabotage.original, sabotage.replacement), "utf-8")
    junit = copy / "junit.xml"
    command = ("-m", "pytest", "--quiet", "-x", "-m", "not full", f"--junit-xml={junit}")
    workers = ("--numprocesses", "4", "--dist", "loadfile")
    log = work / f"{name}.log"
    with log.open("w", encoding="utf-8") as output:
        result = subprocess.run(
            [sys.executable, *command, *workers, *sabotage.tests],
            cwd=copy,
            env=os.environ | {"ANSIBLE_COLLECTIONS_PATH": str(copy / ".collections")},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    cases = ET.parse(junit).iter("testcase") if junit.is_file() else ()
    for case in cases:
        if case.find("failure") is not None:
            guarantee = next((each.get("value") for each in case.iter("property")), "")
            return f"{case.get('classname')}::{case.get('name')}: {guarantee}"
    if result.returncode:
        # An error during setup or collection does not prove that a test caught the change.
        sys.exit(f"{name}: pytest could not run the tests. See {log}.")
    return ""


def main() -> int:
    """Run the sabotages, print which test caught each one, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="a directory for copies of the repository")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SABOTAGES)}")
    options = parser.parse_args()
    names = options.names or list(SABOTAGES)
    if unknown := set(names) - SABOTAGES.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    missed = 0
    for name in names:
        caught_by = run(name, options.work.resolve())
        missed += not caught_by
        print(f"{'caught' if caught_by else 'MISSED'}  {SABOTAGES[name].guarantee}")
        print(f"        by {caught_by}" if caught_by else "        by no test", flush=True)
    print(f"{len(names) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
