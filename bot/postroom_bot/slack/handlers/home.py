# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab, and what Slack tells of people's accounts."""

from __future__ import annotations

from typing import Any

from postroom_bot.domain import Person, Request
from postroom_bot.errors import Denied
from postroom_bot.slack.handlers.services import Services
from postroom_bot.store import identities, requests
from postroom_bot.ui.home import home


class Home:
    """Listens to events and shows the Home tab. Threads share it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def opened(self, event: dict[str, Any]) -> None:
        """Show somebody their Home tab."""
        if event.get("tab") == "home":
            self.publish(str(event["user"]))

    def changed(self, event: dict[str, Any]) -> None:
        """Look anew at somebody whose account has changed, so that a new address is noticed now."""
        user = str(event["user"]["id"])
        self._services.people.forget(user)
        # Slack tells of everybody's changes; most people never use the bot.
        if self._services.database.read(lambda c: identities.get(c, user)) is not None:
            self._person(user, fresh=True)

    def publish(self, user: str) -> None:
        """Put the Home tab of somebody in its present state."""
        person = self._person(user)
        found = self._services.database.read(lambda c: requests.open_by(c, user))
        view = home(person, self._aliases(person), found, self._approvals(person))
        self._services.slack_api.publish_home(user, view)

    def _person(self, user: str, *, fresh: bool = False) -> Person:
        """Return somebody as seen from our workspace, whichever one Slack's call tells of."""
        services = self._services
        return services.people.person(user, services.workspace.team, fresh=fresh)

    def _aliases(self, person: Person) -> list[str] | None:
        if person.obstacle or person.mailbox is None:
            return None
        try:
            return self._services.lookups.aliases(person.user, person.team).aliases
        except Denied:
            return None

    def _approvals(self, person: Person) -> list[Request]:
        """Return what waits for this person's approval."""
        if person.obstacle:
            return []
        return [
            request
            for request in self._services.database.read(requests.waiting)
            if request.requester != person.user
            and any(one.group in person.groups for one in request.quorum)
        ]
