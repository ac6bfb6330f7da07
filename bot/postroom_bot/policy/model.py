# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy file as it was meant: every key, its meaning, an example.

Strict and closed: a key that is not here is a mistake, and a number is not a text. What a key means
stands in its ``description``, from which the schema and the reference are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from postroom_bot.model import Action, Quorum, digest_of
from postroom_bot.names import address, domain, pattern
from postroom_bot.policy.names import RESERVED, SENSITIVE

#: The built-in group of everybody who may use the bot at all.
EVERYONE = "everyone"

_DURATION = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def _read_duration(value: Any) -> timedelta:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError("This is no length of time. Write a number and m, h or d, such as 24h.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _write_duration(value: timedelta) -> str:
    minutes = int(value.total_seconds()) // 60
    return next(
        f"{minutes // n}{u}" for n, u in ((1440, "d"), (60, "h"), (1, "m")) if not minutes % n
    )


def _read_address_pattern(value: str) -> str:
    if value.count("@") != 1:
        raise ValueError("A pattern of addresses has one @, such as sales-*@example.com.")
    return pattern(value)


Duration = Annotated[
    timedelta,
    BeforeValidator(_read_duration),
    PlainSerializer(_write_duration),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "title": "Duration"}),
]
GroupName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
UserId = Annotated[str, StringConstraints(pattern=r"^[UW][A-Z0-9]{2,20}$")]
UsergroupId = Annotated[str, StringConstraints(pattern=r"^S[A-Z0-9]{2,20}$")]
ChannelId = Annotated[str, StringConstraints(pattern=r"^[CG][A-Z0-9]{2,20}$")]
Address = Annotated[str, AfterValidator(address)]
Domain = Annotated[str, AfterValidator(domain)]
AddressPattern = Annotated[str, AfterValidator(_read_address_pattern)]
DomainPattern = Annotated[str, StringConstraints(pattern=r"^[^\s@\[\]]+$"), AfterValidator(pattern)]
LocalName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
LocalPattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9*?]{1,64}$")]
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Approvals = Annotated[int, Field(ge=1, le=10)]


def _some(**about: Any) -> Any:
    """Return the field of a list, which is a tuple here and may be missing."""
    return Field(default=(), strict=False, **about)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SlackEmail(_Part):
    """Whether a Slack profile's email address says which mailbox is somebody's."""

    domains: tuple[Domain, ...] = Field(
        strict=False,
        min_length=1,
        description="Domains whose addresses are believed. Name none in which people choose their "
        "Slack address freely.",
        examples=[["example.com"]],
    )
    cooldown: Duration = Field(
        default=timedelta(hours=72),
        description="How long a changed address is not believed.",
        examples=["72h"],
    )


class Identity(_Part):
    """Which mailbox is whose. What is pinned is asked first."""

    pinned: Mapping[UserId, Address] = Field(
        default_factory=dict,
        description="The mailbox of a Slack user, by the user's id. Nobody can change it in Slack.",
        examples=[{"U024BE7LH": "alice@example.com"}],
    )
    slack_email: SlackEmail | None = Field(
        default=None,
        description="Believe confirmed addresses of Slack profiles. Without it, only what is "
        "pinned is known.",
        examples=[{"domains": ["example.com"], "cooldown": "72h"}],
    )


class Group(_Part):
    """Some people, by their ids in Slack."""

    users: tuple[UserId, ...] = _some(
        description="Slack users, by id.", examples=[["U024BE7LH", "U024BE7LJ"]]
    )
    usergroups: tuple[UsergroupId, ...] = _some(
        description="Slack user groups, by id; who is in them counts at the time of asking.",
        examples=[["S0614TZR7"]],
    )
    channel: ChannelId | None = Field(
        default=None,
        description="The channel that gets the cards that this group has to approve, in place of "
        "`channels.approvals`.",
        examples=["C024BE91L"],
    )


class Channels(_Part):
    """Where the bot writes. Invite it to these channels."""

    approvals: ChannelId = Field(
        description="The channel that gets the cards with *Approve* and *Deny*.",
        examples=["C024BE91L"],
    )
    audit: ChannelId | None = Field(
        default=None,
        description="The channel that gets one line about everything that was done.",
        examples=["C024BE92M"],
    )


class Reserved(_Part):
    """Names that need more care, beside the built-in ones, which cannot be taken away."""

    names: tuple[LocalName, ...] = _some(
        description="Local parts that only a rule with `reserved: true` gives, and never without "
        "two approvals. Case, `+tag` and signs between letters do not matter.",
        examples=[["vpn", "certificates"]],
    )
    patterns: tuple[LocalPattern, ...] = _some(
        description="Patterns of local parts, without signs between letters, that need two "
        "approvals whatever a rule says.",
        examples=[["press*", "donations"]],
    )


class Limits(_Part):
    """How much one person may ask for."""

    open_requests: int = Field(
        default=5, ge=1, le=1000, description="Open requests of one person.", examples=[5]
    )
    requests_per_day: int = Field(
        default=20, ge=1, le=1000, description="Requests of one person in 24 hours.", examples=[20]
    )
    aliases_per_mailbox: int = Field(
        default=20, ge=1, le=10000, description="Aliases that a mailbox may have.", examples=[20]
    )


