# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The commands, forms, buttons and Home tab of a running bot."""

from __future__ import annotations

from functools import partial

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    DENY,
    HTTP,
    Deployment,
    number_of,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import View
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    BOB,
    fresh_address,
    home_of,
    text_of,
)
from postroom_bot.domain import State
from postroom_bot.slack.handlers import WORKING
from postroom_bot.ui.reason_texts import TEXTS

pytestmark = pytest.mark.parametrize("plan", [HTTP], indirect=True, ids=str, scope="session")


def _form(flow: Deployment, person: Person, name: str) -> View:
    """Open a form from the menu as the given user."""
    person.shortcut("postroom_menu")
    person.press_in_view(flow.company.window(person, "menu"), f"open_{name}")
    form = flow.company.window(person, name)
    assert len(person.sees().modals) == 1
    return form


def test_a_ready_bot_reports_its_parts(flow: Deployment) -> None:
    """The readiness check reports on the database, the policy, Slack and the mail service.

    The metrics include the number of commands.
    """
    company, bot = flow.company, flow.bots[0]
    ack = company.alice.command("/email help")
    assert "/email alias add" in ack.body["text"]
    assert ack.body["response_type"] == "ephemeral"
    company.alice.command("/email")
    company.window(company.alice, "menu")
    company.slack.wait_for(lambda: bot.readiness()[1]["mail"] == "ok")
    parts = {"database": "ok", "policy": "ok", "slack": "ok", "mail": "ok"}
    parts |= {"password_notices": "no smtp_host"}
    assert bot.readiness() == (200, {"ready": True, **parts})
    assert 'postroom_bot_acks_seconds_count{kind="command"}' in bot.metrics()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("alias list", ALICE),
        ("forward list", f"forwards to `{ALICE}`"),
        ("dns example.com", "MX record"),
        (f"alias list {BOB}", "own mailbox"),
    ],
)
def test_what_is_looked_up_is_answered_after_a_moment(
    flow: Deployment, text: str, answer: str
) -> None:
    """A lookup is acknowledged, then answered in a second message, and creates no request."""
    company, asked = flow.company, len(flow.requests())
    company.api.forwarder(fresh_address(), [ALICE])
    before = len(company.alice.sees().ephemerals)
    assert company.alice.command(f"/email {text}").body["text"] == WORKING
    company.slack.wait_for(lambda: len(company.alice.sees().ephemerals) == before + 2)
    first, second = company.alice.sees().ephemerals[before:]
    assert first.text == WORKING
    assert answer in second.text
    assert len(flow.requests()) == asked


def test_status_and_cancel(flow: Deployment) -> None:
    """Only the requester can see and cancel a request. For other users, it does not exist."""
    company, address = flow.company, fresh_address()
    card = flow.card(company.alice, f"alias add {address}")
    number = number_of(card.text)
    alice, bob = company.alice.command, company.bob.command
    flow.check_answer(company.alice, address, lambda: alice(f"/email status {number}"))
    for text in (f"status {number}", f"cancel {number}"):
        flow.check_answer(company.bob, f"no request {number}", partial(bob, f"/email {text}"))
    flow.check_answer(company.alice, "is cancelled", lambda: alice(f"/email cancel {number}"))
    flow.wait_for_text(card, "Cancelled")
    second = fresh_address()
    card = flow.card(company.alice, f"alias add {second}")
    company.alice.press(company.wait_told(company.alice, second, "Waiting"), "request_cancel")
    flow.wait_for_text(card, "Cancelled")


def test_the_deny_modal_denies(flow: Deployment) -> None:
    """A reason that an approver submits denies the request, and the requester gets the reason."""
    company, address = flow.company, fresh_address()
    card = flow.card(company.alice, f"alias add {address}")
    company.bob.press(card, DENY)
    company.bob.submit(company.window(company.bob, "deny_reason"), {"reason": "Not this year."})
    assert TEXTS["vote.received"] in text_of(company.window(company.bob, "note"))
    company.wait_told(company.alice, address, f"Denied by <@{company.bob.id}>: `Not this year.`")
    flow.wait_for_text(card, "Denied by")
    assert address not in company.aliases()
    (request,) = [one for one in flow.requests() if one.id == number_of(card.text)]
    assert request.state is State.DENIED


