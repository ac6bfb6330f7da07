# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What every source file has, and what none has."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from ansible_collections.postroom.email.tests.support import repository

if TYPE_CHECKING:
    from pathlib import Path

# A module or plugin is GPL, as ansible-core asks; what it stands on is BSD.
# REUSE-IgnoreStart
GPL = "SPDX-License-Identifier: GPL-3.0-or-later"
BSD = "SPDX-License-Identifier: BSD-2-Clause"
# REUSE-IgnoreEnd
# Written so that this file does not hold what it looks for.
FOREIGN = re.compile(
    r"(?<![\w.$}])/(?:work|root|home/\w+)[/]"  # a path of one machine
    r"|\bshared[/]"  # notes that are not part of the repository
    r"|\bissue\s+#?\d+"  # a number means something in one tracker only
    r"|\b(?:ci-files|files\.pythonhosted|pypi)\.[\w.]+[/]",  # where packages come from is settings
    re.IGNORECASE,
)


@pytest.mark.parametrize("file", repository.sources(), ids=str)
def test_a_source_says_its_licence(file: Path) -> None:
    """Plugins are GPL and say so at their top; the rest is BSD, tests may be either."""
    top = "\n".join(repository.read(file).splitlines()[:12])
    is_plugin = file.parts[0] == "plugins" and file.parts[1] != "module_utils"
    assert (GPL if is_plugin else BSD) in top or (GPL in top and file.parts[0] == "tests")


@pytest.mark.parametrize("file", repository.sources(), ids=str)
def test_annotations_are_not_evaluated(file: Path) -> None:
    """Every file with code postpones annotations, so that types cost nothing at run time."""
    tree = ast.parse(repository.read(file))
    code = [node for node in tree.body if not isinstance(node, ast.Expr)]
    assert not code or "from __future__ import annotations" in repository.read(file)


@pytest.mark.parametrize("file", repository.sources("plugins/"), ids=str)
def test_plugins_have_no_assert(file: Path) -> None:
    """`assert` disappears under -O, so nothing that is shipped relies on it."""
    tree = ast.walk(ast.parse(repository.read(file)))
    assert not [node.lineno for node in tree if isinstance(node, ast.Assert)]


@pytest.mark.parametrize("file", repository.files(), ids=str)
def test_nothing_points_out_of_the_repository(file: Path) -> None:
    """No file names a path of one machine, a tracker's number or a package host."""
    try:
        text = repository.read(file)
    except UnicodeDecodeError:
        pytest.fail("is not text")
    found = {match.group() for match in FOREIGN.finditer(text)}
    assert not found
