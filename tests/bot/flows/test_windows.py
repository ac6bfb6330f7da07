# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Commands, forms, buttons and the Home tab of a running bot."""

from __future__ import annotations

from functools import partial

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    DENY,
    HTTP,
    Deployment,
    number_of,
    with_buttons,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import View
from ansible_collections.postroom.email.tests.support.bot import MAIL_HOST
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    BOB,
    fresh_address,
    home_of,
    text_of,
)
from postroom_bot.listeners.answers import MOMENT, SLACK_DOWN
from postroom_bot.model import State

pytestmark = pytest.mark.parametrize("plan", [HTTP], indirect=True, ids=str, scope="session")


def _form(flow: Deployment, person: Person, name: str) -> View:
    """Open a form from the menu."""
    person.shortcut("postroom_menu")
    person.press_in_view(flow.here.window(person, "menu"), f"open_{name}")
    form = flow.here.window(person, name)
    assert len(person.sees().modals) == 1
    return form


def test_a_ready_bot_reports_its_parts(flow: Deployment) -> None:
    """Readiness names database, policy, Slack and mail service; acknowledgements are counted."""
    here, bot = flow.here, flow.bots[0]
    here.alice.command("/email help")
    here.slack.wait_for(lambda: bot.readiness()[1]["mail"] == "ok")
    parts = {"database": "ok", "policy": "ok", "slack": "ok", "mail": "ok"}
    assert bot.readiness() == (200, {"ready": True, **parts})
    assert 'postroom_bot_acks_seconds_count{kind="command"}' in bot.metrics()


def test_what_is_known_is_answered_in_the_acknowledgement(flow: Deployment) -> None:
    """Help, status and mistakes are ephemeral; the command alone opens the menu."""
    here = flow.here
    ack = here.alice.command("/email help")
    assert "/email alias add" in ack.body["text"]
    assert ack.body["response_type"] == "ephemeral"
    assert "I do not know that command" in here.alice.command("/email frobnicate").body["text"]
    here.alice.command("/email")
    here.window(here.alice, "menu")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("alias list", ALICE),
        ("forward list", f"goes on to `{ALICE}`"),
        ("dns example.com", "MX record"),
        (f"alias list {BOB}", "own mailbox"),
    ],
)
def test_what_is_looked_up_is_answered_after_a_moment(
    flow: Deployment, text: str, answer: str
) -> None:
    """The acknowledgement comes first, then the answer below it, and no request is made."""
    here, asked = flow.here, len(flow.requests())
    here.api.forwarder(fresh_address(), [ALICE])
    before = len(here.alice.sees().ephemerals)
    assert here.alice.command(f"/email {text}").body["text"] == MOMENT
    here.slack.wait_for(lambda: len(here.alice.sees().ephemerals) == before + 2)
    first, second = here.alice.sees().ephemerals[before:]
    assert first.text == MOMENT
    assert answer in second.text
    assert len(flow.requests()) == asked


def test_status_and_cancel(flow: Deployment) -> None:
    """A requester sees and cancels a request, by command or button; for others it is unknown."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address}")
    number = number_of(card.text)
    assert address in here.alice.command(f"/email status {number}").body["text"]
    for command in ("status", "cancel"):
        answer = here.bob.command(f"/email {command} {number}").body["text"]
        assert f"no request {number}" in answer
    assert "is cancelled" in here.alice.command(f"/email cancel {number}").body["text"]
    flow.wait_for_text(card, "Cancelled")
    second = fresh_address()
    card = flow.card(here.alice, f"alias add {second}")
    here.alice.press(here.wait_told(here.alice, second, "Waiting"), "request_cancel")
    flow.wait_for_text(card, "Cancelled")


def test_a_form_becomes_an_alias(flow: Deployment) -> None:
    """From the shortcut over the menu and the form to the address, without a typed command."""
    here, address = flow.here, fresh_address()
    form = _form(flow, here.alice, "alias_add")
    here.alice.submit(form, {"address": address, "expires_on": "2020-01-31"})
    assert set(here.window(here.alice, "alias_add").errors) == {"expires_on"}
    here.alice.submit(form, {"address": address, "expires_on": "2099-12-31", "reason": "by form"})
    assert "Request R-" in text_of(here.window(here.alice, "note"))
    card = here.card_of(here.alice, address)
    assert "by form" in card.text
    flow.approve(card, here.bob)
    here.slack.wait_for(lambda: address in here.aliases())


def test_a_form_shows_what_is_wrong(flow: Deployment) -> None:
    """An error is at its field; what was requested before is refused in the modal."""
    here, address = flow.here, fresh_address()
    form = _form(flow, here.alice, "forward_add")
    ack = here.alice.submit(form, {"address": "nonsense", "destinations": ALICE})
    assert ack.body["response_action"] == "errors"
    assert set(ack.body["errors"]) == {"address"}
    here.alice.submit(form, {"address": address, "destinations": ALICE})
    here.alice.close(here.window(here.alice, "note"))
    here.card_of(here.alice, address)
    form = _form(flow, here.alice, "forward_add")
    here.alice.submit(form, {"address": address, "destinations": ALICE})
    assert "You already asked for this" in text_of(here.window(here.alice, "note"))
    assert len(flow.cards(address)) == 1


def test_a_new_password_comes_with_the_mail_host(flow: Deployment) -> None:
    """The menu's button leads to it, and the modal has all that a mail program needs."""
    here = flow.here
    here.dora.shortcut("postroom_menu")
    here.dora.press_in_view(here.window(here.dora, "menu"), "open_password")
    here.dora.submit(here.window(here.dora, "password_confirm"))
    assert MAIL_HOST in text_of(here.window(here.dora, "password_shown"))


