# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modals and homes in the stand-in live as they do in Slack."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from slack_bolt import Ack, App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from ansible_collections.postroom.email.tests.bot.slack.apps import app_of, over_http
from ansible_collections.postroom.email.tests.bot.slack.test_http import CARD
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import CannotDo
from ansible_collections.postroom.email.tests.fakes.slack.views import NOT_EVERYWHERE
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace


def plain(text: str) -> dict[str, str]:
    """Return a text object."""
    return {"type": "plain_text", "text": text}


def modal(title: str, **more: Any) -> dict[str, Any]:
    """Return a form with an address and a choice."""
    address = {
        "type": "input",
        "block_id": "address",
        "label": plain("Address"),
        "element": {"type": "plain_text_input", "action_id": "typed"},
    }
    options = [{"text": plain(name), "value": name} for name in ("red", "blue")]
    colour = {
        "type": "input",
        "block_id": "colour",
        "label": plain("Colour"),
        "element": {
            "type": "static_select",
            "action_id": "chosen",
            "options": options,
            "initial_option": options[0],
        },
    }
    view = {"type": "modal", "callback_id": "form", "title": plain(title)}
    return {**view, "submit": plain("Send"), "blocks": [address, colour], **more}


class Form:
    """An app whose shortcut opens a form, and that answers to it as told."""

    def __init__(self, slack: Workspace) -> None:
        self.app: App = app_of(slack)
        self.answer: dict[str, Any] = {}
        self.submitted: list[dict[str, Any]] = []
        self.closed: list[dict[str, Any]] = []
        self.more: dict[str, Any] = {}
        self.app.shortcut("open")(self._open)
        self.app.view("form")(self._submit)
        self.app.view_closed("form")(self._close)

    def _open(self, ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        client.views_open(trigger_id=body["trigger_id"], view=modal("First", **self.more))
        ack()

    def _submit(self, ack: Ack, view: dict[str, Any]) -> None:
        self.submitted.append(view)
        ack(**self.answer)

    def _close(self, ack: Ack, view: dict[str, Any]) -> None:
        self.closed.append(view)
        ack()


@pytest.fixture
def form(slack: Workspace) -> Iterator[Form]:
    """Serve the app with the form."""
    form = Form(slack)
    with over_http(slack, form.app):
        yield form


@pytest.fixture
def alice(slack: Workspace) -> Person:
    """Give somebody to fill it in."""
    return slack.person("alice")


def code(call: Any, **args: Any) -> str:
    """Return the error of a call that Slack refuses."""
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    return str(caught.value.response["error"])


def test_what_is_filled_in_is_submitted_and_the_modal_closes(form: Form, alice: Person) -> None:
    """Values come by block and action, also those that nobody touched."""
    alice.shortcut("open")
    assert alice.submit(alice.modal, {"address": "a@b.example"}).ok
    values = form.submitted[0]["state"]["values"]
    assert values["address"]["typed"]["value"] == "a@b.example"
    assert values["colour"]["chosen"]["selected_option"]["value"] == "red"
    assert not alice.sees().modals


def test_a_form_refuses_what_slack_refuses(form: Form, alice: Person) -> None:
    """What is required, what is no option, and what is not there cannot be submitted."""
    alice.shortcut("open")
    for values in ({}, {"address": "x", "colour": "green"}, {"nothing": "x"}):
        with pytest.raises(CannotDo):
            alice.submit(alice.modal, values)
    assert not form.submitted


def test_errors_keep_the_modal_open(form: Form, alice: Person) -> None:
    """Errors are shown at their inputs, and the next try is a new one."""
    alice.shortcut("open")
    form.answer = {"response_action": "errors", "errors": {"address": "No."}}
    alice.submit(alice.modal, {"address": "x"})
    assert alice.modal.errors == {"address": "No."}
    form.answer = {}
    alice.submit(alice.modal)
    assert form.submitted[1]["state"]["values"]["address"]["typed"]["value"] == "x"
    assert not alice.sees().modals


def test_errors_elsewhere_are_a_problem(slack: Workspace, form: Form, alice: Person) -> None:
    """Slack has trouble with errors of a block that is no input."""
    alice.shortcut("open")
    form.answer = {"response_action": "errors", "errors": {"other": "No."}}
    alice.submit(alice.modal, {"address": "x"})
    assert alice.modal.trouble
    assert slack.problems == ["errors of blocks that are no inputs of the view: ['other']"]


def test_a_submission_is_answered_with_other_views(
    slack: Workspace, form: Form, alice: Person
) -> None:
    """Update shows another view in its place, push one on top, clear none at all."""
    alice.shortcut("open")
    first = alice.modal
    old_hash = first.hash
    form.answer = {"response_action": "update", "view": modal("Second")}
    alice.submit(first, {"address": "x"})
    assert alice.modal is first
    assert [view["title"]["text"] for view in first.shown] == ["First", "Second"]
    assert first.hash != old_hash
    form.answer = {"response_action": "push", "view": modal("Third")}
    alice.submit(first)
    third = alice.modal
    assert (third.previous, third.root) == (first.id, first.id)
    form.answer = {"response_action": "clear"}
    alice.submit(third, {"address": "x"})
    assert not alice.sees().modals
    assert slack.modals(alice) == [first, third]


def test_what_is_pressed_in_a_view_says_so(slack: Workspace, form: Form, alice: Person) -> None:
    """A button of the home and a choice in a modal tell where they were, and what is filled in."""
    came: list[dict[str, Any]] = []

    @form.app.action("go")
    @form.app.action("chosen")
    def listener(ack: Ack, body: dict[str, Any]) -> None:
        came.append(body)
        ack()

    home = {"type": "home", "blocks": CARD}
    form.app.client.views_publish(user_id=alice.id, view=home)
    shown = alice.sees().home
    assert shown is not None
    alice.press_in_view(shown, "go")
    alice.shortcut("open")
    alice.press_in_view(alice.modal, "chosen", "blue")
    assert [body["container"]["view_id"] for body in came] == [shown.id, alice.modal.id]
    assert [body["actions"][0]["action_id"] for body in came] == ["go", "chosen"]
    assert came[0]["actions"][0]["value"] == "R-1"
    state = came[1]["view"]["state"]["values"]["colour"]["chosen"]
    assert state["selected_option"]["value"] == "blue"
    with pytest.raises(CannotDo, match="does not have this view in front"):
        slack.person("bob").press_in_view(alice.modal, "chosen", "blue")


def test_a_window_that_not_everybody_sees_is_a_problem(
    slack: Workspace, form: Form, alice: Person
) -> None:
    """To open a modal for what was done in one is not shown by all of Slack's clients."""

    @form.app.view("again")
    def listener(ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        client.views_open(trigger_id=body["trigger_id"], view=modal("Second"))
        ack()

    form.more = {"callback_id": "again"}
    alice.shortcut("open")
    assert slack.problems == []
    alice.submit(alice.modal, {"address": "x"})
    assert slack.problems == [NOT_EVERYWHERE]


def test_closing_is_told_where_it_is_wanted(form: Form, alice: Person) -> None:
    """The app hears of a closed modal if the view says so."""
    alice.shortcut("open")
    assert alice.close(alice.modal) is None
    form.more = {"notify_on_close": True}
    alice.shortcut("open")
    ack = alice.close(alice.modal)
    assert ack is not None
    assert ack.ok
    assert [view["callback_id"] for view in form.closed] == ["form"]


def test_a_trigger_is_good_once_and_for_three_seconds() -> None:
    """Used, expired and unknown triggers have a code each."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with Workspace(clock=lambda: moment) as slack:
        client = WebClient(slack.bot_token, base_url=slack.base_url)
        user = slack.person("alice").id
        used, late = slack.world.trigger(user), slack.world.trigger(user)
        view = modal("One")
        client.views_open(trigger_id=used, view=view)
        assert code(client.views_open, trigger_id=used, view=view) == "exchanged_trigger_id"
        moment += timedelta(seconds=3.5)
        assert code(client.views_open, trigger_id=late, view=view) == "expired_trigger_id"
        assert code(client.views_open, trigger_id="x", view=view) == "invalid_trigger_id"


def test_three_modals_are_the_most(slack: Workspace, client: WebClient, alice: Person) -> None:
    """A fourth on top is refused; there is nothing to push onto where none is open."""
    trigger, view = slack.world.trigger, modal("One")
    assert code(client.views_push, trigger_id=trigger(alice.id), view=view) == "not_found"
    client.views_open(trigger_id=trigger(alice.id), view=view)
    for _ in range(2):
        client.views_push(trigger_id=trigger(alice.id), view=view)
    assert code(client.views_push, trigger_id=trigger(alice.id), view=view) == "push_limit_reached"
    assert len(alice.sees().modals) == 3


def test_a_view_is_updated_by_who_knows_it(
    slack: Workspace, client: WebClient, alice: Person
) -> None:
    """A hash of what was there before is a conflict; a view that was closed is gone."""
    trigger = slack.world.trigger(alice.id)
    opened = client.views_open(trigger_id=trigger, view=modal("One"))["view"]
    known = {"view_id": opened["id"], "hash": opened["hash"]}
    updated = client.views_update(**known, view=modal("Two"))["view"]
    assert updated["hash"] != opened["hash"]
    assert code(client.views_update, **known, view=modal("Three")) == "hash_conflict"
    alice.close(alice.modal)
    gone = {"view_id": opened["id"], "view": modal("Three")}
    assert code(client.views_update, **gone) == "not_found"


def test_a_wrong_view_is_refused_and_uses_nothing_up(
    slack: Workspace, client: WebClient, alice: Person
) -> None:
    """An input without a submit is refused; the trigger is still good."""
    trigger = slack.world.trigger(alice.id)
    wrong = modal("One")
    del wrong["submit"]
    assert code(client.views_open, trigger_id=trigger, view=wrong) == "invalid_arguments"
    assert slack.problems
    client.views_open(trigger_id=trigger, view=modal("One"))
