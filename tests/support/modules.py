# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the ``main`` function of Ansible modules in the test process."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

from ansible import module_utils
from ansible.module_utils import basic
from ansible.module_utils.common import warnings

Main = Callable[[], None]


def run_module(
    main: Main, arguments: Mapping[str, Any], *, check: bool = False, diff: bool = False
) -> dict[str, Any]:
    """Run ``main`` with these options, and return its result, which always has ``failed``."""
    internal = {"_ansible_check_mode": check, "_ansible_diff": diff}
    output = io.StringIO()
    status: Any = "missing: the module did not exit"
    # Warnings accumulate in the process, which would normally run only one module.
    warnings._global_warnings.clear()
    warnings._global_deprecations.clear()
    with (
        _module_arguments({**arguments, **internal}),
        _outside_of_controller(),
        contextlib.redirect_stdout(output),
    ):
        try:
            main()
        except SystemExit as ending:
            status = ending.code
    result: dict[str, Any] = json.loads(output.getvalue())
    # Since ansible-core 2.22, the controller reads the secrets to mask from this key.
    result.pop("_ansible_new_secrets", None)
    result.setdefault("failed", False)
    if bool(status) != result["failed"]:
        raise AssertionError(f"exit status {status} with {result}")
    return result


@contextlib.contextmanager
def _outside_of_controller() -> Iterator[None]:
    """Keep warnings in the result, even if other tests have imported code of the controller."""
    internal = getattr(module_utils, "_internal", None)
    if not hasattr(internal, "is_controller"):
        # This is ansible-core before 2.19.
        yield
        return
    with mock.patch.object(internal, "is_controller", new=False):
        yield


@contextlib.contextmanager
def _module_arguments(arguments: dict[str, Any]) -> Iterator[None]:
    try:
        from ansible.module_utils.testing import patch_module_args
    except ImportError:
        # This is ansible-core before 2.19.
        before = basic._ANSIBLE_ARGS
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
        try:
            yield
        finally:
            basic._ANSIBLE_ARGS = before
    else:
        with patch_module_args(arguments):
            yield
