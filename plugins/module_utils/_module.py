# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Run a module: read its options, call its function with a client and return the result.

A module consists of documentation, a function ``ensure(client, params, *, check_mode) -> Outcome``
and ``main``, which passes that function to ``run_module``. Only ``run_module`` reads the process's
arguments. Only ``run_and_exit`` exits; the action plugins also use it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ansible.module_utils.basic import AnsibleModule, env_fallback, missing_required_lib
from ansible.module_utils.common.collections import is_sequence
from ansible.module_utils.common.warnings import get_deprecation_messages, get_warning_messages

from ._api.client.client import Client
from ._api.client.transport import Transport
from ._api.errors import PostroomError, ServiceError, names_secret
from ._api.names import Name, parse_address
from ._secrets import FEW, HIDDEN, find_secrets, leaves, remove_secrets

try:
    from ansible.module_utils.secrets import register_secrets
except ImportError:
    # ansible-core before 2.22 removes secrets from results itself.
    register_secrets = None

Params = Mapping[str, Any]

#: The result key with which ansible-core 2.22 and newer send secrets to the controller.
NEW_SECRETS = "_ansible_new_secrets"

#: The options that all modules share. The doc fragment ``api`` documents them.
API_OPTIONS: dict[str, Any] = {
    "api_url": {"type": "str", "required": True, "fallback": (env_fallback, ["POSTROOM_API_URL"])},
    "api_token": {
        "type": "str",
        "required": True,
        "no_log": True,
        "fallback": (env_fallback, ["POSTROOM_API_TOKEN"]),
    },
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "timeout": {"type": "float", "default": 30.0},
    "retries": {"type": "int", "default": 4},
}


class Module(AnsibleModule):  # type: ignore[misc]
    """An AnsibleModule that also hides secrets in options without ``no_log``."""

    def _load_params(self) -> None:
        """Read the options and register their secrets before anything is logged."""
        super()._load_params()
        misplaced = set(_misplaced_secrets(self.params))
        self.no_log_values.update(misplaced)
        if register_secrets:
            register_secrets(misplaced)

    def _record_module_result(self, o: dict[str, Any]) -> None:
        """Print the result without secrets, which ansible-core 2.22 and newer don't remove."""
        if register_secrets:
            new = {key: o.pop(key) for key in (NEW_SECRETS,) if key in o}
            o = {**remove_secrets(o, self.no_log_values), **new}
        super()._record_module_result(o)


class Outcome(NamedTuple):
    """The result of a module's function.

    :param diff: a mapping with ``before`` and ``after`` for each change
    """

    changed: bool = False
    values: Mapping[str, Any] = MappingProxyType({})
    diff: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()


class Ensure(Protocol):
    """A module's function, which applies the declared state or reads the current state."""

    def __call__(self, client: Client, params: Params, *, check_mode: bool) -> Outcome:
        """Apply the options. In check mode, only return the changes that they would make."""


def connect(params: Params) -> Transport:
    """Return a transport for the service in a task's options.

    :raises InvalidInput: if an option is invalid
    :raises ImportError: if httpx is not installed
    """
    return Transport(
        params["api_url"],
        params["api_token"],
        verify=params["validate_certs"],
        ca_path=params["ca_path"],
    )


def execute(
    ensure: Ensure,
    params: Params,
    *,
    check_mode: bool,
    get_transport: Callable[[Params], Transport],
) -> dict[str, Any]:
    """Run a task and return its result, even if it failed.

    :param params: the validated options
    :param get_transport: a function that returns the transport to use; the caller closes it
    :return: the arguments for ``fail_json`` if they include ``failed``, otherwise the arguments for
        ``exit_json``, which always include ``diff`` and ``warnings``
    """
    try:
        try:
            transport = get_transport(params)
        except ImportError:
            return _missing_library("httpx")
        client = Client(transport, timeout=params["timeout"], retries=params["retries"])
        outcome = ensure(client, params, check_mode=check_mode)
    except PostroomError as error:
        failure: dict[str, object] = {"code": error.code, "kind": type(error).__name__}
        if isinstance(error, ServiceError):
            failure |= error.failure._asdict()
        done = list(error.done)
        return {
            "failed": True,
            "changed": bool(done),
            "msg": str(error),
            "failure": failure,
            "changes": done,
            **error.details,
        }
    except ImportError as error:
        if error.name not in ("dnspython", "pydantic"):
            raise
        return _missing_library(error.name)
    return {
        "changed": outcome.changed,
        **outcome.values,
        "diff": list(outcome.diff),
        "warnings": list(outcome.warnings),
    }


def _missing_library(name: str) -> dict[str, Any]:
    message = missing_required_lib(name)
    return {"failed": True, "msg": message, "exception": traceback.format_exc()}


def run_module(ensure: Ensure, argument_spec: Mapping[str, Any]) -> None:
    """Read the options, run the task, print its result and exit.

    :param argument_spec: the module's own options, without the shared ones
    """
    module = Module(argument_spec={**API_OPTIONS, **argument_spec}, supports_check_mode=True)
    with ExitStack() as stack:
        run_and_exit(module, ensure, lambda params: stack.enter_context(closing(connect(params))))


def run_and_exit(module: Any, ensure: Ensure, get_transport: Callable[[Params], Transport]) -> None:
    """Run a task with the options of an AnsibleModule, and exit with its result.

    :param get_transport: see ``execute``
    """
    result = execute(
        ensure, module.params, check_mode=module.check_mode, get_transport=get_transport
    )
    # ansible-core removes secrets from values, but not from keys.
    shown = {
        name: HIDDEN
        if isinstance(value, Mapping) and module.argument_spec.get(name, {}).get("no_log")
        else value
        for name, value in module.params.items()
    }
    result["invocation"] = {"module_args": shown}
    if len(module.no_log_values) > FEW:
        # ansible-core searches each value for each secret, so keep only those in the output.
        added = (get_warning_messages(), get_deprecation_messages(), traceback.format_stack())
        text = "\n".join(map(str, leaves([result, added])))
        module.no_log_values = set(find_secrets(text, module.no_log_values))
    if result.get("failed"):
        module.fail_json(**result)
    for warning in result.pop("warnings"):
        # ansible-core 2.19 and newer don't remove secrets from warnings.
        module.warn(remove_secrets(warning, module.no_log_values))
    if not module._diff:  # noqa: SLF001 - Ansible lacks a public name for it
        del result["diff"]
    module.exit_json(**result)


def _misplaced_secrets(params: Params) -> Iterator[str]:
    """Yield the values, at any depth, of keys that name a secret."""
    pending = list(params.values())
    while pending:
        value = pending.pop()
        if is_sequence(value):
            pending.extend(value)
        elif isinstance(value, Mapping):
            pending.extend(value.values())
            secrets = [inner for key, inner in value.items() if names_secret(key)]
            # An empty string would match everywhere.
            yield from (str(s) for s in leaves(secrets) if s and not isinstance(s, bool))


def addresses(params: Params, option: str) -> frozenset[Name] | None:
    """Return an option's list of addresses, or None if it is not set."""
    values = params[option]
    return None if values is None else frozenset(parse_address(value, option) for value in values)
