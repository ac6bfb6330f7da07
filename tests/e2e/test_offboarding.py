# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Taking leave of a mailbox: it is locked, and others get its aliases and its forwarders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request, problem
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import Spoiler, spoiled
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api, Shape, Site

ANN, BOB, TEAM, SOLO, BOTH = (
    f"{name}@xn--bcher-kva.example" for name in ("ann", "bob", "team", "solo", "both")
)
HI, HO = "hi@xn--bcher-kva.example", "ho@xn--bcher-kva.example"
OLD = "of no interest"
#: Neither is spelled as the service spells it.
LEAVING: dict[str, Any] = {
    "mail_mailbox": "Ann@Bücher.example",
    "mail_colleague": "BOB@bücher.example",
}
GOING = {**LEAVING, "mail_delete_mailbox": "true", "mail_take_over_address": True}


@pytest.fixture
def office(site: Site) -> Site:
    """Give a tenant where somebody has aliases, and is in forwarders, alone and with others."""
    site.create("xn--bcher-kva.example", BOB, "cat@xn--bcher-kva.example")
    site.create(ANN, emails=[ANN, HI, HO])
    site.create(TEAM, members=[ANN, "x@far.example"])
    site.create(SOLO, members=[ANN])
    site.create(BOTH, members=[BOB, ANN])
    site.create("other@xn--bcher-kva.example", members=["y@far.example"])
    return site


@pytest.fixture
def spoiler(service: RunningService) -> Iterator[Spoiler]:
    """Give a way to the service that goes wrong when it is told to."""
    with spoiled(service.url) as spoiler:
        yield spoiler


def see_others(there: dict[str, Shape]) -> None:
    """See that others have what the mailbox had, and that strangers kept what they had."""
    assert there[BOB]["emails"] >= {BOB, HI, HO}
    assert there[TEAM]["members"] == {"x@far.example"}
    assert there[SOLO]["members"] == {BOB}
    assert there[BOTH]["members"] == {BOB}
    assert there["other@xn--bcher-kva.example"]["members"] == {"y@far.example"}


@pytest.mark.matrix
def test_a_mailbox_is_left(desk: Desk, office: Site, service: RunningService) -> None:
    """It stays with its mail, behind another password each time; all else is done once."""
    with office.recorder.forbidding_writes():
        told = desk.play("offboard_mailbox", "--check", "--diff", **LEAVING)
    assert (told.status, told.recap.changed) == (0, 3), told.output
    told = desk.play("offboard_mailbox", "--diff", **LEAVING)
    assert (told.status, told.recap.changed) == (0, 3), told.output
    there = office.listing()
    see_others(there)
    assert there[ANN]["emails"] == {ANN}
    assert not opens(service, ANN, OLD)
    told = desk.play("offboard_mailbox", **LEAVING)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert office.listing() == there


def test_a_mailbox_is_deleted(desk: Desk, office: Site) -> None:
    """If it is told so, and its address goes to the colleague; again, nothing is left to do."""
    with office.recorder.forbidding_writes():
        told = desk.play("offboard_mailbox", "--check", **GOING)
    assert (told.status, told.recap.changed) == (0, 4), told.output
    told = desk.play("offboard_mailbox", **GOING)
    assert (told.status, told.recap.changed) == (0, 4), told.output
    there = office.listing()
    see_others(there)
    assert ANN not in there
    assert there[BOB]["emails"] == {BOB, HI, HO, ANN}
    told = desk.play("offboard_mailbox", **GOING)
    assert (told.status, told.recap.changed) == (0, 0), told.output


def test_there_may_be_little_to_do(desk: Desk, office: Site) -> None:
    """A mailbox without aliases and forwarders is locked and deleted; its address is free then."""
    alone = {**LEAVING, "mail_mailbox": "cat@bücher.example", "mail_delete_mailbox": True}
    told = desk.play("offboard_mailbox", **alone)
    assert (told.status, told.recap.changed) == (0, 2), told.output
    assert office.listing()[BOB]["emails"] == {BOB}
    told = desk.play("offboard_mailbox", **alone)
    assert told.status == 2
    assert "cat@bücher.example is no mailbox of this tenant. Check mail_mailbox; where an" in words(
        told
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"mail_colleague": None},
            "Give mail_mailbox, which is to go, and mail_colleague, who gets",
        ),
        (
            {"mail_colleague": ANN},
            "mail_mailbox and mail_colleague are both Ann@Bücher.example. Name",
        ),
        ({"mail_mailbox": TEAM}, f"{TEAM} is a forwarder, which keeps no mail. Name a mailbox in"),
        ({"mail_colleague": TEAM}, "keeps no mail. Name a mailbox in mail_colleague. Nothing was"),
        (
            {**GOING, "mail_mailbox": HI, "mail_colleague": "none@one.example"},
            f"{HI} is an alias of {ANN}. Name a mailbox in mail_mailbox. Nothing was changed.",
        ),
        (
            {"mail_colleague": "none@one.example"},
            "none@one.example is no mailbox of this tenant. Check mail_colleague. Nothing was",
        ),
        ({"mail_delete_mailbox": "yess"}, "mail_delete_mailbox is yess. Write true or false."),
        ({"mail_take_over_address": "yes"}, "mail_take_over_address needs mail_delete_mailbox: as"),
    ],
)
def test_nothing_is_done_by_halves(
    given: dict[str, Any], sentence: str, desk: Desk, office: Site
) -> None:
    """What is wrong is told in a sentence before anything is written."""
    with office.recorder.forbidding_writes():
        told = desk.play("offboard_mailbox", **{**LEAVING, **given})
    assert told.status == 2, told.output
    assert sentence in words(told)


