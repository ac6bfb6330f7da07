# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `onboard_mailbox`, `offboard_mailbox` and `rotate_passwords` playbooks."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request, problem
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api, RecordedTenant, Shape

DOMAIN = "xn--bcher-kva.example"
ANN, BOB, CAT, DAN = (f"{name}@{DOMAIN}" for name in ("ann", "bob", "cat", "dan"))
TEAM, SOLO, BOTH, OTHER = (f"{name}@{DOMAIN}" for name in ("team", "solo", "both", "other"))
HI, HO = f"hi@{DOMAIN}", f"ho@{DOMAIN}"
OLD = "of no interest"
#: A password that looks like a template, with special characters of YAML, JSON and shells.
PASSWORD = "{{ 7 * 7 }}'\"\\#: canary-HOTEL-4471"
MORE = ["canary-JULIET: 'with', \"all\"\\n", "canary-KILO-second-one"]
STRAY = "stray-secret-LIMA-9083"
NOT_TODAY = problem(422, "Not today.")
#: Values in the format that a survey's answers have.
NEW: dict[str, Any] = {
    "mail_mailbox": " Dan@Bücher.example\n",
    "mail_aliases": "new@bücher.example\r\nNewer@bücher.example,\n",
    "mail_forwarders": ["Team@bücher.example", "both@bücher.example"],
}
#: Names whose spelling differs from the spelling on the service.
LEAVING = {"mail_mailbox": "Ann@Bücher.example", "mail_colleague": "BOB@bücher.example"}
GOING = {**LEAVING, "mail_delete_mailbox": "true", "mail_take_over_address": True}


@pytest.fixture
def company(tenant: RecordedTenant) -> RecordedTenant:
    """Provide a tenant with a mailbox that has aliases and belongs to forwarders."""
    tenant.create(DOMAIN, BOB, CAT)
    tenant.create(ANN, emails=[ANN, HI, HO])
    tenant.create(TEAM, members=[ANN, "x@far.example"])
    tenant.create(SOLO, members=[ANN])
    tenant.create(BOTH, members=[BOB, ANN])
    tenant.create(OTHER, members=["y@far.example"])
    return tenant


def assert_handed_over(there: dict[str, Shape]) -> None:
    """Assert that the colleague has the aliases and memberships, and that nothing else changed."""
    assert there[BOB]["emails"] >= {BOB, HI, HO}
    assert there[TEAM]["members"] == {"x@far.example"}
    assert there[SOLO]["members"] == there[BOTH]["members"] == {BOB}
    assert there[OTHER]["members"] == {"y@far.example"}


