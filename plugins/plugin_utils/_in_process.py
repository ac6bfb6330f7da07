# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module's function inside Ansible's worker, if its result is the same as the module's.

A worker process runs all items of a loop, whereas a module starts a new process for each of them.
A task therefore runs in the worker if it would run on the controller under the same conditions,
and as a module otherwise. ``plugins/action`` has what differs between modules.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
import time
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

from ._ansible_core import (
    HAS_PROFILES,
    WorkerModule,
    encode_arguments,
    missing_parts,
    run_in_process,
)
from ._connections import Connections
from ._playbook_variables import unused_variables, with_variables

try:
    # Ansible imports this file once, before it forks its workers.
    import_httpx()
    HAS_HTTPX = True
except ImportError:
    HAS_HTTPX = False

#: The variable that turns this off.
_SWITCH = "postroom_in_process"
#: The variable of playbooks that has the file with their options.
_ARGUMENTS = "__mail_arguments"
#: Variables of roles and playbooks that have the variable of each module option.
_OPTION_VARIABLES = (
    "__tenant_option_variables",
    "__dns_option_variables",
    "__mail_option_variables",
)

#: Discovery finds Ansible's own Python on the controller.
_DISCOVERY = ("", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent")
#: An interpreter or a library reads these variables only once, mostly when the process starts.
_READ_AT_START = re.compile(
    r"(?:PYTHON|LD_|DYLD_|OPENSSL_|SSL_|SSLKEYLOGFILE|LC_|MALLOC_|GLIBC_)|(?:LANG|LANGUAGE|TZ)\Z"
)
#: A shell does not accept other names.
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORPHAN_CHECK_INTERVAL = 0.5

_connections = Connections()
_display = Display()


class InProcessAction(NormalAction):  # type: ignore[misc]
    """An action that runs a module's function in the worker, or the module if it has to."""

    #: The module's own options.
    argument_spec: Mapping[str, Any]

    def ensure(self) -> Ensure:
        """Return the module's function, which may have further arguments here."""
        raise NotImplementedError

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task in the worker or as a module."""
        variables = task_vars or {}
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        environment = {name: str(value) for name, value in environment.items()}
        self._option_variables = self._find_option_variables(variables)
        reason = (
            self._disabled_reason(variables)
            or self._target_reason()
            or interpreter_reason(self._interpreter(variables))
            or environment_reason(environment)
        )
        way = f"runs as a module: {reason}" if reason else f"runs in process {os.getpid()}"
        _display.vvv(f"{self._task.action} {way}", host=self._play_context.remote_addr)
        if reason is not None:
            result: dict[str, Any] = super().run(tmp, task_vars)
            return result
        result = super(NormalAction, self).run(tmp, task_vars)
        return {**result, **self._parse(**self._run_here(variables, environment))}

    def _find_option_variables(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the collection's variable of each option. Warn about variables without effect."""
        found: dict[str, str] = {}
        for name in _OPTION_VARIABLES:
            found.update(self._templar.template(variables.get(name, {})))
        if _ARGUMENTS in variables:
            playbook = Path(self._templar.template(variables[_ARGUMENTS]))
            for text in unused_variables(self._loader, playbook, found):
                _display.warning(text)
        return found

    def _parse_returned_data(self, res: dict[str, Any], *profile: str) -> Any:
        """Parse a module's output. Name the collection's variables in a failure."""
        if self._option_variables and '"failed": true' in res["stdout"]:
            with suppress(ValueError):
                data = json.loads(res["stdout"])
                if isinstance(data.get("msg"), str) and data.get("failed") is True:
                    data["msg"] = with_variables(data["msg"], self._option_variables)
                    res = {**res, "stdout": json.dumps(data)}
        return super()._parse_returned_data(res, *profile)

    def _disabled_reason(self, variables: Mapping[str, Any]) -> str | None:
        """Return why no task can run in the worker, or None."""
        if not boolean(os.environ.get("POSTROOM_IN_PROCESS", "true"), strict=False):
            return "the environment variable POSTROOM_IN_PROCESS is off"
        if not boolean(self._templar.template(variables.get(_SWITCH, True)), strict=False):
            return f"the variable {_SWITCH} is off"
        if not HAS_HTTPX:
            return f"httpx is missing in {sys.executable}"
        if missing := missing_parts():
            return f"this ansible-core lacks {', '.join(missing)}"
        return None

    def _target_reason(self) -> str | None:
        """Return why this task needs a module process where it is to run, or None."""
        if self._connection.transport != "local":
            return f"its connection is {self._connection.transport}"
        if self._connection.become is not None:
            return "it becomes another user"
        if self._task.async_val:
            return "it is asynchronous"
        if getattr(self._connection._shell, "_IS_WINDOWS", False):  # noqa: SLF001 - no other name
            return "its shell is PowerShell"
        if C.DEFAULT_KEEP_REMOTE_FILES:
            return "the files of modules are kept"
        return None

    def _interpreter(self, variables: Mapping[str, Any]) -> str:
        """Return the Python that ansible-core would run the module with."""
        if self._task.delegate_to:
            variables = variables["ansible_delegated_vars"][self._task.delegate_to]
        value = C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)
        return str(self._templar.template(value) or "").strip()

    def _run_here(
        self, variables: dict[str, Any], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return what a module process would return: output and status."""
        arguments = self._task.args
        self._update_module_args(self._task.action, arguments, variables)
        encoded = encode_arguments(arguments)
        spec = {**API_OPTIONS, **self.argument_spec}
        secrets: set[str] = set()

        def run() -> None:
            module = WorkerModule(argument_spec=spec, supports_check_mode=True)
            secrets.update(module.no_log_values)
            run_and_exit(module, self.ensure(), _connections.get)

        try:
            with _module_environment(self._loader.get_basedir(), environment):
                return {"stdout": run_in_process(encoded, run)}
        except Exception as error:  # noqa: BLE001 - a module that crashes has a result as well
            _connections.drop()
            return _crash(error, secrets, arguments)
        except BaseException:
            # The task's timeout, or Ctrl-C.
            _connections.drop()
            raise

    def _parse(self, stdout: str = "", stderr: str = "", rc: int = 0) -> dict[str, Any]:
        """Return the result that ansible-core reads from a module's output."""
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


def interpreter_reason(interpreter: str) -> str | None:
    """Return why a task whose module would run on that Python needs a process, or None."""

    def identity(path: Path) -> tuple[Path, Path]:
        # The file, and the virtual environment that it is called in.
        return path.resolve(), path.parent.resolve()

    path = Path(interpreter)
    # Only a shell can find a relative path.
    is_own = path.is_absolute() and identity(path) == identity(Path(sys.executable))
    if interpreter in _DISCOVERY or is_own:
        return None
    return f"its Python is {interpreter}, Ansible's own is {sys.executable}"


def environment_reason(environment: Mapping[str, str]) -> str | None:
    """Return why a task with these environment variables needs a process, or None."""
    for name, value in environment.items():
        if _READ_AT_START.match(name):
            return f"environment sets {name}, which only a new process reads"
        if not _VARIABLE_NAME.match(name) or "\0" in value:
            return f"environment sets {name!r}, which a shell may refuse"
    return None


@contextmanager
def _module_environment(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Set a module's working directory and environment variables, and restore them."""
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


def _crash(error: Exception, secrets: set[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a module process returns that ends with an exception, without secrets."""
    if secrets:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        texts = [str(error) or type(error).__name__, trace]
        message, trace = remove_secrets(texts, secrets)
    else:
        # The token is always a secret. It is not known yet, so any message may contain it.
        message = type(error).__name__
        frames = "".join(traceback.format_tb(error.__traceback__))
        trace = f"Traceback:\n{frames}{message}"
    if not HAS_PROFILES:
        return {"stderr": trace, "rc": 1}
    result = {"failed": True, "msg": message}
    if "error" in arguments["_ansible_tracebacks_for"]:
        result["exception"] = trace
    return {"stdout": json.dumps(result), "rc": 1}


def exit_if_orphaned() -> None:
    """End this worker if Ansible was killed or has lost its terminal.

    The rest of the task would go unnoticed, and its result would be lost.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)


def sleep_unless_orphaned(seconds: float) -> None:
    """Wait, and end this worker if Ansible ends."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        exit_if_orphaned()
        time.sleep(min(left, _ORPHAN_CHECK_INTERVAL))
