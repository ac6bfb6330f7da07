# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The executor for the mail API makes each change to an alias, forwarder or password once."""

from __future__ import annotations

import itertools
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.backends.sample_changes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    LeaseLostError,
    RecordingContext,
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
    json_reply,
    scripted,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.recording_proxy import recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.awx_client import AwxClient
from postroom_bot.backends.executor import Outcome
from postroom_bot.backends.mail_api import Forward, MailApi
from postroom_bot.domain import Action, Change, Reason
from postroom_bot.errors import Rejected, Unavailable
from postroom_client import errors

NEW = "hi@example.com"
ALL = "all@example.com"
FAR = "partner@far.example"
CANARY = "k3pt-nowhere/at+all"


def execute(mail: MailApi, change: Change, context: RecordingContext | None = None) -> Outcome:
    """Execute a change, using the notes of an earlier attempt."""
    context = context or RecordingContext()
    return mail.execute(request_for(change, notes=context.last), context)


def test_an_alias_is_added_once(mail: MailApi, api: Api) -> None:
    """An alias is added once, to the request's mailbox. Checking a change writes nothing."""
    before = api.listing()
    tagged = [alias(f"{local}@example.com") for local in ("alice+shop", "hi+shop", "+")]
    for change in (alias(NEW), no_alias(SALES, BOB), *tagged):
        assert mail.preview(change).changed
    for change in (alias(SALES, BOB), no_alias(NEW)):
        assert not mail.preview(change).changed
    assert api.listing() == before
    first = execute(mail, alias(NEW))
    assert (first.changed, first.before, first.after, first.freed) == (True, set(), {ALICE}, ())
    assert first.result == Reason("alias.added", {"address": NEW, "mailbox": ALICE})
    assert emails(api, ALICE) == {ALICE, NEW}
    assert execute(mail, alias(NEW)) == first._replace(changed=False, before=first.after)
    with pytest.raises(Rejected, match=r"alias\.no_mailbox"):
        execute(mail, alias(NEW, None))


def test_an_alias_is_removed_once(mail: MailApi, api: Api) -> None:
    """Removing an alias again reports the freed address, unless that address is in use again."""
    change, context = no_alias(SALES, BOB), RecordingContext()
    with pytest.raises(LeaseLostError):
        execute(mail, change, RecordingContext(renewals_left=0))
    for mailbox in (ALICE, "gone@example.com"):
        done = execute(mail, no_alias(SALES, mailbox))
        assert (done.changed, done.freed) == (False, ())
    assert emails(api, BOB) == {BOB, SALES}
    first = execute(mail, change, context)
    assert (first.changed, first.freed) == (True, (SALES,))
    assert emails(api, BOB) == {BOB}
    assert (context.renewals, context.notes) == (1, [{"freeing": [SALES], "before": [BOB]}])
    again = execute(mail, change)
    assert (again.changed, again.freed) == (False, ())
    after_crash = execute(mail, change, context)
    assert (after_crash.changed, after_crash.freed) == (False, (SALES,))
    execute(mail, alias(SALES))
    in_use = execute(mail, change, context)
    assert (in_use.changed, in_use.freed) == (False, ())


@pytest.mark.parametrize("change", [no_forward(TEAM), no_forward(TEAM, ALICE, BOB, FAR)])
def test_the_last_destination_goes_with_the_forwarder(
    mail: MailApi, api: Api, change: Change
) -> None:
    """Removing a forwarder's last destination deletes the forwarder and frees all its addresses."""
    api.forwarder(TEAM, [ALICE, BOB], ALL)
    context = RecordingContext()
    done = execute(mail, change, context)
    assert (done.changed, done.before, done.after) == (True, {ALICE, BOB}, set())
    assert done.freed == (ALL, TEAM)
    assert api.get(TEAM).status_code == 404
    assert execute(mail, change, context) == done._replace(changed=False)


