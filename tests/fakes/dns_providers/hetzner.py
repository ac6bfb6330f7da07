# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Hetzner zone, with record sets whose names are relative and whose records have comments."""

from __future__ import annotations

from typing import Any

from ansible_collections.postroom.email.tests.fakes.dns_providers.server import ApiRequest

TOKEN = "hcloud-Zq81vLw0mKt7xR2d"
ZONE_ID = 42
_FINISHED = {"action": {"id": 1, "command": "done", "status": "success", "progress": 100}}

Record = dict[str, Any]


class Hetzner:
    """One zone of a project: https://docs.hetzner.cloud/reference/cloud#zone-rrsets."""

    authorization = f"Bearer {TOKEN}"

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self._sets: dict[tuple[str, str], dict[str, Any]] = {}

    def put(self, name: str, kind: str, *values: str) -> None:
        """Write a record set, as another client would."""
        records = [{"value": value, "comment": f"why {value}"} for value in values]
        self._store(self._relative(name), kind, 600, records)

    def lookup(self, name: str, kind: str) -> tuple[str, ...]:
        """Return the values of a record set."""
        return tuple(sorted(self._comments(self._relative(name), kind)))

    def answer(self, asked: ApiRequest) -> tuple[int, Any]:
        """Respond to a request."""
        match asked.path:
            case ("v1", "zones", zone, "rrsets", *rest) if zone in (self.zone, str(ZONE_ID)):
                return self._answer_within(asked, *rest)
            case ("v1", "actions", _number):
                return 200, _FINISHED
        return _not_found()

    def refuse(self) -> tuple[int, Any]:
        """Respond to an invalid token."""
        return 401, {"error": {"code": "unauthorized", "message": "unable to authenticate"}}

    def _answer_within(
        self, asked: ApiRequest, name: str = "", kind: str = "", *action: str
    ) -> tuple[int, Any]:
        if asked.method == "GET" and not name:
            page = {"page": 1, "per_page": 50, "last_page": 1, "total_entries": len(self._sets)}
            pagination = {**page, "previous_page": None, "next_page": None}
            return 200, {"rrsets": [*self._sets.values()], "meta": {"pagination": pagination}}
        if asked.method == "POST" and not name:
            body = asked.body
            made = self._store(body["name"], body["type"], body.get("ttl"), body["records"])
            return 201, {"rrset": made, **_FINISHED}
        key = name, kind
        found = self._sets.get(key)
        if found is None:
            return _not_found()
        if asked.method == "GET":
            return 200, {"rrset": found}
        if asked.method == "DELETE":
            del self._sets[key]
        elif action == ("actions", "change_ttl"):
            found["ttl"] = asked.body["ttl"]
        elif action == ("actions", "set_records"):
            self._store(*key, found["ttl"], asked.body["records"])
        return 201, _FINISHED

    def _store(
        self, name: str, kind: str, ttl: int | None, records: list[Record]
    ) -> dict[str, Any]:
        comments = self._comments(name, kind)
        for record in records:
            # TXT values must be quoted. A comment is lost unless it is written again.
            assert kind != "TXT" or record["value"].startswith('"'), record
            assert record.get("comment") == comments.get(record["value"], record.get("comment"))
        made = {
            "id": f"{name}/{kind}",
            "name": name,
            "type": kind,
            "ttl": ttl,
            "zone": ZONE_ID,
            "labels": {},
            "protection": {"change": False},
            "records": [{"comment": None, **record} for record in records],
        }
        self._sets[name, kind] = made
        return made

    def _comments(self, name: str, kind: str) -> dict[str, str | None]:
        """Return the comments in a record set, keyed by value."""
        found = self._sets.get((name, kind), {"records": []})
        return {record["value"]: record["comment"] for record in found["records"]}

    def _relative(self, name: str) -> str:
        return name.removesuffix(self.zone).rstrip(".") or "@"


def _not_found() -> tuple[int, Any]:
    return 404, {"error": {"code": "not_found", "message": "not found"}}
