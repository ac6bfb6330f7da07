# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bodies of requests and responses. Rules that need the database are in directory.py."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from . import names
from .errors import KINDS, FieldError, Problem

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


def _no_control(secret: str) -> str:
    if any(unicodedata.category(sign) == "Cc" for sign in secret):
        raise PydanticCustomError(
            "secret_has_control", "A secret can't contain control characters such as line breaks."
        )
    return secret


def _not_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "Leave the field out instead of sending null.")
    return value


def _optional(schema: dict[str, Any]) -> None:
    """Describe a field that may be absent but not null."""
    schema |= schema.pop("anyOf")[0]
    del schema["default"]


_NOT_NULL = BeforeValidator(_not_null)
_OPTIONAL = Field(default=None, json_schema_extra=_optional)


DomainName = Annotated[
    str,
    AfterValidator(_named(names.domain)),
    WithJsonSchema(
        {
            "type": "string",
            "description": "A fully qualified domain name; U-labels become A-labels.",
            "maxLength": names.MAX_DOMAIN,
            "pattern": r"^[^@\s.]+(\.[^@\s.]+)+$",
            "examples": ["example.com"],
        }
    ),
]
Address = Annotated[
    str,
    AfterValidator(_named(names.address)),
    WithJsonSchema(
        {
            "type": "string",
            "description": "An email address with an ASCII local part, in lower case.",
            "maxLength": names.MAX_ADDRESS,
            "pattern": r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$",
            "examples": ["ann@example.com"],
        }
    ),
]
Addresses = Annotated[
    list[Address],
    Field(min_length=1, max_length=MAX_ADDRESSES, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_distinct),
]
Secret = Annotated[
    str,
    Field(min_length=1, max_length=MAX_SECRET),
    AfterValidator(_no_control),
    WithJsonSchema(
        {
            "type": "string",
            "format": "password",
            "writeOnly": True,
            "minLength": 1,
            "maxLength": MAX_SECRET,
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$",
        }
    ),
]
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
    """PATCH of a mailbox or forwarder; an absent field stays as it is."""

    secrets: Annotated[Secrets | None, _NOT_NULL] = _OPTIONAL
    emails: Annotated[Addresses | None, _NOT_NULL] = _OPTIONAL
    members: Annotated[Addresses | None, _NOT_NULL] = _OPTIONAL


class Domain(_Body):
    """A domain in a response."""

    id: str
    name: str
    type: Literal["domain"]


class Mailbox(_Body):
    """A mailbox in a response."""

    id: str
    name: str
    type: Literal["individual"]
    emails: list[str]


class Forwarder(Mailbox):
    """A forwarder in a response."""

    members: list[str]


class MxRecord(_Body):
    """An MX record to publish."""

    host: str
    value: str
    priority: int


class TxtRecord(_Body):
    """A TXT record to publish."""

    host: str
    value: str


class RecordSet(_Body):
    """The records to publish for a domain."""

    mx: list[MxRecord]
    txt: list[TxtRecord]


class Success(_Body):
    """The response to DELETE."""

    success: Literal[True]


class Health(_Body):
    """The response of the health check."""

    status: Literal["ok"]


class FieldProblem(_Body):
    """A field in error: an RFC 6901 pointer into the body, or ?parameter."""

    pointer: str
    detail: str


class ProblemDocument(_Body):
    """A problem document of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: Annotated[str, WithJsonSchema({"type": "string", "enum": list(KINDS)})]
    errors: list[FieldProblem] = []


def _kind(body: Any) -> str:
    """Return the tag of the kind that a POST creates: members make a forwarder."""
    if not isinstance(body, dict):
        raise _refusal([FieldError("", "The body must be a JSON object.")])
    if body.get("type") == "domain":
        return "domain"
    if body.get("type") != "individual":
        raise _refusal([FieldError("/type", "type must be domain or individual.")])
    match "secrets" in body, "members" in body:
        case True, True:
            raise Problem(
                "secrets_and_members",
                "Send secrets for a mailbox or members for a forwarder, not both.",
                errors=[FieldError("/members", "members can't be combined with secrets.")],
            )
        case False, False:
            raise Problem(
                "secrets_or_members_required",
                "Send secrets (passwords) for a mailbox or members (destinations) for a forwarder.",
                errors=[FieldError("/secrets", "A mailbox needs at least one secret.")],
            )
    return "mailbox" if "secrets" in body else "forwarder"


NewPrincipal = NewDomain | NewMailbox | NewForwarder
_NEW_PRINCIPAL: TypeAdapter[NewPrincipal] = TypeAdapter(
    Annotated[
        Annotated[NewDomain, Tag("domain")]
        | Annotated[NewMailbox, Tag("mailbox")]
        | Annotated[NewForwarder, Tag("forwarder")],
        Discriminator(_kind),
    ]
)


def new_principal(body: Any) -> NewPrincipal:
    """Validate the body of a POST as the kind that its fields show."""
    try:
        return _NEW_PRINCIPAL.validate_python(body)
    except ValidationError as error:
        raise _invalid(error, tags=1) from None


def changes(body: Any) -> Changes:
    """Validate the body of a PATCH."""
    try:
        return Changes.model_validate(body)
    except ValidationError as error:
        raise _invalid(error) from None


def _invalid(error: ValidationError, tags: int = 0) -> Problem:
    """Return the problem of an invalid body.

    :param tags: how many of pydantic's tags precede the place of a field
    """
    details = error.errors(include_input=False, include_url=False, include_context=False)
    code = next((detail["type"] for detail in details if detail["type"] in KINDS), "")
    messages = {"missing": "The field is required.", "extra_forbidden": "There is no such field."}
    errors = []
    for detail in details[:20]:
        message = messages.get(detail["type"], detail["msg"].rstrip(".") + ".")
        errors.append(FieldError(_pointer(detail["loc"][tags:]), message))
    return _refusal(errors, code)


def _pointer(location: Sequence[int | str]) -> str:
    """Return the location of a field as an RFC 6901 pointer, bounded in length."""
    return "".join("/" + str(part)[:64].replace("~", "~0").replace("/", "~1") for part in location)


def _refusal(errors: list[FieldError], code: str = "") -> Problem:
    first = errors[0]
    place = first.pointer.lstrip("/")
    detail = f"{place}: {first.detail}" if place else first.detail
    return Problem(code or "validation_failed", detail, errors=errors)
