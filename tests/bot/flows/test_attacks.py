# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One attack of each kind on a running bot. The workflow tests cover the decisions in detail."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    DENY,
    HTTP,
    Deployment,
    number_in,
    number_of,
)
from ansible_collections.postroom.email.tests.bot.ui.samples import strings
from ansible_collections.postroom.email.tests.fakes.slack import delivery
from ansible_collections.postroom.email.tests.fakes.slack.delivery import HttpTransport, Sent
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import (
    Message,
    View,
    with_block_ids,
)
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    BOB,
    fresh_address,
    text_of,
)
from postroom_bot.domain import Action, State
from postroom_bot.store import votes
from postroom_bot.ui import messages, parser, reason_texts
from postroom_bot.ui.argument_types import REQUEST

#: The age in seconds of an expired signature. Signatures are valid for five minutes.
TOO_OLD = 60 * 6

pytestmark = pytest.mark.parametrize("plan", [HTTP], indirect=True, ids=str, scope="session")
WRONG_CARD = reason_texts.TEXTS["vote.wrong_card"]
NOT_YOURS = reason_texts.TEXTS["password.not_yours"]
ELSEWHERE = reason_texts.TEXTS["person.elsewhere"]


@pytest.fixture
def card(flow: Deployment) -> Message:
    """Provide the card for an alias that Alice has requested."""
    return flow.card(flow.company.alice, f"alias add {fresh_address()}")


@contextmanager
def _no_effect(flow: Deployment, card: Message | None = None) -> Iterator[None]:
    """Check that a block changes nothing in the mail service and leaves a request pending."""
    flow.environment.recorder.take()
    yield
    assert flow.environment.recorder.take_writes() == []
    if card is not None:
        states = {one.id: one.state for one in flow.requests()}
        assert states[number_of(card.text)] is State.PENDING


def _http(flow: Deployment) -> HttpTransport:
    """Switch to delivery over HTTP, and return the transport, which records all requests."""
    return flow.company.slack.deliver_over_http(flow.bots[0].slack_url)


def test_what_slack_has_not_just_signed_is_turned_away(flow: Deployment) -> None:
    """A request without a valid, recent signature gets status 401. Its content is not logged."""
    company, bot, http, now = flow.company, flow.bots[0], _http(flow), time.time()
    verification = {"type": "url_verification", "challenge": "Say this."}
    assert "Say this." in str(
        http.send(delivery.SlackRequest(delivery.EVENTS, verification), 30, at=now)
    )
    company.alice.command("/email help")
    sent, asked = http.sent[-1], len(flow.requests())
    counted, unexpected = _errors(flow, "signature"), _errors(flow, "listener")
    lines = bot.log().count("without a valid signature")
    channel = company.slack.state.channels[company.alice.channel]
    text = "/email alias add forged@example.com"
    slack_request = delivery.command(company.slack.state, company.alice.user, channel, text)
    assert b"text=help" in sent.body
    forgeries = [
        http.signed(slack_request, at=now, secret="0" * 32),
        Sent(
            http.signed(slack_request, at=now).body, {"Content-Type": sent.headers["Content-Type"]}
        ),
        http.signed(slack_request, at=now - TOO_OLD),
        sent._replace(body=sent.body.replace(b"text=help", b"text=status")),
        *(
            sent._replace(headers=sent.headers | {"X-Slack-Request-Timestamp": stamp})
            for stamp in (f"{now + TOO_OLD:.0f}", "soon", "9" * 5000)
        ),
    ]
    with _no_effect(flow):
        answers = [http.post(forged, 30) for forged in forgeries]
    assert {answer.status for answer in answers} == {HTTPStatus.UNAUTHORIZED}
    assert len(flow.requests()) == asked
    assert _errors(flow, "signature") == counted + len(answers)
    assert _errors(flow, "listener") == unexpected
    assert bot.log().count("without a valid signature") == lines + len(answers)
    assert "forged" not in bot.log()


def _errors(flow: Deployment, where: str) -> int:
    found = re.search(rf'errors_total{{where="{where}"}} (\d+)', flow.bots[0].metrics())
    return int(found[1]) if found else 0


def test_bytes_that_are_no_request_do_no_harm(flow: Deployment) -> None:
    """Malformed and oversized requests are rejected, and the next command is still answered."""
    company, http = flow.company, _http(flow)
    company.alice.command("/email help")
    sent = http.sent[-1]
    # Only a part of an oversized body is read, so the connection may be reset before the response.
    for body, statuses in ((b"x" * 600_000, (413, 0)), (b"{no", (400,)), (b"\xff", (400,))):
        assert http.post(sent._replace(body=body), 30).status in statuses
    assert company.alice.command("/email help").ok


