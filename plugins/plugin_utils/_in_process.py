# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action that runs a module's own logic inside Ansible's worker.

The items of a loop are all run by one worker process, and a module costs each of them a new
process. So a task runs here where that can't be told apart from a module on this machine, and
as a module everywhere else. What differs between modules is in ``plugins/action``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - its own name everywhere
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action.normal import ActionModule as NormalAction
from ansible.utils.display import Display

from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import (
    import_httpx,
)
from ansible_collections.postroom.email.plugins.module_utils._module import (
    API_OPTIONS,
    Ensure,
    run_and_exit,
)
from ansible_collections.postroom.email.plugins.module_utils._secrets import remove_secrets

from ._conditions import against_environment, against_interpreter
from ._connections import Connections
from ._playbook_variables import unused_variables, with_variables
from ._worker_module import HAS_PROFILES, IS_SUPPORTED, WorkerModule, as_sent, run_in_process

try:
    # Here, so that Ansible imports it once, before it forks its workers.
    import_httpx()
    HAS_HTTPX = True
except ImportError:
    HAS_HTTPX = False

SWITCH = "postroom_in_process"
#: The variable of playbooks that holds the file with their options.
_ARGUMENTS = "__mail_arguments"
#: Variables of roles and playbooks that hold the variable for each module option.
_OPTION_VARIABLES = (
    "__tenant_option_variables",
    "__dns_option_variables",
    "__mail_option_variables",
)

_connections = Connections()
_display = Display()


