# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Wishes carried out by AWX's jobs: once each, through crashes and lost answers."""

from __future__ import annotations

from threading import Event

import pytest

from ansible_collections.postroom.email.tests.bot.executors.automation import Automation
from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    LeaseLostError,
    Notebook,
    alias,
    emails,
    forward,
    members,
    no_alias,
    no_forward,
    request_for,
)
from ansible_collections.postroom.email.tests.fakes.awx.web import Fault
from ansible_collections.postroom.email.tests.service.api import Api
from postroom_bot.executors.awx import REQUEST_VARIABLE
from postroom_bot.executors.base import Done, TryLater, WontDo
from postroom_bot.model import Action, Wish

HI = "hi@example.com"
FAR = "partner@far.example"
LAUNCH = "POST /api/v2/job_templates/7/launch/"


def carry_out(automation: Automation, wish: Wish, keeper: Notebook | None = None) -> Done:
    """Try once, with the notes of the last try."""
    keeper = keeper or Notebook()
    return automation.executor.carry_out(request_for(wish, progress=keeper.last), keeper)


def test_aliases_come_and_go(real_automation: Automation, api: Api) -> None:
    """By a job each, which is launched for what is not so yet, and for nothing else."""
    done = carry_out(real_automation, alias(HI))
    assert done == Done(changed=True, sentence=f"`{HI}` delivers to `{ALICE}`.", stands=alias(HI))
    assert emails(api, ALICE) == {ALICE, HI}
    assert not carry_out(real_automation, alias(HI)).changed
    assert carry_out(real_automation, no_alias(HI)).freed == (HI,)
    assert emails(api, ALICE) == {ALICE}
    assert real_automation.statuses == ["successful", "successful"]


def test_forwarders_come_and_go(real_automation: Automation, api: Api) -> None:
    """Destinations are added to others, taken from others, and go with the forwarder."""
    carry_out(real_automation, forward(TEAM, ALICE))
    done = carry_out(real_automation, forward(TEAM, BOB, FAR))
    assert done.stands == forward(TEAM, ALICE, BOB, FAR)
    assert members(api, TEAM) == {ALICE, BOB, FAR}
    done = carry_out(real_automation, no_forward(TEAM, FAR))
    assert done.stands == forward(TEAM, ALICE, BOB)
    assert members(api, TEAM) == {ALICE, BOB}
    done = carry_out(real_automation, no_forward(TEAM))
    assert (done.stands, done.freed) == (no_forward(TEAM), (TEAM,))
    assert api.get(TEAM).status_code == 404
    assert real_automation.statuses == ["successful"] * 4


def test_what_cant_be_is_refused_before_a_job(automation: Automation) -> None:
    """In the words of the mail executor. Passwords are none of its business."""
    with pytest.raises(WontDo, match="already delivers somewhere else"):
        carry_out(automation, alias(SALES))
    with pytest.raises(ValueError, match="while its owner is looking"):
        carry_out(automation, Wish(Action.PASSWORD, ALICE))
    assert automation.stand_in.requests == []


def test_a_member_of_others_making_is_no_template(real_automation: Automation, api: Api) -> None:
    """An address that would be evaluated by a playbook is not handed to one."""
    api.forwarder(TEAM, [ALICE, BOB, "{{x}}@far.example"])
    with pytest.raises(WontDo, match="can't take one of the addresses"):
        carry_out(real_automation, no_forward(TEAM, BOB))
    assert carry_out(real_automation, forward(TEAM, FAR)).changed
    assert members(api, TEAM) == {ALICE, BOB, FAR, "{{x}}@far.example"}


@pytest.mark.parametrize("status", [None, 502])
@pytest.mark.parametrize("after", [True, False])
def test_a_lost_answer(
    automation: Automation, api: Api, status: int | None, *, after: bool
) -> None:
    """Whether the job was launched is found out; it is launched once in either case."""
    stand_in = automation.stand_in
    stand_in.faults.append(Fault(LAUNCH, status, after))
    keeper = Notebook()
    with pytest.raises(TryLater, match="does not answer properly"):
        carry_out(automation, alias(HI), keeper)
    assert keeper.last == {"template": 7, "job": None, "freeing": []}
    assert len(automation.statuses) == after
    carry_out(automation, alias(HI), keeper)
    assert automation.statuses == ["successful"]
    assert emails(api, ALICE) == {ALICE, HI}


def test_our_job_is_found_among_many(automation: Automation) -> None:
    """On whatever page it is, by the request's id alone."""
    stand_in = automation.stand_in
    stand_in.going.clear()
    keeper = Notebook()
    stand_in.faults.append(Fault(LAUNCH, None, after=True))
    with pytest.raises(TryLater):
        carry_out(automation, alias(HI), keeper)
    (ours,) = stand_in.jobs
    stand_in.play = lambda playbook, variables: True
    for number in range(120):
        variables = {REQUEST_VARIABLE: f"R-{number}", "mail_alias": HI, "mail_mailbox": ALICE}
        automation.controller.launch(7, variables)
    found = automation.controller.launched(7, REQUEST_VARIABLE, "R-7K2M")
    assert found is not None
    assert found.id == ours
    assert automation.controller.launched(7, REQUEST_VARIABLE, "R-none") is None


