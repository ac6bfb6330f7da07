# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP interface: six endpoints, a health check and the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from sqlalchemy import Connection, text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from . import bodies, dkim, names, openapi, passwords, schemas, tokens
from .database import Database
from .logs import record
from .principals import Directory
from .problems import FieldError, Problem
from .settings import Settings
from .writer import Writer

READERS = 8
HASHERS = 2
QUICK_BODY = 16 * 1024

_ALIVE = text("SELECT 1")

T = TypeVar("T")
Handler = Callable[["Service", Request], Awaitable[Response]]

KINDS_BY_TYPE: Mapping[str | None, tuple[str, ...]] = {
    None: ("domain", "mailbox", "forwarder"),
    "domain": ("domain",),
    "individual": ("mailbox", "forwarder"),
}


class Service:
    """What the handlers share: database work and hashing, in threads of limited numbers."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self.hasher = passwords.hasher(settings.secret_cost)
        self._reading = CapacityLimiter(READERS)
        self._writer = Writer(database)
        self._hashing = CapacityLimiter(HASHERS)

    async def read(
        self,
        request: Request,
        work: Callable[[tokens.Caller, Directory], T],
        *,
        quick: bool = False,
    ) -> T:
        """Find out who calls and run `work` for them on a snapshot.

        `quick` is for what takes less time than to hand it to a thread, where no server is asked.
        """
        headers = request.headers.getlist("authorization")

        def transaction(connection: Connection) -> tuple[tokens.Caller, T | Problem]:
            caller = tokens.authenticate(connection, headers)
            try:
                return caller, work(caller, Directory(connection, caller.tenant_id))
            except Problem as problem:
                return caller, problem

        if quick and self.database.is_local:
            caller, result = self.database.read(transaction)
        else:
            caller, result = await run_sync(self.database.read, transaction, limiter=self._reading)
        record(request.scope)["tenant"] = caller.tenant
        if isinstance(result, Problem):
            raise result
        return result

    async def write(self, caller: tokens.Caller, work: Callable[[Directory], T]) -> T:
        """Run `work` and commit it before returning."""

        def transaction(connection: Connection) -> T:
            return work(Directory(connection, caller.tenant_id))

        return await self._writer.write(caller.tenant_id, transaction)

    async def check(self) -> None:
        """Ask the database for a sign of life."""
        await run_sync(self.database.read, lambda c: c.execute(_ALIVE), limiter=self._reading)

    async def compute(self, work: Callable[[], T]) -> T:
        """Run slow arithmetic outside of any transaction."""
        return await run_sync(work, limiter=self._hashing)


async def list_principals(service: Service, request: Request) -> Response:
    """GET /api/principal."""
    wanted = _type_wanted(request)

    def work(_caller: tokens.Caller, directory: Directory) -> bytes:
        return _dump(directory.listing(KINDS_BY_TYPE[wanted()]))

    return _answer(await service.read(request, work))


async def create_principal(service: Service, request: Request) -> Response:
    """POST /api/principal."""

    def check(directory: Directory, new: schemas.NewPrincipal) -> None:
        if isinstance(new, schemas.NewDomain):
            directory.check_new_domain(new)  # a key is long in the making; creating checks again

    caller, new = await _body(service, request, schemas.new_principal, check)
    create = await _creation(service, new)
    shape = await service.write(caller, create)
    return _answer(
        _dump(shape), status=201, headers={"Location": f"/api/principal/{quote(new.name, safe='')}"}
    )


async def get_principal(service: Service, request: Request) -> Response:
    """GET /api/principal/{name}."""

    def work(_caller: tokens.Caller, directory: Directory) -> bytes:
        _no_parameters(request)
        return _dump(directory.get(_name(request)))

    return _answer(await service.read(request, work, quick=True))


async def update_principal(service: Service, request: Request) -> Response:
    """PATCH /api/principal/{name}."""

    def check(directory: Directory, changes: schemas.Changes) -> None:
        if changes.secrets is not None:  # before hashing; updating checks again
            directory.check_changes(_name(request), changes)

    caller, changes = await _body(service, request, schemas.changes, check)
    hashes = await _hashes(service, changes.secrets or [])
    shape = await service.write(
        caller, lambda directory: directory.update(_name(request), changes, hashes)
    )
    return _answer(_dump(shape))


async def delete_principal(service: Service, request: Request) -> Response:
    """DELETE /api/principal/{name}."""

    def prepare(caller: tokens.Caller, _directory: Directory) -> tokens.Caller:
        _no_parameters(request)
        return caller

    caller = await service.read(request, prepare, quick=True)
    await service.write(caller, lambda directory: directory.delete(_name(request)))
    return _answer(b'{"success":true}')


async def get_dns(service: Service, request: Request) -> Response:
    """GET /api/dns/{domain}."""

    def work(_caller: tokens.Caller, directory: Directory) -> bytes:
        _no_parameters(request)
        key = directory.public_key(_name(request))
        settings = service.settings
        return _dump(
            dkim.record_set(
                key, mail_host=settings.mail_host, service_domain=settings.service_domain
            )
        )

    return _answer(await service.read(request, work, quick=True))


async def health(service: Service, _request: Request) -> Response:
    """GET /healthz: asks the database, needs no token."""
    await service.check()
    return _answer(b'{"status":"ok"}')


async def openapi_document(_service: Service, _request: Request) -> Response:
    """GET /openapi.json."""
    return _answer(openapi.DOCUMENT)


ROUTES: Mapping[str, Mapping[str, Handler]] = {
    "/api/principal": {"GET": list_principals, "POST": create_principal},
    "/api/principal/{name:path}": {
        "GET": get_principal,
        "PATCH": update_principal,
        "DELETE": delete_principal,
    },
    "/api/dns/{domain:path}": {"GET": get_dns},
    "/healthz": {"GET": health},
    "/openapi.json": {"GET": openapi_document},
}


def create_app(database: Database, settings: Settings) -> Starlette:
    """Build the application over a prepared database."""
    service = Service(database, settings)
    routes = [Route(path, _Endpoint(path, service, handlers)) for path, handlers in ROUTES.items()]
    app = Starlette(routes=routes, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    return app


class _Endpoint:
    """One path: calls the handler of the method, or answers 405 with the methods that there are."""

    def __init__(self, path: str, service: Service, handlers: Mapping[str, Handler]) -> None:
        self._template = path.replace(":path", "")
        self._service = service
        self._handlers = dict(handlers)
        self._handlers["HEAD"] = handlers["GET"]
        self._allow = ", ".join(sorted(self._handlers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record(scope)["route"] = self._template
        handler = self._handlers.get(scope["method"])
        if handler is None:
            detail = f"This path answers {self._allow}."
            raise Problem("method_not_allowed", detail, headers={"Allow": self._allow})
        response = await handler(self._service, Request(scope, receive))
        await response(scope, receive, send)


async def _body(
    service: Service,
    request: Request,
    read: Callable[[Any], T],
    check: Callable[[Directory, T], None],
) -> tuple[tokens.Caller, T]:
    """Find out who calls and what they send, and check what slow work would be done in vain for."""
    raw = await bodies.read(request)

    def prepare(caller: tokens.Caller, directory: Directory) -> tuple[tokens.Caller, T]:
        _no_parameters(request)
        body = read(bodies.parse(request.headers.get("content-type"), raw))
        check(directory, body)
        return caller, body

    return await service.read(request, prepare, quick=len(raw) <= QUICK_BODY)


async def _creation(
    service: Service, new: schemas.NewPrincipal
) -> Callable[[Directory], dict[str, Any]]:
    """Do the slow part of a creation and give the rest, which runs in the transaction."""
    if isinstance(new, schemas.NewDomain):
        key = await service.compute(dkim.new_key)
        return lambda directory: directory.create_domain(new, key)
    if isinstance(new, schemas.NewMailbox):
        hashes = await _hashes(service, new.secrets)
        return lambda directory: directory.create_mailbox(new, hashes)
    return lambda directory: directory.create_forwarder(new)


async def _hashes(service: Service, secrets: list[str]) -> list[str]:
    if not secrets:
        return []
    return await service.compute(lambda: passwords.hash_all(service.hasher, secrets))


def _name(request: Request) -> str | None:
    (name,) = request.path_params.values()
    return names.any_name(name)


def _type_wanted(request: Request) -> Callable[[], str | None]:
    """Read the type parameter, later: who calls is asked first."""

    def read() -> str | None:
        values = request.query_params.getlist("type")
        _no_parameters(request, besides="type")
        if len(values) > 1 or (values and values[0] not in ("domain", "individual")):
            detail = "The query parameter type is domain or individual, given once."
            raise Problem("validation_failed", detail, errors=[FieldError("?type", detail)])
        return values[0] if values else None

    return read


def _no_parameters(request: Request, besides: str | None = None) -> None:
    """Refuse unknown query parameters: a misspelt filter would otherwise answer with everything."""
    unknown = sorted(set(request.query_params) - {besides})
    if unknown:
        errors = [
            FieldError(f"?{name[:64]}", "There is no such query parameter here.")
            for name in unknown[:20]
        ]
        raise Problem(
            "validation_failed", "The request has an unknown query parameter.", errors=errors
        )


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _answer(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(body, status, headers, "application/json")


async def _problem(_request: Request, error: Exception) -> Response:
    if not isinstance(error, Problem):
        error = Problem(
            "internal_error", "The service failed; its log tells more under this request's id."
        )
    return error.response()


async def _http_exception(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    if status == 404:
        return Problem("path_not_found", "There is nothing at this path.").response()
    return Problem("malformed_request", "The request could not be read.", status=status).response()


async def _store_error(_request: Request, _error: Exception) -> Response:
    detail = "The database did not answer in time; a write may or may not have taken effect."
    return Problem("store_unavailable", detail, headers={"Retry-After": "1"}).response()


EXCEPTION_HANDLERS: Mapping[Any, Any] = {
    Problem: _problem,
    HTTPException: _http_exception,
    ClientDisconnect: _http_exception,
    OperationalError: _store_error,
    InterfaceError: _store_error,
    PoolTimeout: _store_error,
    Exception: _problem,
}
