# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The AWX executor launches one job per change, and finds that job again after any failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.backends.sample_changes import (
    ALIAS_SURVEY,
    ALICE,
    BOB,
    FORWARDER_SURVEY,
    SALES,
    TEAM,
    LeaseLostError,
    RecordingContext,
    alias,
    emails,
    forward,
    members,
    no_alias,
    no_forward,
    request_for,
)
from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.fakes.awx.jobs import (
    Awx,
    Template,
    running_awx,
)
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Job as AwxJob
from ansible_collections.postroom.email.tests.fakes.awx.server import Fault
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, scripted
from ansible_collections.postroom.email.tests.service.api import Api
from postroom_bot.backends.awx_client import AwxClient, Job
from postroom_bot.backends.awx_executor import REQUEST_VARIABLE, AwxExecutor
from postroom_bot.backends.executor import Outcome
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.domain import Action, Change, Reason
from postroom_bot.errors import Rejected, Unavailable

HI = "hi@example.com"
FAR = "partner@far.example"
WRONG = "wr0ng-Token/of+AWX"
LAUNCH = "POST /api/v2/job_templates/7/launch/"


class Automation:
    """An AWX stub, an executor that uses it, and a fake clock for the executor's waits."""

    def __init__(self, stand_in: Awx, mail: MailApi) -> None:
        stand_in.templates = {
            7: Template("add_alias", ALIAS_SURVEY),
            8: Template("remove_alias", ALIAS_SURVEY),
            9: Template("forwarder", FORWARDER_SURVEY),
        }
        self.stand_in = stand_in
        self.now = 0.0
        self.client = AwxClient(stand_in.url, SecretStr(stand_in.token), timeout=5)
        self._mail = mail

    def execute(
        self, change: Change, context: RecordingContext | None = None, **options: Any
    ) -> Outcome:
        """Execute a change once, with the notes of the previous attempt."""
        context = context or RecordingContext()
        defaults = {"clock": lambda: self.now, "wait": self.wait}
        templates = dict(zip(Action, (7, 8, 9, 9), strict=False))
        executor = AwxExecutor(self.client, templates, self._mail, **{**defaults, **options})
        return executor.execute(request_for(change, notes=context.last), context)

    def wait(self, seconds: float) -> bool:
        """Advance the clock, and wait until all jobs have ended, unless the stub holds them."""
        self.now += seconds
        if self.stand_in.going.is_set():
            self.stand_in.wait()
        return False

    @property
    def statuses(self) -> list[str]:
        """The jobs' statuses, starting with the oldest job."""
        return [job.status for job in self.stand_in.jobs.values()]


@pytest.fixture
def automation(mail: MailApi, api: Api) -> Iterator[Automation]:
    """Provide an executor and an AWX stub whose jobs have the same effect as the playbooks."""

    def play(playbook: str, variables: Mapping[str, Any]) -> bool:
        if playbook == "forwarder":
            name, listed = variables["mail_forwarder"], variables["mail_members"].split(",")
            if variables["mail_state"] == "absent":
                api.delete(name)
                return True
            if variables["mail_purge_members"] == "true":
                api.patch(name, members=listed)
                return True
            change = forward(name, *listed)
        else:
            wished = {"add_alias": alias, "remove_alias": no_alias}[playbook]
            change = wished(variables["mail_alias"], variables["mail_mailbox"])
        mail.execute(request_for(change), RecordingContext())
        return True

    with running_awx(play) as stand_in:
        yield Automation(stand_in, mail)


