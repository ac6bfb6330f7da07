# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's workflow, the services that it uses, and shortcuts for users' actions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.workspace import (
    Workspace as SlackWorkspace,
)
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import Message
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.executor import ExecutionContext, Executor, Outcome
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import (
    Action,
    Change,
    Interaction,
    MessageRef,
    Reason,
    Request,
    Vote,
    Workspace,
)
from postroom_bot.errors import Unavailable
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.loader import load
from postroom_bot.policy.model import Policy
from postroom_bot.store import audit, requests, votes
from postroom_bot.workflow import queries, request_service
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.people import DECISION_AGE, People
from postroom_bot.workflow.worker import Worker

ALICE = "alice@example.com"
BOB = "bob@example.com"
NEW = "orders@example.com"
NAMES = ("alice", "bob", "carol", "dora", "erin")

POLICY = """
version: 1
identity:
  slack_email: {{domains: [example.com]}}
groups:
  admins:
    usergroups: [{admins}]
  security:
    usergroups: [{security}]
approvers: admins
channels: {{approvals: {approvals}, audit: {audit}}}
limits: {{open_requests: 3}}
rules:
  - {{name: own-removals, actions: [alias.remove], own: true, automatic: true}}
  - {{name: own-passwords, actions: [password], own: true, automatic: true}}
  - {{name: aliases, actions: [alias.add, alias.remove], approvals: {{admins: 1}}}}
  - {{name: passwords, actions: [password], approvals: {{admins: 2}}}}
  - {{name: forwards, actions: [forward.add], approvals: {{admins: 1, security: 1}}}}
  - {{name: no-forwards, actions: [forward.remove], approvals: {{admins: 1}}}}
"""


@dataclass
class Harness:
    """The workflow and its users. Bob, Carol and Dora are admins, and Dora is also in security."""

    slack: SlackWorkspace
    api: Api
    deps: Dependencies
    clock: Clock
    people: dict[str, Person]
    channels: dict[str, str]
    usergroups: dict[str, str]
    policies: list[Policy]
    keys: itertools.count[int] = field(default_factory=itertools.count)

    def interaction(self, who: str = "alice", **fields: Any) -> Interaction:
        """Return an interaction of the given user, by default with a new delivery key.

        :param fields: the fields of the Interaction that differ from the default
        """
        state = self.slack.state
        given = {"user": self.people[who].id, "team": state.team, "app": state.app, "trigger": ""}
        return Interaction(**{**given, "key": f"test:{next(self.keys)}", **fields})

    def work(self, worker: Worker | None = None) -> None:
        """Let a worker process everything that is due."""
        worker = worker or Worker(self.deps)
        for _ in range(50):
            if not worker.step():
                return
        raise AssertionError("the worker never ran out of due requests")

    def ask(self, who: str = "alice", change: Change | None = None) -> Request:
        """Submit a change, by default a new alias, and let the worker process the request."""
        made = self.submit(who, change)
        self.work()
        return self.now(made)

    def submit(self, who: str = "alice", change: Change | None = None) -> Request:
        """Submit a change, by default a new alias."""
        change = change or Change(Action.ALIAS_ADD, NEW)
        return request_service.submit(self.deps, self.interaction(who), change)

    def cancel(self, request: Request, who: str = "alice") -> Reason:
        """Cancel a request as the given user, and return the reply."""
        return request_service.cancel(self.deps, self.interaction(who), request.id)

    def requests_of(self, who: str) -> list[Request]:
        """Return the given user's requests, newest first."""
        return queries.status(self.deps, self.people[who].id)

    def voted(self) -> Request:
        """Return a request with an approval that was cast but not yet counted."""
        request = self.ask()
        self.vote("bob", request)
        return request

    def vote(
        self, who: str, request: Request, *, approves: bool = True, card: MessageRef | None = None
    ) -> Reason:
        """Press a button on a card as the given user, without letting the worker count the vote."""
        posted = card or request.card
        assert posted is not None
        press = self.interaction(who, request_id=request.id, card=posted)
        reason = "" if approves else "Not now."
        return request_service.vote(self.deps, press, approves=approves, justification=reason)

    def approve(self, request: Request, *who: str) -> Request:
        """Have several people approve in turn, and let the worker process each vote."""
        for each in who:
            self.vote(each, request)
            self.clock.advance(seconds=1)
            self.work()
        return self.now(request)

    def now(self, request: Request) -> Request:
        """Return the current state of a request."""
        found = self.deps.database.read(lambda c: requests.get(c, request.id))
        assert found is not None
        return found

    def votes(self, request: Request) -> list[Vote]:
        """Return the votes on a request."""
        return self.deps.database.read(lambda c: votes.on_request(c, request.id))

    def pass_time(self, **parts: float) -> None:
        """Advance the clock, and let the worker process everything that is due."""
        self.clock.advance(**parts)
        self.work()

    def change_account(self, who: str, **changes: Any) -> None:
        """Change a person's Slack account, without an event, and wait until decisions see it."""
        self.slack.change_user(self.people[who], announce=False, **changes)
        self.clock.advance(seconds=DECISION_AGE)

    def set_policy(self, **changes: Any) -> None:
        """Apply a policy with these changes."""
        self.policies[0] = Policy.model_validate(
            {**self.policies[0].model_dump(exclude_none=True, exclude_defaults=True), **changes},
            strict=False,
        )

    def cards(self) -> list[Message]:
        """Return the messages in the approvals channel."""
        return self.slack.messages(self.channels["approvals"])

    def texts_to(self, who: str) -> list[str]:
        """Return the texts of a person's direct messages, oldest first."""
        return [message.text for message in self.people[who].sees().direct]

    def events(self, request: Request) -> list[str]:
        """Return the audit events of a request, and check that the chain is intact."""
        self.deps.database.read(audit.verify)
        found = self.deps.database.read(lambda c: audit.rows(c, request_id=request.id))
        return [row.event for row in found]

    def details(self, request: Request) -> dict[str, Mapping[str, Any]]:
        """Return the data of the latest audit row for each event of a request."""
        found = self.deps.database.read(lambda c: audit.rows(c, request_id=request.id))
        return {row.event: row.data for row in found}

    def addresses(self, mailbox: str = ALICE) -> set[str]:
        """Return the addresses of a mailbox in the mail service."""
        return set(self.api.get(mailbox).json().get("emails", ()))

    def with_(self, **changes: Any) -> Dependencies:
        """Return the workflow's dependencies, with some of them replaced."""
        return replace(self.deps, **changes)


