# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of values in a policy file: ids of Slack, names, patterns, lengths of time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from postroom_bot.names import address, domain, pattern

_DURATION = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(value: Any) -> timedelta:
    """Return the length of time that a text such as ``24h`` means.

    :raises ValueError: it means none
    """
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError("This is no length of time. Write a number and m, h or d, such as 24h.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _written(value: timedelta) -> str:
    return f"{int(value.total_seconds()) // 60}m"


class Kind(NamedTuple):
    """A text of some form.

    :param title: what the reference and messages call it
    :param pattern: the whole text's
    """

    title: str
    example: str
    pattern: str

    def field(self) -> Any:
        """Return what makes a model's text one of this kind."""
        return Field(title=self.title, examples=[self.example], pattern=self.pattern)


_GROUP = Kind("Group name", "mail-admins", r"^[a-z][a-z0-9-]{0,39}$")
_RULE = Kind("Rule name", "own-aliases", r"^[a-z][a-z0-9-]{0,59}$")
_USER = Kind("User id", "U024BE7LH", r"^[UW][A-Z0-9]{2,20}$")
_USERGROUP = Kind("User group id", "S0614TZR7", r"^S[A-Z0-9]{2,20}$")
_CHANNEL = Kind("Channel id", "C024BE91L", r"^[CG][A-Z0-9]{2,20}$")
_ADDRESSES = Kind("Pattern of addresses", "sales-*@example.com", r"^[^\s@\[\]]+@[^\s@\[\]]+$")
_DOMAINS = Kind("Pattern of domains", "*.example.org", r"^[^\s@\[\]]+$")
_LOCAL = Kind("Local part", "vpn", r"^[A-Za-z0-9._-]{1,64}$")
_LOCALS = Kind("Pattern of local parts", "press*", r"^[a-z0-9*?]{1,64}$")

#: All kinds, by pattern.
KINDS = {
    one.pattern: one
    for one in (
        *(_GROUP, _RULE, _USER, _USERGROUP, _CHANNEL),
        *(_ADDRESSES, _DOMAINS, _LOCAL, _LOCALS),
    )
}

GroupName = Annotated[str, _GROUP.field()]
RuleName = Annotated[str, _RULE.field()]
UserId = Annotated[str, _USER.field()]
UsergroupId = Annotated[str, _USERGROUP.field()]
ChannelId = Annotated[str, _CHANNEL.field()]
AddressPattern = Annotated[str, AfterValidator(pattern), _ADDRESSES.field()]
DomainPattern = Annotated[str, AfterValidator(pattern), _DOMAINS.field()]
LocalName = Annotated[str, _LOCAL.field()]
LocalPattern = Annotated[str, _LOCALS.field()]
Address = Annotated[
    str, AfterValidator(address), Field(title="Address", examples=["alice@example.com"])
]
Domain = Annotated[str, AfterValidator(domain), Field(title="Domain", examples=["example.com"])]
Sentence = Annotated[str, Field(title="Text", min_length=1, max_length=300)]
Number = Annotated[int, Field(title="Number", ge=1, le=10000)]
Approvals = Annotated[int, Field(title="Number", ge=1, le=10)]
Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    PlainSerializer(_written),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "title": "Duration"}),
]
