# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Cloudflare zone, in which each record is a separate object and keeps its text as entered."""

from __future__ import annotations

import itertools
from typing import Any

from ansible_collections.postroom.email.tests.fakes.dns_providers.server import ApiRequest

TOKEN = "cf-9dWm2XeRt5Yb8Qa1"
ZONE_ID = "023e105f4ecef8ad9ca31a8372d0c353"

Record = dict[str, Any]


class Cloudflare:
    """One zone of an account. The host `full` in the zone has no room for another TXT record.

    https://developers.cloudflare.com/api/resources/dns
    """

    authorization = f"Bearer {TOKEN}"

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self._full = f"full.{zone}", "TXT"
        self._records: dict[str, Record] = {}
        self._numbers = itertools.count(1)

    def put(self, name: str, kind: str, *values: str) -> None:
        """Add records, as another client would."""
        for value in values:
            record = {"name": name, "type": kind, "content": value, "ttl": 1}
            if kind == "MX":
                priority, host = value.split()
                record |= {"content": host.rstrip(".") or ".", "priority": int(priority)}
            self._add(record)

    def lookup(self, name: str, kind: str) -> tuple[str, ...]:
        """Return the values of the records with this name and type, in zone-file format."""
        found = [r for r in self._records.values() if (r["name"], r["type"]) == (name, kind)]
        return tuple(sorted(_as_text(record) for record in found))

    def answer(self, asked: ApiRequest) -> tuple[int, Any]:
        """Respond to a request."""
        match asked.path:
            case ("client", "v4", "zones"):
                named = asked.query.get("name") == self.zone
                return _success([{"id": ZONE_ID, "name": self.zone}] if named else [])
            case ("client", "v4", "zones", zone, "dns_records", *number) if zone == ZONE_ID:
                return self._answer_records(asked, *number)
        return _failure(400, 7003, "Could not route to that path")

    def refuse(self) -> tuple[int, Any]:
        """Respond to an invalid token."""
        return _failure(403, 9109, "Invalid access token")

    def _answer_records(self, asked: ApiRequest, number: str = "") -> tuple[int, Any]:
        if asked.method == "GET":
            return _success([r for r in self._records.values() if _matches(r, asked.query)])
        if asked.method == "DELETE":
            del self._records[number]
            return _success({"id": number})
        if asked.method == "PATCH":
            self._records[number] |= asked.body
            return _success(self._records[number])
        if any(_key(record) == _key(asked.body) for record in self._records.values()):
            return _failure(400, 81058, "An identical record already exists.")
        if (asked.body["name"], asked.body["type"]) == self._full:
            return _failure(400, 81045, "Record quota exceeded.")
        return _success(self._add(asked.body))

    def _add(self, record: Record) -> Record:
        number = f"{next(self._numbers):032x}"
        made = {"comment": None, "tags": [], **record, "id": number}
        self._records[number] = made
        return made


def _matches(record: Record, query: dict[str, str]) -> bool:
    wanted = {key: query[key] for key in ("name", "type", "content") if key in query}
    return all(record[key] == value for key, value in wanted.items())


def _key(record: Record) -> tuple[Any, ...]:
    return record["name"], record["type"], record["content"], record.get("priority")


def _as_text(record: Record) -> str:
    content: str = record["content"]
    if record["type"] == "MX":
        return f"{record['priority']} {content.rstrip('.')}."
    return content if content.startswith('"') else f'"{content}"'


def _success(result: Any) -> tuple[int, Any]:
    return 200, {"success": True, "errors": [], "messages": [], "result": result}


def _failure(status: int, code: int, message: str) -> tuple[int, Any]:
    error = {"code": code, "message": message}
    return status, {"success": False, "errors": [error], "messages": [], "result": None}
