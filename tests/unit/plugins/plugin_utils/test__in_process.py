# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tasks in Ansible's worker: conditions, connections, secrets and progress."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common import parameters

from ansible_collections.postroom.email.plugins.module_utils._secrets import remove_secrets
from ansible_collections.postroom.email.plugins.plugin_utils._in_process import (
    ConnectionCache,
    InProcessAction,
    environment_reason,
    interpreter_reason,
    sleep_unless_orphaned,
)
from ansible_collections.postroom.email.plugins.plugin_utils._progress import Progress
from ansible_collections.postroom.email.plugins.plugin_utils._worker_module import missing_parts
from ansible_collections.postroom.email.tests.support.clients import Clock

pytestmark = pytest.mark.matrix

OWN = Path(sys.executable)


def test_ansible_core_has_all_private_parts() -> None:
    """All supported versions of ansible-core have the private parts that the worker needs."""
    assert missing_parts() == []


def test_a_task_runs_as_a_module_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """If ansible-core lacks a private part, the task runs as a module.

    The reason names the part.
    """
    monkeypatch.delattr(basic.AnsibleModule, "_log_invocation")
    reason = "this ansible-core lacks AnsibleModule._log_invocation"
    assert Action()._process_reason({}) == reason


@pytest.mark.parametrize("interpreter", ["", "auto", "auto_legacy_silent", sys.executable])
def test_ansibles_own_python_runs_in_the_worker(interpreter: str) -> None:
    """A task runs in the worker if its interpreter is Ansible's own Python."""
    assert interpreter_reason(interpreter) is None


def test_a_virtual_environment_is_known_by_its_folder(tmp_path: Path) -> None:
    """A virtual environment is recognized by a link to its directory, but not to its Python."""
    beside = tmp_path / "bin"
    beside.symlink_to(OWN.parent, target_is_directory=True)
    assert interpreter_reason(str(beside / OWN.name)) is None
    python = tmp_path / OWN.name
    python.symlink_to(OWN)
    assert interpreter_reason(str(python)) == f"its Python is {python}, but Ansible's own is {OWN}"


@pytest.mark.parametrize("interpreter", ["python3", "./python3", f"{OWN} -I", "/nowhere/python3"])
def test_another_python_needs_a_process(interpreter: str) -> None:
    """Another Python, even one that only a shell would find, needs a module process."""
    assert interpreter_reason(interpreter) is not None


@pytest.mark.parametrize(
    ("name", "value", "needs_process"),
    [
        *((name, "x", False) for name in ("POSTROOM_API_URL", "https_proxy", "HOME", "TZX")),
        *((name, "x", True) for name in ("PYTHONPATH", "LD_PRELOAD", "SSL_CERT_FILE", "TZ")),
        *((name, "x", True) for name in ("OPENSSL_CONF", "LC_ALL", "a-b", "1A", "")),
        ("A", "\0", True),
    ],
)
def test_some_variables_need_a_process(name: str, value: str, needs_process: bool) -> None:
    """Some environment variables require a module process. Others are set during the task."""
    reason = environment_reason({"POSTROOM_API_URL": "x", name: value})
    assert (reason is not None) is needs_process
    assert reason is None or name in reason


PARAMS = {
    "api_url": "http://127.0.0.1:9",
    "api_token": "a-token",
    "validate_certs": True,
    "ca_path": None,
}


@pytest.fixture
def connections() -> ConnectionCache:
    """Provide an empty cache of connections."""
    return ConnectionCache()


