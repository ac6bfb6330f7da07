# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the bot's workflow: each kind of database, the service and a Slack workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    Harness,
    api_with_mailboxes,
    open_harness,
)
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.mail_api import MailApi
from postroom_common.database import Database


@pytest.fixture
def api(service: RunningService) -> Iterator[Api]:
    """Provide API access to a tenant with the domain example.com and a mailbox for each person."""
    with api_with_mailboxes(service) as api:
        yield api


@pytest.fixture
def mail(service: RunningService, api: Api) -> Iterator[MailApi]:
    """Provide a client for the tenant of the `api` fixture."""
    mail = MailApi(service.url, SecretStr(service.token), verify_delay=0.02)
    yield mail
    mail.close()


@pytest.fixture
def slack(clock: Clock) -> Iterator[Workspace]:
    """Provide a Slack workspace."""
    with Workspace(clock=clock) as workspace:
        yield workspace


@pytest.fixture
def harness(
    slack: Workspace, api: Api, mail: MailApi, database: Database, clock: Clock, tmp_path: Path
) -> Harness:
    """Provide the bot's workflow together with all services that it uses."""
    return open_harness(slack, api, mail, database, clock, tmp_path)
