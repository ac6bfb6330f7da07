# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""New passwords: who can create them and when, and that the bot never stores them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    BOB,
    NEW,
    Harness,
    api_with_mailboxes,
    open_harness,
)
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.mail.client import (
    HOST,
    SECRET,
    MailServer,
    mail_server,
)
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.mail import CERTIFICATE
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.backends.password_notices import create_password_notices
from postroom_bot.config import Settings
from postroom_bot.domain import Action, Change, Reason, Request, State
from postroom_bot.errors import SlackRejected, SlackUnavailable, Unavailable, UserError
from postroom_bot.workflow.leased_request import lease_request
from postroom_bot.workflow.passwords import (
    NeedsApproval,
    NotShown,
    Show,
    authorize,
    create_and_show,
    new_password,
)
from postroom_common.database import Database

ERIN = "erin@example.com"


def _create_and_show(
    harness: Harness,
    who: str,
    mailbox: str = ALICE,
    request: Request | None = None,
    key: str = "",
    show: Show | None = None,
) -> str:
    """Press "Create password", and return the new password."""
    press = harness.interaction(who, **({"key": key} if key else {}))
    request_id = request.id if request else None
    shown: list[SecretStr] = []
    create_and_show(harness.deps, press, mailbox, request_id, show or shown.append)
    return shown[0].get_secret_value()


def _authorize(
    harness: Harness, who: str, mailbox: str | None = None, request: Request | None = None
) -> str:
    """Return the mailbox for which the given user may create a password."""
    request_id = request.id if request else None
    return authorize(harness.deps, harness.interaction(who), mailbox, request_id)


def _approved(harness: Harness) -> Request:
    """Return Alice's request for a new password for Erin, after two admins have approved it."""
    request = harness.ask(change=Change(Action.PASSWORD, ERIN))
    approved = harness.approve(request, "bob", "carol")
    assert approved.state is State.APPROVED
    return approved


def test_one_s_own_password_is_made_at_once(harness: Harness, service: RunningService) -> None:
    """Users can create their own password immediately.

    The owner and the auditors are notified.
    """
    assert _authorize(harness, "alice") == ALICE
    made = _create_and_show(harness, "alice")
    assert opens(service, ALICE, made)
    (request,) = harness.requests_of("alice")
    assert request.state is State.DONE
    harness.work()
    assert harness.events(request) == [
        "request.new",
        "request.approved",
        "request.executing",
        "request.done",
    ]
    (notice,) = harness.texts_to("alice")
    assert "The password of your mailbox" in notice
    assert len(harness.slack.messages(harness.channels["audit"])) == 1


def test_passwords_are_long_and_differ() -> None:
    """A password has six groups of four characters that are hard to confuse."""
    made = {new_password() for _ in range(100)}
    assert len(made) == 100
    for one in made:
        groups = one.split("-")
        assert [len(group) for group in groups] == [4] * 6
        assert not set("".join(groups)) & set("il1o0")


def test_pressing_again_makes_another_and_a_second_delivery_none(harness: Harness) -> None:
    """Pressing the button again creates another password, but a repeated delivery does not."""
    first = _create_and_show(harness, "alice", key="once")
    with pytest.raises(UserError, match=r"password\.in_progress"):
        _create_and_show(harness, "alice", key="once")
    assert _create_and_show(harness, "alice") != first


def test_the_owner_makes_what_was_approved_for_another(harness: Harness) -> None:
    """Only the mailbox's owner can create a password that someone else requested."""
    request = _approved(harness)
    assert request.quorum[0].approvals == 2
    assert "when you are ready to copy it" in harness.texts_to("erin")[-1]
    assert not any("when you are ready to copy it" in text for text in harness.texts_to("alice"))
    assert _authorize(harness, "erin", request=request) == ERIN
    with pytest.raises(NeedsApproval, match=r"password\.needs_approval"):
        _authorize(harness, "bob", ERIN)
    with pytest.raises(UserError, match=r"password\.not_yours"):
        _authorize(harness, "bob", request=request)
    for who in ("alice", "bob"):
        with pytest.raises(UserError, match=r"password\.not_yours"):
            _create_and_show(harness, who, ERIN, request)
    assert _create_and_show(harness, "erin", ERIN, request)
    harness.work()
    assert harness.now(request).state is State.DONE
    assert "The password of your mailbox" in harness.texts_to("erin")[-1]
    assert "Done" in harness.texts_to("alice")[-1]
    with pytest.raises(UserError, match=r"password\.not_offered"):
        _create_and_show(harness, "erin", ERIN, request)