def test_a_replay_is_not_done_again(flow: Deployment) -> None:
    """A replayed request gets the same response as the original and takes effect only once."""
    company, http = flow.company, _http(flow)
    address = fresh_address()
    first = company.alice.command(f"/email forward add {address} to x@elsewhere.example")
    assert http.post(http.sent[-1], 30).body == first.body
    card = company.card_of(company.alice, address)
    with _no_effect(flow, card):
        flow.approve(card, company.bob)
        approval = next(sent for sent in reversed(http.sent) if b"request_approve" in sent.body)
        assert http.post(approval, 30).status == HTTPStatus.OK
    cast = flow.read(lambda c: votes.on_request(c, number_in(first)))
    assert [vote.voter for vote in cast] == [company.bob.id]
    assert len(flow.cards(address)) == 1


def test_a_button_that_is_not_the_cards_does_nothing(flow: Deployment, card: Message) -> None:
    """Pressing a button of another message, app or request has no effect and is audited."""
    company, number, blocks = flow.company, number_of(card.text), json.dumps(card.blocks)
    other = flow.card(company.alice, f"alias add {fresh_address()}")
    values = (number_of(other.text), "R-' OR 1=1 --" + "<!channel>" * 100)
    forgeries = [
        replace(card, channel=flow.environment.audit),
        replace(card, app="A0000ELSE"),
        *(replace(card, blocks=json.loads(blocks.replace(number, value))) for value in values),
    ]
    for forged in forgeries:
        with _no_effect(flow, card), _no_effect(flow, other):
            press = partial(company.bob.press, forged, APPROVE)
            flow.check_answer(company.bob, WRONG_CARD, press)
    row = flow.audited("vote.turned_away", company.bob, "vote.wrong_card")
    assert len(str(row.data)) < 500


def test_edited_metadata_of_a_modal_proves_nothing(flow: Deployment, card: Message) -> None:
    """Edited modal metadata can't deny another request or set another mailbox's password."""
    company = flow.company
    other = flow.card(company.alice, f"alias add {fresh_address()}")

    def edit(view: View, before: str, after: str) -> View:
        with company.slack.state.changed:
            metadata = view.content["private_metadata"]
            view.content["private_metadata"] = metadata.replace(before, after)
        return view

    with _no_effect(flow, other), _no_effect(flow, card):
        company.bob.press(card, DENY)
        denial = company.window(company.bob, "deny_reason")
        edit(denial, number_of(card.text), number_of(other.text))
        company.bob.submit(denial, {"reason": "Because."})
        note = company.window(company.bob, "note")
        assert WRONG_CARD in text_of(note)
        company.bob.close(note)
        company.bob.command("/email password")
        company.bob.submit(edit(company.window(company.bob, "password_confirm"), BOB, ALICE))
        company.slack.wait_for(lambda: NOT_YOURS in text_of(company.window(company.bob, "note")))
    flow.audited("person.turned_away", company.bob, "password.not_yours")


def test_people_of_another_workspace_are_turned_away(flow: Deployment, card: Message) -> None:
    """A command or button press from another workspace is refused immediately and audited."""
    company, asked = flow.company, len(flow.requests())
    person = company.slack.person("oscar", team="T0000ELSE", enterprise="E0000ELSE")
    company.slack.state.channels[company.approvals].members.add(person.id)
    with _no_effect(flow, card):
        flow.check_answer(person, ELSEWHERE, lambda: person.press(card, APPROVE))
        assert person.command("/email alias add oscar2@example.com").body["text"] == ELSEWHERE
        person.command("/email password")
        assert ELSEWHERE in text_of(company.window(person, "note"))
        flow.audited("vote.turned_away", person, "T0000ELSE")
        flow.audited("person.turned_away", person, "person.elsewhere")
        # If the payload names our workspace, the bot checks the user's account in Slack.
        person.user = replace(person.user, team=company.slack.state.team)
        person.press(card, APPROVE)
        flow.audited("vote.refused", person, "person.other_workspace")
    assert len(flow.requests()) == asked


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"team": "T0000ELSE"}, "person.elsewhere"),
        ({"is_restricted": True}, "person.guest"),
        ({"deleted": True}, "person.deactivated"),
    ],
)
def test_every_command_and_button_checks_the_account(
    flow: Deployment, change: dict[str, Any], code: str
) -> None:
    """A person who may not use the bot gets the reason from every command, button and form."""
    company, slack, text = flow.company, flow.company.slack, reason_texts.TEXTS[code]
    person, address = company.carol, fresh_address()
    card = flow.card(person, f"alias add {address}")
    number, status = number_of(card.text), company.wait_told(person, address, "Waiting")
    (request,) = [one for one in flow.requests() if one.id == number]
    extend = replace(card, blocks=with_block_ids(list(messages.end_notice(request).blocks)))
    before = person.user
    if "team" in change:
        # The account is in the bot's workspace, but the payloads name another one.
        person.user = replace(before, **change)
    else:
        slack.change_user(person, **change)
    with _no_effect(flow, card):
        for one in parser.SUBCOMMANDS:
            if one.creates in (parser.Help, parser.Password) or isinstance(one.creates, Action):
                continue
            takes_request = REQUEST in [argument.type for argument in one.arguments]
            values = number if takes_request else one.example.removeprefix(one.words)
            typed = f"/email {one.words} {values}"
            flow.check_answer(person, text, partial(person.command, typed))
        flow.check_answer(person, text, lambda: person.press(status, "request_cancel"))
        flow.check_answer(person, text, lambda: person.press(extend, "request_extend"))
        person.command("/email password")
        slack.wait_for(lambda: text in text_of(company.window(person, "note")))
        # The bot has just looked up the account, so it doesn't even offer a form.
        person.shortcut("postroom_menu")
        assert text in text_of(company.window(person, "note"))
    for attempt in ("list", "cancel", "extend", "password"):
        flow.audited("person.turned_away", person, f"'doing': '{attempt}'")
    slack.change_user(person, **{name: getattr(before, name) for name in change})
    flow.check_answer(person, "is cancelled", lambda: person.press(status, "request_cancel"))


