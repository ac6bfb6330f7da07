# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's settings.

Each setting is read from its environment variable, a secret file or the settings file, in this
order of precedence. All errors are reported together. Error messages never contain a setting's
value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from postroom_bot.addresses import address
from postroom_common.database import DatabaseError, check_url

PREFIX = "POSTROOM_BOT_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
CONTAINER_SECRETS = Path("/run/secrets")

#: Settings that are required if another setting has a certain value.
REQUIRED_WITH: Mapping[str, tuple[str, str]] = {
    "slack_app_token": ("mode", "socket"),
    "slack_signing_secret": ("mode", "http"),
    "awx_url": ("executor", "awx"),
    "awx_add_alias_template": ("executor", "awx"),
    "awx_remove_alias_template": ("executor", "awx"),
    "awx_forwarder_template": ("executor", "awx"),
}
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*", re.ASCII | re.IGNORECASE)


class SettingsError(Exception):
    """The settings have errors.

    :param sentences: a sentence for each error
    :param policy_file: the policy file named in the settings, so that it can be checked anyway
    """

    def __init__(self, sentences: Iterable[str], policy_file: Path | None = None) -> None:
        self.sentences = tuple(sentences)
        self.policy_file = policy_file
        super().__init__(" ".join(self.sentences))


def _checked(valid: Callable[[Any], object], message: str) -> AfterValidator:
    """Return a validator whose message does not contain the value."""

    def check(value: Any) -> Any:
        try:
            found = valid(value.get_secret_value() if isinstance(value, SecretStr) else value)
        except (LookupError, ValueError, OSError):
            found = False
        if not found:
            raise ValueError(message)
        return value

    return AfterValidator(check)


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in text


def _checked_location(where: str) -> str:
    try:
        check_url(where)
    except DatabaseError as error:
        raise ValueError(str(error)) from None
    return where


Url = Annotated[str, _checked(_is_url, "Must be a URL that begins with https:// or http://")]
Host = Annotated[
    str, _checked(_HOST.fullmatch, "Must be only a host name, such as mail.example.com")
]
Sender = Annotated[str, _checked(address, "Must be an email address")]
Zone = Annotated[str, _checked(ZoneInfo, "Must be a time zone such as Europe/Berlin")]
DatabaseLocation = Annotated[str, Field(min_length=1), AfterValidator(_checked_location)]
Port = Annotated[int, Field(ge=0, le=65535)]
DefinitionToken = Annotated[
    SecretStr,
    _checked(
        re.compile("[!-~]{32,}", re.ASCII).fullmatch,
        "Must have at least 32 characters, without spaces",
    ),
]
Secret = Annotated[SecretStr, _checked(bool, "Must not be empty")]
BotToken = Annotated[
    SecretStr, _checked(re.compile("xoxb-").match, "Must be a token that begins with xoxb-")
]
AppToken = Annotated[
    SecretStr, _checked(re.compile("xapp-").match, "Must be a token that begins with xapp-")
]


