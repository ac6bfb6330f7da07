# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The part of AWX that `playbooks/awx.yml` uses: resources, some rules, and permissions.

    with running_controller() as controller:
        controller.playbooks["https://git.example.net/mail.git"] = frozenset({"drift.yml"})
        play(CONTROLLER_HOST=controller.url, CONTROLLER_OAUTH_TOKEN=controller.token)
        assert controller.names("job_templates") == ["Postroom drift"]

`jobs.Awx` handles launches and jobs.
"""

from __future__ import annotations

import base64
import itertools
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import surveys
from .jobs import Awx, Template
from .resource_types import (
    DEFAULTS,
    KINDS,
    REFERENCES,
    ROLES,
    UNIFIED,
    WITH_SECRETS,
    Role,
    Row,
    ask,
    fields_of,
    name_of,
)
from .server import DENIED, NOT_FOUND, PREFIX, Answer, Refused, Request, page_of, serving

#: The default of AWX's setting ACCESS_TOKEN_EXPIRE_SECONDS: a thousand years.
TOKEN_SECONDS = 31_536_000_000.0


@dataclass
class Controller:
    """A fake AWX controller. No two resources have the same ID, even if their kinds differ.

    :param token: the token of the superuser `admin`
    :param tokens: the user IDs, keyed by token
    :param grants: each created token and its expiry, keyed by ID
    :param token_seconds: the lifetime of tokens in seconds
    :param written: the method, path and body of each request that is not a GET
    :param rows: the fields of resources, keyed by kind and ID, with secrets in plain text
    :param links: the IDs of associated resources, keyed by ID and association
    :param surveys: the surveys, keyed by template ID
    :param playbooks: the playbooks in each repository or directory, keyed by URL or local path
    """

    jobs: Awx
    token: str = "controller-T0ken/of+tests"
    tokens: dict[str, int] = field(default_factory=dict)
    grants: dict[int, tuple[str, float]] = field(default_factory=dict)
    token_seconds: float = TOKEN_SECONDS
    written: list[tuple[str, str, Any]] = field(default_factory=list)
    url: str = ""
    rows: dict[str, dict[int, Row]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    links: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    surveys: dict[int, dict[str, Any]] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    playbooks: dict[str, frozenset[str]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        admin = {"username": "admin", "is_superuser": True, "password": "adm1n/of+tests"}
        self.tokens[self.token] = self.add("users", admin)["id"]

    # Methods for tests.

    def names(self, kind: str) -> list[str]:
        """Return the names of all resources of this kind."""
        return sorted(name_of(row) for row in self.rows[kind].values())

    def named(self, kind: str, name: str) -> Row:
        """Return the only resource with this name."""
        (row,) = (row for row in self.rows[kind].values() if name_of(row) == name)
        return row

    def add(self, kind: str, fields: Mapping[str, Any]) -> Row:
        """Add a resource with its roles."""
        row = {"id": next(self._ids), **DEFAULTS.get(kind, {}), **fields}
        self.rows[kind][row["id"]] = row
        for name in ROLES.get(kind, ()):
            role = Role(next(self._ids), row["id"], name)
            self.roles[role.id] = role
        return row

    def linked(self, number: int, name: str) -> list[int]:
        """Return the IDs of associated resources as a list, which the caller may change."""
        return self.links.setdefault((number, name), [])

    def role(self, number: int, name: str) -> Role:
        """Return one of a resource's roles."""
        return next(
            role for role in self.roles.values() if (role.resource, role.name) == (number, name)
        )

    # Handling of requests.

    def answer(self, request: Request) -> Answer:
        """Execute or refuse a request."""
        with self._lock:
            try:
                return self._answer(request)
            except Refused as refused:
                return refused.answer

    def _answer(self, request: Request) -> Answer:
        user = self._user(request.authorization)
        if request.path[0] == "tokens":
            return self._token(user, request)
        if request.method != "GET":
            self.written.append((request.method, "/".join(request.path), request.body))
        if request.path[0] == "jobs" or request.path[2:] in (("launch",), ("jobs",)):
            return self._job(user, request)
        if request.method != "GET" and not user.get("is_superuser"):
            raise Refused(*DENIED)
        match request.path:
            case ("roles", number, ("users" | "teams") as actors) if int(number) in self.roles:
                return self._link(request, self.roles[int(number)].holders[actors], actors)
            case (kind,) if kind in KINDS or kind == "unified_job_templates":
                if request.method == "POST":
                    return 201, self._show(kind, self._make(kind, request.body))
                found = [
                    self._show(one, row)
                    for one, row in self._all_of(kind)
                    if self._sees(user, row) and self._fits(row, request.query)
                ]
                self._finish_deletions(kind)
                return page_of(found, request)
            case (kind, number, *below) if int(number) in self.rows.get(kind, ()):
                row = self.rows[kind][int(number)]
                if self._sees(user, row):
                    return self._below(request, kind, row) if below else self._one(request, row)
        raise Refused(*NOT_FOUND)

    def _user(self, authorization: str) -> Row:
        scheme, _blank, given = authorization.partition(" ")
        users = self.rows["users"]
        expired = [token for token, expires in self.grants.values() if expires <= time.time()]
        if scheme == "Bearer" and given in self.tokens and given not in expired:
            return users[self.tokens[given]]
        if scheme == "Basic":
            login = base64.b64decode(given).decode()
            for user in users.values():
                if login == f"{user['username']}:{user['password']}":
                    return user
        raise Refused(401, {"detail": "Authentication credentials were not provided."})

    def _token(self, user: Row, request: Request) -> Answer:
        """Create a token for the user, or revoke one of the user's tokens."""
        if request.method == "POST":
            number, token = next(self._ids), secrets.token_urlsafe(20)
            expires = time.time() + self.token_seconds
            self.tokens[token], self.grants[number] = user["id"], (token, expires)
            url = f"{PREFIX}tokens/{number}/"
            shown = {"id": number, "type": "o_auth2_access_token", "url": url, "token": token}
            return 201, {**shown, "scope": (request.body or {}).get("scope", "write")}
        token, _expires = self.grants.get(int(request.path[1]), ("", 0.0))
        if request.method == "DELETE" and self.tokens.get(token) == user["id"]:
            del self.tokens[token]
            return 204, None
        raise Refused(*NOT_FOUND)

    def _sees(self, user: Row, row: Row) -> bool:
        """Return whether a user can see a resource. Everyone can see superusers."""
        if user.get("is_superuser") or row is user or row.get("is_superuser"):
            return True
        return self._holds(user["id"], row["id"])

    def _holds(self, user: int, number: int, name: str | None = None) -> bool:
        """Return whether a user has a role on a resource, directly or through a team."""
        teams = {
            team
            for team in self.rows["teams"]
            if user in self.role(team, "member").holders["users"]
        }
        return any(
            user in role.holders["users"] or teams & set(role.holders["teams"])
            for role in self.roles.values()
            if role.resource == number and name in (None, role.name)
        )

    def _all_of(self, kind: str) -> list[tuple[str, Row]]:
        """Return the resources of a kind, sorted by ID, each with its concrete kind."""
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        found = [(one, row) for one in kinds for row in self.rows[one].values()]
        return sorted(found, key=lambda pair: pair[1]["id"])

    def _fits(self, row: Row, query: Mapping[str, str]) -> bool:
        """Return whether a resource matches a query. Each filter may follow one reference."""
        for key in query.keys() - {"page", "page_size"}:
            name, _joint, below = key.partition("__")
            value = row.get(name)
            if below:
                value = self.rows[f"{name}s"].get(value or 0, {}).get(below)
            if str(value) != query[key]:
                return False
        return True

    def _make(self, kind: str, sent: Row) -> Row:
        row = dict(sent)
        self._check(kind, row)
        return self.add(kind, row)

    def _one(self, request: Request, row: Row) -> Answer:
        kind = request.path[0]
        if request.method == "PATCH":
            changed = {**row, **request.body}
            self._check(kind, changed)
            row.update(changed)
        elif request.method == "DELETE" and kind == "inventories":
            # AWX deletes in the background. Here, the deletion happens after one more list request.
            row["pending_deletion"] = True
            return 202, None
        elif request.method == "DELETE":
            self._delete(kind, row["id"])
            return 204, None
        return 200, self._show(kind, row)

    def _finish_deletions(self, kind: str) -> None:
        pending = [row for row in self.rows.get(kind, {}).values() if row.get("pending_deletion")]
        for row in pending:
            self._delete(kind, row["id"])

    def _delete(self, kind: str, number: int) -> None:
        """Delete a resource, including the nodes of a workflow or the sources of an inventory."""
        del self.rows[kind][number]
        for below, field_name in (
            ("workflow_job_template_nodes", "workflow_job_template"),
            ("inventory_sources", "inventory"),
        ):
            gone = [one for one, row in self.rows[below].items() if row[field_name] == number]
            for one in gone:
                del self.rows[below][one]

    def _check(self, kind: str, row: Row) -> None:
        """Refuse a resource as AWX would, and set the fields that AWX derives from other fields."""
        if kind == "credentials":
            for name, value in row["inputs"].items():
                if name not in fields_of(self.rows["credential_types"][row["credential_type"]]):
                    raise Refused(400, {"inputs": [f"'{name}' is not allowed"]})
                if not isinstance(value, str):
                    raise Refused(400, {"inputs": [f"{value} is not of type 'string'"]})
        elif kind == "inventory_sources":
            row["organization"] = self.rows["inventories"][row["inventory"]]["organization"]
        elif kind == "job_templates":
            project = self.rows["projects"][row["project"]]
            row["organization"] = project["organization"]
            if (
                row["playbook"]
                not in self.playbooks[project.get("scm_url") or project["local_path"]]
            ):
                raise Refused(400, {"playbook": ["Playbook not found for project."]})
        elif kind == "schedules":
            self._check_schedule(row)

    def _check_schedule(self, row: Row) -> None:
        if not re.search(r"DTSTART(:[0-9T]+Z|;TZID=[^:]+:[0-9T]+)\b", row["rrule"]):
            raise Refused(400, {"rrule": ["Valid DTSTART required in rrule."]})
        if "INTERVAL" not in row["rrule"]:
            rule = row["rrule"].split()[-1]
            raise Refused(400, {"rrule": [f"INTERVAL required in rrule: {rule}"]})
        survey = self._asked(self.rows["job_templates"][row["unified_job_template"]])
        if missing := surveys.problems_of_answers(survey, row.get("extra_data", {})):
            raise Refused(400, {"variables_needed_to_start": missing})

    def _asked(self, template: Row) -> dict[str, Any]:
        """Return the survey that a launch must answer, or an empty survey if it is disabled."""
        return self.surveys.get(template["id"], {}) if template.get("survey_enabled") else {}

    def _below(self, request: Request, kind: str, row: Row) -> Answer:
        name = request.path[2]
        match (request.method, name):
            case (method, "survey_spec"):
                return self._survey(method, row, request.body)
            case ("POST", "create_approval_template"):
                made = self._make("workflow_approval_templates", request.body)
                row["unified_job_template"] = made["id"]
                return 201, self._show("workflow_approval_templates", made)
            case ("POST", "users") if kind == "organizations":
                made = self._make("users", request.body)
                self.role(row["id"], "member").holders["users"].append(made["id"])
                return 201, self._show("users", made)
            case ("GET", "organizations") if kind == "users":
                found = [
                    self._show("organizations", one)
                    for one in self.rows["organizations"].values()
                    if row["id"] in self.role(one["id"], "member").holders["users"]
                ]
                return page_of(found, request)
        linked = name if name in KINDS else "notification_templates"
        if name.endswith("credentials"):
            linked = "credentials"
        elif name.endswith("_nodes"):
            linked = "workflow_job_template_nodes"
        return self._link(request, self.linked(row["id"], name), linked)

    def _survey(self, method: str, row: Row, sent: Any) -> Answer:
        if method == "GET":
            return 200, self.surveys.get(row["id"], {})
        if method == "DELETE":
            self.surveys.pop(row["id"], None)
        elif problem := surveys.problem_of(sent):
            raise Refused(400, {"error": problem})
        else:
            self.surveys[row["id"]] = sent
        return 200, None

    def _link(self, request: Request, linked: list[int], kind: str) -> Answer:
        """List, add or remove the associated resources or holders of a role."""
        if request.method == "GET":
            return page_of([self._show(kind, self.rows[kind][one]) for one in linked], request)
        number = request.body["id"]
        # It is not an error to add a resource twice or to remove an unassociated resource.
        linked[:] = [one for one in linked if one != number]
        if not request.body.get("disassociate"):
            linked.append(number)
        return 204, None

    def _job(self, user: Row, request: Request) -> Answer:
        """Forward a request about jobs to `jobs.Awx`, together with the current template."""
        if request.path[0] == "jobs":
            job = self.jobs.jobs.get(int(request.path[1]))
            # If the object exists, the detail view responds with 403 instead of 404.
            if job is not None and not self._sees(user, {"id": job.template}):
                raise Refused(*DENIED)
            return self.jobs.carry_out(request)
        row = self.rows["job_templates"].get(int(request.path[1]))
        if row is None or not self._sees(user, row):
            raise Refused(*NOT_FOUND)
        may_launch = user.get("is_superuser") or self._holds(user["id"], row["id"], "execute")
        if request.method == "POST" and not may_launch:
            raise Refused(*DENIED)
        asks = row[ask("extra_vars")]
        template = Template(row["playbook"].removesuffix(".yml"), self._asked(row), asks)
        self.jobs.templates[row["id"]] = template
        status, shown = self.jobs.carry_out(request)
        if request.method == "POST" and status == 201:
            given = (request.body or {}).items()
            ignored = {name: value for name, value in given if not row.get(ask(name), False)}
            shown["ignored_fields"] = {**ignored, **shown["ignored_fields"]}
        return status, shown

    # Contents of responses.

    def _show(self, kind: str, row: Row) -> Row:
        """Return a resource as it appears in responses, with encrypted secrets."""
        url = f"{PREFIX}{kind}/{row['id']}/"
        related = {"survey_spec": f"{url}survey_spec/"}
        summary: Row = {}
        if number := row.get("unified_job_template"):
            one = next(one for one in UNIFIED if number in self.rows[one])
            related["unified_job_template"] = f"{PREFIX}{one}/{number}/"
            name = name_of(self.rows[one][number])
            summary["unified_job_template"] = {"id": number, "name": name}
        for name, kinds in REFERENCES.items():
            if number := row.get(name):
                summary[name] = {"id": number, "name": name_of(self.rows[kinds][number])}
        if kind in ROLES:
            summary["object_roles"] = {
                f"{name}_role": {"id": self.role(row["id"], name).id} for name in ROLES[kind]
            }
        shown = {**row, **({"password": surveys.ENCRYPTED} if kind == "users" else {})}
        if place := WITH_SECRETS.get(kind):
            known = self.rows["credential_types"].get(row.get("credential_type", 0), {})
            secret = {"token"} | {one for one, is_secret in fields_of(known).items() if is_secret}
            shown[place] = {
                name: surveys.ENCRYPTED if name in secret else value
                for name, value in row.get(place, {}).items()
            }
        more = {"type": KINDS[kind], "url": url, "related": related, "summary_fields": summary}
        return {**shown, **more}


@contextmanager
def running_controller() -> Iterator[Controller]:
    """Run a controller whose jobs all succeed without doing anything."""
    jobs = Awx(lambda _playbook, _variables: True)
    jobs.going.set()
    controller = Controller(jobs)
    with serving(controller.answer) as controller.url:
        try:
            yield controller
        finally:
            jobs.wait()
