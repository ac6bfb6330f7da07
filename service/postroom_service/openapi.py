# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document, written out: the contract decides what it says, not the code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import __version__, names, problems, schemas

JSON = "application/json"
Node = dict[str, Any]


def _ref(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: Node, most: int) -> Node:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": most}


def _object(properties: Node, *, required: Sequence[str] | None = None, **more: Any) -> Node:
    chosen = list(properties) if required is None else list(required)
    node: Node = {"type": "object", "additionalProperties": False, "properties": properties, **more}
    return {**node, "required": chosen} if chosen else node


_DOMAIN = {
    "type": "string",
    "description": "A fully qualified domain name; U-labels are taken as their A-labels.",
    "maxLength": names.MAX_DOMAIN,
    "pattern": r"^[^@\s.]+(\.[^@\s.]+)+$",
    "examples": ["example.com"],
}
_ADDRESS = {
    "type": "string",
    "description": "An email address with an ASCII local part; compared in lower case.",
    "maxLength": names.MAX_ADDRESS,
    "pattern": r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$",
    "examples": ["ann@example.com"],
}
_SECRET = {
    "type": "string",
    "format": "password",
    "writeOnly": True,
    "minLength": 1,
    "maxLength": schemas.MAX_SECRET,
    "pattern": r"^[^\u0000]*$",
}
_ADDRESSES = {**_list(_ADDRESS, schemas.MAX_ADDRESSES), "uniqueItems": True}
_MEMBERS = {**_ADDRESSES, "items": {**_ADDRESS, "examples": ["team@example.net"]}}
_SECRETS = _list(_SECRET, schemas.MAX_SECRETS)
_TEXT = {"type": "string"}


def _const(value: str) -> Node:
    return {"type": "string", "const": value}


def _request_schemas() -> Node:
    individual = {"name": _ADDRESS, "type": _const("individual"), "emails": _ADDRESSES}
    changes = {"secrets": _SECRETS, "emails": _ADDRESSES, "members": _MEMBERS}
    return {
        "NewDomain": _object({"name": _DOMAIN, "type": _const("domain")}),
        "NewMailbox": _object({**individual, "secrets": _SECRETS}),
        "NewForwarder": _object({**individual, "members": _MEMBERS}),
        "NewPrincipal": {"oneOf": [_ref("NewDomain"), _ref("NewMailbox"), _ref("NewForwarder")]},
        "Changes": _object(changes, required=()),
    }


def _response_schemas() -> Node:
    named = {"id": _TEXT, "name": _TEXT}
    mailbox = {**named, "type": _const("individual"), "emails": _list(_TEXT, schemas.MAX_ADDRESSES)}
    mx = {"host": _TEXT, "value": _TEXT, "priority": {"type": "integer"}}
    return {
        "Domain": _object({**named, "type": _const("domain")}),
        "Mailbox": _object(mailbox),
        "Forwarder": _object({**mailbox, "members": _list(_TEXT, schemas.MAX_ADDRESSES)}),
        "Principal": {"oneOf": [_ref("Domain"), _ref("Mailbox"), _ref("Forwarder")]},
        "Individual": {"oneOf": [_ref("Mailbox"), _ref("Forwarder")]},
        "RecordSet": _object(
            {
                "mx": {"type": "array", "items": _object(mx)},
                "txt": {"type": "array", "items": _object({"host": _TEXT, "value": _TEXT})},
            }
        ),
        "Success": _object({"success": {"type": "boolean", "const": True}}),
        "Health": _object({"status": _const("ok")}),
        "Problem": _problem_schema(),
    }


def _problem_schema() -> Node:
    error = _object({"pointer": _TEXT, "detail": _TEXT})
    return _object(
        {
            "type": {"type": "string", "format": "uri"},
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            "code": {"type": "string", "enum": list(problems.KINDS)},
            "errors": {"type": "array", "items": error},
        },
        required=("type", "title", "status", "detail", "code"),
        description="RFC 9457",
    )