def test_changes_are_made_by_jobs(automation: Automation, api: Api) -> None:
    """Each change launches one job.

    No job is launched for a change without effect or for one that contains a Jinja template.
    """
    execute = automation.execute
    done = execute(alias(HI))
    added = Reason("alias.added", {"address": HI, "mailbox": ALICE})
    assert done == Outcome(changed=True, result=added, before=frozenset(), after=frozenset({ALICE}))
    assert emails(api, ALICE) == {ALICE, HI}
    assert not execute(alias(HI)).changed
    assert execute(no_alias(HI)).freed == (HI,)
    assert emails(api, ALICE) == {ALICE}
    assert automation.statuses == ["successful", "successful"]
    api.forwarder(TEAM, [ALICE, "{{x}}@far.example"])
    with pytest.raises(Rejected, match=r"awx\.unsafe_address"):
        execute(no_forward(TEAM, ALICE))
    assert execute(forward(TEAM, BOB)).changed
    assert members(api, TEAM) == {ALICE, BOB, "{{x}}@far.example"}
    api.delete(TEAM)
    execute(forward(TEAM, ALICE, BOB, FAR))
    done = execute(no_forward(TEAM, FAR))
    assert (done.before, done.after) == ({ALICE, BOB, FAR}, {ALICE, BOB})
    assert members(api, TEAM) == {ALICE, BOB}
    done = execute(no_forward(TEAM))
    assert (done.before, done.after, done.freed) == ({ALICE, BOB}, set(), (TEAM,))
    assert api.get(TEAM).status_code == 404
    launched = len(automation.statuses)
    with pytest.raises(Rejected, match=r"address\.taken"):
        execute(alias(SALES))
    with pytest.raises(ValueError, match="password"):
        execute(Change(Action.PASSWORD, ALICE))
    assert len(automation.statuses) == launched


def test_a_job_is_found_by_its_request_on_any_page(automation: Automation) -> None:
    """A request's job is found even if many other jobs of the same template were launched."""
    stand_in = automation.stand_in
    stand_in.going.clear()
    stand_in.faults.append(Fault(LAUNCH, None, after=True))
    with pytest.raises(Unavailable):
        automation.execute(alias(HI))
    (ours,) = stand_in.jobs
    stand_in.play = lambda playbook, variables: True
    for number in range(60):
        variables = {REQUEST_VARIABLE: f"R-{number}", "mail_alias": HI, "mail_mailbox": ALICE}
        automation.client.launch(7, variables)
    found = automation.client.launched(7, REQUEST_VARIABLE, "R-7K2M")
    assert found is not None
    assert found.id == ours
    assert automation.client.launched(7, REQUEST_VARIABLE, "R-none") is None