IN_USE = "address.taken"
NO_MAILBOX = "mailbox.not_a_mailbox"
REFUSALS = [
    *((alias(taken), IN_USE) for taken in (SALES, "sales+all@example.com")),
    (alias(NEW, "gone@example.com"), NO_MAILBOX),
    (alias("hi@other.example"), "domain.missing"),
    (alias("no address"), "mail.rejected"),
    (no_alias(ALICE), "alias.own_address"),
    (forward(ALL, ALICE), IN_USE),
    (forward(TEAM), "forward.no_destinations"),
    (forward("new@example.com", "team+x@example.com"), "forward.to_forwarder"),
    (forward("tagged@example.com", ALICE), "forward.is_destination"),
    (forward(TEAM, ALL), "forward.loop"),
    (forward("new@example.com", "nobody@example.com"), "forward.missing_destination"),
    (forward("new@other.example", ALICE), "domain.missing"),
    (no_forward(ALL), "forward.not_a_forwarder"),
]


@pytest.mark.parametrize(("change", "code"), REFUSALS)
def test_an_impossible_change_is_refused(
    mail: MailApi, api: Api, change: Change, code: str
) -> None:
    """An impossible change is refused when checked or executed, without naming the owner."""
    api.forwarder(TEAM, [FAR, "end@example.com", "tagged+x@example.com"], ALL)
    before = api.listing()
    with pytest.raises(Rejected, match=re.escape(code)) as refusal:
        mail.preview(change)
    assert "bob" not in str(refusal.value).replace(change.target, "")
    with pytest.raises(Rejected, match=re.escape(str(refusal.value))):
        execute(mail, change)
    assert api.listing() == before


def test_mailboxes_are_found_by_their_own_names(mail: MailApi, api: Api) -> None:
    """A mailbox is found only by its primary address, not by an alias or a forwarder."""
    api.forwarder(TEAM, [ALICE])
    assert mail.aliases(BOB) == [SALES]
    assert mail.aliases("Alice@Example.COM") == []
    for name in (SALES, TEAM, "gone@example.com"):
        assert mail.aliases(name) is None
    assert mail.individuals().mailboxes == {ALICE, BOB}
    api.domain("xn--bcher-kva.example")
    api.mailbox("zoe@xn--bcher-kva.example")
    assert execute(mail, alias("Info@Bücher.example", "zoe@bücher.example")).changed
    assert mail.aliases("zoe@bücher.example") == ["info@xn--bcher-kva.example"]


def test_every_list_has_normalized_names() -> None:
    """Names are compared with the policy's and users' names, so lists contain only lookup keys."""
    alice = {
        "name": "Alice@EXAMPLE.com",
        "emails": ["Alice@EXAMPLE.com", "Info@B\u00fccher.example"],
    }
    team = {
        "name": "Team@Example.COM",
        "members": ["Zo\u00eb@B\u00fccher.example", "BOB@example.com"],
    }
    domains = [{"name": name, "type": "domain"} for name in ("Example.COM", "B\u00fccher.example")]

    def reply(request: Request) -> Reply:
        if "type=domain" in request.target:
            return json_reply({"items": domains, "total": 2})
        if "/principal/" in request.target:
            return json_reply(alice)
        return json_reply({"items": [alice, team], "total": 2})

    with scripted(reply) as server, closing(MailApi(server.url, SecretStr(TOKEN))) as mail:
        assert mail.domains() == {"example.com", "xn--bcher-kva.example"}
        assert mail.individuals().mailboxes == {ALICE}
        assert mail.aliases("ALICE@example.com") == ["info@xn--bcher-kva.example"]
        members = ("bob@example.com", "zo\u00eb@xn--bcher-kva.example")
        assert mail.individuals().forwarders == [Forward("team@example.com", members)]


def test_the_list_of_domains_is_cached_for_a_minute(service: RunningService, api: Api) -> None:
    """The list of domains is cached for a minute.

    Only DNS records of listed domains can be read.
    """
    now = [1000.0]
    with closing(mail_at(service, clock=lambda: now[0])) as mail:
        assert mail.domains() == {"example.com"}
        api.domain("xn--bcher-kva.example")
        now[0] += 59
        assert mail.domains() == {"example.com"}
        now[0] += 1
        assert mail.domains() == {"example.com", "xn--bcher-kva.example"}
        found = mail.dns("Example.com")
        assert {"MX", "TXT"} <= {record["type"] for record in found}
        for wrong in ("other.example", "no domain"):
            with pytest.raises(Rejected, match=r"domain.missing|mail.rejected"):
                mail.dns(wrong)


