# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers of Slack's events: a person opens the Home tab, or their account changes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from slack_bolt import App

from postroom_bot.errors import UserError
from postroom_bot.slack.handler_support import Services
from postroom_bot.store import requests, slack_email_changes
from postroom_bot.ui.home import home_tab


def register(app: App, services: Services) -> None:
    """Register the handlers of both events."""

    @app.event("app_home_opened")
    def home_opened(event: dict[str, Any]) -> None:
        if event.get("tab") == "home":
            publish_home(services, str(event["user"]))

    @app.event("user_change")
    def user_changed(event: dict[str, Any]) -> None:
        user = str(event["user"]["id"])
        services.deps.people.forget(user)
        # Look the person up now, to record when their email address changed. Slack reports changes
        # to all accounts, but most users never use the bot.
        recorded = services.deps.database.read(lambda c: slack_email_changes.last_recorded(c, user))
        if recorded is not None:
            services.deps.people.person(user, services.deps.workspace.team, fresh=True)


def publish_home(services: Services, user: str) -> None:
    """Update a person's Home tab."""
    # In an organization, the event may come from a workspace other than the bot's.
    person = services.deps.people.person(user, services.deps.workspace.team)
    found = services.deps.database.read(lambda c: requests.open_by(c, user))
    waiting = [] if person.obstacle else services.deps.database.read(requests.waiting)
    to_approve = [
        request
        for request in waiting
        if request.requester != user and any(one.group in person.groups for one in request.quorum)
    ]
    aliases = None
    if not person.obstacle and person.mailbox:
        with suppress(UserError):
            aliases = services.lookups.aliases(person.user, person.team).aliases
    services.deps.slack_api.publish_home(user, home_tab(person, aliases, found, to_approve))
