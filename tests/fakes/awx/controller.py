# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The part of AWX that `playbooks/awx.yml` uses: resources, their validation, and permissions.

    with running_controller() as controller:
        controller.state.playbooks["https://git.example.net/mail.git"] = frozenset({"drift.yml"})
        play(CONTROLLER_HOST=controller.url, CONTROLLER_OAUTH_TOKEN=controller.token)
        assert controller.names("job_templates") == ["Postroom drift"]

`jobs.Awx` handles launches and jobs of the templates.
"""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import rules, surveys
from .jobs import Awx, Play, Template
from .kinds import KINDS
from .state import WITH_SECRETS, BadQuery, Row, State
from .web import Answer, Request, page_of, serving


class Refused(Exception):
    """A request is refused with this response."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"status {status}")
        self.answer = (status, body)


def _not_found() -> Refused:
    return Refused(404, {"detail": "Not found."})


def _denied() -> Refused:
    return Refused(403, {"detail": "You do not have permission to perform this action."})


@dataclass
class Controller:
    """The controller.

    :param token: of the superuser `admin`
    :param tokens: the users' ids by their tokens
    :param written: method, path and body of each request that is not a GET
    """

    jobs: Awx
    state: State = field(default_factory=State)
    token: str = "controller-T0ken/of+tests"
    tokens: dict[str, int] = field(default_factory=dict)
    written: list[tuple[str, str, Any]] = field(default_factory=list)
    url: str = ""
    _made_tokens: dict[str, str] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        admin = {"username": "admin", "is_superuser": True, "password": "adm1n/of+tests"}
        self.tokens[self.token] = self.state.add("users", admin)["id"]

    def names(self, kind: str) -> list[str]:
        """Return the names of all resources of a kind."""
        return sorted(row[KINDS[kind].key[0]] for row in self.state.rows[kind].values())

    def named(self, kind: str, name: str) -> Row:
        """Return the only resource with a name."""
        key = KINDS[kind].key[0]
        (row,) = (row for row in self.state.rows[kind].values() if row[key] == name)
        return row

    def answer(self, request: Request) -> Answer:
        """Carry a request out, or refuse it."""
        with self._lock:
            try:
                return self._answer(request)
            except Refused as refused:
                return refused.answer
            except BadQuery as error:
                return 400, {"detail": str(error)}

    def _answer(self, request: Request) -> Answer:
        user = self._user(request.authorization)
        if request.path[0] == "tokens":
            return self._token(user, request)
        if request.method != "GET":
            self.written.append((request.method, "/".join(request.path), request.body))
        if request.path[0] == "jobs" or request.path[2:] in (("launch",), ("jobs",)):
            return self._job(user, request)
        if request.method != "GET" and not user["is_superuser"]:
            raise _denied()
        match request.path:
            case ("roles", number, ("users" | "teams") as actors) if number.isdecimal():
                return self._role(request, int(number), actors)
            case ("project_updates", number) if number.isdecimal():
                # Every update succeeds immediately.
                return 200, {"id": int(number), "status": "successful", "failed": False}
            case (kind,) if kind in KINDS or kind == "unified_job_templates":
                return self._list_or_make(user, request, kind)
            case (kind, one, *below) if kind in KINDS:
                row = self._found(user, kind, one)
                return self._below(request, kind, row) if below else self._one(request, kind, row)
        raise _not_found()

    def _user(self, authorization: str) -> Row:
        scheme, _blank, given = authorization.partition(" ")
        users = self.state.rows["users"]
        if scheme == "Bearer" and given in self.tokens:
            return users[self.tokens[given]]
        if scheme == "Basic":
            name, _colon, password = base64.b64decode(given).decode().partition(":")
            for user in users.values():
                if user["username"] == name and user["password"] == password:
                    return user
        raise Refused(401, {"detail": "Authentication credentials were not provided."})

    def _token(self, user: Row, request: Request) -> Answer:
        """Create a token of the user, or revoke one of theirs."""
        match (request.method, *request.path[1:]):
            case ("POST",):
                token, number = secrets.token_urlsafe(20), self.state.new_id()
                self.tokens[token], self._made_tokens[str(number)] = user["id"], token
                return 201, {"id": number, "token": token}
            case ("DELETE", number) if (
                self.tokens.get(self._made_tokens.get(number, "")) == user["id"]
            ):
                del self.tokens[self._made_tokens.pop(number)]
                return 204, None
        raise _not_found()

    def _sees(self, user: Row, row: Row) -> bool:
        """Return True if a user may see a resource; everyone sees the superusers."""
        if user["is_superuser"] or row is user or row.get("is_superuser"):
            return True
        return self.state.holds(user["id"], row["id"])

    def _found(self, user: Row, kind: str, one: str) -> Row:
        """Return a resource by its id or its named URL, such as `Postroom drift++Postroom`."""
        if one.isdecimal():
            row = self.state.rows[kind].get(int(one))
        else:
            name, _plus, organization = one.partition("++")
            query = {KINDS[kind].key[0]: name, "organization__name": organization}
            found = self.state.selected(self.state.all_of(kind), query)
            row = found[0][1] if found else None
        if row is None or not self._sees(user, row):
            raise _not_found()
        return row

    def _list_or_make(self, user: Row, request: Request, kind: str) -> Answer:
        if request.method == "POST":
            return 201, self.state.show(kind, self._make(kind, request.body))
        seen = [(one, row) for one, row in self.state.all_of(kind) if self._sees(user, row)]
        found = self.state.selected(seen, request.query)
        return page_of([self.state.show(one, row) for one, row in found], request)

    def _make(self, kind: str, sent: Mapping[str, Any]) -> Row:
        row = {name: one.default for name, one in KINDS[kind].fields.items()}
        row = self._checked(kind, row, sent, is_new=True)
        if kind == "users" and not row["password"]:
            raise Refused(400, {"password": ["Password required for new User."]})
        made = self.state.add(kind, row)
        self._derive(kind, made, {})
        return made

    def _one(self, request: Request, kind: str, row: Row) -> Answer:
        if request.method == "PATCH":
            old = dict(row)
            row.update(self._checked(kind, row, request.body, is_new=False))
            self._derive(kind, row, old)
        return 200, self.state.show(kind, row)

    def _checked(self, kind: str, old: Row, sent: Mapping[str, Any], *, is_new: bool) -> Row:
        """Return a resource with the fields that were sent; refuse it if it is invalid."""
        if errors := rules.check_fields(self.state, kind, sent, is_new=is_new):
            raise Refused(400, errors)
        row = dict(old)
        for name, value in sent.items():
            known = KINDS[kind].fields[name]
            if not known.is_fixed:
                row[name] = known.default if value in (None, "") else value
        if place := WITH_SECRETS.get(kind):
            # A secret that is sent as encrypted stays.
            row[place] = {
                key: old[place].get(key, value) if value == surveys.ENCRYPTED else value
                for key, value in row[place].items()
            }
        if errors := rules.check(self.state, kind, row):
            raise Refused(400, errors)
        return row

    def _derive(self, kind: str, row: Row, old: Row) -> None:
        """Set what follows from a resource's other fields."""
        place = ("scm_type", "scm_url", "scm_branch")
        if (
            kind == "projects"
            and row["scm_type"]
            and any(row[one] != old.get(one) for one in place)
        ):
            self.state.update(row)
        owner = {"job_templates": "project", "inventory_sources": "inventory"}.get(kind)
        if owner is not None:
            other = self.state.get(KINDS[kind].fields[owner].to, row[owner])
            row["organization"] = other["organization"] if other else None
        if kind == "credential_types":
            for one in row["inputs"].get("fields", ()):
                one.setdefault("type", "string")

    def _below(self, request: Request, kind: str, row: Row) -> Answer:
        name = request.path[2]
        match (request.method, name):
            case (method, "survey_spec") if "survey_enabled" in row:
                return self._survey(method, row, request.body)
            case ("POST", "update") if kind == "projects" and row["scm_type"]:
                self.state.update(row)
                return 202, {"project_update": row["update"]}
            case ("POST", "create_approval_template") if "unified_job_template" in row:
                made = self._make("workflow_approval_templates", request.body)
                row["unified_job_template"] = made["id"]
                return 201, self.state.show("workflow_approval_templates", made)
            case ("POST", "users") if kind == "organizations":
                made = self._make("users", request.body)
                self.state.role(row["id"], "member").holders["users"].append(made["id"])
                return 201, self.state.show("users", made)
            case ("GET", "organizations") if kind == "users":
                rows = self.state.rows["organizations"].values()
                found = [
                    self.state.show("organizations", one)
                    for one in rows
                    if row["id"] in self.state.role(one["id"], "member").holders["users"]
                ]
                return page_of(found, request)
            case ("GET" | "POST" as method, _) if name in KINDS[kind].links:
                return self._link(request, row, name, KINDS[kind].links[name])
        raise _not_found()

    def _survey(self, method: str, row: Row, sent: Any) -> Answer:
        if method == "GET":
            return 200, self.state.surveys.get(row["id"], {})
        if method == "DELETE":
            self.state.surveys.pop(row["id"], None)
        elif problem := surveys.problem_of(sent):
            raise Refused(400, {"error": problem})
        else:
            self.state.surveys[row["id"]] = sent
        return 200, None

    def _link(self, request: Request, row: Row, name: str, kind: str) -> Answer:
        """List a resource's associations, or add or remove one."""
        linked, rows, sent = self.state.linked(row["id"], name), self.state.rows[kind], request.body
        if request.method == "GET":
            return page_of([self.state.show(kind, rows[one]) for one in linked], request)
        number = sent.get("id")
        if number not in rows:
            raise Refused(400, {"msg": f"{name} with id {number} does not exist."})
        if sent.get("disassociate"):
            linked[:] = [one for one in linked if one != number]
        elif problem := rules.check_link(self.state, row, name, number):
            raise Refused(400, {"error": problem})
        else:
            linked.append(number)
        return 204, None

    def _role(self, request: Request, number: int, actors: str) -> Answer:
        """List the holders of a role, or add or remove one."""
        role = self.state.roles.get(number)
        if role is None:
            raise _not_found()
        holders, rows, sent = role.holders[actors], self.state.rows[actors], request.body
        if request.method == "GET":
            return page_of([self.state.show(actors, rows[one]) for one in holders], request)
        if sent.get("id") not in rows:
            raise Refused(400, {"msg": f"{actors} with id {sent.get('id')} does not exist."})
        # Adding a holder twice, or removing one who does not hold the role, is not an error.
        holders[:] = [one for one in holders if one != sent["id"]]
        if not sent.get("disassociate"):
            holders.append(sent["id"])
        return 204, None

    def _job(self, user: Row, request: Request) -> Answer:
        """Pass a request about jobs on, with the template as it is now."""
        if request.path[0] != "job_templates":
            return self.jobs.carry_out(request)
        row = self._found(user, "job_templates", request.path[1])
        may_launch = user["is_superuser"] or self.state.holds(user["id"], row["id"], "execute")
        if request.method == "POST" and not may_launch:
            raise _denied()
        name, survey = row["playbook"].removesuffix(".yml"), self.state.asked(row)
        self.jobs.templates[row["id"]] = Template(name, survey, row["ask_variables_on_launch"])
        path = ("job_templates", str(row["id"]), *request.path[2:])
        return self.jobs.carry_out(request._replace(path=path))


@contextmanager
def running_controller(play: Play | None = None) -> Iterator[Controller]:
    """Run a controller; by default, every job succeeds without doing anything."""
    jobs = Awx(play or (lambda _playbook, _variables: True))
    jobs.going.set()
    controller = Controller(jobs)
    with serving(controller.answer) as controller.url:
        try:
            yield controller
        finally:
            jobs.wait()
