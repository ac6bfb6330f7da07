# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers for Slack's slash command, buttons, modals and events.

A trigger expires after 3 seconds. A modal that needs data from Slack or the mail service is
therefore opened as a loading modal first, and updated when the data arrives.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from pydantic import SecretStr
from slack_bolt import App

from postroom_bot.domain import Action, Change, Interaction, Reason, Request, ViewRef
from postroom_bot.errors import (
    Forbidden,
    ReasonError,
    SlackRejected,
    SlackUnavailable,
    UserError,
)
from postroom_bot.slack.payloads import (
    Body,
    Responder,
    interaction_of,
    reply,
    wait_for_display,
)
from postroom_bot.store import requests
from postroom_bot.ui import messages, parser, views
from postroom_bot.ui.markup import Message, View
from postroom_bot.ui.reason_texts import plain_reason_text, reason_text
from postroom_bot.workflow import passwords, queries, request_service
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.passwords import NeedsApproval, NotShown, RepeatedDelivery
from postroom_bot.workflow.request_service import EndDatePassed

#: Errors whose message is shown to the person.
EXPECTED = (ReasonError, SlackUnavailable, SlackRejected)
WORKING = "One moment ..."
#: How many times to try to send Slack the view with a new password, and the delays in between.
SEND_ATTEMPTS = 4
RETRY_DELAY_SECONDS = 1.0
MAX_RETRY_DELAY_SECONDS = 5.0


def register(app: App, deps: Dependencies, mail_host: str) -> None:
    """Register all handlers.

    :param mail_host: the host name of the IMAP and SMTP server, shown with each new password
    """
    _register_command(app, deps)
    _register_votes(app, deps)
    _register_buttons(app, deps)
    _register_modals(app, deps, mail_host)
    _register_events(app, deps)


def _register_command(app: App, deps: Dependencies) -> None:
    @app.command(parser.COMMAND)
    def command(ack: Responder, body: Body, respond: Responder) -> None:
        interaction = interaction_of(body)
        answer: Message | str
        try:
            match parser.parse(str(body.get("text") or "")):
                case parser.Menu():
                    ack()
                    _open_modal(deps, interaction, views.menu())
                    return
                case parser.Password(mailbox):
                    ack()
                    _start_password(deps, interaction, mailbox)
                    return
                case Change() as change:
                    request = request_service.submit(deps, interaction, change)
                    answer = messages.received(request)
                case parser.Help():
                    answer = messages.command_list()
                case deferred:
                    reply(ack, WORKING)
                    acknowledged = time.monotonic()
                    answer = _answer_deferred(deps, interaction, deferred)
                    wait_for_display(acknowledged)
                    reply(respond, answer)
                    return
        except parser.InvalidCommand as error:
            answer = str(error)
        except UserError as error:
            answer = reason_text(error.reason)
        reply(ack, answer)


def _error_text(deps: Dependencies, interaction: Interaction, action: str, error: Exception) -> str:
    """Return the text of an EXPECTED error. A Forbidden error is also recorded in the audit.

    :param action: a word for the attempted action
    """
    if not isinstance(error, ReasonError):
        return reason_text(Reason("slack.unavailable"))
    if isinstance(error, Forbidden):
        request_service.audit_forbidden_attempt(deps, interaction, action, error.reason)
    return reason_text(error.reason_without_retry)


def _answer_deferred(
    deps: Dependencies, interaction: Interaction, command: parser.Deferred
) -> Message | str:
    """Run a command for which Slack must confirm the person's account, and return the reply."""
    if isinstance(command, parser.Cancel):
        return _cancel(deps, interaction, command.id)
    try:
        person = deps.people.caller(interaction)
        match command:
            case parser.Status(request_id):
                return messages.request_list(queries.status(deps, person.user, request_id))
            case parser.ListAliases(mailbox):
                return messages.alias_list(*queries.aliases(deps, person, mailbox))
            case parser.ListForwards():
                return messages.forward_list(queries.forwarders(deps, person))
            case parser.Dns(domain):
                return messages.dns_records(domain, queries.dns(deps, domain))
    except EXPECTED as error:
        return _error_text(deps, interaction, "list", error)


def _cancel(deps: Dependencies, interaction: Interaction, request_id: str) -> str:
    """Cancel a request, and return the reply."""
    try:
        return reason_text(request_service.cancel(deps, interaction, request_id))
    except EXPECTED as error:
        return _error_text(deps, interaction, "cancel", error)