@contextmanager
def api_with_mailboxes(service: RunningService) -> Iterator[Api]:
    """Provide API access to a tenant with the domain example.com and a mailbox for each person."""
    wanted = {f"{name}@example.com" for name in NAMES}
    with Api(service.url, service.token) as api:
        there = {one["name"]: one for one in api.listing()}
        for name, one in there.items():
            if name in wanted and not one.get("members"):
                if one["emails"] != [name]:
                    api.patch(name, emails=[name])
            elif name != "example.com":
                api.delete(name)
        if "example.com" not in there:
            api.domain("example.com")
        for name in wanted:
            if name not in there or there[name].get("members"):
                api.mailbox(name)
        yield api


def open_harness(
    slack: SlackWorkspace, api: Api, mail: MailApi, database: Any, clock: Clock, place: Path
) -> Harness:
    """Provide the workflow, connected to all services that it uses."""
    people = {name: slack.person(name, email=f"{name}@example.com") for name in NAMES}
    everyone = list(people.values())
    channels = {name: slack.channel(name, *everyone) for name in ("approvals", "audit")}
    usergroups = {
        "admins": slack.usergroup(people["bob"], people["carol"], people["dora"]),
        "security": slack.usergroup(people["dora"]),
    }
    path = place / "policy.yml"
    path.write_text(POLICY.format(**channels | usergroups), encoding="utf-8")
    policies = [load(path)]
    slack_api = SlackApi(slack.bot_token, slack.base_url)

    workspace = Workspace(slack.state.team, app=slack.state.app)

    def policy() -> Policy:
        return policies[0]

    deps = Dependencies(
        database=database,
        clock=clock,
        policy=policy,
        people=People(slack_api, database, clock, policy, workspace),
        slack_api=slack_api,
        mail=mail,
        executor=mail,
        workspace=workspace,
        process_name="test",
        metrics=Metrics(),
        lease=timedelta(seconds=120),
    )
    return Harness(slack, api, deps, clock, people, channels, usergroups, policies)


class FailingExecutor:
    """An executor that always fails.

    :param retry_after: the seconds for which the service asks to wait
    :param error: an exception to raise instead of Unavailable, like a bug in an executor
    """

    def __init__(
        self, *, retry_after: float | None = None, error: type[Exception] | None = None
    ) -> None:
        self._trouble = error() if error else Unavailable(retry_after=retry_after)
        self.tries = 0

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Raise the error."""
        self.tries += 1
        raise self._trouble


class InterruptedExecutor:
    """An executor that executes a request, but fails before it reports the result.

    :param trouble: the exception to raise
    """

    def __init__(self, executor: Executor, trouble: Exception | None = None) -> None:
        self._executor = executor
        self._trouble = trouble or RuntimeError("cut")

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Execute the request, then raise the error."""
        self._executor.execute(request, context)
        raise self._trouble