def test_the_list_of_the_tenant_is_shared(service: RunningService, api: Api) -> None:
    """Changes share one list until it is too old, a change is made or it seems to conflict."""
    ticks = itertools.count()
    token = SecretStr(service.token)
    with (
        recording(service.url) as recorder,
        closing(
            MailApi(recorder.url, token, verify_delay=0, clock=lambda: next(ticks) / 1e6)
        ) as mail,
    ):

        def lists() -> int:
            return sum(each.path == "/api/principal" for each in recorder.take())

        with ThreadPoolExecutor(4) as pool:
            changes = [alias(f"new-{number}@example.com") for number in range(4)]
            assert all(each.changed for each in pool.map(mail.preview, changes))
        assert lists() == 1
        # An address that was freed meanwhile is not refused, and one that was taken is not given.
        api.patch(BOB, emails=[BOB])
        assert mail.preview(alias(SALES)).changed
        assert lists() == 1
        api.patch(BOB, emails=[BOB, SALES])
        with pytest.raises(Rejected, match=r"address\.taken"):
            execute(mail, alias(SALES))
        assert lists() == 0
        assert mail.preview(alias(NEW)).changed
        assert lists() == 1
        assert execute(mail, alias(NEW)).changed
        assert lists() == 0
        # A mailbox that is newer than the list is no reason to distrust the list.
        assert mail.preview(alias("one@example.com")).changed
        assert lists() == 1
        api.mailbox("late@example.com")
        assert mail.preview(alias("two@example.com", "late@example.com")).changed
        assert lists() == 1
        ticks = itertools.count(11_000_000)
        assert mail.preview(alias("three@example.com")).changed
        assert lists() == 1


