# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What lists and forms are filled from, and passwords."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    mail_at,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.recorder import recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.executors.base import WontDo
from postroom_bot.executors.mail import Mail

PASSWORD = "k3pt-nowhere/at+all"


def test_mailboxes_are_known_by_their_own_names(mail: Mail, api: Api) -> None:
    """An alias, a forwarder and a domain are no mailboxes."""
    api.forwarder(TEAM, [ALICE])
    assert mail.aliases(BOB) == [SALES]
    assert mail.aliases("Alice@Example.COM") == []
    for name in (SALES, TEAM, "gone@example.com"):
        assert mail.aliases(name) is None
        assert not mail.mailbox_exists(name)
    assert mail.mailbox_exists(BOB)
    assert mail.mailboxes() == {ALICE, BOB}


def test_the_list_of_domains_is_kept_for_a_minute(service: RunningService, api: Api) -> None:
    """Then it is read again."""
    now = [1000.0]
    mail = mail_at(service, clock=lambda: now[0])
    assert mail.domains() == {"example.com"}
    api.domain("xn--bcher-kva.example")
    now[0] += 59
    assert mail.domains() == {"example.com"}
    now[0] += 1
    assert mail.domains() == {"example.com", "xn--bcher-kva.example"}
    mail.close()


def test_records_to_publish(mail: Mail) -> None:
    """As data and as lines of a zone file; of a domain that is there."""
    found = mail.dns("Example.com")
    assert found.domain == "example.com"
    assert {"MX", "TXT"} <= {record["type"] for record in found.records}
    assert len(found.zone.splitlines()) == len(found.records)
    for wrong in ("other.example", "no domain"):
        with pytest.raises(WontDo, match=r"Check the spelling|does not accept"):
            mail.dns(wrong)


def test_a_password_is_set(service: RunningService, api: Api) -> None:
    """By one request, on a mailbox that is there."""
    with recording(service.url) as recorder:
        mail = Mail(recorder.url, SecretStr(service.token))
        mail.set_password(ALICE, PASSWORD)
        mail.close()
        writes = recorder.take_writes()
    assert [(each.method, each.status) for each in writes] == [("PATCH", 200)]


def test_a_password_goes_to_no_new_mailbox(
    mail: Mail, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is made by mistyping, and nothing says what the password would have been."""
    api.forwarder(TEAM, [ALICE])
    before = api.listing()
    for name in ("gone@example.com", TEAM, SALES):
        with pytest.raises(WontDo, match="is not a mailbox here") as refusal:
            mail.set_password(name, PASSWORD)
        assert PASSWORD not in str(refusal.value)
    assert api.listing() == before
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"url": "mail.example.com"}, "api_url: "),
        ({"token": SecretStr("to ken")}, "api_token: "),
        ({"ca_path": "/nowhere/ca.pem"}, "ca_path: /nowhere/ca.pem can't be used"),
        ({"timeout": 0}, "timeout: 0 can't be used"),
    ],
)
def test_settings_that_cant_work(options: dict[str, object], sentence: str) -> None:
    """They are told at once, without the token."""
    good = {"url": "https://mail.example.com", "token": SecretStr("token")}
    with pytest.raises(ValueError, match=sentence) as error:
        Mail(**{**good, **options})  # type: ignore[arg-type]
    assert "to ken" not in str(error.value)
