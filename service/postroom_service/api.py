# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP interface: six endpoints, a health check and the OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
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

#: How many secrets are hashed or keys generated at a time.
HASHERS = 2

T = TypeVar("T")

KINDS_BY_TYPE: Mapping[str | None, tuple[str, ...]] = {
    None: ("domain", "mailbox", "forwarder"),
    "domain": ("domain",),
    "individual": ("mailbox", "forwarder"),
}


class Service:
    """The state that the handlers share.

    :param names: host names that the DNS records contain
    """

    def __init__(self, database: Database, hasher: PasswordHasher, names: dkim.RecordNames) -> None:
        self.transactions = Transactions(database)
        self.names = names
        self._hasher = hasher
        self._hashing = asyncio.Semaphore(HASHERS)

    async def authenticate(self, request: Request) -> auth.Caller:
        """Return the caller, or raise a 401 problem."""
        return await self.transactions.read(lambda connection: _caller(connection, request))

    async def read(
        self, request: Request, work: Callable[[Directory], T], *, long: bool = False
    ) -> T:
        """Authenticate the request and run `work` for its caller, on one snapshot."""

        def transaction(connection: Connection) -> T:
            return work(Directory(connection, _caller(connection, request).tenant_id))

        read = self.transactions.read_long if long else self.transactions.read
        return await read(transaction)

    async def check(self, caller: auth.Caller, work: Callable[[Directory], object]) -> None:
        """Run a check that raises problems."""
        await self.transactions.read(
            lambda connection: work(Directory(connection, caller.tenant_id))
        )

    async def write(self, caller: auth.Caller, work: Callable[[Directory], T]) -> T:
        """Run `work` and commit it before returning."""

        def transaction(connection: Connection) -> T:
            auth.lock(connection, caller)
            return work(Directory(connection, caller.tenant_id))

        return await self.transactions.write(transaction)

    async def new_key(self) -> dkim.Key:
        """Generate a key pair."""
        async with self._hashing:
            return await asyncio.to_thread(dkim.new_key)

    async def hashes(self, secrets: list[str]) -> list[str]:
        """Hash secrets."""
        async with self._hashing:
            return await asyncio.to_thread(lambda: [self._hasher.hash(one) for one in secrets])


async def list_principals(request: Request) -> Response:
    """GET /api/principal."""

    def work(directory: Directory) -> Response:
        return JSONResponse(directory.listing(KINDS_BY_TYPE[_wanted_type(request)]))

    return await _service(request).read(request, work, long=True)


async def create_principal(request: Request) -> Response:
    """POST /api/principal."""
    service = _service(request)
    caller, body = await _authenticated_body(request)
    new = schemas.new_principal(body)
    match new:
        case schemas.NewDomain():
            # Before the slow generation of a key; creating checks again.
            await service.check(caller, lambda directory: directory.check_new_domain(new))
            key = await service.new_key()
            shape = await service.write(caller, lambda directory: directory.create_domain(new, key))
        case schemas.NewMailbox():
            hashes = await service.hashes(new.secrets)
            shape = await service.write(
                caller, lambda directory: directory.create_mailbox(new, hashes)
            )
        case schemas.NewForwarder():
            shape = await service.write(caller, lambda directory: directory.create_forwarder(new))
    location = {"Location": f"/api/principal/{quote(new.name, safe='')}"}
    return JSONResponse(shape, 201, location)


async def get_principal(request: Request) -> Response:
    """GET /api/principal/{name}."""

    def work(directory: Directory) -> dict[str, Any]:
        _refuse_parameters(request)
        return directory.get(_name(request))

    return JSONResponse(await _service(request).read(request, work))


async def update_principal(request: Request) -> Response:
    """PATCH /api/principal/{name}."""
    service = _service(request)
    caller, body = await _authenticated_body(request)
    name, changes = _name(request), schemas.changes(body)
    hashes: list[str] = []
    if changes.secrets is not None:
        # Before the slow hashing; updating checks again.
        await service.check(caller, lambda directory: directory.check_changes(name, changes))
        hashes = await service.hashes(changes.secrets)
    return JSONResponse(
        await service.write(caller, lambda directory: directory.update(name, changes, hashes))
    )


