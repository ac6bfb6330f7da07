# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The format of a tenant definition.

pydantic validates definitions with these classes, and tools/definition_reference.py generates the
JSON Schema and docs/reference/definition.md from them. The classes are plain dataclasses, and
pydantic is imported only when needed, because ``ansible-test sanity --test import`` imports this
file without pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Union

from ..errors import InvalidInput, shortened
from ..models import Domain, Forwarder, Mailbox
from ..names import Name, parse_address, parse_domain

SCHEMA_URL = "https://github.com/postroom/email/raw/main/schemas/definition.schema.json"

_MAX_NAME = 500
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "[Zz]|[+-][0-9]{2}:[0-9]{2}"
_TIME = re.compile(rf"({_DATE})(?:[Tt ]({_CLOCK})(?:\.([0-9]+))?({_ZONE})?)?")
#: Matches an address that is followed by more text, which may be a password.
_TEXT_AFTER_ADDRESS = re.compile(r"[^@]*@[^\s:]*[\s:]")


class InvalidValue(ValueError):
    """An error for pydantic to report, with the code and parameters of the problem."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time at which something expires, as written and in a comparable form."""

    text: str = field(compare=False)
    moment: datetime


def parse_expiry(value: object) -> Expiry:
    """Parse a date, which means the end of that day in UTC, or a time with a zone.

    :raises InvalidValue: if the value is neither a date nor a time with a zone
    """
    # Ansible's YAML loader converts dates and times to objects.
    text = value.isoformat() if isinstance(value, date) else value
    wrong = InvalidValue(
        "wrong_value",
        expected="a date or time",
        found=shown_value(text),
        remedy="Write a date such as 2026-12-31, or a time with its zone such as "
        "2026-12-31T18:00:00+01:00.",
    )
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None or not isinstance(text, str):
        raise wrong
    day, clock, fraction, zone = match.groups()
    if clock and not zone:
        raise InvalidValue("time_without_zone", time=text)
    micros = (fraction or "0")[:6].ljust(6, "0")
    end = f"{clock}.{micros}" if clock else "23:59:59.999999"
    try:
        # Python 3.10 doesn't accept Z or fractions of arbitrary length.
        offset = zone if zone and zone not in "Zz" else "+00:00"
        return Expiry(text, datetime.fromisoformat(f"{day}T{end}{offset}"))
    except ValueError:
        raise wrong from None


def shown_value(value: object) -> str:
    """Return a string quoted and shortened, or the type of any other value."""
    return repr(shortened(value)) if isinstance(value, str) else type_of(value)


def type_of(value: object) -> str:
    """Return the YAML type of a value, with an article, for messages."""
    if value is None:
        return "null (as YAML reads an empty value; outside quotes, # begins a comment)"
    if isinstance(value, bool):
        aside = "yes, on and true" if value else "no, off and false"
        return f"{str(value).lower()} (as YAML reads {aside})"
    names = ((str, "a string"), (Mapping, "a mapping"), ((list, tuple), "a list"))
    for kind, name in (*names, ((int, float), "a number")):
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__}"


def _name_validator(
    expected: str, example: str, parse: Callable[[str], Name]
) -> Callable[[object], Name]:
    """Return a function that validates and normalizes a name."""

    def validate(value: object) -> Name:
        if not isinstance(value, str):
            remedy = f"Write it as a string, such as {example}."
            found = type_of(value)
            raise InvalidValue("wrong_value", expected=expected, found=found, remedy=remedy)
        if len(value) > _MAX_NAME:
            raise InvalidValue("name_too_long", length=len(value), allowed=_MAX_NAME)
        try:
            return parse(value)
        except InvalidInput as error:
            if _TEXT_AFTER_ADDRESS.match(value.strip()):
                raise InvalidValue("text_after_name") from None
            # Omit the option's name, because the problem already has a location.
            raise InvalidValue("invalid_name", text=str(error).partition(": ")[2]) from None

    return validate