def test_onboarding(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """A new mailbox gets its password, aliases and memberships. Check mode writes nothing."""
    runner.save("passwords.yml", {"DAN@bücher.example": PASSWORD})
    given = {**NEW, "mail_passwords_file": "passwords.yml"}
    with company.recorder.forbidding_writes():
        done = runner.play("onboard_mailbox", "--check", "--diff", **given)
    assert (done.status, done.recap.changed) == (0, 2), done.output
    done = runner.play("onboard_mailbox", "-vvvv", "--diff", **given)
    assert (done.status, done.recap.changed) == (0, 2), done.output
    assert "canary-HOTEL" not in done.output
    there = company.listing()
    assert there[DAN]["emails"] == {DAN, f"new@{DOMAIN}", f"newer@{DOMAIN}"}
    assert there[TEAM]["members"] == {ANN, "x@far.example", DAN}
    assert there[BOTH]["members"] == {ANN, BOB, DAN}
    assert opens(service, DAN, PASSWORD)


@pytest.mark.full
def test_onboarding_again_keeps_the_password(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """A second run completes a failed run without changing the password."""
    given = {**NEW, "vault_mail_passwords": {DAN: "of the map"}, "vault_mail_password": "12345678"}
    company.recorder.spoil(NOT_TODAY, part="PATCH /api/principal/team")
    done = runner.play("onboard_mailbox", **given)
    assert (done.status, done.recap.changed) == (2, 1), done.output
    assert "status 422" in output_text(done)
    # The answer in a survey takes precedence over the map of passwords.
    assert opens(service, DAN, "12345678")
    done = runner.play("onboard_mailbox", **{**given, "vault_mail_password": None})
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert "password was kept" in output_text(done)
    assert opens(service, DAN, "12345678")
    assert DAN in company.listing()[TEAM]["members"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("playbook", "given", "named"),
    [
        ("onboard", {"mail_mailbox": [ANN]}, "mail_mailbox"),
        ("onboard", {"mail_passwords_file": "none.yml"}, "none.yml"),
        ("onboard", {"vault_mail_password": ""}, "vault_mail_password"),
        ("onboard", {"mail_forwarders": [TEAM, f"none@{DOMAIN}", BOB]}, f"{BOB}, none@{DOMAIN}"),
        ("onboard", {"mail_mailbox": TEAM}, "is a forwarder"),
        ("offboard", {"mail_colleague": None}, "mail_colleague"),
        ("offboard", {"mail_colleague": ANN}, "mail_mailbox and mail_colleague"),
        ("offboard", {"mail_colleague": TEAM}, "mail_colleague"),
        ("offboard", {**GOING, "mail_mailbox": HI}, f"{HI} is an alias of {ANN}"),
        ("offboard", {"mail_mailbox": f"none@{DOMAIN}"}, "mail_mailbox"),
        ("offboard", {"mail_delete_mailbox": "yess"}, "mail_delete_mailbox"),
        ("offboard", {"mail_take_over_address": "yes"}, "mail_delete_mailbox"),
        # If a password file is given, the account's passwords are not used.
        ("rotate", {"mail_passwords_file": "empty.yml"}, "passwords to set"),
        ("rotate", {"mail_passwords_file": "wrong.yml"}, "line 1"),
        ("rotate", {"mail_mailboxes": [ANN, "bob@bücher.example"]}, BOB),
        # Only an unset variable selects all mailboxes.
        ("rotate", {"mail_mailboxes": " ,"}, "mail_mailboxes"),
        ("rotate", {"vault_mail_passwords": {"bbo@one.example": STRAY, TEAM: "x"}}, TEAM),
    ],
)
def test_wrong_answers_change_nothing(
    playbook: str,
    given: dict[str, Any],
    named: str,
    runner: PlaybookRunner,
    company: RecordedTenant,
) -> None:
    """An invalid answer is reported with its variable or object before anything is written."""
    (runner.folder / "empty.yml").touch()
    (runner.folder / "wrong.yml").write_text(f"{ANN}: *{STRAY}\n")
    names = {"onboard": "onboard_mailbox", "offboard": "offboard_mailbox"}
    valid = {"onboard": {**NEW, "vault_mail_password": STRAY}, "offboard": LEAVING}
    variables = valid.get(playbook, {"vault_mail_passwords": {ANN: STRAY}})
    with company.recorder.forbidding_writes():
        done = runner.play(names.get(playbook, "rotate_passwords"), **{**variables, **given})
    assert done.status == 2, done.output
    assert named in output_text(done)
    assert STRAY not in done.output


def test_offboarding(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """Offboarding sets a random password and transfers aliases and memberships to a colleague."""
    with company.recorder.forbidding_writes():
        done = runner.play("offboard_mailbox", "--check", "--diff", **LEAVING)
    assert (done.status, done.recap.changed) == (0, 3), done.output
    done = runner.play("offboard_mailbox", "--diff", **LEAVING)
    assert (done.status, done.recap.changed) == (0, 3), done.output
    there = company.listing()
    assert_handed_over(there)
    assert there[ANN]["emails"] == {ANN}
    assert not opens(service, ANN, OLD)


@pytest.mark.full
def test_offboarding_with_deletion(runner: PlaybookRunner, company: RecordedTenant) -> None:
    """Offboarding with deletion also transfers the primary address to the colleague."""
    assert runner.play("offboard_mailbox", **LEAVING).status == 0
    done = runner.play("offboard_mailbox", **LEAVING)
    assert (done.status, done.recap.changed) == (0, 1), done.output
    with company.recorder.forbidding_writes():
        done = runner.play("offboard_mailbox", "--check", **GOING)
    assert (done.status, done.recap.changed) == (0, 2), done.output
    done = runner.play("offboard_mailbox", **GOING)
    assert (done.status, done.recap.changed) == (0, 2), done.output
    there = company.listing()
    assert_handed_over(there)
    assert ANN not in there
    assert there[BOB]["emails"] == {BOB, HI, HO, ANN}
    done = runner.play("offboard_mailbox", **GOING)
    assert (done.status, done.recap.changed) == (0, 0), done.output


@pytest.mark.full
def test_offboarding_continues_after_failures(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """A failed offboarding reports what it has changed, and the next run continues from there."""
    sent: list[str] = []

    def refuse_password(request: Request) -> Reply:
        sent.extend(request.json["secrets"])
        return NOT_TODAY

    company.recorder.spoil(refuse_password, part="PATCH /api/principal/ann")
    done = runner.play("offboard_mailbox", "-vvvv", "--diff", **GOING)
    assert done.status == 2, done.output
    assert "has its old password" in output_text(done)
    assert [len(password) for password in sent] == [64]
    (runner.folder / "output").write_text(done.output)
    assert leaks(sent, [runner.folder]) == []
    # The second alias is removed from its mailbox, refused by the colleague's, and then restored.
    company.recorder.spoil(NOT_TODAY, part="PATCH /api/principal/bob", skip=1)
    done = runner.play("offboard_mailbox", **GOING)
    assert "has a new password" in output_text(done)
    assert f"may not have been moved: {HO}." in output_text(done)
    assert company.listing()[ANN]["emails"] == {ANN, HO}
    assert not opens(service, ANN, OLD)
    company.recorder.spoil(NOT_TODAY, part="PATCH /api/principal/solo")
    assert f"have been changed: {SOLO}." in output_text(runner.play("offboard_mailbox", **GOING))
    company.recorder.spoil(NOT_TODAY, part="DELETE")
    done = runner.play("offboard_mailbox", **GOING)
    assert f"Forwarders that were changed: {SOLO}." in output_text(done)
    company.recorder.spoil(NOT_TODAY, part="PATCH /api/principal/bob")
    assert "The mailbox is deleted." in output_text(runner.play("offboard_mailbox", **GOING))
    assert_handed_over(company.listing())


@pytest.mark.full
def test_unknown_outcomes_of_offboarding(runner: PlaybookRunner, company: RecordedTenant) -> None:
    """If the response to a write is lost, the message reports that the outcome is unknown."""
    company.recorder.spoil(problem(500), part="PATCH /api/principal/ann", after=True)
    done = runner.play("offboard_mailbox", **GOING)
    assert done.status == 2, done.output
    assert "either a new or its old password" in output_text(done)

    def answer_nothing_more(_request: Request) -> Reply:
        company.recorder.spoil(problem(500), part="GET /api/principal/ann", times=100)
        return problem(500)

    company.recorder.spoil(answer_nothing_more, part="DELETE", after=True)
    done = runner.play("offboard_mailbox", **GOING)
    assert "may have been deleted" in output_text(done)
    assert ANN not in company.listing()


@pytest.mark.full
def test_offboarding_keeps_concurrent_changes(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """Offboarding keeps a member and an alias that another client adds concurrently."""
    late, new = f"late@{DOMAIN}", "new@far.example"
    other = Api(service.url, company.token)

    def write(_request: Request) -> None:
        members = [ANN, "x@far.example", new]
        other.call("PATCH", f"/api/principal/{TEAM}", {"members": members})
        other.call("PATCH", f"/api/principal/{ANN}", {"emails": [ANN, HI, HO, late]})

    company.recorder.spoil(write, part="PATCH /api/principal/ann", after=True)
    done = runner.play("offboard_mailbox", **GOING)
    assert done.status == 0, done.output
    there = company.listing()
    assert there[TEAM]["members"] == {"x@far.example", new}
    assert ANN not in there
    assert there[BOB]["emails"] == {BOB, HI, HO, ANN, late}


def test_rotation(runner: PlaybookRunner, company: RecordedTenant, service: RunningService) -> None:
    """Mailboxes in an encrypted file get new passwords, which no output shows, even at -vvvv."""
    (runner.folder / "key").write_text("the key of the vault")
    runner.save("passwords.yml", {"Ann@Bücher.example": PASSWORD, BOB: MORE})
    runner.encrypt("passwords.yml", "key")
    given = {"mail_passwords_file": "passwords.yml"}
    options = ("--vault-password-file", "key", "-vvvv", "--diff")
    with company.recorder.forbidding_writes():
        done = runner.play("rotate_passwords", "--check", *options, **given)
    assert (done.status, done.recap.changed) == (0, 1), done.output
    done = runner.play("rotate_passwords", *options, **given)
    assert (done.status, done.recap.changed) == (0, 1), done.output
    assert opens(service, ANN, PASSWORD)
    assert all(opens(service, BOB, password) for password in MORE)
    assert not opens(service, ANN, OLD)
    assert opens(service, CAT, OLD)
    (runner.folder / "output").write_text(done.output)
    assert leaks([PASSWORD, *MORE], [runner.folder]) == []


@pytest.mark.full
def test_rotation_in_part(
    runner: PlaybookRunner, company: RecordedTenant, service: RunningService
) -> None:
    """If some passwords can't be set, the message lists the mailboxes with a new password."""
    refusal = problem(422, f"It may not be {STRAY}.")
    company.recorder.spoil(refusal, part="PATCH /api/principal/bob")
    given: dict[str, Any] = {"vault_mail_passwords": {ANN: STRAY, BOB: STRAY, CAT: STRAY}}
    done = runner.play("rotate_passwords", "-vvvv", "--diff", **given)
    assert done.status == 2, done.output
    assert f"New passwords are set for {ANN}, {CAT}." in output_text(done)
    assert f"the result is unknown: {BOB}." in output_text(done)
    assert STRAY not in done.output
    assert [opens(service, name, STRAY) for name in (ANN, BOB, CAT)] == [True, False, True]
    chosen = {**given, "mail_mailboxes": "BOB@bücher.example\n"}
    changed = [runner.play("rotate_passwords", **chosen).recap.changed for _ in range(2)]
    assert changed == [1, 1]
    # Ansible masks a one-letter password even within names, so the message can't list names.
    company.recorder.spoil(refusal, part="PATCH /api/principal/bob")
    done = runner.play("rotate_passwords", vault_mail_passwords={ANN: "n", BOB: STRAY})
    assert "can't determine which ones" in output_text(done)
