# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers of a request's buttons, the Home tab and changes to Slack accounts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from slack_bolt import App

from postroom_bot.domain import ButtonPress
from postroom_bot.errors import Denied
from postroom_bot.slack.interactions import Answer, Body, Services, interaction_of, reply
from postroom_bot.slack.modals import open_modal
from postroom_bot.store import mailboxes, requests
from postroom_bot.ui import lists, messages, notifications, views


def register(app: App, services: Services) -> None:
    """Register the handlers of a request's buttons and of submitted denials."""
    intake = services.intake

    @app.block_action(notifications.REQUEST_APPROVE)
    def approve(ack: Answer, body: Body, respond: Answer) -> None:
        acted = interaction_of(body)
        who = acted.key, acted.value, acted.user, acted.team
        answer = intake.vote(ButtonPress(*who, approves=True, card=acted.card, app=acted.app))
        ack()
        reply(respond, messages.text(answer))

    @app.block_action(notifications.REQUEST_DENY)
    def ask_why(ack: Answer, body: Body) -> None:
        # The vote is saved when the person submits the reason.
        ack()
        acted = interaction_of(body)
        open_modal(services, acted, views.deny_reason(acted.value, acted.card))

    @app.view_submission(views.DENY_REASON)
    def deny(ack: Answer, body: Body) -> None:
        acted, view = interaction_of(body), body["view"]
        request_id, card, reason = views.read_deny_reason(
            str(view["private_metadata"]), view["state"]["values"]
        )
        who = acted.key, request_id, acted.user, acted.team
        press = ButtonPress(*who, approves=False, card=card, app=acted.app, reason=reason)
        ack(response_action="update", view=views.note(messages.text(intake.vote(press))))

    @app.block_action(notifications.REQUEST_CANCEL)
    def cancel(ack: Answer, body: Body, respond: Answer) -> None:
        acted = interaction_of(body)
        answer = intake.cancel(acted.key, acted.value, acted.user)
        ack()
        if (body.get("view") or {}).get("type") == "home":
            publish_home(services, acted.user)
        else:
            reply(respond, messages.text(answer))

    @app.block_action(notifications.REQUEST_EXTEND)
    def extend(ack: Answer, body: Body, respond: Answer) -> None:
        ack()
        acted = interaction_of(body)
        try:
            request = intake.extend(acted.key, acted.value, acted.user, acted.team)
        except Denied as denial:
            reply(respond, messages.text(denial.reason))
        else:
            reply(respond, notifications.received(request))


def register_events(app: App, services: Services) -> None:
    """Register the handlers of the Home tab and of changed accounts."""

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
        if services.deps.database.read(lambda c: mailboxes.identity_of(c, user)) is not None:
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
        with suppress(Denied):
            aliases = services.lookups.aliases(person.user, person.team).aliases
    services.deps.slack_api.publish_home(user, lists.home(person, aliases, found, to_approve))
