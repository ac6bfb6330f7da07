# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What people may look at."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, BOB, Office
from postroom_bot.executors.base import NO_ANSWER
from postroom_bot.executors.mail import Mail
from postroom_bot.work.deps import Refusal
from postroom_bot.work.readers import Readers


@pytest.fixture
def readers(office: Office) -> Readers:
    """Give what looks things up."""
    office.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    forwarder = {"type": "individual", "emails": []}
    for name, member in (("team@example.com", ALICE), ("board@example.com", BOB)):
        body = {**forwarder, "name": name, "emails": [name], "members": [member]}
        assert office.api.create(body).status_code == 201
    return Readers(office.deps)


def _as(office: Office, who: str) -> tuple[str, str]:
    return office.people[who].id, office.deps.workspace.team


def test_everybody_sees_their_own_aliases(office: Office, readers: Readers) -> None:
    """Named or not."""
    own = (ALICE, ["sales@example.com"])
    assert readers.aliases(*_as(office, "alice")) == own
    assert readers.aliases(*_as(office, "alice"), ALICE) == own


def test_only_approvers_see_those_of_others(office: Office, readers: Readers) -> None:
    """Whether the other mailbox is there is nobody else's business either."""
    assert readers.aliases(*_as(office, "bob"), ALICE).mailbox == ALICE
    for mailbox in (ALICE, "zoe@example.com"):
        with pytest.raises(Refusal, match="only see your own"):
            readers.aliases(*_as(office, "erin"), mailbox)
    with pytest.raises(Refusal, match="There is no mailbox"):
        readers.aliases(*_as(office, "bob"), "zoe@example.com")


def test_forwarders_are_seen_by_approvers_and_by_those_who_get_the_mail(
    office: Office, readers: Readers
) -> None:
    """Others see none."""
    assert len(readers.forwarders(*_as(office, "bob"))) == 2
    (one,) = readers.forwarders(*_as(office, "alice"))
    assert one.address == "team@example.com"
    assert readers.forwarders(*_as(office, "erin")) == []


def test_records_are_no_secret(office: Office, readers: Readers) -> None:
    """The world can read them."""
    assert readers.dns(*_as(office, "erin"), "example.com").records
    with pytest.raises(Refusal):
        readers.dns(*_as(office, "erin"), "elsewhere.example")


def test_guests_and_outsiders_see_nothing(office: Office, readers: Readers) -> None:
    """As everywhere."""
    with pytest.raises(Refusal, match="own workspace"):
        readers.aliases(office.people["alice"].id, "T0000ELSE")
    office.slack.change_user(office.people["alice"], announce=False, is_restricted=True)
    for look in (readers.aliases, readers.forwarders):
        with pytest.raises(Refusal, match="Guests"):
            look(*_as(office, "alice"))


def test_without_a_mailbox_of_their_own_people_are_told_why(
    office: Office, readers: Readers
) -> None:
    """Identity says so."""
    office.slack.change_user(office.people["alice"], announce=False, email="a@elsewhere.example")
    with pytest.raises(Refusal):
        readers.aliases(*_as(office, "alice"))
    assert readers.forwarders(*_as(office, "alice")) == []


def test_who_does_not_answer_is_told(office: Office, readers: Readers) -> None:
    """Slack or the mail service: a sentence for the person."""
    with office.slack.down(), pytest.raises(Refusal, match="Slack does not tell me"):
        readers.aliases(*_as(office, "alice"))
    mail = Mail("http://127.0.0.1:9", SecretStr("none"), timeout=0.5)
    silent = Readers(office.with_(mail=mail))
    user, team = _as(office, "alice")
    for look in (
        lambda: silent.aliases(user, team),
        lambda: silent.forwarders(user, team),
        lambda: silent.dns(user, team, "example.com"),
    ):
        with pytest.raises(Refusal) as refusal:
            look()
        assert str(refusal.value) == f"{NO_ANSWER} Try again in a few minutes."
    mail.close()
