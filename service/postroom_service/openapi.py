# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document: the operations here, the schemas from the pydantic models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from . import __version__, errors, schemas

Node = dict[str, Any]
TEXT = {"type": "string"}
MODELS = (
    *(schemas.NewDomain, schemas.NewMailbox, schemas.NewForwarder, schemas.Changes),
    *(schemas.Domain, schemas.Mailbox, schemas.Forwarder, schemas.RecordSet),
    *(schemas.Success, schemas.Health, schemas.ProblemDocument),
)
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


def _ref(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}


def _one_of(*names: str) -> Node:
    return {"oneOf": [_ref(name) for name in names]}


PRINCIPAL = _one_of("Domain", "Mailbox", "Forwarder")
NEW_PRINCIPAL = _one_of("NewDomain", "NewMailbox", "NewForwarder")


def _response(status: int, description: str, schema: Node, media: str) -> Node:
    headers = {**REQUEST_ID, **HEADERS.get(status, {})}
    return {"description": description, "headers": headers, "content": {media: {"schema": schema}}}


def _operation(
    id: str,
    summary: str,
    response: Node,
    *,
    status: int = 200,
    body: Node | None = None,
    failures: Sequence[int] = (),
) -> Node:
    operation: Node = {"operationId": id, "summary": summary}
    if body:
        media = {"application/json": {"schema": body}}
        operation["requestBody"] = {"required": True, "content": media}
        failures = [*failures, 413, 415]
    operation["responses"] = {
        str(status): _response(status, summary, response, "application/json"),
        **{
            str(failure): _response(
                failure, _codes(failure), _ref("ProblemDocument"), errors.MEDIA_TYPE
            )
            for failure in sorted({*COMMON_STATUSES, *failures})
        },
    }
    return operation


def _codes(status: int) -> str:
    return ", ".join(code for code, kind in errors.KINDS.items() if kind.status == status)


def _in_path(name: str, description: str) -> Node:
    # HTTP clients remove dot segments from paths.
    schema = {"type": "string", "minLength": 1, "pattern": r"^[^/.][^/]*$"}
    where = {"name": name, "in": "path", "required": True}
    return {**where, "description": description, "schema": schema}


def _paths() -> Node:
    kinds = {"type": "string", "enum": ["domain", "individual"]}
    filter_by_type = {"name": "type", "in": "query", "description": "Filter", "schema": kinds}
    create = _operation(
        "createPrincipal",
        "Create a principal",
        PRINCIPAL,
        status=201,
        body=NEW_PRINCIPAL,
        failures=[409],
    )
    # Links from a new principal to its operations.
    name = "$response.body#/name"
    links: Node = {
        id: {"operationId": id, "parameters": {"name": name}}
        for id in ("getPrincipal", "updatePrincipal", "deletePrincipal")
    }
    links["getRecords"] = {"operationId": "getRecords", "parameters": {"domain": name}}
    create["responses"]["201"]["links"] = links
    principals = {"type": "array", "items": PRINCIPAL}
    update = _operation(
        "updatePrincipal",
        "Update a mailbox or forwarder",
        _one_of("Mailbox", "Forwarder"),
        body=_ref("Changes"),
        failures=[404, 409],
    )
    delete = _operation("deletePrincipal", "Delete", _ref("Success"), failures=[404])
    health = _operation("checkHealth", "Check the service and its database", _ref("Health"))
    return {
        "/api/principal": {
            "get": {
                **_operation("listPrincipals", "List principals", principals),
                "parameters": [filter_by_type],
            },
            "post": create,
        },
        "/api/principal/{name}": {
            "parameters": [_in_path("name", "A domain name or a full email address")],
            "get": _operation("getPrincipal", "Get one principal", PRINCIPAL, failures=[404]),
            "patch": update,
            "delete": delete,
        },
        "/api/dns/{domain}": {
            "parameters": [_in_path("domain", "A registered domain")],
            "get": _operation(
                "getRecords", "Get the records to publish", _ref("RecordSet"), failures=[404]
            ),
        },
        "/healthz": {"get": {**health, "security": []}},
    }


def _document() -> Node:
    _names, found = models_json_schema(
        [(model, "validation") for model in MODELS], ref_template="#/components/schemas/{model}"
    )
    about = {"title": "Postroom", "version": __version__, "description": "Hosted email, by API."}
    return {
        "openapi": "3.1.0",
        "info": about,
        "paths": _paths(),
        "components": {
            "schemas": found["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


DOCUMENT = _document()
