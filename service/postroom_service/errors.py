# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""RFC 9457 problem documents with stable codes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class Kind(NamedTuple):
    """The HTTP status and the title of an error code."""

    status: int
    title: str


KINDS: Mapping[str, Kind] = {
    "malformed_json": Kind(400, "The body is not well-formed JSON"),
    "duplicate_key": Kind(400, "A key appears twice in one JSON object"),
    "too_deep": Kind(400, "The JSON is nested too deeply"),
    "malformed_request": Kind(400, "The request could not be read"),
    "token_missing": Kind(401, "A bearer token is required"),
    "token_invalid": Kind(401, "The bearer token is not valid"),
    "path_not_found": Kind(404, "The path does not exist"),
    "principal_not_found": Kind(404, "The principal does not exist"),
    "domain_not_found": Kind(404, "The domain does not exist"),
    "method_not_allowed": Kind(405, "The method is not allowed here"),
    "name_taken": Kind(409, "The name is already in use"),
    "address_taken": Kind(409, "An address is already in use"),
    "body_too_large": Kind(413, "The body is too large"),
    "unsupported_media_type": Kind(415, "The body must be JSON"),
    "validation_failed": Kind(422, "The request is invalid"),
    "local_part_has_route": Kind(422, "An address can't have ! or % before the @"),
    "local_part_has_hyphen": Kind(422, "An address can't begin with a hyphen"),
    "catch_all_not_supported": Kind(422, "Catch-all addresses are not supported"),
    "secret_has_control": Kind(422, "A secret can't have control characters"),
    "secrets_or_members_required": Kind(422, "secrets or members are required"),
    "secrets_and_members": Kind(422, "secrets and members can't be combined"),
    "name_not_in_emails": Kind(422, "The primary address must stay in emails"),
    "domain_not_registered": Kind(422, "A domain is not registered"),
    "domain_not_updatable": Kind(422, "A domain can't be updated"),
    "not_a_mailbox": Kind(422, "Only a mailbox has secrets"),
    "not_a_forwarder": Kind(422, "Only a forwarder has members"),
    "forwarder_cycle": Kind(422, "The forwarder would create a forwarding loop"),
    "rate_limited": Kind(429, "Too many requests"),
    "internal_error": Kind(500, "The service failed"),
    "fault_injected": Kind(503, "A fault was injected"),
    "store_unavailable": Kind(503, "The database is not available"),
}


class FieldError(NamedTuple):
    """An invalid field: its JSON pointer (RFC 6901) or ?parameter, and an error message."""

    pointer: str
    detail: str


class Problem(Exception):
    """The exception for a failed request, with the problem document to send as the response."""

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        *,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(code)
        self._headers = headers
        self._document: dict[str, Any] = {
            "type": f"urn:postroom:problem:{code}",
            "title": KINDS[code].title,
            "status": status or KINDS[code].status,
            "detail": detail,
            "code": code,
        }
        if errors:
            self._document["errors"] = [error._asdict() for error in errors]

    @classmethod
    def at(cls, code: str, pointer: str, detail: str) -> Self:
        """Return a problem that concerns a single field."""
        return cls(code, detail, [FieldError(pointer, detail)])

    def response(self) -> Response:
        """Return the HTTP response."""
        body = json.dumps(self._document, separators=(",", ":"))
        return Response(body, self._document["status"], self._headers, MEDIA_TYPE)
