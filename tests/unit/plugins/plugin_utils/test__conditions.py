# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""When a task may run inside the worker."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.plugin_utils._conditions import (
    against_environment,
    against_interpreter,
)

OWN = Path(sys.executable)


@pytest.mark.parametrize(
    "interpreter", ["", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent", sys.executable]
)
def test_ansibles_own_python(interpreter: str) -> None:
    """What has to be looked for counts as it, for a local machine has it for certain."""
    assert against_interpreter(interpreter) is None


def test_another_name_in_the_same_folder(tmp_path: Path) -> None:
    """A link beside it runs in the same virtual environment."""
    beside = tmp_path / "bin"
    beside.symlink_to(OWN.parent, target_is_directory=True)
    assert against_interpreter(str(beside / OWN.name)) is None


def test_another_virtual_environment(tmp_path: Path) -> None:
    """The same file called by another folder's name has other packages."""
    python = tmp_path / OWN.name
    python.symlink_to(OWN)
    assert against_interpreter(str(python)) == f"its Python is {python}, Ansible's own is {OWN}"


@pytest.mark.parametrize("interpreter", ["python3", "./python3", f"{OWN} -I", "/nowhere/python3"])
def test_another_python(interpreter: str) -> None:
    """Or one that nobody but a shell would find."""
    assert against_interpreter(interpreter) is not None


@pytest.mark.parametrize(
    "name", ["POSTROOM_API_URL", "https_proxy", "NO_PROXY", "HOME", "TZX", "LANGX", "MY_PYTHON"]
)
def test_variables_that_are_read_at_use(name: str) -> None:
    """They can be set for a while."""
    assert against_environment({name: "value"}) is None


@pytest.mark.parametrize(
    "name",
    ["PYTHONPATH", "PYTHONWARNINGS", "LD_PRELOAD", "OPENSSL_CONF", "SSL_CERT_FILE", "LC_ALL", "TZ"],
)
def test_variables_that_are_read_at_the_start(name: str) -> None:
    """A new process is needed to heed them."""
    reason = against_environment({"POSTROOM_API_URL": "x", name: "value"})
    assert reason == f"environment sets {name}, which only a new process reads"


@pytest.mark.parametrize(("name", "value"), [("a-b", "x"), ("1A", "x"), ("", "x"), ("A", "\0")])
def test_variables_that_a_shell_refuses(name: str, value: str) -> None:
    """What it makes of them is its own affair."""
    reason = against_environment({name: value})
    assert reason == f"environment sets {name!r}, which only a shell can judge"
