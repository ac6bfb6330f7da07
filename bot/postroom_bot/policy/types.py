# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The types of values in a policy file: Slack ids, names, patterns and durations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema

from postroom_bot.addresses import address, domain, pattern

_DURATION = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(value: Any) -> timedelta:
    """Return the duration that a string such as ``24h`` means.

    :raises ValueError: it is not a duration
    """
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError("Must be a duration: a number and m, h or d, such as 24h.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _written(value: timedelta) -> str:
    return f"{int(value.total_seconds()) // 60}m"


def _only(*, wanted: bool | int, remedy: str = "") -> BeforeValidator:
    """Return a validator of the type, too: in Python, true equals 1."""

    def check(value: Any) -> Any:
        if type(value) is not type(wanted) or value != wanted:
            raise ValueError(f"Must be {json.dumps(wanted)}{remedy}.")
        return value

    return BeforeValidator(check)


@dataclass(frozen=True, slots=True)
class Kind:
    """The name of a type in the schema, the reference and messages.

    :param pattern: matches the whole string
    """

    title: str
    example: str | int
    pattern: str | None = None

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Add the title, and an example if the key has none, to the schema."""
        about = handler(core)
        return {"title": self.title, "examples": [self.example], **about}


def _text(kind: Kind) -> StringConstraints:
    return StringConstraints(pattern=kind.pattern)


_GROUP = Kind("Group name", "mail-admins", r"^[a-z][a-z0-9-]{0,39}$")
_RULE = Kind("Rule name", "own-aliases", r"^[a-z][a-z0-9-]{0,59}$")
_USER = Kind("User id", "U024BE7LH", r"^[UW][A-Z0-9]{2,20}$")
_USERGROUP = Kind("User group id", "S0614TZR7", r"^S[A-Z0-9]{2,20}$")
_CHANNEL = Kind("Channel id", "C024BE91L", r"^[CG][A-Z0-9]{2,20}$")
_ADDRESSES = Kind("Pattern of addresses", "sales-*@example.com", r"^[^\s@\[\]]+@[^\s@\[\]]+$")
_DOMAINS = Kind("Pattern of domains", "*.example.org", r"^[^\s@\[\]]+$")
_LOCAL = Kind("Local part", "vpn", r"^[A-Za-z0-9._-]{1,64}$")
_LOCALS = Kind("Pattern of local parts", "press*", r"^[a-z0-9*?]{1,64}$")

#: The types, by pattern.
KINDS = {
    one.pattern: one
    for one in (
        *(_GROUP, _RULE, _USER, _USERGROUP, _CHANNEL),
        *(_ADDRESSES, _DOMAINS, _LOCAL, _LOCALS),
    )
}

GroupName = Annotated[str, _text(_GROUP), _GROUP]
RuleName = Annotated[str, _text(_RULE), _RULE]
UserId = Annotated[str, _text(_USER), _USER]
UsergroupId = Annotated[str, _text(_USERGROUP), _USERGROUP]
ChannelId = Annotated[str, _text(_CHANNEL), _CHANNEL]
AddressPattern = Annotated[str, _text(_ADDRESSES), AfterValidator(pattern), _ADDRESSES]
DomainPattern = Annotated[str, _text(_DOMAINS), AfterValidator(pattern), _DOMAINS]
LocalName = Annotated[str, _text(_LOCAL), _LOCAL]
LocalPattern = Annotated[str, _text(_LOCALS), _LOCALS]
Address = Annotated[str, AfterValidator(address), Kind("Address", "alice@example.com")]
Domain = Annotated[str, AfterValidator(domain), Kind("Domain", "example.com")]
Sentence = Annotated[
    str, StringConstraints(min_length=1, max_length=300), Kind("Text", "Ask your project lead.")
]
Number = Annotated[int, Field(ge=1, le=10000), Kind("Number", 5)]
Approvals = Annotated[int, Field(ge=1, le=10), Kind("Number", 1)]
Version = Annotated[Literal[1], _only(wanted=1), Kind("Number", 1)]
Yes = Annotated[Literal[True], _only(wanted=True, remedy=", or omitted")]
Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    PlainSerializer(_written),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "title": "Duration"}),
]