def test_a_person_who_cannot_vote_is_told_at_once(flow: Deployment) -> None:
    """A person who is not an approver gets the reason before typing one, and no vote is saved."""
    company, alice = flow.company, flow.company.alice
    card = flow.card(company.bob, f"alias add {fresh_address()}")
    told = len(alice.sees().direct)
    with _no_effect(flow, card):
        alice.press(card, DENY)
        company.slack.wait_for(lambda: "Only members of" in text_of(company.window(alice, "note")))
        flow.check_answer(alice, "Only members of", lambda: alice.press(card, APPROVE))
        assert flow.read(lambda c: votes.on_request(c, number_of(card.text))) == []
    assert len(alice.sees().direct) == told


REASON = (
    "<!here> <!channel> <@U00000001> <#C00000001> @here *Approved* & <https://evil.example|click>"
    " `code` &lt;!here&gt;\r\n> quoted _text_ http://evil.example \u202eevil\nRequest R-0000"
)
_SENT = ("chat.postMessage", "chat.update", "views.open", "views.update", "views.publish")
#: The markup in angle brackets that the bot writes itself.
_OURS = re.compile(r"<@[UW][A-Z0-9]+>|<!date\^\d+\^[^<>|]+\|[^<>|]+>")
_ACTIVE = re.compile(r"[<>]|&(?!(?:amp|lt|gt);)")


def test_typed_text_stays_text(flow: Deployment) -> None:
    """Typed text never becomes a mention, a link or a separate line in the bot's messages."""
    company, slack, address = flow.company, flow.company.slack, fresh_address()
    slack.change_user(company.carol, name="<!channel>", real_name="*Boss* `x` <https://evil|ok>")
    company.carol.shortcut("postroom_menu")
    company.carol.press_in_view(company.window(company.carol, "menu"), "open_alias_add")
    form = company.window(company.carol, "alias_add")
    company.carol.submit(form, {"target": "<!here|a>@example.com"})
    assert set(company.window(company.carol, "alias_add").errors) == {"target"}
    company.carol.submit(form, {"target": address, "justification": REASON})
    card = company.card_of(company.carol, address)
    (text,) = [one for one in strings(card.blocks) if "Reason:" in one]
    (line,) = [one for one in text.splitlines() if one.startswith("Reason:")]
    assert re.fullmatch(r"Reason: `[^`\u202e]*`\.", line)
    company.bob.press(card, DENY)
    company.bob.submit(company.window(company.bob, "deny_reason"), {"reason": REASON})
    company.wait_told(company.carol, address, "Denied by")
    typed = fresh_address()
    flow.approve(flow.card(company.carol, f"alias add {typed} because {REASON[:190]}"), company.bob)
    slack.wait_for_message(flow.environment.audit, typed)
    company.carol.open_home()
    company.carol.command("/email status <!channel>")
    known = set(slack.state.users)
    for said in _said(flow):
        assert not {"link_names", "parse"} & set(said)
        for text in strings(said):
            assert set(re.findall(r"<@(\w+)>", text)) <= known
            ours = text.replace(f"<#{company.approvals}>", "")
            assert not _ACTIVE.search(_OURS.sub("", ours)), text


def _said(flow: Deployment) -> Iterator[Any]:
    """Yield everything that the bot sent to Slack."""
    slack = flow.company.slack
    for method in _SENT:
        yield from (call.args for call in slack.calls(method))
    yield from (ack.body for ack in slack.acks)
    for line in slack.state.transcript:
        if line.what == "call response_url":
            yield json.loads(line.text)