def test_an_approved_password_is_looked_at_again(harness: Harness) -> None:
    """If the requester's account is deactivated after the approval, no password is created."""
    request = _approved(harness)
    harness.change_account("alice", deleted=True)
    with pytest.raises(UserError, match=r"request\.requester_changed"):
        _create_and_show(harness, "erin", ERIN, request)
    assert harness.now(request).state is State.REFUSED


def test_an_offer_that_nobody_takes_expires(harness: Harness) -> None:
    """An approved password expires if it is not created in time."""
    request = _approved(harness)
    harness.clock.advance(days=1)
    with pytest.raises(UserError, match=r"password\.offer_expired"):
        _create_and_show(harness, "erin", ERIN, request)
    harness.work()
    assert harness.now(request).state is State.EXPIRED
    assert harness.now(request).result is None
    retried = _approved(harness)
    with pytest.raises(NotShown):
        _create_and_show(harness, "erin", ERIN, retried, show=Mock(side_effect=SlackUnavailable()))
    harness.pass_time(days=1)
    assert harness.now(retried).state is State.EXPIRED
    assert harness.now(retried).result == Reason("password.never_shown")


@pytest.mark.parametrize("change", [{"deleted": True}, {"email": "zoe@example.com"}])
def test_a_changed_account_gets_none(harness: Harness, change: dict[str, Any]) -> None:
    """A user whose account has changed can neither open the confirmation nor press its button."""
    _authorize(harness, "alice")
    harness.change_account("alice", **change)
    with pytest.raises(UserError):
        _authorize(harness, "alice")
    with pytest.raises(UserError):
        _create_and_show(harness, "alice")
    with pytest.raises(UserError, match=r"person\.elsewhere"):
        authorize(harness.deps, harness.interaction(team="T0000ELSE"), None, None)


def test_whoever_is_told_at_once_may_press_at_once(harness: Harness) -> None:
    """The owner can press the button while the worker still holds the request."""
    request = _approved(harness)
    held = lease_request(harness.deps, request.id)
    assert held is not None
    stopping = Mock(wait=Mock(side_effect=lambda _seconds: held.release(None)))
    harness.deps = harness.with_(stopping=stopping)
    assert _create_and_show(harness, "erin", ERIN, request)


def test_a_request_or_mailbox_in_use_is_not_waited_for(harness: Harness) -> None:
    """If the request or the mailbox is in use, the user can try again in a moment."""
    request = _approved(harness)
    held = lease_request(harness.deps, request.id)
    assert held is not None
    harness.deps.stopping.set()
    with pytest.raises(UserError, match=r"mailbox\.busy"):
        _create_and_show(harness, "erin", ERIN, request)
    held.release(None)
    other = harness.submit("bob", Change(Action.ALIAS_ADD, NEW, ERIN))
    locked = lease_request(harness.deps, other.id)
    assert locked is not None
    assert locked.lock()
    with pytest.raises(UserError, match=r"mailbox\.busy"):
        _create_and_show(harness, "erin", ERIN, request)
    locked.release(None)
    assert _create_and_show(harness, "erin", ERIN, request)


