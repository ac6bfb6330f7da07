# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX as it should not be: without rights, without the right survey, down, or something else."""

from __future__ import annotations

import logging

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.executors.automation import Automation
from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    Notebook,
    alias,
    request_for,
)
from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Template
from ansible_collections.postroom.email.tests.fakes.awx.web import Fault
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, scripted
from postroom_bot.executors.awx import REQUEST_VARIABLE
from postroom_bot.executors.base import TryLater, WontDo
from postroom_bot.executors.controller import Basic, Controller, Job, Token

HI = "hi@example.com"
WRONG = "wr0ng-Token/of+AWX"


def try_once(automation: Automation, keeper: Notebook) -> None:
    """Wish for an alias."""
    automation.executor.carry_out(request_for(alias(HI), progress=keeper.last), keeper)


def test_a_user_with_a_password_is_let_in(automation: Automation) -> None:
    """As well as one with a token."""
    stand_in = automation.stand_in
    login = Basic(stand_in.user, SecretStr(stand_in.password))
    controller = Controller(f"{stand_in.url}/", login)
    controller.check_template(7, {"mail_alias": "", "mail_mailbox": "", REQUEST_VARIABLE: ""})
    assert controller.job(1) is None


def test_nobody_else_is_let_in(automation: Automation, caplog: pytest.LogCaptureFixture) -> None:
    """People are told whom to ask, the operator in the log, nobody about the secrets."""
    for login in (Token(SecretStr(WRONG)), Basic("bot", SecretStr(WRONG))):
        controller = Controller(automation.stand_in.url, login)
        with pytest.raises(TryLater, match="does not let me in"):
            controller.check_template(7, {})
    assert {record.levelno for record in caplog.records} == {logging.ERROR}
    assert WRONG not in caplog.text
    assert WRONG not in repr(Token(SecretStr(WRONG)))


def test_who_may_not_launch(automation: Automation) -> None:
    """Nothing is launched, and nothing is believed to be."""
    automation.stand_in.may_launch = False
    keeper = Notebook()
    with pytest.raises(TryLater, match="does not let me in"):
        try_once(automation, keeper)
    automation.stand_in.may_launch = True
    try_once(automation, keeper)
    assert automation.statuses == ["successful"]


TEMPLATES = [
    (Template("add_alias"), "takes no variables"),
    (Template("add_alias", surveys.of_texts(why=True, mail_alias=True)), "needs why"),
]


@pytest.mark.parametrize(("template", "told"), TEMPLATES)
def test_templates_that_dont_fit(
    automation: Automation, caplog: pytest.LogCaptureFixture, template: Template, told: str
) -> None:
    """They are not launched."""
    automation.stand_in.templates[7] = template
    keeper = Notebook()
    with pytest.raises(TryLater, match="not set up for this"):
        try_once(automation, keeper)
    assert f"job template 7 {told}" in caplog.text
    assert (automation.statuses, keeper.notes) == ([], [])


def test_a_template_that_is_not_there(automation: Automation) -> None:
    """Or is not shown to the bot's user, which AWX doesn't distinguish."""
    del automation.stand_in.templates[7]
    with pytest.raises(TryLater, match="not set up for this"):
        try_once(automation, Notebook())


def test_a_survey_that_lacks_a_variable(
    automation: Automation, caplog: pytest.LogCaptureFixture
) -> None:
    """AWX drops it and launches all the same; the job is stopped and not taken for ours."""
    automation.stand_in.going.clear()
    survey = surveys.of_texts(mail_alias=True)
    automation.stand_in.templates[7] = Template("add_alias", survey)
    keeper = Notebook()
    with pytest.raises(TryLater, match="not set up for this"):
        try_once(automation, keeper)
    assert f"ignores mail_mailbox, {REQUEST_VARIABLE}" in caplog.text
    assert (automation.statuses, keeper.last) == (["canceled"], {})


def test_a_template_that_takes_any_variable(automation: Automation) -> None:
    """It needs no survey."""
    automation.stand_in.templates[7] = Template("add_alias", asks_variables=True)
    try_once(automation, Notebook())
    assert automation.statuses == ["successful"]


def test_an_answer_that_awx_does_not_accept(automation: Automation) -> None:
    """Trying again is no use."""
    automation.stand_in.faults.append(Fault("POST", 400))
    with pytest.raises(WontDo, match="does not accept this"):
        try_once(automation, Notebook())


@pytest.mark.parametrize(
    ("fault", "retry_after"),
    [
        (Fault("GET", 503), None),
        (Fault("GET", 429, headers={"Retry-After": "9"}), 9),
        (Fault("GET", 429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), None),
        (Fault("POST", 500), None),
        (Fault("POST", 302, headers={"Location": "/elsewhere"}), None),
        (Fault("GET", None), None),
    ],
)
def test_faults_pass(automation: Automation, fault: Fault, retry_after: float | None) -> None:
    """Each ends one try; the next one succeeds, with one job."""
    automation.stand_in.faults.append(fault)
    keeper = Notebook()
    with pytest.raises(TryLater, match="does not answer properly") as later:
        try_once(automation, keeper)
    assert later.value.retry_after == retry_after
    try_once(automation, keeper)
    assert automation.statuses == ["successful"]


NONSENSE = [
    Reply(200, b"<html>"),
    Reply(200, b"[]"),
    Reply(200, b"{}"),
    Reply(200, b'{"id": "1", "status": "successful"}'),
    Reply(hang=True),
]


@pytest.mark.parametrize("reply", NONSENSE)
def test_what_is_not_awx(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is concluded from its answers."""
    with scripted(lambda request: reply) as server:
        controller = Controller(server.url, Token(SecretStr(WRONG)), timeout=0.2)
        with pytest.raises(TryLater, match="does not answer properly"):
            controller.job(1)
    assert WRONG not in caplog.text


def test_jobs_of_others_may_hold_anything() -> None:
    """Variables that can't be read are not ours."""
    rows = b"""{"results": [{"id": 3, "status": "failed", "extra_vars": "no JSON"},
        {"id": 2, "status": "failed", "extra_vars": "[]"},
        {"id": 2, "status": "failed", "extra_vars": null},
        {"id": 1, "status": "running", "extra_vars": "{\\"postroom_request\\": \\"R-1\\"}"}]}"""
    with scripted(lambda request: Reply(200, rows)) as server:
        controller = Controller(server.url, Token(SecretStr("token")))
        assert controller.launched(7, REQUEST_VARIABLE, "R-1") == Job(1, "running")


def test_settings_that_cant_work() -> None:
    """They are told at once, without the token."""
    for token in ("", "to\nken", "tökn"):
        with pytest.raises(ValueError, match="The token for AWX is empty or holds") as error:
            Controller("https://awx.example.com", Token(SecretStr(token)))
        assert not token or token not in str(error.value)
    with pytest.raises(ValueError, match="AWX can't be reached with these settings"):
        Controller("https://awx.example.com", Token(SecretStr("token")), ca_path="/nowhere/ca.pem")
