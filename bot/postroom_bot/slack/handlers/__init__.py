# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Handlers of what Slack sends: each reads the payload, makes one call, and answers."""

from __future__ import annotations

from slack_bolt import App

from postroom_bot.slack.handlers import actions, commands, errors, home, views
from postroom_bot.slack.handlers.modals import Modals
from postroom_bot.slack.handlers.services import Services


def register(app: App, services: Services) -> None:
    """Register every handler with the app."""
    modals = Modals(services)
    errors.register(app, services.metrics)
    commands.register(app, services, modals)
    actions.register(app, services, modals)
    views.register(app, services, modals)
    home.register(app, services)