def test_a_form_becomes_an_alias(flow: Deployment) -> None:
    """A form opened from the shortcut shows errors in its modal, and then creates an alias."""
    company, address = flow.company, fresh_address()
    form = _form(flow, company.alice, "alias_add")
    company.alice.submit(form, {"target": address, "last_day": "2020-01-31"})
    assert set(company.window(company.alice, "alias_add").errors) == {"last_day"}
    ack = company.alice.submit(form, {"target": "nonsense", "last_day": "2099-12-31"})
    assert set(ack.body["errors"]) == {"target"}
    company.alice.submit(
        form, {"target": address, "last_day": "2099-12-31", "justification": "by form"}
    )
    note = company.window(company.alice, "note")
    assert "Request *R-" in text_of(note)
    company.alice.close(note)
    card = company.card_of(company.alice, address)
    assert "by form" in card.text
    form = _form(flow, company.alice, "alias_add")
    company.alice.submit(form, {"target": address, "mailbox": ALICE, "last_day": "2099-12-31"})
    assert "You already asked for this" in text_of(company.window(company.alice, "note"))
    flow.approve(card, company.bob)
    company.slack.wait_for(lambda: address in company.aliases())
    company.alice.close(company.window(company.alice, "note"))
    form = _form(flow, company.alice, "alias_remove")
    (target,) = [one["element"] for one in form.blocks if one.get("block_id") == "target"]
    assert address in [one["value"] for one in target["options"]]
    company.alice.submit(form, {"target": address})
    company.slack.wait_for(lambda: address not in company.aliases())


def _cancel_all(flow: Deployment) -> None:
    """Cancel all pending requests, because the Home tab shows at most ten."""
    requesters = {person.id: person for person in flow.environment.people}
    for one in flow.requests():
        if one.state is State.PENDING:
            requesters[one.requester].command(f"/email cancel {one.id}")
    flow.company.slack.wait_for(lambda: all(not one.is_open for one in flow.requests()))


def test_the_home_tab_follows(flow: Deployment) -> None:
    """The Home tab lists the user's own open requests and the requests to approve.

    A guest sees neither.
    """
    company, address = flow.company, fresh_address()
    _cancel_all(flow)
    card = flow.card(company.alice, f"alias add {address}")
    for person in (company.alice, company.bob):
        person.open_home()
        company.slack.wait_for(lambda: address in home_of(person))  # noqa: B023
    assert "not available" not in home_of(company.alice)
    home = company.alice.sees().home
    assert home is not None
    company.alice.press_in_view(home, "request_cancel")
    flow.wait_for_text(card, "Cancelled")
    company.slack.wait_for(lambda: address not in home_of(company.alice))
    guest = company.slack.person("gina", is_restricted=True)
    guest.open_home()
    company.slack.wait_for(lambda: "Guests" in home_of(guest))


def test_requests_are_decided_in_the_home_tab(flow: Deployment) -> None:
    """Approvers approve and deny in the Home tab, where a decided request disappears."""
    company, bob = flow.company, flow.company.bob
    _cancel_all(flow)

    def home(address: str) -> View:
        bob.open_home()
        company.slack.wait_for(lambda: address in home_of(bob))
        view = bob.sees().home
        assert view is not None
        return view

    wanted, unwanted = fresh_address(), fresh_address()
    card = flow.card(company.alice, f"alias add {wanted}")
    bob.press_in_view(home(wanted), APPROVE)
    note = company.window(bob, "note")
    assert TEXTS["vote.received"] in text_of(note)
    bob.close(note)
    flow.wait_for_text(card, f"Approved by <@{bob.id}>")
    company.slack.wait_for(lambda: wanted in company.aliases() and wanted not in home_of(bob))
    replies = company.slack.wait_for(lambda: company.slack.replies(card))
    assert f"Approved by <@{bob.id}>" in replies[0].text
    card = flow.card(company.alice, f"alias add {unwanted}")
    bob.press_in_view(home(unwanted), DENY)
    bob.submit(company.window(bob, "deny_reason"), {"reason": "Not this year."})
    flow.wait_for_text(card, f"Denied by <@{bob.id}>")
    assert unwanted not in company.aliases()


def test_trouble_with_slack_is_answered_and_counted(flow: Deployment) -> None:
    """If Slack fails to open a modal, the error is counted and the user is informed."""
    company = flow.company
    company.slack.faults.fail("views.open", status=503)
    flow.check_answer(
        company.bob, TEXTS["slack.unavailable"], lambda: company.bob.command("/email")
    )
    assert 'errors_total{where="listener"}' in flow.bots[0].metrics()
