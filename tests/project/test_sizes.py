# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Small files and functions: what is read in one go is understood in one go."""

from __future__ import annotations

import ast
import statistics
from typing import TYPE_CHECKING

import pytest

from ansible_collections.postroom.email.tests.support import repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRODUCT = ("plugins/", "service/", "bot/", "tools/")
LONGEST_FILE = 400
LONGEST_MODULE = 80
LONGEST_FUNCTION = 60
MEDIAN_FUNCTION = 10
NINETIETH_FUNCTION = 30
TEXTS = {"DOCUMENTATION", "EXAMPLES", "RETURN"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(file: Path) -> Iterator[Function]:
    """Yield the functions and methods of a file, without those inside of functions."""
    waiting: list[ast.AST] = [ast.parse(repository.read(file))]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, Function):
                yield node
            else:
                waiting.append(node)


def length(node: Function) -> int:
    """Count the lines of a function beside its docstring and its decorators."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def documentation_lines(file: Path) -> int:
    """Count the lines of a module that Ansible shows as its documentation."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.parse(repository.read(file)).body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in TEXTS for target in node.targets)
    )


@pytest.mark.parametrize("file", repository.sources(), ids=str)
def test_a_file_is_short(file: Path) -> None:
    """No file has more than 400 lines beside a module's documentation."""
    lines = len(repository.read(file).splitlines()) - documentation_lines(file)
    assert lines <= LONGEST_FILE


@pytest.mark.parametrize("file", repository.sources("plugins/modules/"), ids=str)
def test_a_module_is_thin(file: Path) -> None:
    """A module is documentation and a few lines: the logic is elsewhere."""
    lines = len(repository.read(file).splitlines()) - documentation_lines(file)
    assert lines <= LONGEST_MODULE


@pytest.mark.parametrize("file", repository.sources(), ids=str)
def test_no_function_is_long(file: Path) -> None:
    """No function has more than 60 lines."""
    long = {node.name: length(node) for node in functions(file) if length(node) > LONGEST_FUNCTION}
    assert not long


def test_most_functions_are_short() -> None:
    """Half of the product's functions have at most 10 lines, nine in ten at most 30."""
    lengths = sorted(
        length(node) for file in repository.sources(*PRODUCT) for node in functions(file)
    )
    assert statistics.median(lengths) <= MEDIAN_FUNCTION
    assert lengths[len(lengths) * 9 // 10] <= NINETIETH_FUNCTION