class InProcessAction(NormalAction):  # type: ignore[misc]
    """An action that runs a module's logic here, if it can, and the module if it can't."""

    #: The module's own options.
    argument_spec: Mapping[str, Any]

    def ensure(self) -> Ensure:
        """Return the module's own logic, which may be given more here than in a process."""
        raise NotImplementedError

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task in one of the two ways."""
        variables = task_vars or {}
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        environment = {name: str(value) for name, value in environment.items()}
        self._option_variables = self._find_option_variables(variables)
        reason = self._reason_for_module(variables, environment)
        if reason is not None:
            self._tell(f"runs as a module: {reason}")
            result: dict[str, Any] = super().run(tmp, task_vars)
            return result
        self._tell(f"runs in process {os.getpid()}: a local module would do the same")
        result = super(NormalAction, self).run(tmp, task_vars)
        return {**result, **self._read(**self._run_here(variables, environment))}

    def _find_option_variables(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the collection's variable by option, and warn of variables that do nothing."""
        found: dict[str, str] = {}
        for name in _OPTION_VARIABLES:
            found.update(self._templar.template(variables.get(name, {})))
        if _ARGUMENTS in variables:
            playbook = Path(self._templar.template(variables[_ARGUMENTS]))
            for text in unused_variables(self._loader, playbook, found):
                _display.warning(text)
        return found

    def _parse_returned_data(self, res: dict[str, Any], *profile: str) -> Any:
        """Parse what a module has printed. A failure names the collection's variables."""
        if self._option_variables and '"failed": true' in res["stdout"]:
            with suppress(ValueError):
                data = json.loads(res["stdout"])
                if isinstance(data.get("msg"), str) and data.get("failed") is True:
                    data["msg"] = with_variables(data["msg"], self._option_variables)
                    res = {**res, "stdout": json.dumps(data)}
        return super()._parse_returned_data(res, *profile)

    def _tell(self, text: str) -> None:
        _display.vvv(f"{self._task.action} {text}", host=self._play_context.remote_addr)

    def _reason_for_module(
        self, variables: Mapping[str, Any], environment: Mapping[str, str]
    ) -> str | None:
        """Return why this task needs a module process, or None where it does not."""
        return (
            self._reason_to_stay_out(variables)
            or self._reason_of_place()
            or against_interpreter(self._interpreter(variables))
            or against_environment(environment)
        )

    def _reason_to_stay_out(self, variables: Mapping[str, Any]) -> str | None:
        if not boolean(os.environ.get("POSTROOM_IN_PROCESS", "true"), strict=False):
            return "the environment variable POSTROOM_IN_PROCESS is off"
        if not boolean(self._templar.template(variables.get(SWITCH, True)), strict=False):
            return f"the variable {SWITCH} is off"
        if not HAS_HTTPX:
            return f"httpx is missing in {sys.executable}"
        if not IS_SUPPORTED:
            return "this ansible-core does not support it"
        return None

    def _reason_of_place(self) -> str | None:
        if self._connection.transport != "local":
            return f"its connection is {self._connection.transport}"
        if self._connection.become is not None:
            return "it becomes another user"
        if self._task.async_val:
            return "it is asynchronous"
        if getattr(self._connection._shell, "_IS_WINDOWS", False):  # noqa: SLF001 - no other name
            return "its shell is PowerShell"
        if C.DEFAULT_KEEP_REMOTE_FILES:
            return "the files of modules are to be kept"
        return None

    def _interpreter(self, variables: Mapping[str, Any]) -> str:
        """Return the Python that ansible-core would run the module on."""
        if self._task.delegate_to:
            variables = variables["ansible_delegated_vars"][self._task.delegate_to]
        value = C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)
        return str(self._templar.template(value) or "").strip()

    def _run_here(
        self, variables: dict[str, Any], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return what a module process would leave behind: output and status."""
        arguments = self._task.args
        self._update_module_args(self._task.action, arguments, variables)
        sent = as_sent(arguments)
        spec = {**API_OPTIONS, **self.argument_spec}
        secrets: set[str] = set()

        def run() -> None:
            module = WorkerModule(argument_spec=spec, supports_check_mode=True)
            secrets.update(module.no_log_values)
            run_and_exit(module, self.ensure(), _connections.get)

        try:
            with _surroundings(self._loader.get_basedir(), environment):
                return {"stdout": run_in_process(sent, run)}
        except Exception as error:  # noqa: BLE001 - a module that crashes has a result, too
            _connections.drop()
            return _crash(_told(error, secrets), arguments)
        except BaseException:
            # The task's time is up, or someone pressed Ctrl-C.
            _connections.drop()
            raise

    def _read(self, stdout: str = "", stderr: str = "", rc: int = 0) -> dict[str, Any]:
        """Return what ansible-core makes of that which a module has printed."""
        printed = {"stdout": stdout, "stderr": stderr, "rc": rc}
        if HAS_PROFILES:
            result: Any = self._parse_returned_data(printed, "legacy")
        else:
            from ansible.utils.unsafe_proxy import wrap_var  # noqa: PLC0415 - later deprecated

            result = wrap_var(self._parse_returned_data(printed))
        # From ansible-core 2.21 on it is an object.
        return dict(
            result if isinstance(result, dict) else result.as_result_dict(for_round_trip=True)
        )


@contextmanager
def _surroundings(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Be where a module would be, with its variables, and come back."""
    variables = dict(os.environ)
    here = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
    try:
        os.environ.update(environment)
        os.chdir(folder)
        yield
    finally:
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)
        os.fchdir(here)
        os.close(here)


def _told(error: Exception, secrets: set[str]) -> list[str]:
    """Return the message of an exception and its traceback, without secrets."""
    if not secrets:
        # There always is one, the token. Here they are not known yet, and any text may hold one.
        places = "".join(traceback.format_tb(error.__traceback__))
        return [type(error).__name__, f"Traceback:\n{places}{type(error).__name__}"]
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    told: list[str] = remove_secrets([str(error) or type(error).__name__, trace], secrets)
    return told


def _crash(told: list[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a module process leaves behind that ends with an exception."""
    message, trace = told
    if not HAS_PROFILES:
        return {"stderr": trace, "rc": 1}
    result = {"failed": True, "msg": message}
    if "error" in arguments["_ansible_tracebacks_for"]:
        result["exception"] = trace
    return {"stdout": json.dumps(result), "rc": 1}