class Settings(BaseSettings):
    """The settings, as read by `load`. Their docstrings are published in docs/reference/bot.md."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        str_strip_whitespace=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    mode: Literal["socket", "http"] = "socket"
    """How Slack reaches the bot: over Socket Mode or with HTTP requests."""
    executor: Literal["mail", "awx"] = "mail"
    """How the bot changes aliases and forwarders: through the mail service's API or AWX jobs."""

    slack_bot_token: BotToken
    """The *Bot User OAuth Token*, which begins with `xoxb-`."""
    slack_app_token: AppToken | None = None
    """The app-level token, which begins with `xapp-`. It needs the scope `connections:write`."""
    slack_signing_secret: Secret | None = None
    """The app's *Signing Secret*."""
    slack_api_url: Url = "https://slack.com/api/"
    """The URL of Slack's Web API. Change it for GovSlack or for tests."""

    database: DatabaseLocation = Field(default="postroom-bot.sqlite3", repr=False)
    """An SQLite file, or a URL such as `postgresql://user@host/name`. If the URL contains a
    password, store the URL as a secret."""
    auto_migrate: bool | None = None
    """Whether `serve` migrates the database. By default, only SQLite databases are migrated."""
    replicas: int = Field(default=1, ge=1)
    """The number of bot processes that share the database. More than one requires PostgreSQL."""
    workers: int = Field(default=4, ge=1, le=64)
    """The number of requests that each bot processes in parallel, from 1 to 64."""

    policy_file: Path
    """The path of the [policy](policy.md)."""

    api_url: Url
    """The URL of the mail service's API."""
    api_token: Secret
    """The tenant's token for the mail service."""
    validate_certs: bool = True
    """Whether to verify the certificates of the mail service, AWX and the SMTP server. Use `false`
    only in tests."""
    ca_path: Path | None = None
    """A PEM file with the certificate authorities to trust for the mail service, AWX and the SMTP
    server, instead of the system's certificate authorities."""
    timeout: float = Field(default=30.0, gt=0, le=300)
    """The timeout for one mail service operation, including retries, in seconds. At
    most 300."""
    lease: float = Field(default=120.0, le=3600)
    """How many seconds a request stays leased to a bot that has crashed. Must be greater than
    `timeout` and at most 3600."""
    time_zone: Zone = "UTC"
    """The time zone for the end dates of aliases and forwarders, such as `Europe/Berlin`."""
    mail_host: Host
    """The host name of the IMAP and SMTP server, shown with each new password."""

    smtp_host: Host | None = None
    """The SMTP server that delivers notices about new passwords to the mailboxes. Without this
    setting, the bot sends no such notices by email."""
    smtp_port: int = Field(default=587, ge=1, le=65535)
    """The port of the SMTP server."""
    smtp_tls: Literal["starttls", "tls", "none"] = "starttls"
    """How to encrypt the connection to the SMTP server: with STARTTLS, with TLS from the start
    (usually on port 465), or not at all (only for a server that requires no login)."""
    smtp_sender: Sender | None = None
    """The sender of the notices. Owners who did not expect a new password reply to this address, so
    a mail administrator must read its mail. Required if `smtp_host` is set."""
    smtp_user: str | None = None
    """The user name for the SMTP server, if it requires a login."""
    smtp_password: Secret | None = None
    """The password for the SMTP server. Required if `smtp_user` is set."""

    awx_url: Url | None = None
    """The URL of AWX, without `/api`."""
    awx_token: Secret | None = None
    """An OAuth token for AWX. Alternatively, set `awx_username` and `awx_password`."""
    awx_username: str | None = None
    """The name of an AWX user."""
    awx_password: Secret | None = None
    """The password of the AWX user."""
    awx_add_alias_template: int | None = Field(default=None, ge=1)
    """The id of the job template that adds an alias."""
    awx_remove_alias_template: int | None = Field(default=None, ge=1)
    """The id of the job template that removes an alias."""
    awx_forwarder_template: int | None = Field(default=None, ge=1)
    """The id of the job template that changes a forwarder."""

    http_host: str = "127.0.0.1"
    """The address to listen on for requests from Slack in HTTP mode."""
    http_port: Port = 3000
    """The port to listen on for requests from Slack. `0` selects a free port."""
    admin_host: str = "127.0.0.1"
    """The address to listen on for health checks, metrics and the definition."""
    admin_port: Port = 9180
    """The port to listen on for health checks, metrics and the definition. `0` selects a free
    port."""
    definition_token: DefinitionToken | None = None
    """A token of your choice, with at least 32 characters, for the path `/definition` on
    `admin_port`. By default, the bot does not serve this path."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The minimum level of log messages."""
    log_format: Literal["json", "text"] = "json"
    """The format of log lines: `json` or `text`."""
    audit_lines: str | None = None
    """Where to write the audit as JSON lines: a file, or `-` for standard output."""

    @field_validator(*REQUIRED_WITH, "awx_password", "lease", "replicas")
    @classmethod
    def _fits_the_others(cls, value: Any, info: ValidationInfo) -> Any:
        name, others = str(info.field_name), info.data
        if name in REQUIRED_WITH:
            other, meaning = REQUIRED_WITH[name]
            if value is None and others.get(other) == meaning:
                raise PydanticCustomError("missing", f"Required if {other} is {meaning}")
        elif name == "awx_password" and others.get("executor") == "awx":
            token, username = others.get("awx_token"), others.get("awx_username")
            if token is None and (username is None or value is None):
                raise ValueError("Set awx_token, or awx_username and awx_password")
            if token is not None and not (username is None and value is None):
                raise ValueError("Remove either awx_token, or awx_username and awx_password")
        elif name == "lease" and value <= others.get("timeout", 0):
            raise ValueError("Must be longer than timeout")
        on_sqlite = not others.get("database", "postgres").startswith("postgres")
        if name == "replicas" and value > 1 and on_sqlite:
            raise ValueError("Must be 1 on SQLite; more replicas need PostgreSQL")
        return value

    @field_validator("smtp_sender", "smtp_user", "smtp_password")
    @classmethod
    def _completes_the_login(cls, value: Any, info: ValidationInfo) -> Any:
        name, others = str(info.field_name), info.data
        if name == "smtp_sender" and value is None and others.get("smtp_host") is not None:
            raise PydanticCustomError("missing", "Required if smtp_host is set")
        if name == "smtp_user" and value is not None and others.get("smtp_tls") == "none":
            raise ValueError("Remove it, or set smtp_tls to starttls or tls")
        # If smtp_user itself is invalid, only that is reported.
        user = others.get("smtp_user", value)
        if name == "smtp_password" and (value is None) is not (user is None):
            raise ValueError("Set both smtp_user and smtp_password, or neither")
        return value

    @field_validator("definition_token")
    @classmethod
    def _has_fewer_rights(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is not None and value == info.data.get("api_token"):
            raise ValueError("Must differ from api_token, which also gives access to the mail API")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic passes it
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order of precedence. `load` reads the settings file itself."""
        existing = [directory for directory in _secret_directories() if directory.is_dir()]
        secret_files = SecretsSettingsSource(settings_cls, secrets_dir=existing or None)
        return env_settings, secret_files, init_settings

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be logged."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return frozenset(one.get_secret_value() for one in values if isinstance(one, SecretStr))


def load(config: Path | None = None) -> Settings:
    """Read the settings.

    :param config: the settings file; by default the file that POSTROOM_BOT_CONFIG names, if set
    :raises SettingsError: if the settings are invalid; lists all errors
    """
    named = os.environ.get(CONFIG_VARIABLE)
    file = config or (Path(named) if named else None)
    try:
        given = _read(file) if file is not None else {}
    except SettingsError as error:
        raise SettingsError([*error.sentences, *_unknown([])]) from None
    known = {name: value for name, value in given.items() if name in Settings.model_fields}
    mistakes: list[str] = []
    try:
        mistakes += _unknown([*given])
        settings = Settings(**known)
    except ValidationError as error:
        mistakes += _sentences(error, is_alone=file is None)
    except OSError as error:
        mistakes.append(f"{error.filename} can't be read ({error.strerror}).")
    except ValueError as error:
        # pydantic-settings names the setting and the source, but not the value.
        mistakes.append(f"A secret file can't be read as text: {error}.")
    if mistakes:
        policy_file = os.environ.get(variable("policy_file")) or given.get("policy_file")
        raise SettingsError(mistakes, Path(str(policy_file)) if policy_file else None)
    return settings


def secrets_in_environment() -> frozenset[str]:
    """Return the secrets in the environment. This works even if the settings have errors."""
    names = (name for name, field in Settings.model_fields.items() if is_secret(field.annotation))
    given = (os.environ.get(variable(name), "").strip() for name in names)
    return frozenset(filter(None, given))


def is_secret(kind: Any) -> bool:
    """Return whether a type is SecretStr or contains SecretStr."""
    return kind is SecretStr or any(map(is_secret, get_args(kind)))


def variable(name: str) -> str:
    """Return the name of a setting's environment variable."""
    return PREFIX + name.upper()


def _read(file: Path) -> dict[str, Any]:
    try:
        # pydantic-settings ignores a file that does not exist.
        with file.open("rb"):
            given: dict[Any, Any] = YamlConfigSettingsSource(Settings, yaml_file=file).yaml_data
        return {str(name): value for name, value in given.items()}
    except OSError as error:
        raise SettingsError([f"{file} can't be read ({error.strerror})."]) from None
    except Exception as error:  # noqa: BLE001 - the YAML reader raises many kinds
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" (line {mark.line + 1})"
        text = f"The settings file {file} is not a YAML mapping{line}."
        remedy = "Check the indentation and the quotes, and use spaces, not tabs."
        raise SettingsError([f"{text} {remedy}"]) from None


def _secret_directories() -> list[Path]:
    """Return the directories to search for secret files, whether or not they exist."""
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    return [CONTAINER_SECRETS, *([Path(credentials)] if credentials else [])]


def _unknown(keys: list[str]) -> list[str]:
    """Return an error for each key, variable or secret file that doesn't match a setting."""
    known = {variable(name) for name in Settings.model_fields}
    directories = (directory for directory in _secret_directories() if directory.is_dir())
    files = sorted(file for directory in directories for file in directory.iterdir())
    variables = sorted(name for name in os.environ if name.upper().startswith(PREFIX))
    names = [name for name in variables if name not in {*known, CONFIG_VARIABLE}]
    names += [name for name in keys if name not in Settings.model_fields]
    return [f"{name} is not a setting. Remove it or correct its name." for name in names] + [
        f"The secret file {file} is not named after a setting. Remove or rename it."
        for file in files
        if file.name.upper().startswith(PREFIX) and file.name.upper() not in known
    ]


def _sentences(error: ValidationError, *, is_alone: bool) -> list[str]:
    """Return a message for each pydantic error, and hints on where to set missing settings.

    :param is_alone: whether all settings come from the environment and secret files
    """
    found, missing = [], []
    for problem in error.errors(include_input=False, include_url=False):
        name, text = str(problem["loc"][0]), problem["msg"].removeprefix("Value error, ")
        found.append(f"{name} ({variable(name)}): {text}.")
        if problem["type"] == "missing":
            missing.append(name)
    if missing and is_alone:
        found.append(f"No settings file was given. Use --config or {CONFIG_VARIABLE}.")
    if any(is_secret(Settings.model_fields[name].annotation) for name in missing):
        places = " and ".join(
            str(directory) if directory.is_dir() else f"{directory} (which does not exist)"
            for directory in _secret_directories()
        )
        found.append(f"Searched for secret files in {places}.")
    return found