class _Key:
    """An annotation that contains a key's validator and its description in the JSON Schema.

    :param validate: a function that validates values instead of the annotated type
    """

    def __init__(
        self,
        description: str,
        *examples: Any,
        validate: Callable[[object], Any] | None = None,
        **schema: Any,
    ) -> None:
        self._validate = validate
        self._schema = {"description": description, "examples": list(examples), **schema}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415

        if self._validate is not None:
            return core_schema.no_info_plain_validator_function(self._validate)
        schema = handler(source)
        if schema["type"] == "nullable":
            # None is only the default of a missing key; a definition can't contain null.
            schema = schema["schema"]
        # In strict mode, 1 and "yes" are not booleans.
        return {**schema, "strict": True} if schema["type"] == "bool" else schema

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**({} if self._validate else handler(schema)), **self._schema}


class _NameOrMapping:
    """An annotation for entries that can be abbreviated to their name."""

    def __init__(self, name: str, title: str, pattern: str) -> None:
        self._name = name
        self._schema = {"title": title, "type": "string", "pattern": pattern}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415

        def as_mapping(value: Any) -> Any:
            return {self._name: value} if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(as_mapping, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [self._schema, handler(schema)]}


_DOMAIN_NAME = {"title": "Domain name", "pattern": r"^\s*[^@\s]+\s*$"}
_ADDRESS = {"title": "Address", "pattern": r"^\s*[^@\s]+@[^@\s]+\s*$"}
_IS_ABSENT = {"required": ["state"], "properties": {"state": {"const": "absent"}}}
_ONLY_ABSENT = {"items": {"type": "object", **_IS_ABSENT}}

DomainName = Annotated[
    Name,
    _Key(
        "The full domain name. Case does not matter. A non-ASCII name and its A-label (Punycode) "
        "form are treated as the same name.",
        "example.com",
        validate=_name_validator("a domain name", "example.com", parse_domain),
        type="string",
        **_DOMAIN_NAME,
    ),
]
Address = Annotated[
    Name,
    _Key(
        "The full email address. Case does not matter.",
        "alice@example.com",
        validate=_name_validator("an email address", "alice@example.com", parse_address),
        type="string",
        **_ADDRESS,
    ),
]
State = Annotated[
    Literal["present", "absent"],
    _Key(
        "Whether the object should exist. An object that is declared absent is deleted. Such "
        "deletions do not count against the limits of email_tenant.",
        "absent",
    ),
]
Expires = Annotated[
    Union[Expiry, None],  # noqa: UP007
    _Key(
        "When the object becomes absent. Either a date, which means the end of that day in UTC, or "
        "an RFC 3339 time with its zone. Not allowed with state absent.",
        "2026-12-31",
        "2026-12-31T18:00:00+01:00",
        validate=parse_expiry,
        title="Date or time",
        type="string",
        pattern=rf"^{_DATE}([Tt ]{_CLOCK}(\.[0-9]+)?({_ZONE}))?$",
    ),
]


def _config(title: str, example: Any, absent: Any = None, present: Any = None) -> dict[str, Any]:
    """Return the pydantic configuration of an entry.

    :param absent: the properties in the JSON Schema that apply only to absent entries
    :param present: the properties in the JSON Schema that apply only to other entries
    """
    schema: dict[str, Any] = {"examples": [example]}
    if absent or present:
        schema["if"] = _IS_ABSENT
        schema["then" if absent else "else"] = {"properties": absent or present}
    return {"title": title, "extra": "forbid", "json_schema_extra": schema}


@dataclass(frozen=True, slots=True)
class AliasEntry:
    """One alias."""

    address: Address
    state: State = "present"
    expires: Expires = None

    kind: ClassVar[str] = "alias"
    example: ClassVar[str] = "alice@example.com"
    __pydantic_config__: ClassVar[dict[str, Any]] = _config(
        "Alias",
        {"address": "promo@example.com", "expires": "2026-12-31"},
        absent={"expires": False},
    )

    @property
    def name(self) -> Name:
        """The address."""
        return self.address


Aliases = Annotated[
    Union[list[Annotated[AliasEntry, _NameOrMapping("address", **_ADDRESS)]], None],  # noqa: UP007
    _Key(
        "Additional addresses whose mail is delivered to the same place. Aliases that are not "
        "listed are kept, unless email_tenant purges aliases. If the list is missing, aliases are "
        "never purged or moved to another owner. With state absent, only absent aliases are "
        "allowed.",
        ["sales@example.com", {"address": "promo@example.com", "expires": "2026-12-31"}],
        uniqueItems=True,
    ),
]


