# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A small in-memory mail service that can imitate the quirks of real servers.

The reference service is stricter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    EMPTY,
    NO_CONTENT,
    Reply,
    Request,
    json_reply,
    problem,
)

Principal = dict[str, Any]
Empty = Literal["principal", "null", "empty", "no content"]

LISTS = ("emails", "members", "secrets")
SHORT = {"principal": None, "null": json_reply({"data": None}), "empty": EMPTY}


@dataclass(frozen=True)
class Quirks:
    """Deviations from the contract. By default, there are none.

    :param envelope: whether responses are wrapped in ``{"data": ...}``
    :param items: whether a list is sent as ``{"items": [...], "total": n}``
    :param bare_names: whether a list contains names instead of objects
    :param page_rows: the number of rows per page of a list, or 0 for no pages
    :param pages: how a page refers to the next page: by a total, by a Link header, or not at all
    :param create_answers_id: whether the response to POST is ``{"data": 50}``
    :param counts: whether a domain's ``members`` is a number
    :param domain_delete: the effect of deleting a domain on the principals in it
    """

    integer_ids: bool = False
    envelope: bool = False
    items: bool = False
    bare_names: bool = False
    page_rows: int = 0
    pages: Literal["total", "link", "silent"] = "total"
    create_answers_id: bool = False
    update_answers: Empty = "principal"
    delete_answers: Empty = "principal"
    single_strings: bool = False
    drop_empty: bool = False
    counts: bool = False
    shows_secrets: bool = False
    errors_as_200: bool = False
    spelling: Callable[[str], str] = field(default=str)
    domain_delete: Literal["cascades", "refuses", "leaves"] = "cascades"


@dataclass
class Disturbance:
    """A fault for the next request of a method.

    :param effect: whether the request is executed despite the fault
    :param skip: the number of requests of the method to process first
    """

    method: str
    reply: Reply
    effect: bool
    skip: int = 0


