# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where settings come from, and how errors in them are reported: together, without values."""

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
    """Remove all of the bot's settings from the tests' environment."""
    for name in os.environ:
        if name.upper().startswith(config.PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    monkeypatch.setattr(config, "CONTAINER_SECRETS", tmp_path / "none")


def give(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Set settings as environment variables."""
    for name, value in values.items():
        monkeypatch.setenv(config.variable(name), value)


def mistakes() -> tuple[str, ...]:
    """Return the errors in the current settings."""
    with pytest.raises(SettingsError) as caught:
        load()
    return caught.value.sentences


def test_defaults_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """With only the required settings, the bot listens only on the loopback address."""
    give(monkeypatch, **GOOD)
    found = load()
    assert (found.mode, found.executor, found.replicas) == ("socket", "mail", 1)
    assert found.admin_host == found.http_host == "127.0.0.1"
    assert found.validate_certs


def test_variables_come_before_secrets_and_those_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Environment variables override secret files, and both override the settings file."""
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


def test_all_missing_settings_are_reported_together() -> None:
    """All missing settings are reported together, each with its environment variable."""
    *found, file, secrets = mistakes()
    assert "POSTROOM_BOT_CONFIG" in file
    assert "secret files" in secrets
    assert len(found) == len(GOOD)
    for name, sentence in zip(sorted(GOOD), sorted(found), strict=True):
        assert sentence.startswith(f"{name} ({config.variable(name)}): ")


def test_mistakes_with_secret_files_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing secrets directory and a secret file without a setting are both reported."""
    give(monkeypatch, **{name: text for name, text in GOOD.items() if name != "api_token"})
    folder = tmp_path / "credentials"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert str(folder) in mistakes()[-1]
    folder.mkdir()
    for name in ("another", "postroom_bot_api_token", "postroom_bot_slak_token"):
        (folder / name).write_text("Hunter2")
    [said] = mistakes()
    assert f"{folder}/postroom_bot_slak_token" in said
    (folder / "postroom_bot_slak_token").rename(folder / "postroom_bot_workers")
    (folder / "postroom_bot_workers").write_bytes(b"Hunter\xff")
    [said] = mistakes()
    assert "workers" in said
    assert "Hunter" not in said


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mode": "http"}, "slack_signing_secret (POSTROOM_BOT_SLACK_SIGNING_SECRET): "),
        ({"slack_bot_token": "xapp-1"}, "xoxb-"),
        ({"replicas": "2"}, "PostgreSQL"),
        ({"polcy_file": "x"}, "POSTROOM_BOT_POLCY_FILE"),
        ({"api_url": "mail.example.com"}, "https://"),
        ({"api_url": "https://:443"}, "https://"),
        ({"http_port": "65536"}, "http_port (POSTROOM_BOT_HTTP_PORT): "),
        ({"workers": "0"}, "workers (POSTROOM_BOT_WORKERS): "),
        ({"workers": "many"}, "workers (POSTROOM_BOT_WORKERS): "),
        ({"timeout": "0"}, "timeout (POSTROOM_BOT_TIMEOUT): "),
        ({"timeout": "soon"}, "timeout (POSTROOM_BOT_TIMEOUT): "),
        ({"validate_certs": "si"}, "validate_certs (POSTROOM_BOT_VALIDATE_CERTS): "),
        ({"mode": "mail"}, "mode (POSTROOM_BOT_MODE): "),
        ({"mail_host": "https://mail.example.com"}, "host name"),
        ({"executor": "awx"}, "awx_url (POSTROOM_BOT_AWX_URL): "),
        ({"lease": "30"}, "lease (POSTROOM_BOT_LEASE): "),
        ({"config": "nowhere.yml"}, "nowhere.yml"),
        ({"smtp_host": "mail.example.com"}, "smtp_sender (POSTROOM_BOT_SMTP_SENDER): "),
        ({"smtp_sender": "nobody"}, "smtp_sender (POSTROOM_BOT_SMTP_SENDER): "),
        ({"smtp_user": "bot"}, "smtp_password (POSTROOM_BOT_SMTP_PASSWORD): "),
        ({"smtp_password": "secret"}, "smtp_password (POSTROOM_BOT_SMTP_PASSWORD): "),
        ({"smtp_user": "bot", "smtp_tls": "none"}, "smtp_user (POSTROOM_BOT_SMTP_USER): "),
    ],
)
def test_a_mistake_has_a_sentence(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], sentence: str
) -> None:
    """An error names the setting, its variable and the remedy, none of which is redacted."""
    give(monkeypatch, **{**GOOD, **given})
    assert sentence in Redactor()(" ".join(mistakes()))


def test_a_mistake_causes_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the user of the SMTP server is invalid, its password is not reported as well."""
    smtp = {"smtp_user": "bot", "smtp_password": "secret", "smtp_tls": "none"}
    give(monkeypatch, **GOOD, **smtp)
    assert len(mistakes()) == 1


def test_the_definition_has_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token for the definition can't be the one that also gives access to the mail API."""
    token = "t" * 32
    give(monkeypatch, **{**GOOD, "api_token": token, "definition_token": token})
    [said] = mistakes()
    assert "Must differ from api_token" in said


def test_awx_has_one_kind_of_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWX requires either a token, or a user name and a password, but not both."""
    templates = {f"awx_{name}_template": "7" for name in ("add_alias", "remove_alias", "forwarder")}
    awx = {"executor": "awx", "awx_url": "https://awx.example.com", **templates}
    give(monkeypatch, **GOOD, **awx)
    assert "awx_password" in mistakes()[0]
    give(monkeypatch, awx_username="bot", awx_password="secret")
    assert load().awx_username == "bot"
    give(monkeypatch, awx_token="token")
    assert "awx_password" in mistakes()[0]


@pytest.mark.parametrize("text", ["mode: [", "- mode"])
def test_a_file_that_is_not_a_mapping(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    """A settings file that is not a mapping causes one error, which does not quote the file."""
    file = tmp_path / "bot.yml"
    file.write_text(text)
    monkeypatch.setenv("POSTROOM_BOT_STRAY", "1")
    with pytest.raises(SettingsError, match="POSTROOM_BOT_STRAY"):
        load(file)


def test_secrets_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secret settings are hidden in all representations, and are listed for redaction."""
    give(monkeypatch, **GOOD, database="postgresql://bot:db-secret@db/bot")
    found = load()
    assert "-secret" not in f"{found!r} {found}"
    assert found.secrets() == {"xoxb-bot-secret", "xapp-app-secret", "api-secret"}