async def delete_principal(request: Request) -> Response:
    """DELETE /api/principal/{name}."""
    service = _service(request)
    caller = await service.authenticate(request)
    _refuse_parameters(request)
    await service.write(caller, lambda directory: directory.delete(_name(request)))
    return JSONResponse({"success": True})


async def get_records(request: Request) -> Response:
    """GET /api/dns/{domain}."""

    def work(directory: Directory) -> dict[str, Any]:
        _refuse_parameters(request)
        return dkim.records(directory.public_key(_name(request)), service.names)

    service = _service(request)
    return JSONResponse(await service.read(request, work))


async def check_health(request: Request) -> Response:
    """GET /healthz: queries the database, needs no token."""
    await _service(request).transactions.read_long(lambda c: c.execute(text("SELECT 1")))
    return JSONResponse({"status": "ok"})


async def show_document(_request: Request) -> Response:
    """GET /openapi.json."""
    return JSONResponse(openapi.DOCUMENT)


ONE = "/api/principal/{name:path}"
ROUTES = (
    Route("/api/principal", list_principals),
    Route("/api/principal", create_principal, methods=["POST"]),
    Route(ONE, get_principal),
    Route(ONE, update_principal, methods=["PATCH"]),
    Route(ONE, delete_principal, methods=["DELETE"]),
    Route("/api/dns/{domain:path}", get_records),
    Route("/healthz", check_health),
    Route("/openapi.json", show_document),
)


def create_app(service: Service) -> Starlette:
    """Build the application."""
    app = Starlette(routes=ROUTES, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    app.state.service = service
    return app


def _caller(connection: Connection, request: Request) -> auth.Caller:
    caller = auth.authenticate(connection, request.headers.getlist("authorization"))
    note(request.scope, tenant=caller.tenant)
    return caller


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _authenticated_body(request: Request) -> tuple[auth.Caller, Any]:
    """Authenticate the request, and only then read its body."""
    caller = await _service(request).authenticate(request)
    body = await read_body(request)
    _refuse_parameters(request)
    return caller, parse_json(request.headers.get("content-type"), body)


def _name(request: Request) -> str | None:
    """Return the name in the path in normal form, or None if it can't be a name."""
    (name,) = request.path_params.values()
    return names.any_name(name)


def _wanted_type(request: Request) -> str | None:
    values = request.query_params.getlist("type")
    _refuse_parameters(request, excluding="type")
    if len(values) > 1 or (values and values[0] not in ("domain", "individual")):
        detail = "The query parameter type must be given once, as domain or individual."
        raise Problem.at("validation_failed", "?type", detail)
    return values[0] if values else None


def _refuse_parameters(request: Request, excluding: str | None = None) -> None:
    """Refuse unknown query parameters: a misspelt filter would otherwise return everything."""
    unknown = sorted(set(request.query_params) - {excluding})
    if unknown:
        errors = [FieldError(f"?{name[:64]}", "Unknown query parameter.") for name in unknown[:20]]
        detail = "The request has an unknown query parameter."
        raise Problem("validation_failed", detail, errors=errors)


async def _problem(request: Request, error: Exception) -> Response:
    match error:
        case Problem():
            problem = error
        case HTTPException(status_code=404):
            problem = Problem("path_not_found", "There is nothing at this path.")
        case HTTPException(status_code=405):
            here = [route for route in ROUTES if route.matches(request.scope)[0] == Match.PARTIAL]
            allow = ", ".join(sorted({method for route in here for method in route.methods or ()}))
            detail = f"This path supports {allow}."
            problem = Problem("method_not_allowed", detail, headers={"Allow": allow})
        case HTTPException() | ClientDisconnect():
            problem = Problem("malformed_request", "The request could not be read.")
        case DatabaseError():
            detail = "The database did not answer in time; a write may have taken effect."
            problem = Problem("store_unavailable", detail, headers={"Retry-After": "1"})
        case _:
            detail = "The service failed. Its log has details under this request id."
            problem = Problem("internal_error", detail)
    return problem.response()


EXCEPTION_HANDLERS: Mapping[Any, Any] = dict.fromkeys(
    (Problem, HTTPException, ClientDisconnect, DatabaseError, Exception), _problem
)