def test_a_change_around_the_task_makes_a_new_connection(
    connections: ConnectionCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A new connection is opened if an option, the CA file, a proxy or the process changes."""
    file = tmp_path / "ca.pem"
    params = {**PARAMS, "ca_path": str(file)}
    file.write_text("one", "utf-8")
    found = [connections.get(params)]
    assert connections.get(dict(params)) is found[0]
    others = {"api_url": "http://127.0.0.1:10", "api_token": "x", "ca_path": "nowhere.pem"}
    found += [connections.get({**params, name: value}) for name, value in others.items()]
    found.append(connections.get({**params, "validate_certs": False}))
    file.write_text("another", "utf-8")
    found.append(connections.get(params))
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:11")
    found.append(connections.get(params))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    found.append(connections.get(params))
    connections.clear()
    found.append(connections.get(params))
    assert len(set(map(id, found))) == len(found)


def test_eight_connections_are_kept(connections: ConnectionCache) -> None:
    """The eight most recently used connections are kept."""
    first = connections.get(PARAMS)
    for number in range(7):
        connections.get({**PARAMS, "api_token": f"token-{number}"})
    assert connections.get(PARAMS) is first
    for number in range(8):
        connections.get({**PARAMS, "api_token": f"token-{number}"})
    assert connections.get(PARAMS) is not first


SECRETS = {"hunter2", "a*b", "4", "line\nbreak", "ü{{ x }}", "VALUE", "30.5"}
RESULTS: list[Any] = [
    {"msg": "it was hunter2, said hunter2's owner", "n": 4, "m": 42, "f": 30.5, "t": True},
    {"deep": [{"er": ("hunter2", "a hunter2", ["none of it", None, False])}], "key hunter2": 1},
    {"aa*bb": "aa*bb", "text": "line\nbreak", "more": "a line\nbreak in ü{{ x }}", "e": ""},
    {},
    {"a": {"b": {"c": "VALUE"}}, "d": "VALUES", "bytes": "x"},
]


@pytest.mark.parametrize("result", RESULTS)
def test_as_ansible_core_does_it(result: Any) -> None:
    """Secrets are removed from results in the same way as in ansible-core."""
    assert remove_secrets(result, SECRETS) == as_lists(parameters.remove_values(result, SECRETS))


def as_lists(value: Any) -> Any:
    """Return a value as it would be after conversion to JSON and back."""
    if isinstance(value, dict):
        return {key: as_lists(one) for key, one in value.items()}
    return [as_lists(one) for one in value] if isinstance(value, (list, tuple)) else value


class Action(InProcessAction):
    """An action plugin with a task that raises an exception."""

    argument_spec: Mapping[str, Any] = MappingProxyType({"more": {"type": "dict"}})

    def __init__(self, error: BaseException | None = None) -> None:
        # The invocation is not logged, because there are so many secrets.
        more = {"passwords": [f"stray-{number:04}" for number in range(101)]}
        # Since ansible-core 2.19, results contain a traceback only if the controller asks for it.
        asked = (
            {"_ansible_tracebacks_for": ["error"]}
            if "tracebacks_for" in parameters.PASS_VARS
            else {}
        )
        arguments = {**PARAMS, "more": more, **asked}
        self._error = error
        self._task = SimpleNamespace(action="x", args=arguments, async_val=0, delegate_to="")
        self._connection = SimpleNamespace(transport="local", become=None)
        self._loader = SimpleNamespace(get_basedir=os.getcwd)
        self._templar = SimpleNamespace(template=lambda value: value)

    def _update_module_args(self, *args: Any) -> None:
        """Leave the arguments unchanged."""

    def ensure(self, *args: Any, **options: Any) -> Any:
        """Raise the exception in the task's environment."""
        assert os.environ["MORE"] == "x"
        raise self._error or AssertionError


def test_some_places_need_a_process() -> None:
    """A task on another host, as another user or with another Python needs a module process."""
    action = Action()
    assert action._process_reason({}) is None
    assert "is off" in str(action._process_reason({"postroom_in_process": "no"}))
    for name, value in {"transport": "ssh", "become": "sudo"}.items():
        action = Action()
        setattr(action._connection, name, value)
        assert action._process_reason({})
    action._task.delegate_to = "other"
    other = {"other": {"ansible_python_interpreter": "/other/python"}}
    assert action._interpreter({"ansible_delegated_vars": other}) == "/other/python"


def test_a_crash_is_a_result_without_secrets() -> None:
    """A crash becomes a result without secrets, and the environment is restored."""
    result = str(Action(KeyError("a-token, stray-0007"))._run_here({}, {"MORE": "x"}))
    assert "KeyError" in result
    assert [secret for secret in ("a-token", "stray-0007") if secret in result] == []
    with pytest.raises(KeyboardInterrupt):
        Action(KeyboardInterrupt())._run_here({}, {"MORE": "x"})
    assert "MORE" not in os.environ


def test_a_worker_ends_when_ansible_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker exits with status 1 once its parent process has ended."""
    ended: list[int] = []
    # A process that was never started is not running.
    monkeypatch.setattr(multiprocessing, "parent_process", multiprocessing.Process)
    monkeypatch.setattr(os, "_exit", ended.append)
    sleep_unless_orphaned(0.01)
    assert set(ended) == {1}


class Screen:
    """A fake screen and clock."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.clock = Clock()
        self.shown: list[tuple[str, bool]] = []
        self.progress = Progress(self.show, is_terminal=is_terminal, clock=self.clock)

    def show(self, text: str, *, newline: bool = True, screen_only: bool = False) -> None:
        """Record the text."""
        # A line that is updated in place is not logged.
        assert screen_only is not newline
        self.shown.append((text, newline))

    def go_on(self, seconds: float, done: int, total: int = 1000) -> None:
        """Advance the clock, and report the number of completed changes."""
        self.clock.sleep(seconds)
        self.progress(done, total)


def test_a_terminal_has_one_line_that_is_cleared_at_the_end() -> None:
    """On a terminal, progress is one line, which is updated and cleared at the end."""
    screen = Screen(is_terminal=True)
    screen.go_on(30.0, 1, 10_001)
    screen.go_on(2.0, 3, 10_001)
    screen.go_on(0.4, 4, 10_001)
    screen.go_on(97.6, 9_001, 10_001)
    screen.progress.end()
    first = "3 of 10001 changes, 1.0 a second, 166 min 38 s left"
    second = "9001 of 10001 changes, 90.0 a second, 11 s left"
    assert screen.shown == [
        (f"\r{first}", False),
        (f"\r{second.ljust(len(first))}", False),
        (f"\r{' ' * len(second)}\r", False),
    ]


def test_a_log_has_a_line_now_and_then() -> None:
    """A log gets a line every fifteen seconds."""
    screen = Screen(is_terminal=False)
    for second in range(60):
        screen.go_on(1.0, 10 * second)
    screen.progress.end()
    still = Screen(is_terminal=False)
    still.go_on(0.0, 5)
    still.go_on(2.0, 5)
    assert still.shown == [("5 of 1000 changes", True)]
    texts = [text for text, newline in screen.shown if newline]
    assert len(texts) == len(screen.shown) == 4
    assert texts[0] == "20 of 1000 changes, 10.0 a second, 1 min 38 s left"
    assert texts[1] == "170 of 1000 changes, 10.0 a second, 1 min 23 s left"
    assert texts[-1] == "470 of 1000 changes, 10.0 a second, 53 s left"
