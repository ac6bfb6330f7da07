# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Models of the request bodies. Rules that depend on the database are in directory.py."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from . import names
from .errors import KINDS, FieldError, Problem

MAX_ADDRESSES = 1000
MAX_SECRETS = 5
MAX_SECRET = 1024


def _distinct(addresses: list[str]) -> list[str]:
    if len(set(addresses)) != len(addresses):
        raise ValueError("An address appears twice in the list.")
    return addresses


def _no_control(secret: str) -> str:
    if any(unicodedata.category(sign) == "Cc" for sign in secret):
        raise PydanticCustomError(
            "secret_has_control", "A secret can't contain control characters such as line breaks."
        )
    return secret


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("Leave the field out instead of sending null.")
    return value


def _optional(schema: dict[str, Any]) -> None:
    """Change the schema of a nullable field so that it can be omitted, but can't be null."""
    schema |= schema.pop("anyOf")[0]
    del schema["default"]


_NOT_NULL = BeforeValidator(_not_null)
_OPTIONAL = Field(default=None, json_schema_extra=_optional)


# The lengths and patterns are for the OpenAPI document only. names.py validates the names.
DomainName = Annotated[
    str,
    AfterValidator(names.domain),
    Field(
        description="A fully qualified domain name; U-labels are converted to A-labels.",
        examples=["example.com"],
        json_schema_extra={
            "maxLength": names.MAX_DOMAIN,
            "pattern": r"^[^@\s.]+(\.[^@\s.]+)+$",
        },
    ),
]
Address = Annotated[
    str,
    AfterValidator(names.address),
    Field(
        description="An email address with an ASCII local part; it is converted to lower case.",
        examples=["ann@example.com"],
        json_schema_extra={
            "maxLength": names.MAX_ADDRESS,
            "pattern": r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$",
        },
    ),
]
Addresses = Annotated[
    list[Address],
    Field(min_length=1, max_length=MAX_ADDRESSES, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_distinct),
]
Secret = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_SECRET,
        json_schema_extra={
            "format": "password",
            "writeOnly": True,
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$",
        },
    ),
    AfterValidator(_no_control),
]
Secrets = Annotated[list[Secret], Field(min_length=1, max_length=MAX_SECRETS)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class NewDomain(_Body):
    """A domain to create."""

    name: DomainName
    type: Literal["domain"]


class NewMailbox(_Body):
    """A mailbox to create."""

    name: Address
    type: Literal["individual"]
    secrets: Secrets
    emails: Addresses


class NewForwarder(_Body):
    """A forwarder to create."""

    name: Address
    type: Literal["individual"]
    emails: Addresses
    members: Addresses


class Changes(_Body):
    """Changes to a mailbox or forwarder. Absent fields are left unchanged."""

    secrets: Annotated[Secrets | None, _NOT_NULL] = _OPTIONAL
    emails: Annotated[Addresses | None, _NOT_NULL] = _OPTIONAL
    members: Annotated[Addresses | None, _NOT_NULL] = _OPTIONAL


NewPrincipal = NewDomain | NewMailbox | NewForwarder
_Model = TypeVar("_Model", bound=_Body)


def new_principal(body: Any) -> NewPrincipal:
    """Validate a POST body. The model depends on `type`, `secrets` and `members`."""
    if not isinstance(body, dict):
        raise _refusal([FieldError("", "The body must be a JSON object.")])
    if body.get("type") == "domain":
        return _validate(NewDomain, body)
    if body.get("type") != "individual":
        raise _refusal([FieldError("/type", "type must be domain or individual.")])
    match "secrets" in body, "members" in body:
        case True, True:
            raise Problem(
                "secrets_and_members",
                "Send secrets for a mailbox or members for a forwarder, not both.",
                [FieldError("/members", "members can't be combined with secrets.")],
            )
        case False, False:
            raise Problem(
                "secrets_or_members_required",
                "Send secrets (passwords) for a mailbox or members (destinations) for a forwarder.",
                [FieldError("/secrets", "A mailbox needs at least one secret.")],
            )
    if "secrets" in body:
        return _validate(NewMailbox, body)
    return _validate(NewForwarder, body)


def changes(body: Any) -> Changes:
    """Validate a PATCH body."""
    return _validate(Changes, body)


def _validate(model: type[_Model], body: Any) -> _Model:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
    messages = {"missing": "The field is required.", "extra_forbidden": "Unknown field."}
    errors = []
    for detail in found[:20]:
        parts = (str(part)[:64].replace("~", "~0").replace("/", "~1") for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ").rstrip(".") + "."
        pointer = "".join(f"/{part}" for part in parts)
        errors.append(FieldError(pointer, messages.get(detail["type"], message)))
    raise _refusal(errors, next((one["type"] for one in found if one["type"] in KINDS), ""))


def _refusal(errors: list[FieldError], code: str = "") -> Problem:
    first = errors[0]
    place = first.pointer.lstrip("/")
    detail = f"{place}: {first.detail}" if place else first.detail
    return Problem(code or "validation_failed", detail, errors)