@pytest.mark.parametrize(
    ("newer", "is_found"), [(0, True), (499, True), (500, False), (999, False)]
)
def test_the_search_for_a_job_ends(automation: Automation, newer: int, *, is_found: bool) -> None:
    """A job is found if it is among its template's 500 newest jobs, and older jobs aren't read."""
    stand_in = automation.stand_in
    stand_in.jobs[41] = AwxJob(41, 7, {REQUEST_VARIABLE: "R-7K2M"}, "successful")
    for number in range(42, 42 + newer):
        stand_in.jobs[number] = AwxJob(number, 7, {REQUEST_VARIABLE: f"R-{number}"}, "failed")
    found = automation.client.launched(7, REQUEST_VARIABLE, "R-7K2M")
    assert found == (Job(41, "successful") if is_found else None)
    assert len(stand_in.requests) == min(newer // 50 + 1, 10)


def test_a_slow_job_is_left_running(automation: Automation, api: Api) -> None:
    """A running job survives a lost lease, a timeout and a shutdown of the bot."""
    automation.stand_in.going.clear()
    context = RecordingContext()
    patient: dict[str, Any] = {"patience": 10}
    for options in (patient, patient, {"wait": lambda seconds: True}):
        with pytest.raises(Unavailable, match=r"awx\.running"):
            automation.execute(no_alias(SALES, BOB), context, **options)
    assert context.renewals == 1 + 5 + 5
    context.renewals_left = context.renewals
    with pytest.raises(LeaseLostError):
        automation.execute(no_alias(SALES, BOB), context)
    assert context.last == {"template": 8, "job": 41, "freeing": [SALES], "before": [BOB]}
    assert automation.statuses == ["pending"]
    automation.stand_in.going.set()
    automation.stand_in.wait()
    done = automation.execute(no_alias(SALES, BOB), RecordingContext([context.last]))
    assert (done.changed, done.freed) == (True, (SALES,))
    assert automation.statuses == ["successful"]
    assert emails(api, BOB) == {BOB}


def test_a_canceled_job_is_final_and_a_deleted_one_is_replaced(
    automation: Automation, api: Api
) -> None:
    """A change whose job was canceled in AWX is rejected. A deleted job is replaced."""
    automation.stand_in.going.clear()
    context = RecordingContext()
    with pytest.raises(Unavailable, match=r"awx\.running"):
        automation.execute(alias(HI), context, patience=0)
    automation.client.cancel(41)
    with pytest.raises(Rejected, match=r"awx\.canceled"):
        automation.execute(alias(HI), context)
    assert emails(api, ALICE) == {ALICE}
    automation.stand_in.going.set()
    gone = RecordingContext([{"template": 7, "job": 12345, "freeing": []}])
    assert automation.execute(alias(HI), gone).changed


@pytest.mark.parametrize("fault", [None, Fault(LAUNCH.replace("7", "8"), 502, after=True)])
def test_a_failed_job_is_followed_by_another_one(
    automation: Automation, fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A failed job is replaced with a new job, even if the bot did not see the failure."""
    good = automation.stand_in.play
    automation.stand_in.explanation = "Previous Task Failed: project update"
    automation.stand_in.play = lambda playbook, variables: False
    automation.stand_in.faults.extend([fault] if fault else [])
    context = RecordingContext()
    with pytest.raises(Unavailable, match=r"awx\.unavailable" if fault else "awx.failed"):
        automation.execute(no_alias(SALES, BOB), context)
    assert fault or context.last == {"freeing": [SALES], "before": [BOB]}
    assert fault or "job 41 ended as failed: Previous Task Failed: project update" in caplog.text
    automation.stand_in.wait()
    automation.stand_in.play = good
    assert automation.execute(no_alias(SALES, BOB), context).freed == (SALES,)
    assert automation.statuses == ["failed", "successful"]


def test_wrong_credentials_are_reported(
    automation: Automation, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong token or password is reported to the operator, but its value is not logged."""
    stand_in = automation.stand_in
    login = (stand_in.user, SecretStr(stand_in.password))
    AwxClient(f"{stand_in.url}/", login).check_template(
        7, {"mail_alias": "", "mail_mailbox": "", REQUEST_VARIABLE: ""}
    )
    for wrong in (SecretStr(WRONG), ("bot", SecretStr(WRONG))):
        with pytest.raises(Unavailable, match=r"awx\.unauthorized"):
            AwxClient(stand_in.url, wrong).check_template(7, {})
    stand_in.may_launch = False
    with pytest.raises(Unavailable, match=r"awx\.unauthorized"):
        automation.execute(alias(HI))
    assert automation.statuses == []
    assert {record.levelno for record in caplog.records} == {logging.ERROR}
    assert WRONG not in caplog.text
    with pytest.raises(ValueError, match="awx_token") as error:
        AwxClient(stand_in.url, SecretStr(f"{WRONG}\n"))
    assert WRONG not in str(error.value)


def test_an_unsuitable_template_is_not_launched(
    automation: Automation, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing or unsuitable job template is not launched, and the log states the reason."""
    templates = automation.stand_in.templates
    context = RecordingContext()
    for template, problem in (
        (Template("add_alias"), "takes no variables"),
        (Template("add_alias", surveys.of_texts(why=True, mail_alias=True)), "needs why"),
        (None, "404"),
    ):
        del templates[7]
        templates.update({7: template} if template else {})
        with pytest.raises(Unavailable, match=r"awx\.misconfigured"):
            automation.execute(alias(HI), context)
        assert problem in caplog.text
    assert (automation.statuses, context.notes) == ([], [])


def test_a_job_that_cannot_have_its_effect_is_an_error(
    automation: Automation, caplog: pytest.LogCaptureFixture
) -> None:
    """A job that can't have made its change is reported as an error, regardless of its status."""
    good = automation.stand_in.play
    automation.stand_in.play = lambda playbook, variables: True
    context = RecordingContext()
    with pytest.raises(Unavailable, match=r"awx\.misconfigured"):
        automation.execute(alias(HI), context)
    assert "job 41" in caplog.text
    assert context.last == {}
    automation.stand_in.play = good
    automation.stand_in.going.clear()
    survey = surveys.of_texts(mail_alias=True)
    automation.stand_in.templates[7] = Template("add_alias", survey)
    with pytest.raises(Unavailable, match=r"awx\.misconfigured"):
        automation.execute(alias(HI), context)
    assert f"ignores the variables mail_mailbox, {REQUEST_VARIABLE}" in caplog.text
    assert (automation.statuses, context.last) == (["successful", "canceled"], {})
    automation.stand_in.going.set()
    automation.stand_in.templates[7] = Template("add_alias", asks_variables=True)
    automation.execute(alias(HI), context)
    assert automation.statuses == ["successful", "canceled", "successful"]


@pytest.mark.parametrize(
    ("fault", "retry_after", "launched"),
    [
        (Fault("GET", 429, headers={"Retry-After": "9"}), 9, 0),
        (Fault("POST", 302, headers={"Location": "/elsewhere"}), None, 0),
        (Fault(LAUNCH, None, after=False), None, 0),
        (Fault(LAUNCH, None, after=True), None, 1),
        (Fault(LAUNCH, 502, after=True), None, 1),
    ],
)
def test_a_fault_ends_one_try(
    automation: Automation, api: Api, fault: Fault, retry_after: float | None, launched: int
) -> None:
    """After a failed attempt, the next attempt finds out whether the job was launched."""
    automation.stand_in.faults.append(fault)
    context = RecordingContext()
    with pytest.raises(Unavailable, match=r"awx\.unavailable") as later:
        automation.execute(alias(HI), context)
    assert later.value.retry_after == retry_after
    if fault.part == LAUNCH:
        assert context.last == {"template": 7, "job": None, "freeing": [], "before": []}
    assert len(automation.statuses) == launched
    done = automation.execute(alias(HI), context)
    # The request has added the alias, even if an earlier attempt has launched the job.
    assert (done.before, done.after) == (frozenset(), {ALICE})
    assert automation.statuses == ["successful"]
    assert emails(api, ALICE) == {ALICE, HI}
    automation.stand_in.faults.append(Fault("POST", 400))
    with pytest.raises(Rejected, match=r"awx\.rejected"):
        automation.execute(no_alias(HI))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>"),
        Reply(200, b"[]"),
        Reply(200, b'{"id": "1", "status": "successful"}'),
        Reply(hang=True),
    ],
)
def test_only_a_well_formed_job_is_believed(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    """The executor ignores jobs with unexpected variables, such as those of other programs."""
    rows = [{"id": 2, "status": "failed", "extra_vars": vars_} for vars_ in ("no JSON", "[]", None)]
    ours = {"id": 1, "status": "running", "extra_vars": '{"postroom_request": "R-1"}'}
    replies = [reply, Reply(200, json.dumps({"results": [*rows, ours]}).encode())]
    with scripted(lambda request: replies.pop(0)) as server:
        client = AwxClient(server.url, SecretStr(WRONG), timeout=0.2)
        with pytest.raises(Unavailable, match=r"awx\.unavailable"):
            client.job(1)
        assert client.launched(7, REQUEST_VARIABLE, "R-1") == Job(1, "running")
    assert WRONG not in caplog.text