def test_what_failed_goes_on(
    office: Site, service: RunningService, spoiler: Spoiler, tmp_path: Path
) -> None:
    """A run that fails says how far it came, wherever that is, and the next one does the rest."""
    desk = Desk(tmp_path, spoiler.url, office.token)
    sent: list[str] = []

    def refuse_password(request: Request) -> Reply:
        sent.extend(request.json["secrets"])
        return problem(422, "Not today.")

    spoiler.spoil(refuse_password, part="PATCH /api/principal/ann")
    told = desk.play("offboard_mailbox", "-vvvv", "--diff", **GOING)
    assert told.status == 2, told.output
    assert "has its old password. Aliases that BOB@bücher.example got: none. For" in words(told)
    assert [len(password) for password in sent] == [64]
    (tmp_path / "output").write_text(told.output)
    assert leaks(sent, [tmp_path]) == []
    # The second alias is taken from one and refused by the other, so that it is given back.
    spoiler.spoil(problem(422, "Not today."), part="PATCH /api/principal/bob", skip=1)
    told = desk.play("offboard_mailbox", **GOING)
    assert "has a new password. Aliases that BOB@bücher.example got: hi@" in words(told)
    assert f"Not, or not for certain: {HO}. Forwarders" in words(told)
    assert office.listing()[ANN]["emails"] == {ANN, HO}
    assert not opens(service, ANN, OLD)
    spoiler.spoil(problem(422, "Not today."), part="PATCH /api/principal/solo")
    told = desk.play("offboard_mailbox", **GOING)
    assert f"got: {HO}. Forwarders that were changed: {BOTH}, {TEAM}. Not, or not" in words(told)
    assert f"for certain: {SOLO}. The mailbox is there. Run this again to go on." in words(told)
    spoiler.spoil(problem(422, "Not today."), part="DELETE")
    told = desk.play("offboard_mailbox", **GOING)
    assert f"Forwarders that were changed: {SOLO}. Whether the mailbox is deleted is not" in words(
        told
    )
    spoiler.spoil(problem(422, "Not today."), part="PATCH /api/principal/bob")
    told = desk.play("offboard_mailbox", **GOING)
    assert "The mailbox is deleted. Give its address to BOB@bücher.example with" in words(told)
    see_others(office.listing())


def test_what_is_not_certain_is_not_claimed(office: Site, spoiler: Spoiler, tmp_path: Path) -> None:
    """Where an answer is lost after the write, what was done may have been done."""
    desk = Desk(tmp_path, spoiler.url, office.token)
    spoiler.spoil(problem(500), part="PATCH /api/principal/ann", after=True)
    told = desk.play("offboard_mailbox", **GOING)
    assert told.status == 2, told.output
    assert "Ann@Bücher.example has perhaps a new password." in words(told)

    def say_no_more(request: Request) -> Reply:
        spoiler.spoil(problem(500), part="GET /api/principal/ann", times=100)
        return problem(500)

    spoiler.spoil(say_no_more, part="DELETE", after=True)
    told = desk.play("offboard_mailbox", **GOING)
    assert "has a new password. Aliases" in words(told)
    assert "Whether the mailbox is deleted is not certain. Run this again: it goes on" in words(
        told
    )
    assert ANN not in office.listing()


def test_what_others_write_meanwhile_stands(
    office: Site, service: RunningService, spoiler: Spoiler, tmp_path: Path
) -> None:
    """A member that a forwarder gets, and an alias that the mailbox gets, while it is left."""
    desk = Desk(tmp_path, spoiler.url, office.token)
    late, new = "late@xn--bcher-kva.example", "new@far.example"
    other = Api(service.url, office.token)

    def write(request: Request) -> None:
        members = [ANN, "x@far.example", new]
        other.call("PATCH", f"/api/principal/{TEAM}", {"members": members})
        other.call("PATCH", f"/api/principal/{ANN}", {"emails": [ANN, HI, HO, late]})

    spoiler.spoil(write, part="PATCH /api/principal/ann", after=True)
    told = desk.play("offboard_mailbox", **GOING)
    assert told.status == 0, told.output
    there = office.listing()
    assert there[TEAM]["members"] == {"x@far.example", new}
    assert ANN not in there
    assert there[BOB]["emails"] == {BOB, HI, HO, ANN, late}
