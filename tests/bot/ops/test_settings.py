# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Settings: where they come from, and that all mistakes are told at once, without values."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroom_bot import config
from postroom_bot.config import SettingsError, load
from postroom_bot.ops.logs import Redactor

GOOD = {
    "slack_bot_token": "xoxb-bot-secret",
    "slack_app_token": "xapp-app-secret",
    "policy_file": "policy.yml",
    "api_url": "https://mail.example.com",
    "api_token": "api-secret",
    "mail_host": "mail.example.com",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Begin without any setting, wherever the tests run."""
    for name in os.environ:
        if name.upper().startswith(config.PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    monkeypatch.setattr(config, "CONTAINER_SECRETS", tmp_path / "none")


def give(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Put settings into the environment."""
    for name, value in values.items():
        monkeypatch.setenv(config.variable(name), value)


def mistakes() -> tuple[str, ...]:
    """Return what is said of the settings as they are."""
    with pytest.raises(SettingsError) as caught:
        load()
    return caught.value.mistakes


def test_defaults_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has to be given is enough, and nothing listens beyond this machine."""
    give(monkeypatch, **GOOD)
    found = load()
    assert (found.mode, found.executor, found.replicas) == ("socket", "mail", 1)
    assert found.admin_host == found.http_host == "127.0.0.1"
    assert found.validate_certs


def test_variables_come_before_secrets_and_those_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each source overrules the weaker ones."""
    file = tmp_path / "bot.yml"
    file.write_text("".join(f"{name}: {value}-file\n" for name, value in GOOD.items()))
    for name in ("slack_bot_token", "api_token"):
        tmp_path.joinpath(f"postroom_bot_{name}").write_text(f"{GOOD[name]}-credential\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    give(monkeypatch, slack_bot_token="xoxb-variable", config=str(file))
    found = load()
    assert found.slack_bot_token.get_secret_value() == "xoxb-variable"
    assert found.api_token.get_secret_value() == "api-secret-credential"
    assert found.mail_host == "mail.example.com-file"


def test_everything_that_is_missing_is_told_at_once() -> None:
    """Each sentence names the setting and its variable."""
    *found, file, secrets = mistakes()
    assert "POSTROOM_BOT_CONFIG" in file
    assert "Secrets" in secrets
    assert len(found) == len(GOOD)
    for name, sentence in zip(
        sorted(GOOD), sorted(found, key=lambda one: one.split()[2]), strict=True
    ):
        assert f"The setting {name} ({config.variable(name)}) is" in sentence


def test_mistakes_with_secret_files_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder that does not exist, and a file that belongs to no setting."""
    give(monkeypatch, **{name: text for name, text in GOOD.items() if name != "api_token"})
    folder = tmp_path / "credentials"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert str(folder) in mistakes()[-1]
    folder.mkdir()
    for name in ("another", "postroom_bot_api_token", "postroom_bot_slak_token"):
        (folder / name).write_text("Hunter2")
    [said] = mistakes()
    assert f"{folder}/postroom_bot_slak_token" in said


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mode": "http"}, "slack_signing_secret (POSTROOM_BOT_SLACK_SIGNING_SECRET) is needed"),
        ({"slack_bot_token": "xapp-1"}, "must be a token that begins with xoxb-."),
        ({"replicas": "2"}, "must be 1 on SQLite; more replicas need PostgreSQL"),
        ({"polcy_file": "x"}, "POSTROOM_BOT_POLCY_FILE is not a setting"),
        ({"api_url": "mail.example.com"}, "must be an address that begins with https://"),
        ({"http_port": "65536"}, "http_port (POSTROOM_BOT_HTTP_PORT) must be 65535 at most."),
        ({"workers": "0"}, "workers (POSTROOM_BOT_WORKERS) must be 1 at least."),
        ({"workers": "many"}, "workers (POSTROOM_BOT_WORKERS) must be a whole number."),
        ({"timeout": "0"}, "timeout (POSTROOM_BOT_TIMEOUT) must be more than 0."),
        ({"timeout": "soon"}, "timeout (POSTROOM_BOT_TIMEOUT) must be a number."),
        ({"validate_certs": "si"}, "must be true or false."),
        ({"mode": "mail"}, "mode (POSTROOM_BOT_MODE) must be 'socket' or 'http'."),
        ({"mail_host": "https://mail.example.com"}, "must be a host name alone, such as mail."),
        ({"executor": "awx"}, "awx_url (POSTROOM_BOT_AWX_URL) is needed where executor is awx"),
        ({"lease": "30"}, "lease (POSTROOM_BOT_LEASE) must be longer than timeout"),
        ({"config": "nowhere.yml"}, "nowhere.yml can't be read"),
    ],
)
def test_a_mistake_has_a_sentence(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], sentence: str
) -> None:
    """What is wrong is told in words that lead to its repair, none of them hidden as a secret."""
    give(monkeypatch, **{**GOOD, **given})
    assert sentence in Redactor()(" ".join(mistakes()))


def test_awx_is_entered_in_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either a token or a user with a password."""
    templates = {f"awx_{name}_template": "7" for name in ("add_alias", "remove_alias", "forwarder")}
    awx = {"executor": "awx", "awx_url": "https://awx.example.com", **templates}
    give(monkeypatch, **GOOD, **awx)
    assert "awx_password" in mistakes()[0]
    give(monkeypatch, awx_username="bot", awx_password="secret")
    assert load().awx_username == "bot"
    give(monkeypatch, awx_token="token")
    assert "awx_password" in mistakes()[0]


@pytest.mark.parametrize("text", ["mode: [", "- mode"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    """It is told as one mistake, without its text."""
    file = tmp_path / "bot.yml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"is not (valid YAML|a YAML mapping)"):
        load(file)


def test_secrets_show_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as text nor in a representation; all of them are known to the log."""
    give(monkeypatch, **GOOD, database="postgresql://bot:db-secret@db/bot")
    found = load()
    assert "-secret" not in f"{found!r} {found}"
    assert found.secrets() == {"xoxb-bot-secret", "xapp-app-secret", "api-secret"}
