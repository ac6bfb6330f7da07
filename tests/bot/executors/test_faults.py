# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A service that fails, and one that answers nonsense: nothing is done twice, nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    TEAM,
    Notebook,
    alias,
    emails,
    forward,
    mail_at,
    members,
    no_alias,
    no_forward,
    request_for,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    scripted,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_bot.executors.base import Done, TryLater, WontDo
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Wish

TOKEN = "tok-Qw7/zX%41+9vLpE3"
STORM = (
    "latency=1ms-10ms,rate429=0.05,retry_after=0,error_before=0.05,error_after=0.1,"
    "reset_before=0.05,reset_after=0.1,truncate=0.05,status=500/503,seed=5"
)
TRIES = 20
EACH = 3


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Run a service of whose requests two in five fail in some way."""
    with running_service(tmp_path_factory.mktemp("stormy"), faults=STORM) as service:
        yield service


@pytest.fixture
def calm(stormy: RunningService) -> Iterator[Api]:
    """Give access to what it holds past its faults: by a service over the same database."""
    place = Path(stormy.database).parent / "calm"
    with (
        running_service(place, database=stormy.database) as service,
        Api(service.url, stormy.token) as api,
    ):
        api.domain("example.com")
        api.mailbox(ALICE)
        yield api
        api.delete("example.com")


def persist(mail: Mail, wish: Wish) -> Done:
    """Try until it is done, each time with the notes of the last one."""
    keeper = Notebook()
    for _ in range(TRIES):
        try:
            return mail.carry_out(request_for(wish, progress=keeper.last), keeper)
        except TryLater:
            continue
    raise AssertionError("it was never done")


def test_all_is_done_amid_faults(stormy: RunningService, calm: Api) -> None:
    """Whatever befalls the requests, each wish is true in the end and what it freed is known."""
    mail = mail_at(stormy, timeout=3)
    for number in range(EACH):
        persist(mail, alias(f"a{number}@example.com"))
        persist(mail, forward(TEAM, f"p{number}@far.example"))
    assert emails(calm, ALICE) == {ALICE, *(f"a{number}@example.com" for number in range(EACH))}
    assert members(calm, TEAM) == {f"p{number}@far.example" for number in range(EACH)}
    for number in range(EACH):
        done = persist(mail, no_alias(f"a{number}@example.com"))
        assert done.freed == (f"a{number}@example.com",)
        done = persist(mail, no_forward(TEAM, f"p{number}@far.example"))
    assert (done.freed, emails(calm, ALICE)) == ((TEAM,), {ALICE})
    assert calm.get(TEAM).status_code == 404
    mail.close()


REPLIES = {
    401: ("does not let me in", logging.ERROR),
    403: ("does not let me in", logging.ERROR),
    429: ("does not answer properly", logging.WARNING),
    500: ("does not answer properly", logging.WARNING),
    503: ("does not answer properly", logging.WARNING),
    200: ("does not answer properly", logging.WARNING),
    302: ("does not answer properly", logging.WARNING),
}


@pytest.mark.parametrize("status", REPLIES)
def test_no_proper_answer(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """People are told in plain words, the operator in the log, nobody about the token."""

    def answer(request: Request) -> Reply:
        return Reply(status, b"<html>tok-Qw7/zX%41+9vLpE3", {"Retry-After": "7"})

    sentence, level = REPLIES[status]
    with scripted(answer) as server:
        mail = Mail(server.url, SecretStr(TOKEN), timeout=0.5)
        with pytest.raises(TryLater, match=sentence) as later:
            mail.carry_out(request_for(alias("hi@example.com")), Notebook())
        with pytest.raises(TryLater, match=sentence):
            mail.set_password(ALICE, "unseen-password")
        mail.close()
    assert later.value.retry_after == (None if status in (401, 403) else 7)
    assert {record.levelno for record in caplog.records} == {level}
    assert TOKEN not in caplog.text
    assert "unseen-password" not in caplog.text


def test_nobody_there(caplog: pytest.LogCaptureFixture) -> None:
    """A service that is down is as good as one that will be up."""
    mail = Mail("http://127.0.0.1:1", SecretStr(TOKEN), timeout=0.5)
    for call in (mail.domains, mail.forwarders, lambda: mail.aliases(ALICE)):
        with pytest.raises(TryLater, match="does not answer properly"):
            call()
    with pytest.raises(TryLater):
        mail.check(alias("hi@example.com"))
    mail.close()
    assert TOKEN not in caplog.text


def test_not_found_is_believed_of_the_mail_service_alone() -> None:
    """A 404 of something else would make a removal look done."""
    with scripted(lambda request: Reply(404, b"not here")) as server:
        mail = Mail(server.url, SecretStr(TOKEN), timeout=0.5)
        for wish in (no_alias("hi@example.com"), no_forward(TEAM)):
            with pytest.raises((TryLater, WontDo)):
                mail.carry_out(request_for(wish), Notebook())
        mail.close()


class Racer(Notebook):
    """A keeper that lets something happen right before the write."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens = happens

    def renew(self) -> None:
        """Let it happen."""
        self.happens()


def test_an_address_is_taken_at_the_last_moment(api: Api, mail: Mail) -> None:
    """It is refused like one that was taken before."""
    bob = ["bob@example.com", "hi@example.com"]
    racer = Racer(lambda: api.patch("bob@example.com", emails=bob))
    with pytest.raises(WontDo, match=r"`hi@example\.com` already delivers somewhere else"):
        mail.carry_out(request_for(alias("hi@example.com")), racer)


def test_a_mailbox_goes_at_the_last_moment(api: Api, mail: Mail) -> None:
    """It is not made anew."""
    racer = Racer(lambda: api.delete(ALICE))
    with pytest.raises(WontDo, match="is no longer there"):
        mail.carry_out(request_for(alias("hi@example.com")), racer)
    assert api.get(ALICE).status_code == 404