def _register_votes(app: App, deps: Dependencies) -> None:
    @app.block_action(messages.REQUEST_APPROVE)
    def approve(ack: Responder, body: Body, respond: Responder) -> None:
        interaction, refusal = interaction_of(body), None
        if (body.get("view") or {}).get("type") == "home":
            ack()
            _approve_from_home(deps, interaction)
            return
        if not request_service.may_vote(deps, interaction):
            # The cached groups may be outdated, so ask Slack again.
            ack()
            refusal = request_service.turn_away(deps, interaction, approves=True)
        answer = refusal or request_service.vote(deps, interaction, approves=True)
        ack()
        reply(respond, reason_text(answer))

    @app.block_action(messages.REQUEST_DENY)
    def ask_why(ack: Responder, body: Body) -> None:
        # The vote is saved when the person submits the reason.
        ack()
        interaction = interaction_of(body)
        opened = _open_modal(deps, interaction, views.loading_modal(views.TITLE))
        refusal = request_service.turn_away(deps, interaction, approves=False)
        view = views.deny_reason(interaction.request_id, interaction.card)
        if refusal is not None:
            view = views.text_modal(reason_text(refusal))
        deps.slack_api.update_view(opened, view)

    @app.view_submission(views.DENY_REASON)
    def deny(ack: Responder, body: Body) -> None:
        view = body["view"]
        request_id, card, justification = views.read_deny_reason(
            str(view["private_metadata"]), view["state"]["values"]
        )
        interaction = interaction_of(body)._replace(request_id=request_id, card=card)
        answer = request_service.vote(
            deps, interaction, approves=False, justification=justification
        )
        ack(response_action="update", view=views.text_modal(reason_text(answer)))
        # The press may have come from the Home tab, which still shows the buttons.
        _publish_home(deps, interaction.user)


def _approve_from_home(deps: Dependencies, interaction: Interaction) -> None:
    """Cast an approval from the Home tab, and answer in a modal."""
    opened = _open_modal(deps, interaction, views.loading_modal(views.TITLE))
    answer = request_service.turn_away(deps, interaction, approves=True)
    answer = answer or request_service.vote(deps, interaction, approves=True)
    deps.slack_api.update_view(opened, views.text_modal(reason_text(answer)))
    _publish_home(deps, interaction.user)


def _register_buttons(app: App, deps: Dependencies) -> None:
    @app.block_action(messages.REQUEST_CANCEL)
    def cancel(ack: Responder, body: Body, respond: Responder) -> None:
        ack()
        interaction = interaction_of(body)
        answer = _cancel(deps, interaction, interaction.request_id)
        if (body.get("view") or {}).get("type") == "home":
            _publish_home(deps, interaction.user)
        else:
            reply(respond, answer)

    @app.block_action(messages.REQUEST_EXTEND)
    def extend(ack: Responder, body: Body, respond: Responder) -> None:
        ack()
        interaction = interaction_of(body)
        try:
            request = request_service.extend(deps, interaction)
        except EXPECTED as error:
            reply(respond, _error_text(deps, interaction, "extend", error))
        else:
            reply(respond, messages.received(request))


def _register_events(app: App, deps: Dependencies) -> None:
    @app.event("app_home_opened")
    def home_opened(event: dict[str, Any]) -> None:
        if event.get("tab") == "home":
            _publish_home(deps, str(event["user"]))

    @app.event("user_change")
    def user_changed(event: dict[str, Any]) -> None:
        deps.people.account_changed(event["user"])

    def usergroup_changed() -> None:
        deps.people.usergroups_changed()

    for name in ("subteam_created", "subteam_updated", "subteam_members_changed"):
        app.event(name)(usergroup_changed)


def _publish_home(deps: Dependencies, user: str) -> None:
    """Update a person's Home tab."""
    # In an organization, the event may come from a workspace other than the bot's.
    person = deps.people.person(user)
    found = deps.database.read(lambda c: requests.open_by(c, user))
    to_approve: tuple[list[Request], int] = ([], 0)
    if not person.obstacle:
        limit = views.MAX_REQUESTS
        to_approve = deps.database.read(lambda c: requests.pending_for(c, person, limit))
    aliases = None
    if not person.obstacle and person.mailbox:
        with suppress(*EXPECTED):
            aliases = queries.aliases(deps, person).aliases
    deps.slack_api.publish_home(user, views.home_tab(person, aliases, found, *to_approve))


def _register_modals(app: App, deps: Dependencies, mail_host: str) -> None:
    @app.shortcut(views.SHORTCUT_MENU)
    def open_menu(ack: Responder, body: Body) -> None:
        ack()
        _open_modal(deps, interaction_of(body), views.menu())

    def open_form(ack: Responder, body: Body) -> None:
        ack()
        interaction = interaction_of(body)
        name = str(body["actions"][0]["action_id"]).removeprefix(views.OPEN)
        if views.FORMS[name].action is not Action.ALIAS_REMOVE:
            _open_modal(deps, interaction, views.form(name))
            return
        opened = _open_modal(deps, interaction, views.loading_modal(views.TITLE))
        deps.slack_api.update_view(opened, _form_with_aliases(deps, interaction, name))

    def form(ack: Responder, body: Body) -> None:
        ack(**_submit_form(deps, interaction_of(body), body["view"]))

    for name in views.FORMS:
        app.block_action(views.OPEN + name)(open_form)
        app.view_submission(name)(form)

    def open_password(ack: Responder, body: Body) -> None:
        ack()
        interaction = interaction_of(body)
        _start_password(deps, interaction, request_id=interaction.request_id or None)

    for name in (views.OPEN_PASSWORD, messages.PASSWORD_SHOW):
        app.block_action(name)(open_password)

    @app.view_submission(views.PASSWORD_CONFIRM)
    def create_password(ack: Responder, body: Body) -> None:
        view = body["view"]
        mailbox, request_id = views.read_password_confirm(str(view["private_metadata"]))
        loading = views.loading_modal(views.PASSWORD_TITLE, creates_password=True)
        ack(response_action="update", view=loading)
        # The acknowledgement has replaced the view, so the view's hash has changed.
        window = ViewRef(str(view["id"]), hash="")
        _create_password(deps, mail_host, interaction_of(body), window, mailbox, request_id)


