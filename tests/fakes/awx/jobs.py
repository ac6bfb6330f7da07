# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The part of AWX that the bot uses: job templates with surveys, launches and jobs.

    with running_awx(play) as awx:
        awx.templates[7] = Template("add_alias", surveys.of_texts(mail_alias=True))
        launch(awx.url, awx.token)

A launch drops variables that are neither in the survey nor prompted for, and lists them only in the
response. A job's variables are a JSON string. Each job runs its playbook.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from jinja2.sandbox import ImmutableSandboxedEnvironment

from . import surveys
from .server import Answer, Fault, Request, page_of, serving

JOB_SECONDS = 120.0

#: A function that runs a playbook with variables, and returns whether it succeeded.
Play = Callable[[str, Mapping[str, Any]], bool]


class Template(NamedTuple):
    """A job template for one of the collection's playbooks.

    :param survey: the survey as AWX stores it, or an empty one
    :param asks_variables: whether a launch may set any variable
    """

    playbook: str
    survey: Mapping[str, Any] = {}
    asks_variables: bool = False

    def preflight(self) -> dict[str, Any]:
        """Return the launch's requirements and options."""
        questions = self.survey.get("spec", ())
        return {
            "ask_variables_on_launch": self.asks_variables,
            "survey_enabled": bool(self.survey),
            "variables_needed_to_start": [q["variable"] for q in questions if q["required"]],
        }

    def takes(self, name: str) -> bool:
        """Return whether a launch may set a variable."""
        asked = [one["variable"] for one in self.survey.get("spec", ())]
        return self.asks_variables or name in asked


@dataclass
class Job:
    """A job with its status in AWX."""

    id: int
    template: int
    variables: Mapping[str, Any]
    status: str = "pending"
    explanation: str = ""
    thread: threading.Thread | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the job as it appears in responses."""
        variables = json.dumps(self.variables)
        shown = {"id": self.id, "status": self.status, "job_explanation": self.explanation}
        return {**shown, "extra_vars": variables}


@dataclass
class Awx:
    """The part of the controller that the bot uses.

    :param explanation: the explanation that AWX gives for failed jobs
    :param faults: the faults, each of which affects the next request that it matches
    :param going: an event for which jobs wait before they start
    :param requests: the method and path of each request
    """

    play: Play
    token: str = "awx-Tok3n/of+tests"
    user: str = "bot"
    password: str = "awx-p4ss/word"
    may_launch: bool = True
    explanation: str = ""
    templates: dict[int, Template] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    going: threading.Event = field(default_factory=threading.Event)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def wait(self) -> None:
        """Wait until all jobs have ended."""
        for job in list(self.jobs.values()):
            if job.thread is not None:
                job.thread.join(JOB_SECONDS)

    def fault_for(self, line: str) -> Fault | None:
        """Record a request, and return the fault for it."""
        with self._lock:
            self.requests.append(line)
            found = next((fault for fault in self.faults if fault.part in line), None)
            if found is not None:
                self.faults.remove(found)
            return found

    def answer(self, request: Request) -> Answer:
        """Execute a request that contains the bot's token, or its user name and password."""
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if request.authorization not in (f"Bearer {self.token}", f"Basic {basic}"):
            return 401, {"detail": "Authentication credentials were not provided."}
        return self.carry_out(request)

    def carry_out(self, request: Request) -> Answer:
        """Execute a request without checking its authentication."""
        with self._lock:
            match (request.method, *request.path):
                case (method, "job_templates", number, what) if _known(number, self.templates):
                    match (method, what):
                        case ("GET", "launch"):
                            return 200, self.templates[int(number)].preflight()
                        case ("POST", "launch"):
                            return self._launch(int(number), request.body or {})
                        case ("GET", "jobs"):
                            return self._jobs_of(int(number), request)
                case ("GET", "jobs", number) if _known(number, self.jobs):
                    return 200, self.jobs[int(number)].as_row()
                case ("POST", "jobs", number, "cancel") if _known(number, self.jobs):
                    return self._cancel(self.jobs[int(number)])
        return 404, {"detail": "Not found."}

    def _launch(self, number: int, body: Mapping[str, Any]) -> Answer:
        template = self.templates[number]
        if not self.may_launch:
            return 403, {"detail": "You do not have permission to perform this action."}
        given = dict(body.get("extra_vars", {}))
        if problems := surveys.problems_of_answers(template.survey, given):
            return 400, {"variables_needed_to_start": problems}
        known = {name: value for name, value in given.items() if template.takes(name)}
        ignored = {name: value for name, value in given.items() if name not in known}
        job = Job(max(self.jobs, default=40) + 1, number, known)
        self.jobs[job.id] = job
        job.thread = threading.Thread(target=self._work, args=(job,), daemon=True)
        job.thread.start()
        return 201, {"ignored_fields": {"extra_vars": ignored}, **job.as_row()}

    def _work(self, job: Job) -> None:
        self.going.wait(JOB_SECONDS)
        with self._lock:
            if job.status == "canceled":
                return
            job.status = "running"
        try:
            is_good = self.play(self.templates[job.template].playbook, job.variables)
            job.explanation = "" if is_good else self.explanation
            job.status = "successful" if is_good else "failed"
        except Exception:
            job.status = "error"
            raise

    def _jobs_of(self, number: int, request: Request) -> Answer:
        jobs = [job for job in self.jobs.values() if job.template == number]
        is_descending = request.query.get("order_by", "id").startswith("-")
        jobs.sort(key=lambda job: job.id, reverse=is_descending)
        return page_of([job.as_row() for job in jobs], request)

    def _cancel(self, job: Job) -> Answer:
        if job.status != "pending":
            return 405, {"detail": f'Method "POST" not allowed for a {job.status} job.'}
        job.status = "canceled"
        return 202, {}


def injected(
    injectors: Mapping[str, Any], values: Mapping[str, Any], folder: str
) -> dict[str, dict[str, str]]:
    """Return a job's values from a credential, keyed by kind: `file`, `env` or `extra_vars`.

    :param values: the credential's inputs, with secrets in plain text
    :param folder: the directory for the files
    """
    labels = [key.partition(".")[2] for key in injectors.get("file", {})]
    filename = SimpleNamespace(**{label: f"{folder}/template_{label}" for label in labels})
    names = {**values, "tower": SimpleNamespace(filename=filename)}
    render = ImmutableSandboxedEnvironment().from_string
    return {
        kind: {
            key: render(template).render(names) for key, template in injectors.get(kind, {}).items()
        }
        for kind in ("file", "env", "extra_vars")
    }


def _known(number: str, known: Mapping[int, object]) -> bool:
    return number.isdecimal() and int(number) in known


@contextmanager
def running_awx(play: Play) -> Iterator[Awx]:
    """Run a fake AWX. Jobs start immediately, unless `going` is cleared."""
    awx = Awx(play)
    awx.going.set()
    with serving(awx.answer, awx.fault_for) as awx.url:
        try:
            yield awx
        finally:
            awx.going.set()
            awx.wait()
