# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for AWX on the loopback: job templates with surveys, launches and their jobs.

    with running_awx(playing(folder, service.url, service.token)) as awx:
        awx.templates[7] = Template("add_alias", surveys.of_texts(mail_alias=True))
        launch(awx.url, awx.token)

It answers as a real controller does, oddities included: variables that are neither in the survey
nor prompted for are dropped and only named in the answer, a job's variables come as a JSON text,
and a launch that was carried out may still be answered with an error. Jobs are real: each one runs
its playbook, by whatever function the stand-in was given.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.postroom.email.tests.fakes.awx import queries, surveys
from ansible_collections.postroom.email.tests.fakes.awx.web import (
    PREFIX,
    Answer,
    Fault,
    Request,
    serving,
)
from ansible_collections.postroom.email.tests.support.playbooks import environment, run

JOB_SECONDS = 120.0

#: Runs a playbook of that name with these variables and tells whether it was successful.
Play = Callable[[str, Mapping[str, Any]], bool]


class Template(NamedTuple):
    """A job template.

    :param playbook: the name of one of the collection's playbooks
    :param survey: as AWX keeps it; empty where nothing is asked
    :param asks_variables: whether any variable may be given at launch
    """

    playbook: str
    survey: Mapping[str, Any] = {}
    asks_variables: bool = False

    @property
    def needed(self) -> list[str]:
        """The variables without which there is no launch."""
        return [one["variable"] for one in self.survey.get("spec", ()) if one["required"]]

    def takes(self, name: str) -> bool:
        """Tell whether a variable that is given at launch gets to the job."""
        asked = [one["variable"] for one in self.survey.get("spec", ())]
        return self.asks_variables or name in asked


@dataclass
class Job:
    """A job; ``status`` is AWX's word for how it stands."""

    id: int
    template: int
    variables: Mapping[str, Any]
    status: str = "pending"
    thread: threading.Thread | None = None

    def as_row(self) -> dict[str, Any]:
        """Return it as the interface shows it."""
        return {
            "id": self.id,
            "type": "job",
            "url": f"{PREFIX}jobs/{self.id}/",
            "job_template": self.template,
            "status": self.status,
            "failed": self.status in ("failed", "error", "canceled"),
            "extra_vars": json.dumps(self.variables),
        }


@dataclass
class Awx:
    """What the stand-in holds. Its tests change it at will.

    :param faults: each befalls the next request that it fits, and is gone then
    :param going: jobs wait for it before they begin
    :param requests: what came, as method and path
    """

    play: Play
    token: str = "awx-Tok3n/of+tests"
    user: str = "bot"
    password: str = "awx-p4ss/word"
    may_launch: bool = True
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
        """Write a request down, and take the fault that befalls it."""
        with self._lock:
            self.requests.append(line)
            found = next((fault for fault in self.faults if fault.part in line), None)
            if found is not None:
                self.faults.remove(found)
            return found

    def lets_in(self, authorization: str) -> bool:
        """Tell whether somebody is known."""
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return authorization in (f"Bearer {self.token}", f"Basic {basic}")

    def answer(self, request: Request) -> Answer:
        """Carry a request out for whoever is known."""
        if not self.lets_in(request.authorization):
            return 401, {"detail": "Authentication credentials were not provided."}
        return self.carry_out(request)

    def carry_out(self, request: Request) -> Answer:
        """Carry a request out for whom is let in."""
        with self._lock:
            match (request.method, *request.path):
                case ("GET", "job_templates", number, "launch") if self._template(number):
                    return 200, _preflight(self.templates[int(number)])
                case ("POST", "job_templates", number, "launch") if self._template(number):
                    return self._launch(int(number), request.body or {})
                case ("GET", "job_templates", number, "jobs") if self._template(number):
                    return self._listing(int(number), request)
                case ("GET", "jobs", number) if number.isdecimal() and int(number) in self.jobs:
                    return 200, self.jobs[int(number)].as_row()
                case ("POST", "jobs", number, "cancel") if int(number) in self.jobs:
                    return self._cancel(self.jobs[int(number)])
        return 404, {"detail": "Not found."}

    def _template(self, number: str) -> bool:
        return number.isdecimal() and int(number) in self.templates

    def _launch(self, number: int, body: Mapping[str, Any]) -> Answer:
        template = self.templates[number]
        if not self.may_launch:
            return 403, {"detail": "You do not have permission to perform this action."}
        given = dict(body.get("extra_vars", {}))
        problems = surveys.problems_of_answers(template.survey, given)
        if problems:
            return 400, {"variables_needed_to_start": problems}
        known = {name: value for name, value in given.items() if template.takes(name)}
        ignored = {name: value for name, value in given.items() if name not in known}
        job = self._begin(number, known)
        return 201, {
            "job": job.id,
            "ignored_fields": {"extra_vars": ignored} if ignored else {},
            **job.as_row(),
        }

    def _begin(self, number: int, variables: Mapping[str, Any]) -> Job:
        job = Job(max(self.jobs, default=40) + 1, number, variables)
        self.jobs[job.id] = job
        job.thread = threading.Thread(target=self._work, args=(job,), daemon=True)
        job.thread.start()
        return job

    def _work(self, job: Job) -> None:
        self.going.wait(JOB_SECONDS)
        with self._lock:
            if job.status == "canceled":
                return
            job.status = "running"
        try:
            is_good = self.play(self.templates[job.template].playbook, job.variables)
            job.status = "successful" if is_good else "failed"
        except Exception:
            job.status = "error"
            raise

    def _listing(self, number: int, request: Request) -> Answer:
        mine = [job for job in self.jobs.values() if job.template == number]
        is_descending = request.query.get("order_by", "id").startswith("-")
        mine.sort(key=lambda job: job.id, reverse=is_descending)
        return queries.page_of([job.as_row() for job in mine], request.path, request.query)

    def _cancel(self, job: Job) -> Answer:
        if job.status != "pending":
            return 405, {"detail": f'Method "POST" not allowed for a {job.status} job.'}
        job.status = "canceled"
        return 202, {}


def _preflight(template: Template) -> dict[str, Any]:
    return {
        "can_start_without_user_input": not template.needed,
        "ask_variables_on_launch": template.asks_variables,
        "survey_enabled": bool(template.survey),
        "variables_needed_to_start": template.needed,
        "passwords_needed_to_start": [],
    }


def playing(folder: Path, service_url: str, service_token: str) -> Play:
    """Return how to run the collection's playbooks on a tenant, as AWX's credential would."""
    access = {"POSTROOM_API_URL": service_url, "POSTROOM_API_TOKEN": service_token}
    env = environment(folder, **access, PWD=str(folder))

    def play(playbook: str, variables: Mapping[str, Any]) -> bool:
        command = [sys.executable, "-m", "ansible", "playbook", f"postroom.email.{playbook}"]
        told = run([*command, "-e", json.dumps(dict(variables))], env, folder)
        (folder / "last_job.log").write_text(told.output, "utf-8")
        return told.status == 0

    return play


@contextmanager
def running_awx(play: Play) -> Iterator[Awx]:
    """Run a stand-in; its jobs begin at once unless ``going`` is cleared."""
    awx = Awx(play)
    awx.going.set()
    with serving(awx) as awx.url:
        try:
            yield awx
        finally:
            awx.going.set()
            awx.wait()