def _form_with_aliases(deps: Dependencies, interaction: Interaction, name: str) -> View:
    """Return a form that lists the person's aliases, or explain a refusal."""
    try:
        aliases = queries.aliases(deps, deps.people.caller(interaction)).aliases
    except Forbidden as error:
        return views.text_modal(_error_text(deps, interaction, "list", error))
    except EXPECTED:
        # The list is not available, but the person can type the address.
        aliases = []
    return views.form(name, aliases)


def _submit_form(deps: Dependencies, interaction: Interaction, view: View) -> dict[str, Any]:
    """Submit the change in a form. Return the arguments for `ack`: a view or the form's errors."""
    try:
        change = views.read_form(str(view["callback_id"]), view["state"]["values"])
        request = request_service.submit(deps, interaction, change)
    except views.FormErrors as error:
        return {"response_action": "errors", "errors": error.errors}
    except EndDatePassed as error:
        errors = {"last_day": plain_reason_text(error.reason)}
        return {"response_action": "errors", "errors": errors}
    except UserError as error:
        text = reason_text(error.reason)
    else:
        text = messages.received(request).text
    return {"response_action": "update", "view": views.text_modal(text)}


def _open_modal(deps: Dependencies, interaction: Interaction, view: View) -> ViewRef:
    """Open a modal or, if the interaction took place in a modal, update that modal.

    A person who may not use the bot gets the reason instead, if it is known without calling Slack.
    """
    if obstacle := deps.people.known_obstacle(interaction):
        view = views.text_modal(reason_text(obstacle))
    if interaction.modal is None:
        return deps.slack_api.open_view(interaction.trigger, view)
    return deps.slack_api.update_view(interaction.modal, view)


def _start_password(
    deps: Dependencies,
    interaction: Interaction,
    mailbox: str | None = None,
    request_id: str | None = None,
) -> None:
    """Ask the person to confirm a new password, request approval for it, or explain a refusal."""
    opened = _open_modal(deps, interaction, views.loading_modal(views.PASSWORD_TITLE))
    try:
        try:
            authorized = passwords.authorize(deps, interaction, mailbox, request_id)
            view = views.password_confirm(authorized, request_id)
        except NeedsApproval:
            change = Change(Action.PASSWORD, mailbox or "")
            request = request_service.submit(deps, interaction, change)
            view = views.text_modal(messages.received(request).text)
    except EXPECTED as error:
        text = _error_text(deps, interaction, Action.PASSWORD, error)
        view = views.text_modal(text, views.PASSWORD_TITLE)
    deps.slack_api.update_view(opened, view)


def _create_password(
    deps: Dependencies,
    mail_host: str,
    interaction: Interaction,
    window: ViewRef,
    mailbox: str,
    request_id: str | None,
) -> None:
    """Create a password and show it in place of the loading modal."""
    acknowledged = time.monotonic()

    def show(password: SecretStr) -> None:
        shown = views.password_shown(mailbox, password.get_secret_value(), mail_host)
        update(shown)

    def update(view: View) -> None:
        """Update the modal, with retries, because the new password is stored nowhere else."""
        wait_for_display(acknowledged)
        for _ in range(SEND_ATTEMPTS - 1):
            try:
                deps.slack_api.update_view(window, view)
            except SlackUnavailable as error:
                time.sleep(min(error.retry_after or RETRY_DELAY_SECONDS, MAX_RETRY_DELAY_SECONDS))
            else:
                return
        deps.slack_api.update_view(window, view)

    try:
        passwords.create_and_show(deps, interaction, mailbox, request_id, show)
    except RepeatedDelivery:
        # The handler of the first delivery updates the modal.
        return
    except EXPECTED as error:
        text = _error_text(deps, interaction, Action.PASSWORD, error)
        # If the password was not shown, the person gets a direct message as well, in case they have
        # closed the window.
        ignored = (SlackUnavailable, SlackRejected) if isinstance(error, NotShown) else ()
        with suppress(*ignored):
            update(views.text_modal(text, views.PASSWORD_TITLE))
