# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy file as it was meant: every key, its meaning, an example.

Strict and closed: a key that is not here is a mistake, and a number is not a text. What a key means
stands in its ``description``, from which the schema and the reference are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from postroom_bot.domain import Action, Quorum, digest_of
from postroom_bot.policy.protected_names import RESERVED, SENSITIVE
from postroom_bot.policy.types import (
    Address,
    AddressPattern,
    Approvals,
    ChannelId,
    Domain,
    DomainPattern,
    Duration,
    GroupName,
    LocalName,
    LocalPattern,
    Number,
    RuleName,
    Sentence,
    UsergroupId,
    UserId,
    Version,
    Yes,
    duration,
)

#: The built-in group of everybody who may use the bot at all.
EVERYONE = "everyone"
#: Of these keys, a rule has exactly one.
EFFECTS = ("deny", "approvals", "automatic")


def _some(**about: Any) -> Any:
    """Return the field of a list, which is a tuple here and may be missing."""
    return Field(default=(), strict=False, **about)


def _lasting(text: str, description: str) -> Any:
    """Return the field of a length of time with a default."""
    extra: dict[str, Any] = {"default": text}
    return Field(
        default=duration(text),
        description=description,
        examples=[text],
        json_schema_extra=extra,
    )


def _up_to(number: int, description: str) -> Any:
    """Return the field of a limit with a default."""
    return Field(default=number, description=description, examples=[number])


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SlackEmail(_Part):
    """Whether a Slack profile's email address says which mailbox is somebody's."""

    model_config = ConfigDict(title="Slack email")

    domains: tuple[Domain, ...] = Field(
        strict=False,
        min_length=1,
        description="Domains whose addresses are believed. Name none in which people choose their "
        "Slack address freely.",
        examples=[["example.com"]],
    )
    cooldown: Duration = _lasting("72h", "How long a changed address is not believed.")


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
    mention_approvers: bool = Field(
        default=True,
        description="Whether cards and reminders notify the groups that approve.",
        examples=[False],
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

    open_requests: Number = _up_to(5, "Open requests of one person.")
    requests_per_day: Number = _up_to(20, "Requests of one person in 24 hours.")
    aliases_per_mailbox: Number = _up_to(20, "Aliases that a mailbox may have.")


class Requests(_Part):
    """How long things wait."""

    expire_after: Duration = _lasting("24h", "When a request that nobody decided ends by itself.")
    remind_after: Duration = _lasting(
        "4h",
        "When the approvers are reminded, once. By default half of `expire_after`, 4h at most.",
    )
    end_notice: Duration = _lasting(
        "3d", "How long before the end of an alias or a forwarder its requester is told."
    )
    tombstone: Duration = _lasting(
        "90d", "How long an address that was given up is kept from everybody else."
    )

    @model_validator(mode="after")
    def _remind_before_the_end(self) -> Self:
        if "remind_after" not in self.model_fields_set:
            earliest = min(self.remind_after, self.expire_after / 2)
            object.__setattr__(self, "remind_after", earliest)
        return self


class Rule(_Part):
    """What is allowed or denied. A condition that is missing is met by every request."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [effect]} for effect in EFFECTS]}
    )

    name: RuleName = Field(
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
    automatic: Yes | None = Field(default=None, description="Allows it at once.", examples=[True])

    @model_validator(mode="after")
    def _has_one_effect(self) -> Self:
        if sum(getattr(self, effect) is not None for effect in EFFECTS) != 1:
            raise ValueError("A rule has one of deny, approvals and automatic. Write one of them.")
        return self

    @property
    def quorum(self) -> tuple[Quorum, ...]:
        """What the rule itself asks for, before any floor."""
        return tuple(Quorum(*one) for one in (self.approvals or {}).items())


def _section(model: type[_Part], **example: Any) -> Any:
    """Return the field of a part that may be missing; the part's own words describe it."""
    return Field(default_factory=model, description=model.__doc__, examples=[example])


class Policy(_Part):
    """Who may ask for what, and who has to approve it."""

    version: Version = Field(description="The version of this format.", examples=[1])
    identity: Identity = _section(Identity, pinned={"U024BE7LH": "alice@example.com"})
    groups: Mapping[GroupName, Group] = Field(
        min_length=1,
        description="Groups, by name. `everyone` is built in: all who may use the bot.",
        examples=[{"mail-admins": {"users": ["U024BE7LH", "U024BE7LJ"]}}],
    )
    approvers: GroupName = Field(
        description="The group that approves where the rule that fits is automatic, and a built-in "
        "rule asks for two people all the same.",
        examples=["mail-admins"],
    )
    channels: Channels = Field(description=Channels.__doc__, examples=[{"approvals": "C024BE91L"}])
    reserved: Reserved = _section(Reserved, names=["vpn"])
    limits: Limits = _section(Limits, open_requests=5)
    requests: Requests = _section(Requests, expire_after="24h")
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

    def mentioned(self, quorum: tuple[Quorum, ...]) -> list[str]:
        """Return the ids of the users and user groups that a card with this quorum mentions."""
        if not self.channels.mention_approvers:
            return []
        groups = [self.groups[one.group] for one in quorum if one.group in self.groups]
        return [one for group in groups for one in (*group.usergroups, *group.users)]

    def channel_of(self, quorum: tuple[Quorum, ...]) -> str:
        """Return the channel where a card with this quorum belongs: its first group's."""
        first = self.groups.get(quorum[0].group) if quorum else None
        return (first.channel if first else None) or self.channels.approvals


def unknown_group(policy: Policy, name: str) -> str:
    """Return that a policy has no group of a name, and which it has, a sentence; "" if it has."""
    if name == EVERYONE or name in policy.groups:
        return ""
    known = dict.fromkeys([EVERYONE, *policy.groups])
    return f"There is no group {name}. Known are {', '.join(known)}."
