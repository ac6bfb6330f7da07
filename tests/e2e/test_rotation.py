# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""New passwords of mailboxes: all or a choice of them, never shown, and nobody is created."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem, scripted
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import spoiled
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Site

ANN, BOB, CAT = (f"{name}@xn--bcher-kva.example" for name in ("ann", "bob", "cat"))
OLD = "of no interest"
ANNS = "{{ lookup('pipe', 'id') }}-canary-INDIA-8261"
BOBS = ["canary-JULIET: 'with', \"all\"\\n", "canary-KILO-second-one"]
STRAY = "stray-secret-LIMA-9083"


@pytest.fixture
def office(site: Site) -> Site:
    """Give a tenant that has mailboxes and a forwarder."""
    site.create("xn--bcher-kva.example", ANN, BOB, CAT)
    site.create("team@xn--bcher-kva.example", members=[ANN])
    return site


@pytest.mark.matrix
def test_passwords_are_new(
    desk: Desk, office: Site, service: RunningService, tmp_path: Path
) -> None:
    """For all that have one in an encrypted file; none shows, not even at -vvvv."""
    (tmp_path / "key").write_text("the key of the vault")
    desk.save("passwords.yml", {"Ann@Bücher.example": ANNS, BOB: BOBS})
    given = {"mail_passwords_file": "passwords.yml"}
    desk.encrypt("passwords.yml", "key")
    options = ("--vault-password-file", "key", "-vvvv", "--diff")
    with office.recorder.forbidding_writes():
        told = desk.play("rotate_passwords", "--check", *options, **given)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert opens(service, ANN, OLD)
    told = desk.play("rotate_passwords", *options, **given)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert opens(service, ANN, ANNS)
    assert all(opens(service, BOB, password) for password in BOBS)
    assert not opens(service, ANN, OLD)
    assert opens(service, CAT, OLD)
    (tmp_path / "output").write_text(told.output)
    assert leaks([ANNS, *BOBS], [tmp_path]) == []


def test_a_choice_of_them(desk: Desk, office: Site, service: RunningService) -> None:
    """Mailboxes may be chosen, also as a survey's text; each run sets them anew."""
    chosen = {
        "vault_mail_passwords": {ANN: "new", BOB: "new"},
        "mail_mailboxes": "BOB@bücher.example\n",
    }
    changed = [desk.play("rotate_passwords", **chosen).recap.changed for _ in range(2)]
    assert changed == [1, 1]
    assert opens(service, BOB, "new")
    assert opens(service, ANN, OLD)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        # What is in the file of the account is not set in its place.
        (
            {"mail_passwords_file": "empty.yml", "vault_mail_passwords": {ANN: STRAY}},
            "There are no passwords to set. Give vault_mail_pass",
        ),
        (
            {"mail_passwords_file": "nope.yml", "vault_mail_passwords": {ANN: STRAY}},
            "nope.yml, and there is no such file.",
        ),
        (
            {"vault_mail_passwords": {ANN: STRAY}, "mail_mailboxes": [ANN, "bob@bücher.example"]},
            f"There is no new password for {BOB}. Give it one, or take it out of mail_mailboxes.",
        ),
        # All are meant only where nothing is said.
        ({"vault_mail_passwords": {ANN: STRAY}, "mail_mailboxes": []}, "names no mailbox."),
        ({"vault_mail_passwords": {ANN: STRAY}, "mail_mailboxes": " ,"}, "names no mailbox."),
        (
            {
                "vault_mail_passwords": {
                    ANN: STRAY,
                    "bbo@one.example": STRAY,
                    "team@bücher.example": "x",
                }
            },
            "No such mailbox: bbo@one.example, team@xn--bcher-kva.example. Correct the address,",
        ),
    ],
)
def test_what_is_wrong_is_told(
    given: dict[str, Any], sentence: str, desk: Desk, office: Site
) -> None:
    """In one sentence, with nothing written, nobody created and no password shown."""
    (desk.folder / "empty.yml").touch()
    with office.recorder.forbidding_writes():
        told = desk.play("rotate_passwords", "-vvvv", **given)
    assert told.status == 2, told.output
    assert sentence in words(told)
    assert STRAY not in told.output


def test_a_file_that_is_wrong(desk: Desk, office: Site) -> None:
    """It is told without any of it."""
    (desk.folder / "passwords.yml").write_text(f"{ANN}: *{STRAY}\n")
    with office.recorder.forbidding_writes():
        told = desk.play("rotate_passwords", "-vvvv", mail_passwords_file="passwords.yml")
    assert told.status == 2, told.output
    assert "passwords: They can't be read as YAML, because of line 1. Write a line" in words(told)
    assert STRAY not in told.output


def test_half_of_it(site: Site, office: Site, service: RunningService, tmp_path: Path) -> None:
    """Where some fail, it is told who has a new password and who has not."""
    given = {"vault_mail_passwords": {ANN: STRAY, BOB: STRAY, CAT: STRAY}}
    with spoiled(service.url) as spoiler:
        desk = Desk(tmp_path, spoiler.url, site.token)
        spoiler.spoil(problem(422, f"It may not be {STRAY}."), part="PATCH /api/principal/bob")
        told = desk.play("rotate_passwords", "-vvvv", "--diff", **given)
    assert told.status == 2, told.output
    assert f"New passwords are set for {ANN}, {CAT}." in words(told)
    assert f"They are not, or not for certain, for {BOB}. Run it again for these," in words(told)
    assert STRAY not in told.output
    assert [opens(service, name, STRAY) for name in (ANN, BOB, CAT)] == [True, False, True]


def test_it_is_told_in_one_spelling(tmp_path: Path) -> None:
    """Who has a new password is not told as one who has none, where the service keeps spellings."""
    there = [domain("one.example"), mailbox("ann@one.example"), mailbox("bob@one.example")]
    keeping = Quirks(spelling=lambda name: name.replace("ann", "Ann"))
    with scripted(QuirkyService(keeping, *there)) as service, spoiled(service.url) as spoiler:
        spoiler.spoil(problem(422), part="PATCH /api/principal/bob")
        told = Desk(tmp_path, spoiler.url, "token").play(
            "rotate_passwords",
            vault_mail_passwords={"ann@one.example": STRAY, "bob@one.example": STRAY},
        )
    assert "New passwords are set for ann@one.example. They are not," in words(told)
    assert "for certain, for bob@one.example. Run it again" in words(told)


def test_a_simple_password_hides_for_whom(
    office: Site, service: RunningService, tmp_path: Path
) -> None:
    """Ansible hides it in names and words of the result, and then nobody is told wrongly."""
    with spoiled(service.url) as spoiler:
        spoiler.spoil(problem(422), part="PATCH /api/principal/bob")
        told = Desk(tmp_path, spoiler.url, office.token).play(
            "rotate_passwords", vault_mail_passwords={ANN: "n", BOB: STRAY}
        )
    assert told.status == 2, told.output
    assert "it is not known for whom they are: one of them is so simple that" in words(told)
    assert opens(service, ANN, "n")