def test_a_denial_has_its_reason(flow: Deployment) -> None:
    """The card and the requester get the reason; nothing is done, and no vote counts any more."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address}")
    here.bob.press(card, DENY)
    here.bob.submit(here.window(here.bob, "deny_reason"), {"reason": "Not this year."})
    here.wait_told(here.alice, address, "Not this year.")
    flow.wait_for_text(card, "Denied")
    assert "Not this year." in card.text
    late = partial(here.slack.forger().press, here.carol, with_buttons(card), APPROVE)
    flow.check_answer(here.carol, "denied already", late)
    assert address not in here.aliases()


def test_the_home_tab_follows(flow: Deployment) -> None:
    """It shows a person's own open requests, with a button to cancel, and those to approve."""
    here, address = flow.here, fresh_address()
    # It shows ten requests.
    requesters = {person.id: person for person in flow.premises.people}
    for one in flow.requests():
        if one.state is State.PENDING:
            requesters[one.requester].command(f"/email cancel {one.id}")
    card = flow.card(here.alice, f"alias add {address}")
    for person in (here.alice, here.bob):
        person.open_home()
        here.slack.wait_for(lambda: address in home_of(person))  # noqa: B023
    home = here.alice.sees().home
    assert home is not None
    here.alice.press_in_view(home, "request_cancel")
    flow.wait_for_text(card, "Cancelled")
    here.slack.wait_for(lambda: address not in home_of(here.alice))


def test_the_home_tab_is_for_people_of_the_workspace(flow: Deployment) -> None:
    """Whatever workspace a press names, Slack's answer about the person counts."""
    here, team = flow.here, flow.here.slack.world.team
    here.slack.change_user(here.dora, team="T0000ELSE")
    try:
        here.dora.open_home()
        here.slack.wait_for(lambda: "People of other workspaces" in home_of(here.dora))
    finally:
        here.slack.change_user(here.dora, team=team)


def test_a_changed_address_has_to_cool_down(flow: Deployment) -> None:
    """A person who gets another's address in Slack can't make that mailbox's password."""
    here = flow.here
    here.api.mailbox("eve@example.com")
    eve = here.slack.person("eve", email="eve@example.com")
    eve.command("/email alias list")
    here.slack.wait_for(lambda: "eve@example.com" in eve.sees().ephemerals[-1].text)
    here.slack.change_user(eve, email=ALICE)
    before = flow.premises.recorder.take_writes()
    eve.command("/email password")
    assert "changed" in text_of(here.window(eve, "note"))
    flow.audited("person.turned_away", eve, "changed")
    assert [*before, *flow.premises.recorder.take_writes()] == before


def test_trouble_with_slack_is_answered_and_counted(flow: Deployment) -> None:
    """A modal that Slack does not open is logged and counted, and the person is informed."""
    here = flow.here
    here.slack.faults.fail("views.open", status=503)
    flow.check_answer(here.bob, SLACK_DOWN, lambda: here.bob.command("/email"))
    assert 'errors_total{where="listener"}' in flow.bots[0].metrics()