class InMemoryService:
    """A handler for ScriptedServer that keeps principals in a dictionary and has quirks."""

    def __init__(self, quirks: Quirks | None = None, *principals: Principal) -> None:
        self.quirks = quirks or Quirks()
        self.principals: dict[str, Principal] = {p["name"]: p for p in principals}
        self._ids = {name: number for number, name in enumerate(self.principals, 40)}
        self._disturbances: list[Disturbance] = []
        self._meddlers: list[tuple[str, Callable[[], object]]] = []
        self._lock = threading.Lock()

    def disturb(
        self, method: str, reply: Reply, *, effect: bool = False, times: int = 1, skip: int = 0
    ) -> None:
        """Respond to requests of a method with ``reply``, after the first ``skip`` requests.

        :param effect: whether the requests are executed despite the fault
        """
        self._disturbances.append(Disturbance(method, reply, effect, skip))
        self._disturbances += [Disturbance(method, reply, effect) for _time in range(times - 1)]

    def interfere(self, method: str, action: Callable[[], object], *, times: int = 1) -> None:
        """Call ``action`` right after each of the next requests of a method."""
        self._meddlers += [(method, action)] * times

    def __call__(self, request: Request) -> Reply:
        """Respond to a request."""
        with self._lock:
            fault = self._due(request.method)
            if fault is not None and not fault.effect:
                return fault.reply
            reply = self._carry_out(request)
            for number, (method, action) in enumerate(self._meddlers):
                if method == request.method:
                    del self._meddlers[number]
                    action()
                    break
            return reply if fault is None else fault.reply

    def _due(self, method: str) -> Disturbance | None:
        for number, fault in enumerate(self._disturbances):
            if fault.method == method:
                if fault.skip:
                    fault.skip -= 1
                    return None
                return self._disturbances.pop(number)
        return None

    def _carry_out(self, request: Request) -> Reply:
        parts = urlsplit(request.target)
        kind, _slash, segment = parts.path.removeprefix("/api/").partition("/")
        name = unquote(segment)
        if kind == "dns":
            return self._dns(name)
        if kind != "principal":
            return problem(404, "No such path.")
        if request.method == "POST":
            return self._create(request.json)
        if not segment:
            return self._list(parts.query)
        if name not in self.principals:
            return self._not_found(name)
        return {"GET": self._get, "PATCH": self._update, "DELETE": self._delete}[request.method](
            name, request.json
        )

    def _get(self, name: str, _body: Any) -> Reply:
        return self._wrapped(self._shown(self.principals[name]))

    def _list(self, query: str) -> Reply:
        (kind,) = parse_qs(query).get("type", [""])
        rows = [p for _name, p in sorted(self.principals.items()) if kind in ("", p["type"])]
        total = len(rows)
        size = self.quirks.page_rows or len(rows) or 1
        page = int(parse_qs(query).get("page", ["1"])[0])
        shown: list[Any] = [self._shown(row) for row in rows[(page - 1) * size : page * size]]
        if self.quirks.bare_names:
            shown = [row["name"] for row in shown]
        reply = self._wrapped({"items": shown, "total": total} if self._has_items() else shown)
        if self.quirks.pages == "link" and page * size < len(rows):
            target = f"/api/principal?page={page + 1}{kind and f'&type={kind}'}"
            reply = reply.having(Link=f'<{target}>; rel="next", </>; rel="first"')
        return reply

    def _has_items(self) -> bool:
        return self.quirks.items or bool(self.quirks.page_rows and self.quirks.pages == "total")

    def _create(self, body: Principal) -> Reply:
        missing = self._missing_domain(body)
        if missing:
            return self._error("notFound", 404, item=missing)
        taken = self._taken(body)
        if taken:
            return self._error("fieldAlreadyExists", 409, field="name", value=taken)
        if body["type"] == "individual" and not (body.get("secrets") or body.get("members")):
            return self._error("fieldMissing", 400, field="secrets")
        self.principals[body["name"]] = dict(body)
        self._ids[body["name"]] = len(self._ids) + 40
        if self.quirks.create_answers_id:
            return json_reply({"data": self._ids[body["name"]]})
        return self._wrapped(self._shown(body))

    def _update(self, name: str, body: Principal) -> Reply:
        if name not in body.get("emails", [name]):
            return self._error("assertFailed", 400, details="The primary address must stay.")
        missing = self._missing_domain(body)
        if missing:
            return self._error("notFound", 404, item=missing)
        taken = self._taken({**body, "name": ""}, but=name)
        if taken:
            return self._error("fieldAlreadyExists", 409, field="emails", value=taken)
        self.principals[name] = {**self.principals[name], **body}
        return self._short(self.quirks.update_answers, self._shown(self.principals[name]))

    def _delete(self, name: str, _body: Any) -> Reply:
        inside = [other for other in self.principals if other.endswith(f"@{name}")]
        if inside and self.quirks.domain_delete == "refuses":
            return self._error("unsupported", 400, details="The domain is not empty.")
        del self.principals[name]
        if self.quirks.domain_delete == "cascades":
            for other in inside:
                del self.principals[other]
        return self._short(self.quirks.delete_answers, {"success": True})

    def _dns(self, name: str) -> Reply:
        if name not in self.principals:
            return self._not_found(name)
        record_set = {
            "mx": [{"host": "@", "value": "mail.example.net", "priority": 10}],
            "txt": [{"host": "@", "value": "v=spf1 include:example.net ~all"}],
        }
        return self._wrapped(record_set)

    def _taken(self, body: Principal, but: str = "") -> str | None:
        wanted = {body["name"], *body.get("emails", [])}
        for other in self.principals.values():
            mine = {other["name"], *other.get("emails", [])}
            if other["name"] != but and wanted & mine:
                return str(min(wanted & mine))
        return None

    def _missing_domain(self, body: Principal) -> str | None:
        domains = (address.rpartition("@")[2] for address in body.get("emails", []))
        return next((domain for domain in domains if domain not in self.principals), None)

    def _not_found(self, name: str) -> Reply:
        return self._error("notFound", 404, item=name)

    def _error(self, word: str, status: int, **more: str) -> Reply:
        if self.quirks.errors_as_200:
            return json_reply({"error": word, **more})
        return problem(status, f"{word}: {', '.join(more.values())}")

    def _short(self, form: Empty, value: Any) -> Reply:
        if form == "no content":
            return NO_CONTENT
        return SHORT[form] or self._wrapped(value)

    def _wrapped(self, value: Any) -> Reply:
        return json_reply({"data": value} if self.quirks.envelope else value)

    def _shown(self, principal: Principal) -> Principal:
        return dict(self._shown_fields(principal))

    def _shown_fields(self, principal: Principal) -> Iterator[tuple[str, Any]]:
        spell = self.quirks.spelling
        yield "id", self._ids.get(principal["name"], 99) if self.quirks.integer_ids else "opaque"
        yield "name", spell(principal["name"])
        yield "type", principal["type"]
        if principal["type"] == "domain":
            if self.quirks.counts:
                yield "members", 7
            return
        for key in LISTS:
            if key == "secrets" and not self.quirks.shows_secrets:
                continue
            values = principal.get(key, [])
            values = values if key == "secrets" else [spell(value) for value in values]
            if values or not self.quirks.drop_empty:
                yield key, values[0] if self.quirks.single_strings and len(values) == 1 else values


def domain(name: str) -> Principal:
    """Return a domain in the service's format."""
    return {"name": name, "type": "domain"}


def mailbox(name: str, *aliases: str, secret: str = "stored-Zq8") -> Principal:
    """Return a mailbox in the service's format."""
    return {
        "name": name,
        "type": "individual",
        "emails": [name, *aliases],
        "secrets": [secret],
    }


def forwarder(name: str, *members: str) -> Principal:
    """Return a forwarder in the service's format."""
    return {"name": name, "type": "individual", "emails": [name], "members": list(members)}
