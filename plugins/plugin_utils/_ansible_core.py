# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module's AnsibleModule in this process. All private parts of ansible-core are listed here.

The options are encoded as JSON, as for a module process, and are read, checked and shown by
ansible-core's own code. Each version therefore treats them in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ansible.module_utils import basic
from ansible.module_utils.common import warnings
from ansible.plugins.action.normal import ActionModule

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

#: The private parts of ansible-core that the collection uses, by their owner. AnsibleModule._diff
#: is another one: an attribute of the object.
_PRIVATE_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (basic, ("_ANSIBLE_ARGS",)),
    (basic.AnsibleModule, ("_load_params", "_log_invocation", "_return_formatted")),
    (warnings, ("_global_warnings", "_global_deprecations")),
    (
        ActionModule,
        ("_compute_environment_string", "_parse_returned_data", "_update_module_args"),
    ),
)
#: The same for ansible-core 2.19 and newer.
_NEWER_PRIVATE_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (basic, ("_ANSIBLE_PROFILE",)),
    (basic.AnsibleModule, ("_record_module_result",)),
)


def missing_parts() -> list[str]:
    """Return the private parts that this version of ansible-core lacks."""
    parts = _PRIVATE_PARTS + (_NEWER_PRIVATE_PARTS if HAS_PROFILES else ())
    return [
        f"{owner.__name__}.{name}"
        for owner, names in parts
        for name in names
        if not hasattr(owner, name)
    ]


class _Exit(BaseException):
    """The module has exited with this result."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


#: Logging a task searches each option for each secret.
_MAX_LOGGED_SECRETS = 100


class WorkerModule(Module):
    """An AnsibleModule whose exit raises instead of ending the process."""

    no_log_values: set[str]

    def _log_invocation(self) -> None:
        """Log the task, unless it has so many secrets that this takes longer than the task."""
        if len(self.no_log_values) <= _MAX_LOGGED_SECRETS:
            super()._log_invocation()

    def _return_formatted(self, kwargs: dict[str, Any]) -> None:
        # remove_secrets is faster than ansible-core if there are many secrets.
        secrets, self.no_log_values = self.no_log_values, set()
        try:
            super()._return_formatted(kwargs)
        except _Exit as exit_:
            exit_.result = remove_secrets(exit_.result, secrets)
            raise

    def _record_module_result(self, o: dict[str, Any]) -> NoReturn:
        # They are registered already, because this process is the controller's.
        o.pop(NEW_SECRETS, None)
        raise _Exit(o)

    def jsonify(self, data: Any) -> Any:
        """Return the result in place of its JSON: ansible-core before 2.19 prints it then."""
        if HAS_PROFILES:
            return super().jsonify(data)
        raise _Exit(data)


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """Return a task's options as a module process receives them."""
    return json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, **_TO_MODULE).encode()


def run_in_process(arguments: bytes, run: Callable[[], None]) -> str:
    """Return what a module process would print.

    :param arguments: the options, from ``encode_arguments``
    :param run: creates a ``WorkerModule`` and exits through it
    """
    with _module_globals(arguments):
        try:
            run()
        except _Exit as exit_:
            return json.dumps(exit_.result, **_FROM_MODULE)
    raise RuntimeError("The module did not exit.")


@contextmanager
def _module_globals(arguments: bytes) -> Iterator[None]:
    """Set the global variables in which a module process has its options, and restore them."""
    names = ("_ANSIBLE_ARGS", "_ANSIBLE_PROFILE", "_PARSED_MODULE_ARGS")
    before = {name: getattr(basic, name) for name in names if hasattr(basic, name)}
    _clear_warnings()
    try:
        basic._ANSIBLE_ARGS = arguments  # noqa: SLF001
        if HAS_PROFILES:
            basic._ANSIBLE_PROFILE = "legacy"  # noqa: SLF001
        yield
    finally:
        for name, value in before.items():
            setattr(basic, name, value)
        _clear_warnings()


def _clear_warnings() -> None:
    """Clear the warnings of the previous task, which a module process would not have."""
    warnings._global_warnings.clear()  # noqa: SLF001
    warnings._global_deprecations.clear()  # noqa: SLF001
