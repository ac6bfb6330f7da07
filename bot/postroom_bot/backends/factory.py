# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service, and who makes changes there: the bot itself, or AWX."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event

from postroom_bot.backends.awx import Awx, Templates
from postroom_bot.backends.awx_client import Basic, Controller, Token
from postroom_bot.backends.base import Executor
from postroom_bot.backends.mail import Mail
from postroom_bot.config import Settings
from postroom_bot.errors import StartError


def mail_of(settings: Settings, end: ExitStack) -> Mail:
    """Return the mail service's tenant."""
    try:
        mail = Mail(
            settings.api_url,
            settings.api_token,
            verify=settings.validate_certs,
            ca_path=_ca_path(settings),
            timeout=settings.timeout,
        )
    except ValueError as error:
        raise StartError(f"the mail service can't be used: {error}") from None
    end.callback(mail.close)
    return mail


def executor_of(settings: Settings, mail: Mail, stopping: Event) -> Executor:
    """Return who carries aliases and forwarders out.

    :param stopping: set where it is not to wait for anything any more
    """
    if settings.executor == "mail":
        return mail
    try:
        controller = Controller(
            settings.awx_url or "",
            _login(settings),
            verify=settings.validate_certs,
            ca_path=_ca_path(settings),
        )
    except ValueError as error:
        raise StartError(f"AWX can't be used: {error}") from None
    templates = Templates(
        settings.awx_add_alias_template or 0,
        settings.awx_remove_alias_template or 0,
        settings.awx_forwarder_template or 0,
    )
    return Awx(controller, templates, mail, wait=stopping.wait)


def _login(settings: Settings) -> Token | Basic:
    if settings.awx_token is not None:
        return Token(settings.awx_token)
    if settings.awx_username is None or settings.awx_password is None:
        raise ValueError("neither a token nor a user is given")
    return Basic(settings.awx_username, settings.awx_password)


def _ca_path(settings: Settings) -> str | None:
    return str(settings.ca_path) if settings.ca_path else None