@dataclass(frozen=True, slots=True)
class DomainEntry:
    """One domain."""

    name: DomainName
    state: State = "present"
    force: Annotated[
        Union[bool, None],  # noqa: UP007
        _Key(
            "Only with state absent: whether to delete the domain together with everything that it "
            "still contains. Otherwise, the plan is refused if the domain is not empty.",
            True,  # noqa: FBT003
        ),
    ] = None

    kind: ClassVar[str] = Domain.kind
    example: ClassVar[str] = "example.com"
    __pydantic_config__: ClassVar[dict[str, Any]] = _config(
        "Domain",
        {"name": "old.example", "state": "absent", "force": True},
        present={"force": {"const": False}},
    )


@dataclass(frozen=True, slots=True)
class MailboxEntry:
    """One mailbox. With state absent, the mailbox and its stored mail are deleted."""

    name: Address
    state: State = "present"
    aliases: Aliases = None

    kind: ClassVar[str] = Mailbox.kind
    example: ClassVar[str] = "alice@example.com"
    __pydantic_config__: ClassVar[dict[str, Any]] = _config(
        "Mailbox",
        {"name": "bob@example.com", "aliases": ["sales@example.com"]},
        absent={"aliases": _ONLY_ABSENT},
    )


@dataclass(frozen=True, slots=True)
class ForwarderEntry:
    """One forwarder."""

    name: Address
    state: State = "present"
    members: Annotated[
        list[Address],
        _Key(
            "Addresses to which the mail is forwarded, in this tenant or elsewhere. The list is "
            "exact: other members are removed. A forwarder needs at least one member, in this file "
            "or in another file. Not allowed with state absent.",
            ["alice@example.com", "partner@example.net"],
            uniqueItems=True,
        ),
    ] = field(default_factory=list)
    aliases: Aliases = None
    expires: Expires = None

    kind: ClassVar[str] = Forwarder.kind
    example: ClassVar[str] = "alice@example.com"
    __pydantic_config__: ClassVar[dict[str, Any]] = _config(
        "Forwarder",
        {"name": "team@example.com", "members": ["alice@example.com", "partner@example.net"]},
        absent={"members": {"maxItems": 0}, "aliases": _ONLY_ABSENT, "expires": False},
    )


@dataclass(frozen=True, slots=True)
class TenantDefinition:
    """The desired state of a tenant.

    Objects that are not listed are not changed, unless email_tenant purges them. A definition
    contains no passwords.
    """

    domains: Annotated[
        list[Annotated[DomainEntry, _NameOrMapping("name", **_DOMAIN_NAME)]],
        _Key(
            "Domains of the tenant. Each is a name, or a mapping with the name and other keys.",
            ["example.com", {"name": "old.example", "state": "absent"}],
            uniqueItems=True,
        ),
    ] = field(default_factory=list)
    mailboxes: Annotated[
        list[Annotated[MailboxEntry, _NameOrMapping("name", **_ADDRESS)]],
        _Key(
            "Mailboxes of the tenant. Each is an address, or a mapping with the address and other "
            "keys.",
            ["alice@example.com", {"name": "bob@example.com", "aliases": ["sales@example.com"]}],
            uniqueItems=True,
        ),
    ] = field(default_factory=list)
    forwarders: Annotated[
        list[Annotated[ForwarderEntry, _NameOrMapping("name", **_ADDRESS)]],
        _Key(
            "Addresses whose mail is not stored but forwarded to other addresses. Each is a "
            "mapping, or an address if another file lists its members.",
            [{"name": "team@example.com", "members": ["alice@example.com"]}],
            uniqueItems=True,
        ),
    ] = field(default_factory=list)
    schema_url: Any = field(default=None, metadata={"alias": "$schema"})

    __pydantic_config__: ClassVar[dict[str, Any]] = _config(
        "Definition of a tenant",
        {
            "domains": ["example.com"],
            "mailboxes": ["alice@example.com"],
            "forwarders": [{"name": "team@example.com", "members": ["alice@example.com"]}],
        },
    )


@lru_cache(maxsize=1)
def definition_model() -> Any:
    """Return pydantic's validator for ``TenantDefinition``.

    :raises ImportError: if pydantic is not installed
    """
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(TenantDefinition)
