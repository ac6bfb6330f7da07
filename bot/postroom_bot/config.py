# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's settings.

A setting comes from its environment variable, or else from a secret's file, or else from the
settings file. All errors are reported together, never with the value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo
from pydantic import field_validator as checks
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

PREFIX = "POSTROOM_BOT_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
CONTAINER_SECRETS = Path("/run/secrets")

#: Settings that are required if another setting has this value.
REQUIRED_WITH: Mapping[str, tuple[str, str]] = {
    "slack_app_token": ("mode", "socket"),
    "slack_signing_secret": ("mode", "http"),
    "awx_url": ("executor", "awx"),
    "awx_add_alias_template": ("executor", "awx"),
    "awx_remove_alias_template": ("executor", "awx"),
    "awx_forwarder_template": ("executor", "awx"),
}

_REMEDY = "Check the indentation and the quotes, and use spaces, not tabs."
_WHOLE = "must be a whole number"
_NUMBER = "must be a number"
#: What follows a setting's name, by pydantic's type of error; what is in braces is its context.
_SENTENCES = {
    "int_parsing": _WHOLE,
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be {ge} at least",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} at most",
    "literal_error": "must be {expected}",
    "string_type": "must be a text",
    "string_too_short": "is empty",
    "path_type": "must be a path",
    "missing": "is missing",
    "needed": "{text}",
    "value_error": "{error}",
}
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*", re.ASCII | re.IGNORECASE)


class SettingsError(Exception):
    """The bot can't start like this.

    :param mistakes: a sentence each
    """

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(" ".join(self.mistakes))


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an address that begins with https:// or http://")
    return text


def _told(secret: SecretStr) -> SecretStr:
    if not secret.get_secret_value().strip():
        raise ValueError("is empty")
    return SecretStr(secret.get_secret_value().strip())


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None
    return name


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("must be a host name alone, such as mail.example.com")
    return text


Url = Annotated[str, AfterValidator(_url)]
Secret = Annotated[SecretStr, AfterValidator(_told)]
Port = Annotated[int, Field(ge=0, le=65535)]


def _described(description: str, **rules: Any) -> Any:
    """Return a field of a setting. docs/reference/bot.md prints the description."""
    return Field(description=description, **rules)


