# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab, and changes of people's Slack accounts."""

from __future__ import annotations

from typing import Any

from slack_bolt import App

from postroom_bot.domain import Person
from postroom_bot.errors import Denied
from postroom_bot.slack.handlers.services import Services
from postroom_bot.store import identities, requests
from postroom_bot.ui.home import home


def register(app: App, services: Services) -> None:
    """Register the handlers of events."""

    @app.event("app_home_opened")
    def opened(event: dict[str, Any]) -> None:
        if event.get("tab") == "home":
            publish(services, str(event["user"]))

    @app.event("user_change")
    def user_changed(event: dict[str, Any]) -> None:
        user = str(event["user"]["id"])
        services.people.forget(user)
        # Look the person up now, so that a new email address is noticed now. Slack reports changes
        # of all users, most of whom never use the bot.
        if services.database.read(lambda c: identities.get(c, user)) is not None:
            services.people.person(user, services.workspace.team, fresh=True)


def publish(services: Services, user: str) -> None:
    """Update a person's Home tab."""
    # An organisation's event may come from another workspace than the bot's.
    person = services.people.person(user, services.workspace.team)
    found = services.database.read(lambda c: requests.open_by(c, user))
    waiting = [] if person.obstacle else services.database.read(requests.waiting)
    to_approve = [
        request
        for request in waiting
        if request.requester != user and any(one.group in person.groups for one in request.quorum)
    ]
    view = home(person, _aliases(services, person), found, to_approve)
    services.slack_api.publish_home(user, view)


def _aliases(services: Services, person: Person) -> list[str] | None:
    if person.obstacle or person.mailbox is None:
        return None
    try:
        return services.lookups.aliases(person.user, person.team).aliases
    except Denied:
        return None
