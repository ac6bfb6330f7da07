# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mutate the code that makes decisions, and print how many mutants the tests catch.

    python tools/mutation.py WORK [--all] [GROUP ...]

mutmut changes one expression at a time and runs the tests that execute it. Without `--all`, only
each function's first mutant and every tenth mutant after it are tested, so every run tests the same
mutants. Surviving mutants that only change the wording of a message are not counted, because tests
assert codes and effects.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.ansible_tree import copy_files  # noqa: E402

COLLECTION = Path("ansible_collections", "postroom", "email")
CORE = "plugins/module_utils/_api"
SAMPLE = "*__mutmut_*1"
TEXT = re.compile(r"""("[^"]*"|'[^']*')""")
CAUGHT = {"killed", "timeout", "suspicious", "segfault"}


@dataclasses.dataclass(frozen=True)
class Group:
    """Code that is mutated together, and the tests that should catch its mutants."""

    sources: dict[str, tuple[str, ...]]  # glob patterns relative to the repository, by package
    tests: tuple[str, ...]


GROUPS = {
    "collection": Group(
        sources={
            "planning": (f"{CORE}/tenant/*.py", f"{CORE}/yaml_reader.py"),
            "DNS comparison": (f"{CORE}/dns/*.py",),
        },
        tests=(f"tests/unit/{CORE}",),
    ),
    "bot": Group(
        sources={
            "policy": ("bot/postroom_bot/policy/*.py",),
            "rechecks": tuple(
                f"bot/postroom_bot/workflow/{name}.py"
                for name in ("evaluate", "execute", "leased_request", "policy_decisions", "tally")
            ),
            "store": tuple(
                f"bot/postroom_bot/store/{name}.py"
                for name in ("audit", "holdings", "requests", "votes")
            ),
        },
        tests=("tests/bot/policy", "tests/bot/store", "tests/bot/workflow"),
    ),
}


def in_tree(path: str) -> str:
    """Return the path that a repository file has in mutmut's copy."""
    if path.startswith("bot/postroom_bot/"):
        return path.removeprefix("bot/")
    return str(COLLECTION / path)


def prepare(tree: Path, group: Group) -> None:
    """Copy the repository to `tree`, and add a configuration for mutmut."""
    shutil.rmtree(tree, ignore_errors=True)
    copy_files(ROOT, tree / COLLECTION)
    # mutmut identifies a mutant by its module's name, so each path must match the module's name.
    (tree / COLLECTION / "bot" / "postroom_bot").rename(tree / "postroom_bot")
    shutil.copytree(tree / COLLECTION / CORE, tree / "postroom_client")
    # Python ignores a PYTHONPATH directory that does not exist when Python starts.
    (tree / "mutants").mkdir()
    patterns = [in_tree(pattern) for package in group.sources.values() for pattern in package]
    settings = {
        "source_paths": ["ansible_collections", "postroom_bot", "postroom_client"],
        "only_mutate": patterns,
        "pytest_add_cli_args": ["-m", "not full", "-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": [str(COLLECTION / tests) for tests in group.tests],
        "use_git_change_detection": "false",
    }
    lines = ["[mutmut]"]
    for key, value in settings.items():
        lines += (
            [f"{key} =", *(f"    {each}" for each in value)]
            if isinstance(value, list)
            else [f"{key} = {value}"]
        )
    tree.joinpath("setup.cfg").write_text("\n".join(lines) + "\n", "utf-8")


def mutate(tree: Path, patterns: list[str]) -> dict[str, str]:
    """Test the mutants that match a pattern, or all mutants, and return each mutant's result."""
    env = os.environ | {"PYTHONPATH": str(tree / "mutants"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(["mutmut", "run", *patterns], cwd=tree, env=env, check=True)
    results = subprocess.run(
        ["mutmut", "results", "--all", "true"],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(re.findall(r"^\s+(\S+): (.+)$", results.stdout, flags=re.MULTILINE))


def changes_wording(tree: Path, mutant: str) -> bool:
    """Return whether a mutant only changes the text of a message."""
    command = ["mutmut", "show", mutant]
    shown = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True).stdout
    changed = [line for line in shown.splitlines() if re.match(r"[-+](?![-+]{2})", line)]
    if len(changed) != 2:
        return False
    before, after = (TEXT.sub("", line[1:]) for line in changed)
    return before == after and any(text.count(" ") > 1 for text in TEXT.findall(changed[0]))


def summarize(group: Group, results: dict[str, str]) -> list[str]:
    """Return a row of the table for each package."""
    packages = {
        in_tree(file.relative_to(ROOT).as_posix()).removesuffix(".py").replace("/", "."): package
        for package, patterns in group.sources.items()
        for pattern in patterns
        for file in ROOT.glob(pattern)
    }
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, result in results.items():
        if result != "not checked":
            counts[packages[mutant.rpartition(".")[0]]][result] += 1
    rows = []
    for package, found in counts.items():
        caught = sum(found[result] for result in CAUGHT)
        rows.append(
            f"| {package} | {found.total()} | {caught} | {found['survived']} | {found['no tests']} "
            f"| {100 * caught / found.total():.1f} % |"
        )
    return rows


def main() -> int:
    """Mutate each group and print a table of the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="a directory for copies of the repository")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--all", action="store_true", help="test every mutant, which takes hours")
    options = parser.parse_intermixed_args()
    if unknown := set(options.groups) - GROUPS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    rows = []
    for name in options.groups or GROUPS:
        tree = options.work.resolve() / name
        prepare(tree, GROUPS[name])
        results = mutate(tree, [] if options.all else [SAMPLE])
        survivors = sorted(key for key, result in results.items() if result == "survived")
        wording = {mutant for mutant in survivors if changes_wording(tree, mutant)}
        survivors = [mutant for mutant in survivors if mutant not in wording]
        results = {key: result for key, result in results.items() if key not in wording}
        tree.joinpath("survivors.txt").write_text("\n".join(survivors) + "\n", "utf-8")
        rows += summarize(GROUPS[name], results)
    print(
        "| package | mutants | caught | survived | not reached | score |\n|---|---|---|---|---|---|"
    )
    print(*rows, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
