# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Values of options and of the variables that stand in for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom_service.__main__ import main

SERVE = ["serve", "--database", "memory", "--tls-cert", "x"]  # which never comes to serve
TOGETHER = "postroom-service: --tls-cert and --tls-key go together\n"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LOG_FORMAT", "xml", "'xml' is not one of json, text"),
        ("LOG_LEVEL", "INFO", "'INFO' is not one of debug, info, warning, error"),
        ("PORT", "http", "a port is a number from 0 to 65535"),
        ("PORT", "65536", "a port is a number from 0 to 65535"),
        ("PORT", "9" * 5000, "a port is a number from 0 to 65535"),
        ("FAULTS", "seed=x", "seed is a whole number, not 'x'"),
        (
            "SECRET_COST",
            "cheap",
            "the cost of secrets is written m=19456,t=2,p=1, with m at least 8 times p",
        ),
    ],
)
def test_variables_are_checked_as_options_are(
    name: str,
    value: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bad value is one sentence that names the variable, or the option where it was given."""
    option = "--" + name.lower().replace("_", "-")
    with pytest.raises(SystemExit, match="2"):
        main([*SERVE, option, value])
    assert capsys.readouterr().err.endswith(f"error: argument {option}: {sentence}\n")
    monkeypatch.setenv(f"POSTROOM_SERVICE_{name}", value)
    assert main(SERVE) == 2
    assert capsys.readouterr().err == f"postroom-service: POSTROOM_SERVICE_{name}: {sentence}\n"


def test_a_variable_that_is_not_used_is_not_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option goes before its variable, and an empty variable is as none."""
    monkeypatch.setenv("POSTROOM_SERVICE_LOG_FORMAT", "xml")
    monkeypatch.setenv("POSTROOM_SERVICE_PORT", "")
    assert main([*SERVE, "--log-format", "json"]) == 2
    assert capsys.readouterr().err == TOGETHER


@pytest.mark.parametrize("option", ["--tenant", "--label"])
@pytest.mark.parametrize("text", ["a\nb", "a\tb", "\x1b[31m", " ", "", "x" * 101, "a\u2028b"])
def test_what_breaks_a_table_is_refused(
    option: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tenants and labels are one line of printable characters."""
    file = tmp_path / "x.sqlite3"
    arguments = ["token", "create", "--database", str(file), "--tenant", "t", option, text]
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    expected = f"error: argument {option}: give 1 to 100 printable characters\n"
    assert capsys.readouterr().err.endswith(expected)
    assert not file.exists()


@pytest.mark.parametrize("days", ["0", "-1", "nan", "soon", "1e6"])
def test_a_term_is_a_number_of_days(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What isn't a positive number of days is refused by a sentence."""
    with pytest.raises(SystemExit, match="2"):
        main(["token", "create", "--database", "memory", "--tenant", "t", f"--expires-days={days}"])
    expected = "error: argument --expires-days: give a number of days above 0\n"
    assert capsys.readouterr().err.endswith(expected)


def test_a_password_in_the_query_is_refused_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A password after the question mark of a database's URL is one, too, and isn't repeated."""
    url = "postgresql://u@host/x?password=s3cr3t"
    assert main(["token", "list", "--database", url]) == 2
    message = capsys.readouterr().err
    assert message.startswith("postroom-service: a command line is no place for a password: ")
    assert "s3cr3t" not in message
