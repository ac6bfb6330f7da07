# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module's function in Ansible's worker process if this does not change the result.

A worker process runs all items of a loop, whereas a module starts a new process for each item. A
task runs in the worker if its module would run on the controller with the same Python, user and
environment. Otherwise it runs as a module.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import re
import sys
import time
import traceback
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ansible import constants as C  # noqa: N812 - the conventional name
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action.normal import ActionModule as NormalAction
from ansible.utils.display import Display

from ..module_utils._api.client.client import Client
from ..module_utils._api.client.transport import Transport, import_httpx
from ..module_utils._module import (
    API_OPTIONS,
    NEW_SECRETS,
    Outcome,
    Params,
    connect,
    run_and_exit,
)
from ._variable_hints import unused_variables, warnings_with_variables, with_variables
from ._worker_module import HAS_PROFILES, WorkerModule, missing_parts, module_output

try:
    # Ansible imports this file once, before it forks its workers, which then share the import.
    import_httpx()
    HAS_HTTPX = True
except ImportError:
    HAS_HTTPX = False

#: The playbook variable with the path of the playbook's argument file.
_ARGUMENTS = "__mail_arguments"
#: The variables of roles and playbooks that map each module option to its variable.
_OPTION_VARIABLES = (
    "__tenant_option_variables",
    "__dns_option_variables",
    "__mail_option_variables",
)
#: The values that make Ansible discover an interpreter. On the controller, Ansible finds its own
#: Python.
_DISCOVERY = ("", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent")
#: Environment variables that Python or a library reads only once, usually when the process starts.
_READ_AT_START = re.compile(
    r"(?:PYTHON|LD_|DYLD_|OPENSSL_|SSL_|SSLKEYLOGFILE|LC_|MALLOC_|GLIBC_)|(?:LANG|LANGUAGE|TZ)\Z"
)
#: The names of environment variables that a shell accepts.
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORPHAN_CHECK_INTERVAL = 0.5
_MAX_CONNECTIONS = 8


class ConnectionCache:
    """The transports of this process, keyed by the options and environment they depend on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Transport] = {}

    def get(self, params: Params) -> Transport:
        """Return a cached or new transport for a task's options."""
        key = _connection_key(params)
        transport = self._kept.pop(key, None) or connect(params)
        self._kept[key] = transport
        for oldest in list(self._kept)[:-_MAX_CONNECTIONS]:
            del self._kept[oldest]
        return transport

    def clear(self) -> None:
        """Drop all connections after an interrupted task, which may have left a partial response.

        A thread may still be sending, so the garbage collector closes the connections later.
        """
        self._kept.clear()


def _connection_key(params: Params) -> Hashable:
    # The process ID prevents a forked process from using its parent's connections.
    key = [os.getpid(), params["api_url"], params["api_token"], params["validate_certs"]]
    if params["ca_path"] is not None:
        file = Path(params["ca_path"]).absolute()
        key.append(file)
        with suppress(OSError):
            status = file.stat()
            key += [status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size]
    key += sorted(item for item in os.environ.items() if item[0].lower().endswith("_proxy"))
    return tuple(key)


_connections = ConnectionCache()
_display = Display()


class InProcessAction(NormalAction):  # type: ignore[misc]
    """An action that runs a module's function in the worker if possible, or else the module."""

    #: The module's own options.
    argument_spec: Mapping[str, Any]
    _option_variables: Mapping[str, str] = MappingProxyType({})

    def ensure(self, client: Client, params: Params, *, check_mode: bool) -> Outcome:
        """Call the module's function."""
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
            self._process_reason(variables)
            or interpreter_reason(self._interpreter(variables))
            or environment_reason(environment)
        )
        way = f"runs as a module: {reason}" if reason else f"runs in process {os.getpid()}"
        _display.vvv(f"{self._task.action} {way}", host=self._play_context.remote_addr)
        if reason is not None:
            result: dict[str, Any] = super().run(tmp, task_vars)
            return result
        result = super(NormalAction, self).run(tmp, task_vars)
        return {**result, **self._run_here(variables, environment)}

    def _find_option_variables(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return the collection's variable for each option. Warn about unused variables."""
        found: dict[str, str] = {}
        for name in _OPTION_VARIABLES:
            found.update(self._templar.template(variables.get(name, {})))
        if _ARGUMENTS in variables:
            playbook = Path(self._templar.template(variables[_ARGUMENTS]))
            for text in unused_variables(self._loader, playbook, found):
                _display.warning(text)
        return found

    def _parse_returned_data(self, res: dict[str, Any], *profile: str) -> Any:
        """Parse a module's output. Add the collection's variables to errors and warnings."""
        variables, output = self._option_variables, res["stdout"]
        if variables and ('"failed": true' in output or '"warnings": ' in output):
            with suppress(ValueError):
                data = json.loads(output)
                if isinstance(data.get("msg"), str) and data.get("failed") is True:
                    data["msg"] = with_variables(data["msg"], variables)
                    for problem in data.get("problems", ()):
                        problem["text"] = with_variables(problem["text"], variables)
                data["warnings"] = warnings_with_variables(data.get("warnings", []), variables)
                res = {**res, "stdout": json.dumps(data)}
        return super()._parse_returned_data(res, *profile)

    def _process_reason(self, variables: Mapping[str, Any]) -> str | None:
        """Return a reason, other than the interpreter, to run the task as a module, or None."""
        switch = os.environ.get("POSTROOM_IN_PROCESS", "true")
        variable = self._templar.template(variables.get("postroom_in_process", True))
        missing = ", ".join(missing_parts())
        transport = self._connection.transport
        reasons = {
            "the environment variable POSTROOM_IN_PROCESS is off": not boolean(
                switch, strict=False
            ),
            "the variable postroom_in_process is off": not boolean(variable, strict=False),
            f"httpx is missing in {sys.executable}": not HAS_HTTPX,
            f"this ansible-core lacks {missing}": missing,
            f"its connection is {transport}": transport != "local",
            "it becomes another user": self._connection.become is not None,
            "it is asynchronous": self._task.async_val,
            "Ansible keeps the files of modules": C.DEFAULT_KEEP_REMOTE_FILES,
        }
        return next((reason for reason, applies in reasons.items() if applies), None)

    def _interpreter(self, variables: Mapping[str, Any]) -> str:
        if self._task.delegate_to:
            variables = variables["ansible_delegated_vars"][self._task.delegate_to]
        value = C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)
        return str(self._templar.template(value) or "").strip()

    def _run_here(
        self, variables: dict[str, Any], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run the task and return the result that ansible-core would get from a module process."""

        def run() -> None:
            spec = {**API_OPTIONS, **self.argument_spec}
            module = WorkerModule(argument_spec=spec, supports_check_mode=True)
            module.reword = functools.partial(with_variables, variables=self._option_variables)
            run_and_exit(module, self.ensure, _connections.get)

        self._update_module_args(self._task.action, self._task.args, variables)
        try:
            with _module_environment(self._loader.get_basedir(), environment):
                output = module_output(self._task.args, run)
        except BaseException as error:
            _connections.clear()
            if not isinstance(error, Exception):
                # Raised by the task's timeout or by Ctrl-C.
                raise
            # The message of the exception may contain a secret.
            name = type(error).__name__
            message = f"{self._task.action} failed with an unexpected {name}."
            frames = "".join(traceback.format_tb(error.__traceback__))
            crash = {"failed": True, "msg": message, "exception": f"Traceback:\n{frames}{name}"}
            output = json.dumps(crash)
        printed = {"stdout": output, "stderr": "", "rc": 0}
        if HAS_PROFILES:
            result: Any = self._parse_returned_data(printed, "legacy")
        else:
            from ansible.utils.unsafe_proxy import wrap_var  # noqa: PLC0415 - later deprecated

            result = wrap_var(self._parse_returned_data(printed))
        # In ansible-core 2.21 and newer, the result is an object.
        if not isinstance(result, dict):
            result = result.as_result_dict(for_round_trip=True)
        # ansible-core 2.22 and newer add the secrets, which this process has already registered.
        return {name: value for name, value in result.items() if name != NEW_SECRETS}


def interpreter_reason(interpreter: str) -> str | None:
    """Return the reason why a task with this Python must run as a module, or None."""
    if interpreter in _DISCOVERY or interpreter == sys.executable:
        return None
    # Only a shell can resolve a relative path.
    if Path(interpreter).is_absolute() and _identity(interpreter) == _identity(sys.executable):
        return None
    return f"its Python is {interpreter}, but Ansible's own is {sys.executable}"


@functools.cache
def _identity(python: str) -> tuple[Path, Path]:
    """Return an interpreter's real path and the folder that identifies its environment."""
    path = Path(python)
    return path.resolve(), path.parent.resolve()


def environment_reason(environment: Mapping[str, str]) -> str | None:
    """Return the reason why a task with these variables must run as a module, or None."""
    for name, value in environment.items():
        if _READ_AT_START.match(name):
            return f"environment sets {name}, which only a new process reads"
        if not _VARIABLE_NAME.match(name) or "\0" in value:
            return f"environment sets {name!r}, and a shell may refuse its name or value"
    return None


@contextmanager
def _module_environment(folder: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Set a module's working directory and environment variables, then restore them."""
    here = Path.cwd()
    variables = dict(os.environ)
    try:
        os.environ.update(environment)
        os.chdir(folder)
        yield
    finally:
        # Comparing the variables is faster than restoring them for each item of a loop.
        if os.environ != variables:
            os.environ.clear()
            os.environ.update(variables)
        os.chdir(here)


def exit_if_orphaned() -> None:
    """Exit this worker if Ansible was killed, because the result would be lost."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)


def sleep_unless_orphaned(seconds: float) -> None:
    """Wait, and exit this worker if Ansible is killed in the meantime."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        exit_if_orphaned()
        time.sleep(min(left, _ORPHAN_CHECK_INTERVAL))