_HEADERS: Mapping[int, Node] = {
    201: {
        "Location": {"required": True, "schema": _TEXT, "description": "Path of what was created"}
    },
    401: {"WWW-Authenticate": {"required": True, "schema": _TEXT}},
    415: {"Accept": {"required": True, "schema": _TEXT}},
    429: {
        "Retry-After": {
            "required": True,
            "schema": _TEXT,
            "description": "Seconds, or an HTTP date",
        }
    },
    503: {"Retry-After": {"schema": _TEXT, "description": "Seconds"}},
}
_REQUEST_ID = {
    "X-Request-Id": {"required": True, "schema": _TEXT, "description": "Also in the service's log"}
}


def _response(status: int, description: str, schema: Node, media: str = JSON) -> Node:
    headers = {**_REQUEST_ID, **_HEADERS.get(status, {})}
    return {"description": description, "headers": headers, "content": {media: {"schema": schema}}}


def _problem_responses(statuses: Sequence[int]) -> Node:
    return {
        str(status): _response(status, _codes(status), _ref("Problem"), problems.MEDIA_TYPE)
        for status in sorted({*statuses, 400, 401, 405, 422, 429, 500, 503})
    }


def _codes(status: int) -> str:
    return ", ".join(code for code, kind in problems.KINDS.items() if kind.status == status)


def _operation(
    id: str, summary: str, answer: Node, *, failures: Sequence[int] = (), body: str = ""
) -> Node:
    operation: Node = {"operationId": id, "summary": summary}
    if body:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(body)}}}
    operation["responses"] = {
        **answer,
        **_problem_responses([*failures, *((413, 415) if body else ())]),
    }
    return operation


def _path_parameter(name: str, description: str) -> Node:
    # A dot segment would be taken out of the path on its way here.
    schema = {"type": "string", "minLength": 1, "pattern": r"^[^/.][^/]*$"}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


def _links() -> Node:
    """Tell that the name of what was created leads on."""
    name = "$response.body#/name"
    operations = ("getPrincipal", "updatePrincipal", "deletePrincipal")
    links = {id: {"operationId": id, "parameters": {"name": name}} for id in operations}
    return {**links, "getRecords": {"operationId": "getRecords", "parameters": {"domain": name}}}


def _paths() -> Node:
    kinds = {"type": "string", "enum": ["domain", "individual"]}
    wanted = {
        "name": "type",
        "in": "query",
        "description": "Filters by principal type",
        "schema": kinds,
    }
    one = {"200": _response(200, "The principal", _ref("Principal"))}
    updated = {"200": _response(200, "The updated principal", _ref("Individual"))}
    everything = {
        "200": _response(200, "Principals", {"type": "array", "items": _ref("Principal")})
    }
    created = {
        "201": {**_response(201, "The created principal", _ref("Principal")), "links": _links()}
    }
    deleted = {"200": _response(200, "Deleted", _ref("Success"))}
    records = {"200": _response(200, "The records to publish", _ref("RecordSet"))}
    healthy = {"200": _response(200, "The database answers", _ref("Health"))}
    taken = (409,)
    absent = (404,)
    health = _operation("checkHealth", "Check the service and its database", healthy)
    return {
        "/api/principal": {
            "get": {
                **_operation("listPrincipals", "List principals", everything),
                "parameters": [wanted],
            },
            "post": _operation(
                "createPrincipal",
                "Create a principal",
                created,
                failures=taken,
                body="NewPrincipal",
            ),
        },
        "/api/principal/{name}": {
            "parameters": [_path_parameter("name", "A domain name or a full email address")],
            "get": _operation("getPrincipal", "Get one principal", one, failures=absent),
            "patch": _operation(
                "updatePrincipal",
                "Update a mailbox or forwarder",
                updated,
                failures=(404, 409),
                body="Changes",
            ),
            "delete": _operation("deletePrincipal", "Delete a principal", deleted, failures=absent),
        },
        "/api/dns/{domain}": {
            "parameters": [_path_parameter("domain", "A registered domain")],
            "get": _operation(
                "getRecords", "Get the DNS records of a domain", records, failures=absent
            ),
        },
        "/healthz": {"get": {**health, "security": []}},
    }


def _document() -> Node:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postroom",
            "version": __version__,
            "description": "Hosted email, by API.",
        },
        "paths": _paths(),
        "components": {
            "schemas": {**_request_schemas(), **_response_schemas()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


DOCUMENT = json.dumps(_document(), separators=(",", ":")).encode("ascii")