class Requests(_Part):
    """How long things wait."""

    expire_after: Duration = Field(
        default=timedelta(hours=24),
        description="When a request that nobody decided ends by itself.",
        examples=["24h"],
    )
    remind_after: Duration = Field(
        default=timedelta(hours=4),
        description="When the approvers are reminded, once.",
        examples=["4h"],
    )
    tombstone: Duration = Field(
        default=timedelta(days=90),
        description="How long an address that was given up is kept from everybody else.",
        examples=["90d"],
    )


class Rule(_Part):
    """What is allowed or denied. A condition that is missing is met by every request.

    Exactly one of `deny`, `approvals` and `automatic` says what follows.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,59}$")] = Field(
        description="What the rule is called in messages and in the audit.",
        examples=["own-aliases"],
    )
    actions: tuple[Annotated[Action, Field(strict=False)], ...] = Field(
        default=tuple(Action),
        strict=False,
        min_length=1,
        description="What is asked for.",
        examples=[["alias.add", "alias.remove"]],
    )
    groups: tuple[GroupName, ...] = Field(
        default=(EVERYONE,),
        strict=False,
        min_length=1,
        description="Groups, of which the person who asks is in one at least.",
        examples=[["everyone"]],
    )
    own: bool | None = Field(
        default=None,
        description="Whether it is about the person's own mailbox. Only for aliases and passwords: "
        "a forwarder belongs to nobody.",
        examples=[True],
    )
    domains: tuple[DomainPattern, ...] = _some(
        description="Patterns of which one matches the domain of the address that comes or goes.",
        examples=[["example.com", "*.example.org"]],
    )
    addresses: tuple[AddressPattern, ...] = _some(
        description="Patterns of which one matches the address that comes or goes.",
        examples=[["sales-*@example.com"]],
    )
    destinations: Literal["internal", "external", "any"] = Field(
        default="any",
        description="Where a new forwarder leads: to our domains only, or to another at least "
        "once. Only for `forward.add`.",
        examples=["internal"],
    )
    reserved: bool | None = Field(
        default=None,
        description="Whether the address is a reserved name. Only a rule that says `true` allows "
        "such a name, and it allows no other; a rule that denies without it denies both.",
        examples=[True],
    )
    deny: Sentence | None = Field(
        default=None,
        description="Denies it, with this sentence for the person. Denying rules come before all "
        "others.",
        examples=["Contractors have no aliases. Ask your project lead."],
    )
    approvals: Mapping[GroupName, Approvals] | None = Field(
        default=None,
        min_length=1,
        description="Allows it once so many members of each group have approved, never the person "
        "who asks.",
        examples=[{"mail-admins": 1}],
    )
    automatic: Literal[True] | None = Field(
        default=None, description="Allows it at once.", examples=[True]
    )

    @model_validator(mode="after")
    def _has_one_effect(self) -> Self:
        effects = [self.deny, self.approvals, self.automatic]
        if sum(effect is not None for effect in effects) != 1:
            raise ValueError("A rule has one of deny, approvals and automatic. Keep one of them.")
        return self

    @property
    def quorum(self) -> tuple[Quorum, ...]:
        """What the rule itself asks for, before any floor."""
        return tuple(Quorum(*one) for one in (self.approvals or {}).items())


class Policy(_Part):
    """Who may ask for what, and who has to approve it."""

    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    identity: Identity = Field(default_factory=Identity)
    groups: Mapping[GroupName, Group] = Field(
        min_length=1,
        description="Groups, by name. `everyone` is built in: all who may use the bot.",
        examples=[{"mail-admins": {"users": ["U024BE7LH", "U024BE7LJ"]}}],
    )
    approvers: GroupName = Field(
        description="The group that approves where the rule that fits is automatic and a built-in "
        "rule asks for two people all the same.",
        examples=["mail-admins"],
    )
    channels: Channels
    reserved: Reserved = Field(default_factory=Reserved)
    limits: Limits = Field(default_factory=Limits)
    requests: Requests = Field(default_factory=Requests)
    rules: tuple[Rule, ...] = Field(
        strict=False,
        min_length=1,
        description="The rules. Those that deny are asked first, then the others from top to "
        "bottom; the first that fits decides. Where none fits, the answer is no.",
        examples=[
            [{"name": "own-password", "actions": ["password"], "own": True, "automatic": True}]
        ],
    )

    @cached_property
    def digest(self) -> str:
        """What tells this policy from every other, built-in names included."""
        built_in = [sorted(RESERVED), list(SENSITIVE)]
        return digest_of([self.model_dump(mode="json"), built_in])

    def channel_of(self, quorum: tuple[Quorum, ...]) -> str:
        """Return the channel where a card with this quorum belongs: its first group's."""
        first = self.groups.get(quorum[0].group) if quorum else None
        return (first.channel if first else None) or self.channels.approvals
