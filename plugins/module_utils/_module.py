# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Where AnsibleModule meets the client.

A module is documentation, a function ``ensure(client, params, *, check_mode) -> Outcome`` and
``main``, which hands that function to ``run_module``. ``execute`` is the whole task as a function
of validated parameters; nothing but ``run_module`` reads the process's arguments, and nothing but
``perform``, which it shares with the action plugins, exits.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ansible.module_utils.basic import AnsibleModule, env_fallback, missing_required_lib
from ansible.module_utils.common.warnings import get_deprecation_messages, get_warning_messages

from ._api.client.client import Client
from ._api.client.transport import Transport
from ._api.errors import PostroomError, ServiceError, names_secret
from ._api.names import Name, parse_address
from ._secrets import HIDDEN, held, is_list, leaves, without

try:
    from ansible.module_utils.secrets import register_secrets
except ImportError:
    # ansible-core before 2.22, which removes secrets from results.
    register_secrets = None

Params = Mapping[str, Any]

#: The key of a result in which ansible-core 2.22 and newer send secrets to the controller.
NEW_SECRETS = "_ansible_new_secrets"

#: The options that every module shares; the doc fragment ``api`` documents them.
API_OPTIONS: dict[str, Any] = {
    "api_url": {
        "type": "str",
        "required": True,
        "fallback": (env_fallback, ["POSTROOM_API_URL"]),
    },
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
    """An AnsibleModule that also keeps secrets which are given where none belong."""

    def _load_params(self) -> None:
        """Read the options. What goes wrong or is logged from here on shows them."""
        super()._load_params()
        misplaced = set(_misplaced(self.params))
        self.no_log_values.update(misplaced)
        if register_secrets:
            register_secrets(misplaced)

    def _record_module_result(self, o: dict[str, Any]) -> None:
        """Print the result without secrets, also where ansible-core leaves them in it."""
        if register_secrets:
            new = {key: o.pop(key) for key in (NEW_SECRETS,) if key in o}
            o = {**without(o, self.no_log_values), **new}
        super()._record_module_result(o)


class Outcome(NamedTuple):
    """What a module returns.

    :param values: the module's own return values
    :param diff: before and after, one pair a change
    """

    changed: bool = False
    values: Mapping[str, Any] = MappingProxyType({})
    diff: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()


class Ensure(Protocol):
    """A module's own logic: bring the tenant to what the options say, or read it."""

    def __call__(self, client: Client, params: Params, *, check_mode: bool) -> Outcome:
        """Do so, or in check mode only find out what would be done."""


def connect(params: Params) -> Transport:
    """Return a sender for the service that a task's options name.

    :raises InvalidInput: one of the options can't be used
    :raises ImportError: httpx is not installed
    """
    return Transport(
        params["api_url"],
        params["api_token"],
        verify=params["validate_certs"],
        ca_path=params["ca_path"],
    )


def execute(
    ensure: Ensure, params: Params, *, check_mode: bool, sender: Transport
) -> dict[str, Any]:
    """Run a task and return its result, of success or of failure.

    :param params: the validated options
    :param sender: the connection to use; its owner closes it
    :return: what ``exit_json`` or, with ``failed`` in it, ``fail_json`` takes; ``diff`` and
        ``warnings`` are always in it
    """
    try:
        client = Client(sender, timeout=params["timeout"], retries=params["retries"])
        outcome = ensure(client, params, check_mode=check_mode)
    except PostroomError as error:
        return failure_of(error)
    return {
        "changed": outcome.changed,
        **outcome.values,
        "diff": list(outcome.diff),
        "warnings": list(outcome.warnings),
    }


def failure_of(error: PostroomError) -> dict[str, Any]:
    """Return the result of a task that an error ended."""
    failure = error.failure.as_dict() if isinstance(error, ServiceError) else None
    done = list(error.done)
    return {
        "failed": True,
        "changed": bool(done),
        "msg": str(error),
        "failure": failure or {"kind": type(error).__name__},
        "changes": done,
        **error.details,
    }


def run_module(ensure: Ensure, argument_spec: Mapping[str, Any]) -> None:
    """Read the options, run the task, print its result and exit.

    :param argument_spec: the module's own options; the shared ones are added
    """
    module = Module(argument_spec=whole_spec(argument_spec), supports_check_mode=True)
    with ExitStack() as ending:
        perform(module, ensure, lambda params: ending.enter_context(closing(connect(params))))


def whole_spec(argument_spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's options with the shared ones."""
    return {**API_OPTIONS, **argument_spec}


def perform(module: Any, ensure: Ensure, connecting: Callable[[Params], Transport]) -> None:
    """Run a task with the options that a module has read, and exit as that module does.

    :param module: an AnsibleModule
    :param connecting: gives the connection to use; who made it closes it
    """
    result = _connected(module, ensure, connecting)
    result["invocation"] = {"module_args": dict(_shown_options(module))}
    # All others are looked for in vain, in each value of the result and of what is added to it.
    added = (get_warning_messages(), get_deprecation_messages(), traceback.format_stack())
    text = "\n".join(map(str, leaves([result, added])))
    module.no_log_values = set(held(text, module.no_log_values))
    if result.get("failed"):
        module.fail_json(**result)
    for warning in result.pop("warnings"):
        # ansible-core 2.19 and newer remove no secrets from warnings.
        module.warn(without(warning, module.no_log_values))
    if not module._diff:  # noqa: SLF001 - Ansible has no public name for it
        del result["diff"]
    module.exit_json(**result)


def _misplaced(params: Params) -> Iterator[str]:
    """Yield the secrets that are given inside of options, by the names of their keys."""
    waiting = list(params.values())
    while waiting:
        one = waiting.pop()
        if is_list(one):
            waiting.extend(one)
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
            secrets = [value for key, value in one.items() if names_secret(key)]
            # An empty text would be found everywhere.
            yield from (str(s) for s in leaves(secrets) if s and not isinstance(s, bool))


def _shown_options(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield a module's options as they can be shown: ansible-core removes no secret from a key."""
    for name, value in module.params.items():
        is_secret = module.argument_spec.get(name, {}).get("no_log")
        yield name, HIDDEN if is_secret and isinstance(value, Mapping) else value


def _connected(
    module: Any, ensure: Ensure, connecting: Callable[[Params], Transport]
) -> dict[str, Any]:
    """Return the result of a task whose connection, or one of its libraries, may be missing."""
    try:
        sender = connecting(module.params)
    except PostroomError as error:
        return failure_of(error)
    except ImportError:
        return _without("httpx")
    try:
        return execute(ensure, module.params, check_mode=module.check_mode, sender=sender)
    except ImportError as error:
        if error.name != "dnspython":
            raise
        return _without(error.name)


def _without(library: str) -> dict[str, Any]:
    """Return the result of a task that just found a library missing."""
    message = missing_required_lib(library)
    return {"failed": True, "msg": message, "exception": traceback.format_exc()}


def addresses(params: Params, option: str) -> frozenset[Name] | None:
    """Return an option's list of addresses, or None where the list is not given."""
    values = params[option]
    return None if values is None else frozenset(parse_address(value, option) for value in values)
