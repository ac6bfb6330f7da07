# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which listener hears what."""

from __future__ import annotations

from slack_bolt import App

from postroom_bot.slack.handlers.actions import Actions
from postroom_bot.slack.handlers.commands import Commands
from postroom_bot.slack.handlers.errors import Errors
from postroom_bot.slack.handlers.home import Home
from postroom_bot.slack.handlers.modals import Windows
from postroom_bot.slack.handlers.services import Services
from postroom_bot.slack.handlers.views import Submissions
from postroom_bot.ui import commands, ids


def listen(app: App, services: Services) -> None:
    """Make an app listen."""
    windows, home = Windows(services), Home(services)
    app.error(Errors(services.metrics).failed)
    app.command(commands.COMMAND)(Commands(services, windows).typed)
    app.event("app_home_opened")(home.opened)
    app.event("user_change")(home.changed)
    _listen_to_buttons(app, Actions(services, windows, home))
    _listen_to_windows(app, Submissions(services, windows))


def _listen_to_buttons(app: App, actions: Actions) -> None:
    app.shortcut(ids.SHORTCUT_MENU)(actions.shortcut)
    for name in ids.FORM_OF:
        app.block_action(name)(actions.form)
    for name in (ids.OPEN_PASSWORD, ids.PASSWORD_SHOW):
        app.block_action(name)(actions.password)
    app.block_action(ids.REQUEST_APPROVE)(actions.approve)
    app.block_action(ids.REQUEST_DENY)(actions.deny)
    app.block_action(ids.REQUEST_CANCEL)(actions.cancel)
    app.block_action(ids.REQUEST_EXTEND)(actions.extend)


def _listen_to_windows(app: App, submissions: Submissions) -> None:
    for name in ids.FORM_OF.values():
        app.view_submission(name)(submissions.form)
    app.view_submission(ids.PASSWORD_CONFIRM)(submissions.make_password)
    app.view_submission(ids.DENY_REASON)(submissions.deny)
