# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An AnsibleModule that takes its options from a dictionary and hands its result back.

It stands in this process for the one that a module process has: options go through the JSON that
they would be sent as, and are read, checked, warned of and shown by ansible-core's own code, so
that each version does it its own way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ansible.module_utils import basic
from ansible.module_utils.common import warnings

from ansible_collections.postroom.email.plugins.module_utils._module import NEW_SECRETS, Module
from ansible_collections.postroom.email.plugins.module_utils._secrets import remove_secrets

try:
    from ansible.module_utils.common.json import Direction, get_module_encoder

    _TO_MODULE = {"cls": get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)}
    _FROM_MODULE = {"cls": get_module_encoder("legacy", Direction.MODULE_TO_CONTROLLER)}
    HAS_PROFILES = True
except ImportError:
    # ansible-core before 2.19.
    from ansible.module_utils.common.json import AnsibleJSONEncoder

    _TO_MODULE = {"cls": AnsibleJSONEncoder, "vault_to_text": True}
    _FROM_MODULE = {"cls": AnsibleJSONEncoder}
    HAS_PROFILES = False

#: Where ansible-core lets a module's result be taken before it is printed.
IS_SUPPORTED = not HAS_PROFILES or hasattr(basic.AnsibleModule, "_record_module_result")


class _Exit(BaseException):
    """The module has exited, with this result."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


#: What ansible-core writes into the system's log looks for each secret in each option.
_MOST_LOGGED = 100


class WorkerModule(Module):
    """The module of a task that runs in this process."""

    no_log_values: set[str]

    def _log_invocation(self) -> None:
        """Log it, unless there are so many secrets that this would take longer than the task."""
        if len(self.no_log_values) <= _MOST_LOGGED:
            super()._log_invocation()

    def _return_formatted(self, kwargs: dict[str, Any]) -> None:
        # They are removed in the end, by what is quick where they are many.
        kept, self.no_log_values = self.no_log_values, set()
        try:
            super()._return_formatted(kwargs)
        except _Exit as ending:
            ending.result = remove_secrets(ending.result, kept)
            raise

    def _record_module_result(self, o: dict[str, Any]) -> NoReturn:
        # They were registered in this process.
        o.pop(NEW_SECRETS, None)
        raise _Exit(o)

    def jsonify(self, data: Any) -> Any:
        """Hand the result back where ansible-core before 2.19 is about to print it."""
        if HAS_PROFILES:
            return super().jsonify(data)
        raise _Exit(data)


def as_sent(arguments: Mapping[str, Any]) -> bytes:
    """Return the options of a task, with those that Ansible adds, as a module process gets them."""
    return json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, **_TO_MODULE).encode()


def run_in_process(sent: bytes, run: Callable[[], None]) -> str:
    """Run what makes a ``WorkerModule`` and exits by it, and return what a module would print.

    :param sent: the options, as ``as_sent`` returns them
    """
    with _given(sent):
        try:
            run()
        except _Exit as ending:
            return json.dumps(ending.result, **_FROM_MODULE)
    raise RuntimeError("The module did not exit.")


@contextmanager
def _given(sent: bytes) -> Iterator[None]:
    """Let modules find their options where a process of their own has them."""
    names = ("_ANSIBLE_ARGS", "_ANSIBLE_PROFILE", "_PARSED_MODULE_ARGS")
    before = {name: getattr(basic, name) for name in names if hasattr(basic, name)}
    _forget_warnings()
    try:
        basic._ANSIBLE_ARGS = sent  # noqa: SLF001 - a process's own are there
        if HAS_PROFILES:
            basic._ANSIBLE_PROFILE = "legacy"  # noqa: SLF001
        yield
    finally:
        for name, value in before.items():
            setattr(basic, name, value)
        _forget_warnings()


def _forget_warnings() -> None:
    """Forget the warnings of the task before, which was another process's."""
    warnings._global_warnings.clear()  # noqa: SLF001
    warnings._global_deprecations.clear()  # noqa: SLF001