def test_a_crash_while_the_job_runs(automation: Automation, api: Api) -> None:
    """The next try goes on watching that job, and knows what it has freed."""
    stand_in = automation.stand_in
    stand_in.going.clear()
    keeper = Notebook(renewals_left=1)
    with pytest.raises(LeaseLostError):
        carry_out(automation, no_alias(SALES, BOB), keeper)
    assert keeper.last == {"template": 8, "job": 41, "freeing": [SALES]}
    stand_in.going.set()
    stand_in.wait()
    done = carry_out(automation, no_alias(SALES, BOB), Notebook([keeper.last]))
    assert (done.changed, done.freed) == (True, (SALES,))
    assert automation.statuses == ["successful"]
    assert emails(api, BOB) == {BOB}


def test_patience_ends(automation: Automation) -> None:
    """A job that takes long is left alone and looked at again later; the lease is held."""
    automation.stand_in.going.clear()
    keeper = Notebook()
    executor = automation.executor_with(patience=10)
    for _ in range(2):
        with pytest.raises(TryLater, match="still at work"):
            executor.carry_out(request_for(alias(HI), progress=keeper.last), keeper)
    assert automation.statuses == ["pending"]
    assert keeper.renewals == 1 + 5 + 5
    automation.stand_in.going.set()
    assert carry_out(automation, alias(HI), keeper).changed


def test_a_process_that_is_to_end_watches_no_longer(automation: Automation) -> None:
    """It leaves at once; the job goes on, and the next process finds it again."""
    automation.stand_in.going.clear()
    stopping = Event()
    stopping.set()
    keeper = Notebook()
    executor = automation.executor_with(wait=stopping.wait)
    with pytest.raises(TryLater, match="still at work"):
        executor.carry_out(request_for(alias(HI)), keeper)
    automation.stand_in.going.set()
    assert carry_out(automation, alias(HI), keeper).changed
    assert automation.statuses == ["successful"]


def test_a_job_that_fails(automation: Automation, api: Api) -> None:
    """It is told, and the next try launches another one."""
    good = automation.stand_in.play
    automation.stand_in.play = lambda playbook, variables: False
    keeper = Notebook()
    with pytest.raises(TryLater, match=r"^The automation failed\.$"):
        carry_out(automation, no_alias(SALES, BOB), keeper)
    assert keeper.last == {"freeing": [SALES]}
    automation.stand_in.play = good
    assert carry_out(automation, no_alias(SALES, BOB), keeper).freed == (SALES,)
    assert automation.statuses == ["failed", "successful"]


def test_a_failure_that_nobody_saw(automation: Automation) -> None:
    """A job that failed while the bot was down is followed by another one."""
    good = automation.stand_in.play
    automation.stand_in.play = lambda playbook, variables: False
    automation.stand_in.faults.append(Fault(LAUNCH, 502, after=True))
    keeper = Notebook()
    with pytest.raises(TryLater):
        carry_out(automation, alias(HI), keeper)
    automation.stand_in.wait()
    automation.stand_in.play = good
    assert carry_out(automation, alias(HI), keeper).changed
    assert automation.statuses == ["failed", "successful"]


def test_a_job_that_is_canceled(automation: Automation, api: Api) -> None:
    """Whoever did so is obeyed."""
    automation.stand_in.going.clear()
    keeper = Notebook()
    with pytest.raises(TryLater, match="still at work"):
        automation.executor_with(patience=0).carry_out(request_for(alias(HI)), keeper)
    automation.controller.cancel(41)
    with pytest.raises(WontDo, match="Somebody stopped the automation"):
        carry_out(automation, alias(HI), keeper)
    assert emails(api, ALICE) == {ALICE}


def test_a_job_that_is_gone(automation: Automation) -> None:
    """One that AWX no longer knows counts for nothing."""
    keeper = Notebook([{"template": 7, "job": 12345, "freeing": []}])
    assert carry_out(automation, alias(HI), keeper).changed
    assert automation.statuses == ["successful"]


def test_a_job_that_does_nothing(automation: Automation, caplog: pytest.LogCaptureFixture) -> None:
    """Its success is not believed where nothing has changed."""
    automation.stand_in.play = lambda playbook, variables: True
    keeper = Notebook()
    with pytest.raises(TryLater, match="not set up for this"):
        carry_out(automation, alias(HI), keeper)
    assert "job 41 was successful and did not do what it is for" in caplog.text
    assert keeper.last == {}
