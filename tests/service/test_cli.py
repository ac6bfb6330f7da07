# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command line: options, environment variables, failed starts, and tokens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_service.cli import main

#: A command that fails before it serves any request.
SERVE = ["serve", "--database", "memory", "--tls-cert", "x"]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("LOG_FORMAT", "xml", "'json', 'text'"),
        ("LOG_LEVEL", "INFO", "'debug', 'info', 'warning', 'error'"),
        ("PORT", "http", "not a valid integer"),
        ("PORT", "65536", "0<=x<=65535"),
        ("FAULTS", "seed=x", "seed: "),
        ("SECRET_COST", "cheap", "m=19456,t=2,p=1"),
        ("MAIL_RELAY", "mail.example:65536", "HOST:PORT"),
        ("RESOLVERS", "192.0.2.1:53,dns.example:53", "192.0.2.1:53"),
    ],
)
def test_variables_are_checked_as_options_are(
    name: str,
    value: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error for an invalid value names the option or the environment variable."""
    option = "--" + name.lower().replace("_", "-")
    assert main([*SERVE, option, value]) == 2
    message = capsys.readouterr().err
    assert option in message
    assert reason in message
    monkeypatch.setenv(f"POSTROOM_SERVICE_{name}", value)
    assert main(SERVE) == 2
    message = capsys.readouterr().err
    assert f"POSTROOM_SERVICE_{name}" in message
    assert reason in message


def test_options_take_precedence_over_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If an option is given, its environment variable is ignored and not checked."""
    monkeypatch.setenv("POSTROOM_SERVICE_LOG_FORMAT", "xml")
    monkeypatch.setenv("POSTROOM_SERVICE_PORT", "")
    assert main([*SERVE, "--log-format", "json"]) == 2
    assert "--tls-cert and --tls-key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--tenant", text) for text in ("a\nb", "\x1b[31m", " ", "", "x" * 101, "a\u2028b")),
        ("--label", "a\tb"),
        *(("--expires-days", days) for days in ("0", "-1", "nan", "soon", "1e6")),
    ],
)
def test_bad_values_of_a_token_are_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token with an invalid tenant, label or expiry is refused, and no database is created."""
    file = tmp_path / "x.sqlite3"
    command = ["token", "create", "--database", str(file), "--tenant", "t", f"{option}={value}"]
    assert main(command) == 2
    assert f"'{option}'" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize("url", ["u:s3cr3t@host/x", "u@host/x?password=s3cr3t"])
def test_a_password_on_the_command_line_is_refused(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A password on the command line is refused, and the error does not repeat it."""
    assert main(["token", "list", "--database", f"postgresql://{url}"]) == 2
    message = capsys.readouterr().err
    assert "password" in message
    assert "s3cr3t" not in message


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--database", "/nonexistent/x"], "/nonexistent/x can't be used"),
        (["--database", "mysql://host/x"], "unsupported database mysql"),
        (["--database", "postgresql:///x?host=/nonexistent"], "the database can't be used"),
        (["--bootstrap", "t"], "--bootstrap and --token-file"),
        (["--bootstrap", "t", "--token-file", "/nonexistent/x"], "/nonexistent/x can't be written"),
        (["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"], "certificate or key"),
        (["--host", "203.0.113.1"], "can't listen on 203.0.113.1 port 0"),
    ],
)
def test_a_failed_start_exits_with_2(
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A failed start exits with status 2 and states the reason."""
    monkeypatch.setattr("postroom_common.logs.configure", lambda **_: None)
    if "--database" not in arguments:
        arguments = ["--database", "memory", *arguments]
    assert main(["serve", "--port", "0", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_a_failed_start_prints_no_traceback() -> None:
    """If the ready file can't be written, the process prints one line and exits with status 2."""
    command = [sys.executable, "-m", "postroom_service", "serve", "--port", "0"]
    command += ["--database", "memory", "--ready-file", "/nonexistent/x"]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 2
    assert "/nonexistent/x can't be written" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_life_of_tokens(
    file_service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token gives access to its tenant until it expires or is revoked, and is never listed."""

    def command(*arguments: str) -> str:
        assert main(["token", *arguments, "--database", file_service.database]) == 0
        return capsys.readouterr().out.strip()

    def status(token: str) -> int:
        with Api(file_service.url, token) as api:
            return api.call("GET", "/api/principal").status_code

    token = command("create", "--tenant", "acme", "--label", "for the bot", "--expires-days", "1")
    second, other = (command("create", "--tenant", tenant) for tenant in ("acme", "other"))
    brief = command("create", "--tenant", "acme", "--expires-days", "0.000001")
    with Api(file_service.url, token) as api:
        domain = api.domain()
    with Api(file_service.url, second) as same, Api(file_service.url, other) as different:
        assert same.get(domain).status_code == 200
        assert different.get(domain).status_code == 404
    assert status(brief) == 401
    listed = command("list")
    assert token not in listed
    header, *rows = [line.split("\t") for line in listed.splitlines()]
    assert header == ["ID", "TENANT", "LABEL", "CREATED", "EXPIRES", "STATE"]
    (row,) = [row for row in rows if row[2] == "for the bot"]
    assert [row[5] for row in rows] == ["active", "active", "active", "active", "expired"]
    for _ in range(2):
        command("revoke", row[0])
    with Api(file_service.url, token) as api:
        check_problem(api.call("GET", "/api/principal"), 401, "token_invalid")
    assert "revoked" in command("list")
    assert status(file_service.token) == 200


def test_a_restart_keeps_a_valid_token(tmp_path: Path) -> None:
    """A start replaces the token file only if it contains no valid token of the tenant."""
    logs: list[str] = []

    def start(tenant: str = "acme", revoke: str = "") -> tuple[str, int]:
        with running_service(tmp_path, tenant=tenant) as service:
            logs.append(service.log_path.read_text("utf-8"))
            with Api(service.url, service.token) as api:
                assert api.call("GET", "/api/principal").status_code == 200
            if revoke:
                service.command("token", "revoke", revoke)
            return service.token, len(service.command("token", "list").splitlines()) - 1

    first = start()
    assert first[1] == 1
    assert start(revoke="1") == first
    second = start()
    assert (second[0] != first[0], second[1]) == (True, 2)
    other = start("other")
    assert (other[0] != second[0], other[1]) == (True, 3)
    assert ["replacing it" in log for log in logs] == [False, False, True, True]


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [
        ("token revoke 77", 1, "token 77 does not exist"),
        ("token create --tenant x --database memory", 2, "memory database"),
        ("domain verify x.example", 2, "x.example"),
    ],
)
def test_failing_commands_have_a_status(
    command: str,
    status: int,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A failing command returns its exit status and states the reason."""
    monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", str(tmp_path / "x.sqlite3"))
    assert main(command.split()) == status
    assert reason in capsys.readouterr().err


def test_a_host_without_resolvers_is_served(tmp_path: Path) -> None:
    """On a host without resolvers, the service runs, but domains can't be verified."""
    (tmp_path / "resolv.conf").touch()
    mount = f'mount --bind {tmp_path / "resolv.conf"} /etc/resolv.conf && exec "$@"'
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("needs unshare and user namespaces, to hide /etc/resolv.conf")
    with (
        running_service(tmp_path, prefix=prefix, extra_args=["--check-domains"]) as service,
        Api(service.url, service.token) as api,
    ):
        domain = api.domain()
        assert '"warning", "event": "domains are not being verified' in service.log()
        command = [*prefix, sys.executable, "-m", "postroom_service", "domain", "verify", domain]
        result = subprocess.run(command, env=service.environment, capture_output=True, check=False)
        assert (result.returncode, b"--resolvers" in result.stderr) == (2, True)