def test_without_an_answer_from_slack_nobody_is_believed(harness: Harness) -> None:
    """If Slack does not respond, no password is created."""
    with harness.slack.down(), pytest.raises(SlackUnavailable):
        _create_and_show(harness, "alice")
    assert harness.requests_of("alice") == []


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (SlackUnavailable(), "password.not_shown"),
        (SlackRejected("not_found"), "password.not_shown"),
        (SystemExit(), "password.interrupted"),
    ],
)
def test_a_password_that_was_not_shown_can_be_made_again(
    harness: Harness, trouble: BaseException, code: str
) -> None:
    """If a password could not be shown, the same approval allows creating another one."""
    request = _approved(harness)
    for who, mailbox, approved in (("erin", ERIN, request), ("alice", ALICE, None)):
        with pytest.raises((UserError, SystemExit)):
            _create_and_show(harness, who, mailbox, approved, show=Mock(side_effect=trouble))
        harness.work()
    assert harness.now(request).state is State.APPROVED
    assert "request.done" not in harness.events(request)
    assert harness.slack.messages(harness.channels["audit"]) == []
    offers = [text for text in harness.texts_to("erin") if "when you are ready to copy it" in text]
    assert ["previous one" in offer for offer in offers] == [False, True]
    failed = harness.requests_of("alice")[0]
    assert failed.state is State.FAILED
    assert [one.result for one in (harness.now(request), failed)] == [Reason(code)] * 2
    assert "previous one" in harness.texts_to("alice")[-1]
    assert _create_and_show(harness, "erin", ERIN, request)
    harness.work()
    assert harness.now(request).state is State.DONE


def test_a_silent_mail_service_costs_one_press(
    harness: Harness, mail: MailApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the mail service does not respond, an approved password can still be created later."""
    request = _approved(harness)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "set_password", Mock(side_effect=Unavailable))
        for approved in (request, None):
            with pytest.raises(UserError, match=r"password\.unknown_outcome"):
                _create_and_show(harness, "erin", ERIN, approved)
    assert harness.requests_of("erin")[0].state is State.FAILED
    assert harness.now(request).state is State.APPROVED
    assert _create_and_show(harness, "erin", ERIN, request)


@pytest.fixture
def notifying(
    slack: Workspace, database: Database, clock: Clock, tmp_path: Path
) -> Iterator[tuple[Harness, MailServer]]:
    """Provide the workflow with a mail service that also delivers the notices of the bot."""
    with (
        mail_server(tmp_path / "service", populate=False) as server,
        api_with_mailboxes(server.service) as api,
    ):
        api.patch(BOB, secrets=[SECRET])
        api.patch(ALICE, secrets=[SECRET])
        mail = MailApi(server.service.url, SecretStr(server.service.token), verify_delay=0.02)
        harness = open_harness(slack, api, mail, database, clock, tmp_path)
        settings = Settings(
            slack_bot_token=SecretStr("xoxb-1"),
            slack_app_token=SecretStr("xapp-1"),
            policy_file=tmp_path,
            api_url=server.service.url,
            api_token=SecretStr(server.service.token),
            mail_host=HOST,
            smtp_host=HOST,
            smtp_port=server.service.ready["submission"],
            ca_path=server.folder / CERTIFICATE,
            smtp_sender=BOB,
            smtp_user=BOB,
            smtp_password=SecretStr(SECRET),
        )
        harness.deps = harness.with_(password_notices=create_password_notices(settings))
        yield harness, server
        mail.close()


def test_the_mailbox_gets_a_notice_of_its_new_password(
    notifying: tuple[Harness, MailServer],
) -> None:
    """The mailbox has a notice by email when its password is shown, and the audit says so."""
    harness, server = notifying
    made = _create_and_show(harness, "alice")
    (notice,) = server.inbox(ALICE, made)
    assert notice["Subject"] == f"New password for {ALICE}"
    assert harness.people["alice"].id in notice.get_content()
    assert made not in notice.as_string()
    (request,) = harness.requests_of("alice")
    assert harness.details(request)["request.executing"] == {"notice_sent": True}


def test_without_a_notice_the_password_stays(notifying: tuple[Harness, MailServer]) -> None:
    """If the notice can't be sent, the password is not changed, and an approval remains valid."""
    harness, server = notifying
    request = _approved(harness)
    harness.api.patch(BOB, secrets=["another"])
    for who, mailbox, approved in (("alice", ALICE, None), ("erin", ERIN, request)):
        with pytest.raises(UserError, match=r"password\.no_notice"):
            _create_and_show(harness, who, mailbox, approved)
    assert opens(server.service, ALICE, SECRET)
    assert harness.requests_of("alice")[0].result == Reason("password.no_notice")
    assert harness.now(request).state is State.APPROVED
    harness.api.patch(BOB, secrets=[SECRET])
    assert _create_and_show(harness, "erin", ERIN, request)