class _Given(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        hide_input_in_errors=True,
        validate_default=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is given
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Name the sources, the strongest first."""
        file = YamlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, file_secret_settings, file


class Partly(_Given):
    """The settings that can be checked further although others may be invalid."""

    model_config = SettingsConfigDict(extra="ignore")

    policy_file: Path | None = None
    database: str | None = Field(default=None, repr=False)


class Settings(_Given):
    """All settings; `load` is how to get them."""

    model_config = SettingsConfigDict(extra="forbid")

    mode: Literal["socket", "http"] = _described(
        "How Slack reaches the bot: over Socket Mode, or by HTTP requests.", default="socket"
    )
    executor: Literal["mail", "awx"] = _described(
        "What changes aliases and forwarders: the mail service's API, or jobs of AWX.",
        default="mail",
    )

    slack_bot_token: Secret = _described("The *Bot User OAuth Token*. Begins with `xoxb-`.")
    slack_app_token: Secret | None = _described(
        "The app-level token with the scope `connections:write`. Begins with `xapp-`.", default=None
    )
    slack_signing_secret: Secret | None = _described(
        "The *Signing Secret* of the app.", default=None
    )
    slack_api_url: Url = _described(
        "The URL of Slack's Web API. Change it for GovSlack or for tests.",
        default="https://slack.com/api/",
    )

    database: str = _described(
        "An SQLite file, or a URL such as `postgresql://user@host/name`. If the URL contains a "
        "password, store it as a secret.",
        default="postroom-bot.sqlite3",
        min_length=1,
        repr=False,
    )
    auto_migrate: bool | None = _described(
        "Whether `serve` migrates the database. If unset, it migrates SQLite but not PostgreSQL.",
        default=None,
    )
    replicas: int = _described(
        "The number of bots that share the database. More than one needs PostgreSQL.",
        default=1,
        ge=1,
    )
    workers: int = _described(
        "The number of requests that one bot processes in parallel, from 1 to 64.",
        default=4,
        ge=1,
        le=64,
    )

    policy_file: Path = _described("The [policy](../policy.md).")

    api_url: Url = _described("The URL of the mail service's API.")
    api_token: Secret = _described("The token of the tenant at the mail service.")
    validate_certs: bool = _described(
        "Whether to verify the certificates of the mail service and AWX. Use `false` only in "
        "tests.",
        default=True,
    )
    ca_path: Path | None = _described(
        "A PEM file with the certificate authorities to trust for both, instead of the system's.",
        default=None,
    )
    timeout: float = _described(
        "The timeout in seconds of one operation at the mail service, including retries. "
        "At most 300.",
        default=30.0,
        gt=0,
        le=300,
    )
    lease: float = _described(
        "How many seconds a request stays leased to a bot that crashed. Must be longer than "
        "`timeout`, and at most 3600.",
        default=120.0,
        le=3600,
    )
    time_zone: Annotated[str, AfterValidator(_zone)] = _described(
        "The time zone in which end dates of aliases and forwarders end, such as `Europe/Berlin`.",
        default="UTC",
    )
    mail_host: Annotated[str, AfterValidator(_host)] = _described(
        "The host name of the IMAP and SMTP server, shown with each new password."
    )

    awx_url: Url | None = _described("The URL of AWX, without `/api`.", default=None)
    awx_token: Secret | None = _described(
        "An OAuth token for AWX. Alternative: `awx_username` and `awx_password`.", default=None
    )
    awx_username: str | None = _described("A user of AWX.", default=None)
    awx_password: Secret | None = _described("The password of this user.", default=None)
    awx_add_alias_template: int | None = _described(
        "The id of the job template that adds an alias.", default=None, ge=1
    )
    awx_remove_alias_template: int | None = _described(
        "The id of the job template that removes an alias.", default=None, ge=1
    )
    awx_forwarder_template: int | None = _described(
        "The id of the job template that changes a forwarder.", default=None, ge=1
    )

    http_host: str = _described(
        "The address to listen on for requests from Slack in HTTP mode.", default="127.0.0.1"
    )
    http_port: Port = _described("Its port. `0` selects a free port.", default=3000)
    admin_host: str = _described(
        "The address to listen on for health checks and metrics.", default="127.0.0.1"
    )
    admin_port: Port = _described("Its port. `0` selects a free port.", default=9180)

    log_level: Literal["debug", "info", "warning", "error"] = _described(
        "The lowest level to log.", default="info"
    )
    log_format: Literal["json", "text"] = _described(
        "Whether each log line is JSON or text.", default="json"
    )
    audit_lines: str | None = _described(
        "Where to stream the audit as JSON lines: a file, or `-` for standard output.",
        default=None,
    )

    @checks(*REQUIRED_WITH)
    @classmethod
    def _needed(cls, value: Any, info: ValidationInfo) -> Any:
        other, meaning = REQUIRED_WITH[info.field_name or ""]
        if value is None and info.data.get(other) == meaning:
            text = f"is needed where {other} is {meaning}"
            raise PydanticCustomError("needed", "{text}", {"text": text})
        return value

    @checks("awx_password")
    @classmethod
    def _one_way_in(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("executor") != "awx":
            return value
        token, username = info.data.get("awx_token"), info.data.get("awx_username")
        if token is None and username is None and value is None:
            raise ValueError("is missing: set awx_token, or awx_username and awx_password")
        if token is not None and not (username is None and value is None):
            raise ValueError("can't be used with awx_token: remove that or awx_username and this")
        if (username is None) != (value is None):
            raise ValueError("goes together with awx_username")
        return value

    @checks("slack_bot_token", "slack_app_token")
    @classmethod
    def _right_kind(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        begin = "xoxb-" if info.field_name == "slack_bot_token" else "xapp-"
        if value is not None and not value.get_secret_value().startswith(begin):
            raise ValueError(f"must be a token that begins with {begin}")
        return value

    @checks("lease")
    @classmethod
    def _outlasts_a_call(cls, value: float, info: ValidationInfo) -> float:
        timeout = info.data.get("timeout")
        if timeout is not None and value <= timeout:
            raise ValueError("must be longer than timeout")
        return value

    @checks("replicas")
    @classmethod
    def _one_on_sqlite(cls, value: int, info: ValidationInfo) -> int:
        database = info.data.get("database")
        if value > 1 and database is not None and not database.startswith("postgres"):
            raise ValueError("must be 1 on SQLite; more replicas need PostgreSQL")
        return value

    def secrets(self) -> frozenset[str]:
        """Return what must appear in no log."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return frozenset(one.get_secret_value() for one in values if isinstance(one, SecretStr))


_AnyGiven = TypeVar("_AnyGiven", bound=_Given)


def load(config: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings.

    :param config: the settings file; by default the one in the environment variable, if any
    :raises SettingsError: with all mistakes
    """
    environment = os.environ if environment is None else environment
    file = _file(config, environment)
    mistakes = _strangers(environment)
    settings: Settings | None = None
    try:
        mistakes += _strange_files(environment)
        settings = _located(Settings, file, environment).model_validate({})
    except ValidationError as error:
        mistakes += _sentences(error, file, environment)
    except OSError as error:
        what = error.filename or f"The settings file {file}"
        mistakes.append(f"{what} can't be read ({error.strerror}).")
    except Exception as error:  # noqa: BLE001 - the YAML reader raises many kinds
        mistakes.append(f"The settings file {file} is not valid YAML{_line(error)}. {_REMEDY}")
    if mistakes or settings is None:
        raise SettingsError(mistakes)
    return settings


def partly(config: Path | None = None, environment: Mapping[str, str] | None = None) -> Partly:
    """Load the settings that can be checked further although `load` finds errors."""
    environment = os.environ if environment is None else environment
    try:
        return _located(Partly, _file(config, environment), environment).model_validate({})
    except Exception:  # noqa: BLE001 - `load` reports the reason
        return Partly.model_construct()


def _file(config: Path | None, environment: Mapping[str, str]) -> Path | None:
    named = environment.get(CONFIG_VARIABLE)
    return config or (Path(named) if named else None)


def secrets_in(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the secrets that an environment has, also where its settings can't be used."""
    names = (name for name, field in Settings.model_fields.items() if is_secret(field.annotation))
    given = (environment.get(variable(name), "").strip() for name in names)
    return frozenset(filter(None, given))


def is_secret(kind: Any) -> bool:
    """Return whether values of this type are secrets."""
    return kind is SecretStr or any(map(is_secret, get_args(kind)))


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def _located(
    kind: type[_AnyGiven], file: Path | None, environment: Mapping[str, str]
) -> type[_AnyGiven]:
    """Return a class of settings that knows where to read."""
    if file is not None and not file.is_file():
        raise FileNotFoundError(2, "there is no such file")
    folders = [place for place in _places(environment) if place.is_dir()]
    where = SettingsConfigDict(yaml_file=file, secrets_dir=folders or None)
    return type("Located", (kind,), {"model_config": where, "__module__": __name__})


def _places(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders where secrets are looked for as files."""
    credentials = environment.get("CREDENTIALS_DIRECTORY")
    return [CONTAINER_SECRETS, *([Path(credentials)] if credentials else [])]


def _strangers(environment: Mapping[str, str]) -> list[str]:
    """Return the variables with our prefix that are not settings."""
    known = {variable(name) for name in Settings.model_fields} | {CONFIG_VARIABLE}
    strangers = sorted(
        name for name in environment if name.upper().startswith(PREFIX) and name not in known
    )
    return [f"{name} is not a setting. Remove it or correct its name." for name in strangers]


def _strange_files(environment: Mapping[str, str]) -> list[str]:
    """Return the secret files with our prefix that are not settings."""
    known = [variable(name).lower() for name in Settings.model_fields]
    files = [file for place in _places(environment) if place.is_dir() for file in place.iterdir()]
    strangers = sorted(
        file
        for file in files
        if file.name.lower().startswith(PREFIX.lower()) and file.name.lower() not in known
    )
    return [
        f"The secret file {file} is not named after a setting. Remove or rename it."
        for file in strangers
    ]


def _sentences(
    error: ValidationError, file: Path | None, environment: Mapping[str, str]
) -> list[str]:
    problems = error.errors(include_input=False, include_url=False)
    found = [_sentence(problem) for problem in problems]
    absent = {str(one["loc"][0]) for one in problems if one["type"] in {"missing", "needed"}}
    if absent and file is None:
        found.append(f"No settings file is named: use --config or {CONFIG_VARIABLE}.")
    if any(is_secret(Settings.model_fields[name].annotation) for name in absent):
        places = " and ".join(map(_place, _places(environment)))
        found.append(f"Secrets were looked for as files in {places}.")
    return found


def _place(folder: Path) -> str:
    return str(folder) if folder.is_dir() else f"{folder} (which does not exist)"


def _sentence(problem: ErrorDetails) -> str:
    if not problem["loc"]:
        return f"The settings file is not a YAML mapping. {_REMEDY}"
    name, kind = str(problem["loc"][0]), problem["type"]
    if kind == "extra_forbidden":
        return f"{name} is not a setting. Remove it from the settings file, or correct its name."
    text = _SENTENCES.get(kind, "can't be read").format(**problem.get("ctx", {}))
    return f"The setting {name} ({variable(name)}) {text}."


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f" (line {mark.line + 1})"
