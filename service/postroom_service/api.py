# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP API: six endpoints, a health check and the OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from argon2 import PasswordHasher
from sqlalchemy import Connection, text
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from postroom_common.database import Database, DatabaseError

from . import auth, dkim, names, openapi, schemas
from .directory import Directory
from .errors import FieldError, Problem
from .requests import note, parse_json, read_body
from .store.transactions import Transactions

#: Maximum number of requests that hash secrets or generate a key at the same time.
HASHERS = 2

T = TypeVar("T")

KINDS_BY_TYPE: dict[str | None, tuple[str, ...]] = {
    None: ("domain", "mailbox", "forwarder"),
    "domain": ("domain",),
    "individual": ("mailbox", "forwarder"),
}


class Service:
    """The endpoint handlers and their shared state.

    :param host_names: keyword arguments for `dkim.records`
    """

    def __init__(self, database: Database, hasher: PasswordHasher, **host_names: str) -> None:
        self._transactions = Transactions(database)
        self._host_names = host_names
        self._hasher = hasher
        self._hashing = asyncio.Semaphore(HASHERS)
        one = "/api/principal/{name:path}"
        self.routes = [
            Route("/api/dns/{domain:path}", self.get_records),
            Route("/api/principal", self.list_principals),
            Route("/api/principal", self.create_principal, methods=["POST"]),
            Route(one, self.get_principal),
            Route(one, self.update_principal, methods=["PATCH"]),
            Route(one, self.delete_principal, methods=["DELETE"]),
            Route("/healthz", self.check_health),
            Route("/openapi.json", self.show_document),
        ]

    def app(self) -> Starlette:
        """Return the ASGI application."""
        errors = (Problem, HTTPException, ClientDisconnect, DatabaseError, Exception)
        app = Starlette(
            routes=self.routes, exception_handlers=dict.fromkeys(errors, self._answer_error)
        )
        app.router.redirect_slashes = False
        return app

    async def list_principals(self, request: Request) -> Response:
        """GET /api/principal."""

        def work(directory: Directory) -> Response:
            return JSONResponse(directory.listing(KINDS_BY_TYPE[_wanted_type(request)]))

        return await self._read(request, work, long=True)

    async def create_principal(self, request: Request) -> Response:
        """POST /api/principal."""
        caller, body = await self._authenticated_body(request)
        new = schemas.new_principal(body)
        if isinstance(new, schemas.NewDomain):
            # Check before generating a key, because that is slow. create_domain checks again.
            await self._check(caller, lambda directory: directory.check_new_domain(new.name))
            key = await self._in_thread(dkim.new_key)
            shape = await self._write(
                caller, lambda directory: directory.create_domain(new.name, key)
            )
        else:
            secrets = new.secrets if isinstance(new, schemas.NewMailbox) else []
            hashes = await self._hashes(secrets)
            shape = await self._write(
                caller, lambda directory: directory.create_individual(new, hashes)
            )
        location = {"Location": f"/api/principal/{quote(new.name, safe='')}"}
        return JSONResponse(shape, 201, location)

    async def get_principal(self, request: Request) -> Response:
        """GET /api/principal/{name}."""
        return JSONResponse(
            await self._read(request, lambda directory: directory.get(_name(request)))
        )

    async def update_principal(self, request: Request) -> Response:
        """PATCH /api/principal/{name}."""
        caller, body = await self._authenticated_body(request)
        name, changes = _name(request), schemas.changes(body)
        if changes.secrets is not None:
            # Check before hashing the secrets, because that is slow. update checks again.
            await self._check(caller, lambda directory: directory.check_changes(name, changes))
        hashes = await self._hashes(changes.secrets or [])
        return JSONResponse(
            await self._write(caller, lambda directory: directory.update(name, changes, hashes))
        )

    async def delete_principal(self, request: Request) -> Response:
        """DELETE /api/principal/{name}."""
        caller = await self._authenticate(request)
        name = _name(request)
        await self._write(caller, lambda directory: directory.delete(name))
        return JSONResponse({"success": True})

    async def get_records(self, request: Request) -> Response:
        """GET /api/dns/{domain}."""
        key = await self._read(request, lambda directory: directory.public_key(_name(request)))
        return JSONResponse(dkim.records(key, **self._host_names))

    async def check_health(self, _request: Request) -> Response:
        """GET /healthz. The check queries the database and requires no token."""
        await self._transactions.read(lambda connection: connection.execute(text("SELECT 1")))
        return JSONResponse({"status": "ok"})

    async def show_document(self, _request: Request) -> Response:
        """GET /openapi.json."""
        return JSONResponse(openapi.DOCUMENT)

    async def _authenticate(self, request: Request) -> auth.Caller:
        return await self._transactions.read(lambda connection: _caller(connection, request))

    async def _authenticated_body(self, request: Request) -> tuple[auth.Caller, Any]:
        """Authenticate the request, then read its body."""
        caller = await self._authenticate(request)
        body = await read_body(request)
        _refuse_parameters(request)
        return caller, parse_json(request.headers.get("content-type"), body)

    async def _read(
        self, request: Request, work: Callable[[Directory], T], *, long: bool = False
    ) -> T:
        """Authenticate the request and run `work` for the caller, both on one snapshot."""

        def transaction(connection: Connection) -> T:
            return work(Directory(connection, _caller(connection, request).tenant_id))

        read = self._transactions.read_long if long else self._transactions.read
        return await read(transaction)

    async def _check(self, caller: auth.Caller, work: Callable[[Directory], object]) -> None:
        """Run a check that raises Problem if it fails."""
        await self._transactions.read(
            lambda connection: work(Directory(connection, caller.tenant_id))
        )

    async def _write(self, caller: auth.Caller, work: Callable[[Directory], T]) -> T:
        """Run `work`, and commit the transaction before returning."""

        def transaction(connection: Connection) -> T:
            auth.lock(connection, caller)
            return work(Directory(connection, caller.tenant_id))

        return await self._transactions.write(transaction)

    async def _in_thread(self, compute: Callable[[], T]) -> T:
        """Run a slow computation in a thread."""
        async with self._hashing:
            return await asyncio.to_thread(compute)

    async def _hashes(self, secrets: list[str]) -> list[str]:
        if not secrets:
            return []
        return await self._in_thread(lambda: [self._hasher.hash(one) for one in secrets])

    async def _answer_error(self, request: Request, error: Exception) -> Response:
        match error:
            case Problem():
                problem = error
            case HTTPException(status_code=404):
                problem = Problem("path_not_found", "This path does not exist.")
            case HTTPException(status_code=405):
                routes = [
                    route
                    for route in self.routes
                    if route.matches(request.scope)[0] == Match.PARTIAL
                ]
                allow = ", ".join(
                    sorted({method for route in routes for method in route.methods or ()})
                )
                detail = f"This path supports {allow}."
                problem = Problem("method_not_allowed", detail, headers={"Allow": allow})
            case HTTPException() | ClientDisconnect():
                problem = Problem("malformed_request", "The request could not be read.")
            case DatabaseError():
                detail = "The database did not answer in time; a write may have taken effect."
                problem = Problem("store_unavailable", detail, headers={"Retry-After": "1"})
            case _:
                detail = "The service failed. Its log has details under this request ID."
                problem = Problem("internal_error", detail)
        return problem.response()


def _caller(connection: Connection, request: Request) -> auth.Caller:
    caller = auth.authenticate(connection, request.headers.getlist("authorization"))
    note(request.scope, tenant=caller.tenant)
    return caller


def _name(request: Request) -> str | None:
    """Return the normalized name in the path, or None if the name is invalid."""
    _refuse_parameters(request)
    (name,) = request.path_params.values()
    return names.any_name(name)


def _wanted_type(request: Request) -> str | None:
    """Return the type to filter by, or None to list all principals."""
    values = request.query_params.getlist("type")
    _refuse_parameters(request, allowed="type")
    if len(values) > 1 or (values and values[0] not in KINDS_BY_TYPE):
        detail = "type must be domain or individual, and can be given only once."
        raise Problem.at("validation_failed", "?type", detail)
    return values[0] if values else None


def _refuse_parameters(request: Request, allowed: str | None = None) -> None:
    """Reject unknown query parameters: ignoring a misspelled filter would return everything."""
    unknown = sorted(set(request.query_params) - {allowed})
    if unknown:
        errors = [FieldError(f"?{name[:64]}", "Unknown query parameter.") for name in unknown[:20]]
        raise Problem("validation_failed", "The request has an unknown query parameter.", errors)
