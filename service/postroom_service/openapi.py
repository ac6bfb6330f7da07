# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document. The schemas of request bodies are generated from the pydantic models."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic.json_schema import models_json_schema

from . import __version__, errors, schemas

Node = dict[str, Any]
TEXT = {"type": "string"}
#: Error statuses that every operation can return.
COMMON_STATUSES = (400, 401, 405, 422, 429, 500, 503)
HEADERS: dict[int, Node] = {
    201: {"Location": {"required": True, "schema": TEXT, "description": "Path of the principal"}},
    401: {"WWW-Authenticate": {"required": True, "schema": TEXT}},
    415: {"Accept": {"required": True, "schema": TEXT}},
    429: {"Retry-After": {"required": True, "schema": TEXT, "description": "Seconds or a date"}},
    503: {"Retry-After": {"schema": TEXT, "description": "Seconds"}},
}
REQUEST_ID = {
    "X-Request-Id": {"required": True, "schema": TEXT, "description": "Also in the service's log"}
}


def _object(properties: Node, optional: Collection[str] = ()) -> Node:
    """Return the schema of an object that allows only these properties."""
    required = [name for name in properties if name not in optional]
    closed = {"type": "object", "additionalProperties": False}
    return {**closed, "properties": properties, "required": required}


def _array(items: Node) -> Node:
    return {"type": "array", "items": items}


def _ref(*names: str) -> Node:
    """Return a reference to a schema, or to exactly one of several schemas."""
    refs = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return refs[0] if len(refs) == 1 else {"oneOf": refs}


_INDIVIDUAL = {"id": TEXT, "name": TEXT, "type": {"const": "individual"}, "emails": _array(TEXT)}
_RECORD: Node = {"host": TEXT, "value": TEXT}
_PROBLEM = {
    "type": TEXT,
    "title": TEXT,
    "status": {"type": "integer"},
    "detail": TEXT,
    "code": {"type": "string", "enum": list(errors.KINDS)},
    "errors": _array(_object({"pointer": TEXT, "detail": TEXT})),
}
RESPONSES = {
    "Domain": _object({"id": TEXT, "name": TEXT, "type": {"const": "domain"}}),
    "Mailbox": _object(_INDIVIDUAL),
    "Forwarder": _object({**_INDIVIDUAL, "members": _array(TEXT)}),
    "RecordSet": _object(
        {
            "mx": _array(_object({**_RECORD, "priority": {"type": "integer"}})),
            "txt": _array(_object(_RECORD)),
        }
    ),
    "Success": _object({"success": {"const": True}}),
    "Health": _object({"status": {"const": "ok"}}),
    "ProblemDocument": _object(_PROBLEM, optional=["errors"]),
}
PRINCIPAL = _ref("Domain", "Mailbox", "Forwarder")


def _response(status: int, description: str, schema: Node, media: str = "application/json") -> Node:
    headers = {**REQUEST_ID, **HEADERS.get(status, {})}
    return {"description": description, "headers": headers, "content": {media: {"schema": schema}}}


def _operation(
    id: str, summary: str, response: Node, *failures: int, status: int = 200, **more: Any
) -> Node:
    """Return an operation that may fail with one of COMMON_STATUSES or `failures`."""
    responses = {str(status): _response(status, summary, response)}
    if "requestBody" in more:
        failures = (*failures, 413, 415)
    for failure in sorted({*COMMON_STATUSES, *failures}):
        codes = [code for code, kind in errors.KINDS.items() if kind.status == failure]
        responses[str(failure)] = _response(
            failure, ", ".join(codes), _ref("ProblemDocument"), errors.MEDIA_TYPE
        )
    return {"operationId": id, "summary": summary, "responses": responses, **more}


def _body(*models: str) -> Node:
    return {"required": True, "content": {"application/json": {"schema": _ref(*models)}}}


def _in_path(name: str, description: str) -> Node:
    # HTTP clients remove dot segments, so a name can't begin with a dot.
    schema = {"type": "string", "minLength": 1, "pattern": r"^[^/.][^/]*$"}
    where = {"name": name, "in": "path", "required": True}
    return {**where, "description": description, "schema": schema}


def _paths() -> Node:
    kinds = {"type": "string", "enum": ["domain", "individual"]}
    filter_by_type = {
        "name": "type",
        "in": "query",
        "description": "List only principals of this type",
        "schema": kinds,
    }
    new = _body("NewDomain", "NewMailbox", "NewForwarder")
    create = _operation(
        "createPrincipal", "Create a principal", PRINCIPAL, 409, status=201, requestBody=new
    )
    # Links from a new principal to its operations.
    name = "$response.body#/name"
    create["responses"]["201"]["links"] = {
        id: {"operationId": id, "parameters": {"domain" if id == "getRecords" else "name": name}}
        for id in ("getPrincipal", "updatePrincipal", "deletePrincipal", "getRecords")
    }
    title, individual = "Update a mailbox or forwarder", _ref("Mailbox", "Forwarder")
    update = _operation(
        "updatePrincipal", title, individual, 404, 409, requestBody=_body("Changes")
    )
    return {
        "/api/principal": {
            "get": _operation(
                "listPrincipals", "List principals", _array(PRINCIPAL), parameters=[filter_by_type]
            ),
            "post": create,
        },
        "/api/principal/{name}": {
            "parameters": [_in_path("name", "A domain name or a full email address")],
            "get": _operation("getPrincipal", "Get one principal", PRINCIPAL, 404),
            "patch": update,
            "delete": _operation("deletePrincipal", "Delete a principal", _ref("Success"), 404),
        },
        "/api/dns/{domain}": {
            "parameters": [_in_path("domain", "A registered domain")],
            "get": _operation("getRecords", "Get the records to publish", _ref("RecordSet"), 404),
        },
        "/healthz": {
            "get": _operation(
                "checkHealth", "Check the service and its database", _ref("Health"), security=[]
            )
        },
    }


_BODIES = (schemas.NewDomain, schemas.NewMailbox, schemas.NewForwarder, schemas.Changes)
_names, _found = models_json_schema(
    [(model, "validation") for model in _BODIES], ref_template="#/components/schemas/{model}"
)
DOCUMENT: Node = {
    "openapi": "3.1.0",
    "info": {
        "title": "Postroom",
        "version": __version__,
        "description": "Hosted email with an HTTP API.",
    },
    "paths": _paths(),
    "components": {
        "schemas": {**_found["$defs"], **RESPONSES},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    },
    "security": [{"token": []}],
}
