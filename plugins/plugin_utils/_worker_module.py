# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run an AnsibleModule in this process, with the help of private parts of ansible-core.

The options are passed as JSON and the result is printed, as in a module process, so that each
version of ansible-core handles them in its own way.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

from ansible.module_utils import basic
from ansible.module_utils.common import warnings
from ansible.plugins.action import ActionBase

from ..module_utils._module import Module

try:
    from ansible.module_utils.common.json import Direction, get_module_encoder

    _ENCODER = {"cls": get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)}
    HAS_PROFILES = True
except ImportError:
    # ansible-core before 2.19
    from ansible.module_utils.common.json import AnsibleJSONEncoder

    _ENCODER = {"cls": AnsibleJSONEncoder, "vault_to_text": True}
    HAS_PROFILES = False

#: The private parts of ansible-core that are needed to run in the worker, keyed by owner. The
#: attribute AnsibleModule._diff is not listed, because only instances have it.
_PRIVATE_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (basic, ("_ANSIBLE_ARGS", "_ANSIBLE_PROFILE") if HAS_PROFILES else ("_ANSIBLE_ARGS",)),
    (basic.AnsibleModule, ("_load_params", "_log_invocation")),
    (warnings, ("_global_warnings", "_global_deprecations")),
    (ActionBase, ("_compute_environment_string", "_parse_returned_data", "_update_module_args")),
)
#: With more secrets, tasks are not logged, because ansible-core searches each option for each
#: secret.
_MAX_LOGGED_SECRETS = 100


class WorkerModule(Module):
    """An AnsibleModule that does not log tasks with a large number of secrets.

    :ivar reword: a function that changes the text of each warning
    """

    reword: Callable[[str], str] = staticmethod(str)

    def warn(self, warning: str, **options: Any) -> None:
        """Add a warning, which ansible-core 2.19 and newer display immediately in this process."""
        super().warn(self.reword(warning), **options)

    def _log_invocation(self) -> None:
        """Log the task, unless logging would take longer than the task."""
        if len(self.no_log_values) <= _MAX_LOGGED_SECRETS:
            super()._log_invocation()


def missing_parts() -> list[str]:
    """Return the private parts that this version of ansible-core lacks."""
    return [
        f"{owner.__name__}.{name}"
        for owner, names in _PRIVATE_PARTS
        for name in names
        if not hasattr(owner, name)
    ]


def module_output(arguments: Mapping[str, Any], run: Callable[[], None]) -> str:
    """Return the output that a module process with these options would print.

    :param run: a function that creates a ``WorkerModule`` and exits through it
    """
    names = ("_ANSIBLE_ARGS", "_ANSIBLE_PROFILE", "_PARSED_MODULE_ARGS")
    before = {name: getattr(basic, name) for name in names if hasattr(basic, name)}
    # A module process starts without the warnings of earlier tasks.
    collected = (warnings._global_warnings, warnings._global_deprecations)  # noqa: SLF001
    for messages in collected:
        messages.clear()
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, **_ENCODER).encode()  # noqa: SLF001
    if HAS_PROFILES:
        basic._ANSIBLE_PROFILE = "legacy"  # noqa: SLF001
    output = io.StringIO()
    try:
        with redirect_stdout(output):
            run()
    except SystemExit:
        return output.getvalue()
    finally:
        for name, value in before.items():
            setattr(basic, name, value)
        for messages in collected:
            messages.clear()
    raise RuntimeError("The module did not exit.")
