# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bodies of requests: fields, types and lengths. What needs the database is in rules.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from . import names
from .problems import FieldError, Problem

MAX_ADDRESSES = 1000
MAX_SECRETS = 5
MAX_SECRET = 1024


def _named(normalise: Callable[[str], str]) -> Callable[[str], str]:
    """Turn a rule of names.py into a pydantic validator."""

    def check(text: str) -> str:
        try:
            return normalise(text)
        except names.InvalidName as error:
            raise PydanticCustomError("name", "{rule}", {"rule": str(error)}) from None

    return check


def _distinct(addresses: list[str]) -> list[str]:
    if len(set(addresses)) != len(addresses):
        raise PydanticCustomError("distinct", "An address appears twice in the list.")
    return addresses


def _no_nul(secret: str) -> str:
    if "\0" in secret:
        raise PydanticCustomError("nul", "A secret holds no NUL character.")
    return secret


def _given(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "Leave the field out instead of sending null.")
    return value


DomainName = Annotated[str, AfterValidator(_named(names.domain))]
Address = Annotated[str, AfterValidator(_named(names.address))]
Addresses = Annotated[
    list[Address], Field(min_length=1, max_length=MAX_ADDRESSES), AfterValidator(_distinct)
]
Secret = Annotated[str, Field(min_length=1, max_length=MAX_SECRET), AfterValidator(_no_nul)]
Secrets = Annotated[list[Secret], Field(min_length=1, max_length=MAX_SECRETS)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class NewDomain(_Body):
    """POST of a domain."""

    name: DomainName
    type: Literal["domain"]


class NewMailbox(_Body):
    """POST of a mailbox."""

    name: Address
    type: Literal["individual"]
    secrets: Secrets
    emails: Addresses


class NewForwarder(_Body):
    """POST of a forwarder."""

    name: Address
    type: Literal["individual"]
    emails: Addresses
    members: Addresses


class Changes(_Body):
    """PATCH of a mailbox or forwarder; an absent field is left as it is."""

    secrets: Annotated[Secrets | None, BeforeValidator(_given)] = None
    emails: Annotated[Addresses | None, BeforeValidator(_given)] = None
    members: Annotated[Addresses | None, BeforeValidator(_given)] = None


NewPrincipal = NewDomain | NewMailbox | NewForwarder
Model = TypeVar("Model", bound=_Body)


def new_principal(body: Any) -> NewPrincipal:
    """Read the body of a POST as the kind that its fields say."""
    fields = _object(body)
    kind = fields.get("type")
    if kind == "domain":
        return _parse(NewDomain, fields)
    if kind != "individual":
        raise _refusal([FieldError("/type", "type is domain or individual.")])
    return _parse(_individual(fields), fields)


def changes(body: Any) -> Changes:
    """Read the body of a PATCH."""
    return _parse(Changes, _object(body))


def _individual(fields: Mapping[str, Any]) -> type[NewMailbox | NewForwarder]:
    """Tell a mailbox from a forwarder: the one has secrets, the other members."""
    mailbox, forwarder = "secrets" in fields, "members" in fields
    if mailbox and forwarder:
        raise Problem(
            "secrets_and_members",
            "Send secrets for a mailbox or members for a forwarder, not both.",
            errors=[FieldError("/members", "A mailbox has no members.")],
        )
    if not mailbox and not forwarder:
        raise Problem(
            "secrets_or_members_required",
            "Send secrets (passwords) for a mailbox or members (destinations) for a forwarder.",
            errors=[FieldError("/secrets", "A mailbox needs at least one secret.")],
        )
    return NewMailbox if mailbox else NewForwarder


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise _refusal([FieldError("", "The body is a JSON object.")])
    return body


def _parse(model: type[Model], fields: dict[str, Any]) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False, include_context=False)
    raise _refusal([_field_error(detail) for detail in details[:20]])


def _field_error(detail: ErrorDetails) -> FieldError:
    message = {
        "missing": "The field is required.",
        "extra_forbidden": "There is no such field here.",
    }
    return FieldError(
        pointer(detail["loc"]), message.get(detail["type"], detail["msg"].rstrip(".") + ".")
    )


def pointer(location: tuple[int | str, ...]) -> str:
    """Write the place of a field as an RFC 6901 pointer, bounded in length."""
    return "".join("/" + str(part)[:64].replace("~", "~0").replace("/", "~1") for part in location)


def _refusal(errors: list[FieldError]) -> Problem:
    first = errors[0]
    place = first.pointer.lstrip("/")
    detail = f"{place}: {first.detail}" if place else first.detail
    return Problem("validation_failed", detail, errors=errors)