def test_a_password_is_set_by_one_request(
    service: RunningService, mail: MailApi, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """A password is set with one request, only on an existing mailbox, and is never logged."""
    with recording(service.url) as recorder:
        recorded = MailApi(recorder.url, SecretStr(service.token))
        recorded.set_password(ALICE, CANARY)
        recorded.close()
        writes = recorder.take_writes()
    assert [(each.method, each.status) for each in writes] == [("PATCH", 200)]
    api.forwarder(TEAM, [ALICE])
    before = api.listing()
    for name in ("gone@example.com", TEAM, SALES):
        with pytest.raises(Rejected, match=NO_MAILBOX) as refusal:
            mail.set_password(name, CANARY)
        assert CANARY not in str(refusal.value)
    with pytest.raises(ValueError, match="password"):
        execute(mail, Change(Action.PASSWORD, ALICE))
    assert api.listing() == before
    assert CANARY not in caplog.text


INSIDE = "hi@example.com is an alias of the mailbox bob@example.com"
FINAL = {
    errors.AlreadyExists: "address.taken",
    errors.NotFound: "mail.not_found",
    errors.Rejected: "mail.rejected",
    errors.Refused: "mail.rejected",
    errors.InvalidInput: "mail.rejected",
}
BY_OPERATOR = (errors.Unauthorized, errors.Forbidden, errors.UntrustedCertificate)


KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.PostroomError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_each_error_of_the_client_core_is_translated(
    kind: type[errors.PostroomError],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each client error becomes one of the bot's own errors.

    The client's message is only logged.
    """
    more: tuple[object, ...] = ("Give others.",) if kind is errors.NameServersNotFound else ()
    if issubclass(kind, errors.ServiceError):
        more = (errors.Failure(503, "GET", "/", ""),)
    mail = MailApi("https://mail.example.com", SecretStr("secret"))

    def fail() -> NoReturn:
        raise kind(INSIDE, *more)

    monkeypatch.setattr(mail, "_client", fail)
    with pytest.raises((Unavailable, Rejected)) as raised:
        mail.aliases("hi@example.com")
    assert "bob" not in str(raised.value)
    final = next((code for base, code in FINAL.items() if issubclass(kind, base)), None)
    assert isinstance(raised.value, Rejected) is (final is not None)
    assert raised.value.reason.code.startswith(final or "mail.un")
    (record,) = caplog.records
    assert INSIDE in record.getMessage()
    assert (record.levelno == logging.ERROR) is issubclass(kind, BY_OPERATOR)


def test_destinations_are_added_and_removed(mail: MailApi, api: Api) -> None:
    """The first destination creates a forwarder. Removing an unknown destination has no effect."""
    first = execute(mail, forward(TEAM, ALICE))
    assert (first.changed, first.freed, first.before, first.after) == (True, (), set(), {ALICE})
    api.forwarder(ALL, [TEAM])
    second = execute(mail, forward(TEAM, FAR, BOB))
    assert second.result.code == "forward.added"
    assert (second.before, second.after) == ({ALICE}, {ALICE, BOB, FAR})
    assert mail.individuals().forwarders == [
        Forward(ALL, (TEAM,)),
        Forward(TEAM, (ALICE, BOB, FAR)),
    ]
    done = execute(mail, no_forward(TEAM, FAR, "x@far.example"))
    assert (done.changed, done.after, done.freed) == (True, {ALICE, BOB}, ())
    assert done.result.code == "forward.reduced"
    assert members(api, TEAM) == {ALICE, BOB}
    for change in (forward(TEAM, ALICE), no_forward(TEAM, FAR)):
        again = execute(mail, change)
        assert (again.changed, again.before, again.after) == (False, {ALICE, BOB}, {ALICE, BOB})


TOKEN = "tok-Qw7/zX%41+9vLpE3"


@pytest.mark.parametrize("status", [401, 403, 429, 500, 200, 302, None])
def test_a_bad_response_is_tried_again_later(
    status: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """After a bad response, the bot retries later and logs the reason, but no secret."""
    body = f"<html>{TOKEN}".encode()
    reply = Reply(status, body, {"Retry-After": "7"}) if status else Reply(reset=True)
    refused = status in (401, 403)
    with (
        scripted(lambda request: reply) as server,
        closing(MailApi(server.url, SecretStr(TOKEN), timeout=0.5)) as mail,
    ):
        with pytest.raises(Unavailable) as later:
            mail.execute(request_for(alias(NEW)), RecordingContext())
        for call in (mail.domains, lambda: mail.set_password(ALICE, "unseen-password")):
            with pytest.raises(Unavailable):
                call()
        assert mail.last_answer == ("refused" if refused else "unreachable")
    delay = None if refused or not status else 7
    assert (later.value.retry_after, later.value.lasting) == (delay, refused)
    level = logging.ERROR if refused else logging.WARNING
    assert {record.levelno for record in caplog.records} == {level}
    assert TOKEN not in caplog.text + str(later.value)
    assert "unseen-password" not in caplog.text


def test_a_conflict_at_the_last_moment_is_refused(
    api: Api, mail: MailApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change is refused if its address or mailbox became unavailable in the meantime."""
    context = RecordingContext()
    bob = ["bob@example.com", NEW]
    monkeypatch.setattr(context, "renew", lambda: api.patch("bob@example.com", emails=bob))
    with pytest.raises(Rejected, match=r"address\.taken"):
        mail.execute(request_for(alias(NEW)), context)
    monkeypatch.setattr(context, "renew", lambda: api.delete(ALICE))
    with pytest.raises(Rejected, match=r"mail\.not_found"):
        mail.execute(request_for(alias("x@example.com")), context)
    assert api.get(ALICE).status_code == 404


def test_an_untrusted_certificate_gets_no_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server with an untrusted certificate gets no request, and the log states the reason."""
    authority, row = Authority(tmp_path), Reply(200, b'{"id": 1, "status": "running"}')
    with scripted(lambda request: row, tls=authority.serves("IP:127.0.0.1")) as server:
        for trust, asked in (
            ({}, 0),
            ({"ca_path": str(authority.path)}, 2),
            ({"verify": False}, 4),
        ):
            options: dict[str, Any] = trust
            with closing(MailApi(server.url, SecretStr(TOKEN), timeout=2, **options)) as mail:
                with suppress(Unavailable):
                    mail.domains()
                with suppress(Unavailable):
                    AwxClient(server.url, SecretStr(TOKEN), **options).job(1)
            assert len(server.requests) == asked
    messages = [record.getMessage() for record in caplog.records]
    assert logging.ERROR in [record.levelno for record in caplog.records]
    assert sum("CERTIFICATE_VERIFY_FAILED" in one for one in messages) == 2
    assert TOKEN not in caplog.text
