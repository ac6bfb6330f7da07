# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for AWX on the loopback that remembers what it is told, and refuses what AWX refuses.

    with running_controller() as controller:
        controller.state.playbooks["https://git.example.net/mail.git"] = frozenset({"drift.yml"})
        play(CONTROLLER_HOST=controller.url, CONTROLLER_OAUTH_TOKEN=controller.token)
        assert controller.names("job_templates") == ["Postroom drift"]

Jobs are the other stand-in's, `tests.fakes.awx.jobs`, which is told of the templates here.
"""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.postroom.email.tests.fakes.awx import (
    fields,
    queries,
    rules,
    surveys,
    views,
)
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Awx, Play, Template
from ansible_collections.postroom.email.tests.fakes.awx.kinds import KINDS
from ansible_collections.postroom.email.tests.fakes.awx.state import Role, Row, State
from ansible_collections.postroom.email.tests.fakes.awx.web import (
    Answer,
    Fault,
    Request,
    serving,
)

_DENIED = {"detail": "You do not have permission to perform this action."}
_ACTORS = ("users", "teams")


class Refused(Exception):
    """A request is not carried out; ``answer`` is what is said."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"status {status}")
        self.answer = (status, body)


@dataclass
class Controller:
    """What answers.

    :param token: of the superuser ``admin``
    :param tokens: the users' numbers by their tokens; anybody may make more
    :param written: what was sent that was to change something: method, path and body
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
        """Return the only resource of that name."""
        key = KINDS[kind].key[0]
        (row,) = (row for row in self.state.rows[kind].values() if row[key] == name)
        return row

    def fault_for(self, line: str) -> Fault | None:
        """Let nothing go wrong that AWX does not do itself."""
        return None

    def answer(self, request: Request) -> Answer:
        """Carry a request out for whoever is known, or say why not."""
        with self._lock:
            try:
                return self._answer(request)
            except Refused as refused:
                return refused.answer
            except queries.BadQuery as error:
                return 400, {"detail": str(error)}
            except rules.BrokenTemplate:
                return 500, {"error": "A server error has occurred."}

    def _answer(self, request: Request) -> Answer:
        user = self._user(request.authorization)
        if request.path[0] == "tokens":
            return self._token(user, request)
        if request.method != "GET":
            self.written.append((request.method, "/".join(request.path), request.body))
        if request.path[0] == "jobs" or request.path[2:] in (("launch",), ("jobs",)):
            return self._job(user, request)
        if request.method != "GET" and not user["is_superuser"]:
            raise Refused(403, _DENIED)
        if request.path[0] in KINDS or request.path == ("unified_job_templates",):
            return self._resource(user, request)
        match request.path:
            case ("roles", number, actors) if actors in _ACTORS:
                return self._role(request, _number(number), actors)
            case ("project_updates", number):
                # It has ended at once, and well.
                return 200, {"id": _number(number), "status": "successful", "failed": False}
        raise Refused(404, {"detail": "The requested resource could not be found."})

    def _resource(self, user: Row, request: Request) -> Answer:
        """Answer for a kind, for one of it, or for what is below that."""
        kind, *rest = request.path
        if not rest:
            return self._list_or_make(user, request, kind)
        row = self._found(user, kind, rest[0])
        if not rest[1:]:
            return self._one(request, kind, row)
        if (request.method, kind, rest[1]) == ("GET", "users", "organizations"):
            return self._organizations(request, row["id"])
        return self._below(request, kind, row, rest[1])

    def _user(self, authorization: str) -> Row:
        """Return who asks."""
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
        """Make a token for who asks, or revoke one of theirs."""
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
        raise Refused(404, {"detail": "Not found."})

    def _sees(self, user: Row, row: Row) -> bool:
        """Tell whether somebody is shown a resource: also themselves, and superusers."""
        if user["is_superuser"] or row is user or row.get("is_superuser"):
            return True
        return self.state.holds(user["id"], row["id"])

    def _found(self, user: Row, kind: str, one: str) -> Row:
        """Return a resource by its number, or by its name and its organization's."""
        row = self.state.rows[kind].get(int(one)) if one.isdecimal() else self._by_url(kind, one)
        if row is None or not self._sees(user, row):
            raise Refused(404, {"detail": "Not found."})
        return row

    def _by_url(self, kind: str, one: str) -> Row | None:
        name, _plus, organization = one.partition("++")
        query = {KINDS[kind].key[0]: name, "organization__name": organization}
        found = queries.selected(self.state, self.state.all_of(kind), query)
        return found[0][1] if found else None

    def _list_or_make(self, user: Row, request: Request, kind: str) -> Answer:
        if request.method == "POST":
            return 201, views.show(self.state, kind, self._make(kind, request.body))
        seen = [(one, row) for one, row in self.state.all_of(kind) if self._sees(user, row)]
        found = queries.selected(self.state, seen, request.query)
        shown = [views.show(self.state, one, row) for one, row in found]
        return queries.page_of(shown, request.path, request.query)

    def _make(self, kind: str, sent: Mapping[str, Any]) -> Row:
        known = KINDS[kind].fields
        row = {name: one.default for name, one in known.items()}
        row = self._checked(kind, row, sent, is_new=True)
        if kind == "users" and not row["password"]:
            raise Refused(400, {"password": ["Password required for new User."]})
        made = self.state.add(kind, row)
        self._after(kind, made, {})
        return made

    def _one(self, request: Request, kind: str, row: Row) -> Answer:
        if request.method == "DELETE":
            self.state.remove(kind, row["id"])
            return 204, None
        if request.method == "PATCH":
            old = dict(row)
            row.update(self._checked(kind, row, request.body, is_new=False))
            self._after(kind, row, old)
        return 200, views.show(self.state, kind, row)

    def _checked(self, kind: str, row: Row, sent: Any, *, is_new: bool) -> Row:
        """Return a resource with what was sent, if AWX takes it."""
        known = KINDS[kind].fields
        errors = fields.check(known, sent, self.state.exists, is_new=is_new)
        if not errors:
            given = {
                name: fields.settled(known[name], value)
                for name, value in sent.items()
                if not known[name].is_fixed
            }
            row = self._with_kept_secrets(kind, row, {**row, **given})
            errors = rules.check(self.state, kind, row)
        if errors:
            raise Refused(400, errors)
        return row

    def _with_kept_secrets(self, kind: str, old: Row, new: Row) -> Row:
        """Return a resource whose secrets are the old ones where they were sent as encrypted."""
        name = {"credentials": "inputs", "notification_templates": "notification_configuration"}
        if kind not in name:
            return new
        place = name[kind]
        kept = {
            key: old[place].get(key, value) if value == surveys.ENCRYPTED else value
            for key, value in new[place].items()
        }
        return {**new, place: kept}

    def _after(self, kind: str, row: Row, old: Row) -> None:
        """Set what follows from a resource's other fields."""
        if kind == "projects" and row["scm_type"] and _is_elsewhere(row, old):
            self.state.update(row)
        owner = {"job_templates": "project", "inventory_sources": "inventory"}.get(kind)
        if owner is not None:
            other = self.state.get(KINDS[kind].fields[owner].to, row[owner])
            row["organization"] = other["organization"] if other else None
        if kind == "credential_types":
            # AWX writes the type that it takes where none is given.
            for one in row["inputs"].get("fields", ()):
                one.setdefault("type", "string")

    def _below(self, request: Request, kind: str, row: Row, below: str) -> Answer:
        match (request.method, below):
            case (method, "survey_spec") if "survey_enabled" in row:
                return self._survey(method, row, request.body)
            case ("POST", "update") if kind == "projects" and row["scm_type"]:
                self.state.update(row)
                return 202, {"project_update": row["update"]}
            case ("POST", "create_approval_template") if "unified_job_template" in row:
                made = self._make("workflow_approval_templates", request.body)
                row["unified_job_template"] = made["id"]
                return 201, views.show(self.state, "workflow_approval_templates", made)
            case ("POST", "users") if kind == "organizations":
                made = self._make("users", request.body)
                self._role_of(row, "member").holders["users"].append(made["id"])
                return 201, views.show(self.state, "users", made)
            case ("GET", name) if name in KINDS[kind].links:
                return self._links(request, kind, row)
            case ("POST", name) if name in KINDS[kind].links:
                return self._link(kind, row, name, request.body)
        raise Refused(404, {"detail": "Not found."})

    def _survey(self, method: str, row: Row, sent: Any) -> Answer:
        if method == "GET":
            return 200, surveys.shown(self.state.surveys.get(row["id"], {}))
        if method == "DELETE":
            self.state.surveys.pop(row["id"], None)
            return 200, None
        problem = surveys.problem_of(sent)
        if problem is not None:
            raise Refused(400, {"error": problem})
        self.state.surveys[row["id"]] = sent
        return 200, None

    def _links(self, request: Request, kind: str, row: Row) -> Answer:
        other, name = KINDS[kind].links[request.path[2]], request.path[2]
        linked = self.state.linked(row["id"], name)
        shown = [views.show(self.state, other, self.state.rows[other][one]) for one in linked]
        return queries.page_of(shown, request.path, request.query)

    def _organizations(self, request: Request, user: int) -> Answer:
        """List the organizations of which somebody is a member."""
        found = [
            views.show(self.state, "organizations", row)
            for row in self.state.rows["organizations"].values()
            if user in self._role_of(row, "member").holders["users"]
        ]
        return queries.page_of(found, request.path, request.query)

    def _link(self, kind: str, row: Row, name: str, sent: Mapping[str, Any]) -> Answer:
        number, linked = sent.get("id"), self.state.linked(row["id"], name)
        if not isinstance(number, int) or not self.state.exists(KINDS[kind].links[name], number):
            raise Refused(400, {"msg": f"{name} with id {number} does not exist."})
        if sent.get("disassociate"):
            linked[:] = [one for one in linked if one != number]
            return 204, None
        problem = self._problem_of_link(row, name, number)
        if problem is not None:
            raise Refused(400, {"error": problem})
        linked.append(number)
        return 204, None

    def _problem_of_link(self, row: Row, name: str, number: int) -> str | None:
        if name == "credentials" and "playbook" in row:
            return rules.check_credential(self.state, row["id"], number)
        if name.endswith("_nodes"):
            other = self.state.rows["workflow_job_template_nodes"][number]
            if other["workflow_job_template"] != row["workflow_job_template"]:
                return "Cannot associate nodes of different workflows."
            if number == row["id"]:
                return "Cycle detected."
        return None

    def _role(self, request: Request, number: int, actors: str) -> Answer:
        role = self.state.roles.get(number)
        if role is None:
            raise Refused(404, {"detail": "Not found."})
        holders, rows = role.holders[actors], self.state.rows[actors]
        if request.method == "GET":
            shown = [views.show(self.state, actors, rows[one]) for one in holders]
            return queries.page_of(shown, request.path, request.query)
        sent = request.body
        if sent.get("id") not in rows:
            raise Refused(400, {"msg": f"{actors} with id {sent.get('id')} does not exist."})
        # Giving a role that is held, or taking one that is not, is no error.
        holders[:] = [one for one in holders if one != sent["id"]]
        if not sent.get("disassociate"):
            holders.append(sent["id"])
        return 204, None

    def _role_of(self, row: Row, name: str) -> Role:
        return next(role for role in self.state.roles_of(row["id"]) if role.name == name)

    def _job(self, user: Row, request: Request) -> Answer:
        """Hand a request for a job over, for whom may make it."""
        if request.path[0] != "job_templates":
            return self.jobs.carry_out(request)
        row = self._found(user, "job_templates", request.path[1])
        if request.method == "POST" and not self._may_launch(user, row):
            raise Refused(403, _DENIED)
        name, survey = row["playbook"].removesuffix(".yml"), self.state.asked(row)
        self.jobs.templates[row["id"]] = Template(name, survey, row["ask_variables_on_launch"])
        path = ("job_templates", str(row["id"]), *request.path[2:])
        return self.jobs.carry_out(request._replace(path=path))

    def _may_launch(self, user: Row, row: Row) -> bool:
        return user["is_superuser"] or self.state.holds(user["id"], row["id"], "execute")


def _is_elsewhere(project: Row, old: Row) -> bool:
    """Tell whether a project's repository is another one than before; AWX looks into it then."""
    return any(project[name] != old.get(name) for name in ("scm_type", "scm_url", "scm_branch"))


def _number(text: str) -> int:
    if not text.isdecimal():
        raise Refused(404, {"detail": "Not found."})
    return int(text)


@contextmanager
def running_controller(play: Play | None = None) -> Iterator[Controller]:
    """Run a stand-in; ``play`` is what its jobs do, by default nothing, and well."""
    jobs = Awx(play or (lambda _playbook, _variables: True))
    jobs.going.set()
    controller = Controller(jobs)
    with serving(controller) as controller.url:
        try:
            yield controller
        finally:
            jobs.wait()
