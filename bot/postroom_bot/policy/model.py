# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy file: every key, its meaning and an example.

Validation is strict: unknown keys are errors, and a number is not a string. The schema and the
reference are generated from the descriptions.
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

#: The built-in group of everyone who may use the bot.
EVERYONE = "everyone"
#: A rule has exactly one of these keys.
EFFECTS = ("deny", "approvals", "automatic")


def _some(**about: Any) -> Any:
    """Return an optional list field, stored as a tuple."""
    return Field(default=(), strict=False, **about)


def _lasting(text: str, description: str) -> Any:
    """Return a duration field with a default."""
    extra: dict[str, Any] = {"default": text}
    return Field(
        default=duration(text),
        description=description,
        examples=[text],
        json_schema_extra=extra,
    )


def _up_to(number: int, description: str) -> Any:
    """Return a limit field with a default."""
    return Field(default=number, description=description, examples=[number])


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SlackEmail(_Part):
    """Use of the email addresses in Slack profiles as the owners of mailboxes."""

    model_config = ConfigDict(title="Slack email")

    domains: tuple[Domain, ...] = Field(
        strict=False,
        min_length=1,
        description="Domains whose addresses are trusted. List no domain in which people can "
        "choose their Slack address freely.",
        examples=[["example.com"]],
    )
    cooldown: Duration = _lasting("72h", "How long a changed address is not trusted.")


class Identity(_Part):
    """The owners of mailboxes. Pinned mailboxes take precedence."""

    pinned: Mapping[UserId, Address] = Field(
        default_factory=dict,
        description="The mailbox of each Slack user, by user id. It can't be changed in Slack.",
        examples=[{"U024BE7LH": "alice@example.com"}],
    )
    slack_email: SlackEmail | None = Field(
        default=None,
        description="Trust confirmed addresses in Slack profiles. Without it, only pinned "
        "mailboxes have owners.",
        examples=[{"domains": ["example.com"], "cooldown": "72h"}],
    )


class Group(_Part):
    """A group of people, by their Slack ids."""

    users: tuple[UserId, ...] = _some(
        description="Slack users, by id.", examples=[["U024BE7LH", "U024BE7LJ"]]
    )
    usergroups: tuple[UsergroupId, ...] = _some(
        description="Slack user groups, by id. Their current members count.",
        examples=[["S0614TZR7"]],
    )
    channel: ChannelId | None = Field(
        default=None,
        description="The channel for the cards that this group approves, instead of "
        "`channels.approvals`.",
        examples=["C024BE91L"],
    )


class Channels(_Part):
    """The channels that the bot posts to. Invite it to them."""

    approvals: ChannelId = Field(
        description="The channel for the cards with *Approve* and *Deny*.",
        examples=["C024BE91L"],
    )
    audit: ChannelId | None = Field(
        default=None,
        description="The channel that gets a line about every completed request.",
        examples=["C024BE92M"],
    )
    mention_approvers: bool = Field(
        default=True,
        description="Whether cards and reminders notify the groups that approve.",
        examples=[False],
    )


class Reserved(_Part):
    """Protected names in addition to the built-in ones, which can't be removed."""

    names: tuple[LocalName, ...] = _some(
        description="Local parts that only a rule with `reserved: true` allows, always with two "
        "approvals. Case, `+tag` and punctuation don't matter.",
        examples=[["vpn", "certificates"]],
    )
    patterns: tuple[LocalPattern, ...] = _some(
        description="Patterns of local parts, without punctuation, that need two approvals "
        "whatever a rule says.",
        examples=[["press*", "donations"]],
    )


class Limits(_Part):
    """Limits for each person and mailbox."""

    open_requests: Number = _up_to(5, "Open requests of a person.")
    requests_per_day: Number = _up_to(20, "Requests of a person in 24 hours.")
    aliases_per_mailbox: Number = _up_to(20, "Aliases of a mailbox.")


class Requests(_Part):
    """The times of requests."""

    expire_after: Duration = _lasting("24h", "When an undecided request expires.")
    remind_after: Duration = _lasting(
        "4h",
        "When the approvers are reminded, once. By default half of `expire_after`, at most 4h.",
    )
    end_notice: Duration = _lasting(
        "3d", "How long before the end of an alias or a forwarder its requester is notified."
    )
    tombstone: Duration = _lasting(
        "90d", "How long a removed address stays reserved for its previous owner."
    )

    @model_validator(mode="after")
    def _remind_before_the_end(self) -> Self:
        if "remind_after" not in self.model_fields_set:
            earliest = min(self.remind_after, self.expire_after / 2)
            object.__setattr__(self, "remind_after", earliest)
        return self


class Rule(_Part):
    """A rule. It applies to the requests that meet all its conditions."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [effect]} for effect in EFFECTS]}
    )

    name: RuleName = Field(
        description="The rule's name in messages and in the audit.",
        examples=["own-aliases"],
    )
    actions: tuple[Annotated[Action, Field(strict=False)], ...] = Field(
        default=tuple(Action),
        strict=False,
        min_length=1,
        description="The requested actions.",
        examples=[["alias.add", "alias.remove"]],
    )
    groups: tuple[GroupName, ...] = Field(
        default=(EVERYONE,),
        strict=False,
        min_length=1,
        description="The requester is a member of at least one of these groups.",
        examples=[["everyone"]],
    )
    own: bool | None = Field(
        default=None,
        description="Whether the requester owns the mailbox. Only for aliases and passwords, "
        "because a forwarder has no owner.",
        examples=[True],
    )
    domains: tuple[DomainPattern, ...] = _some(
        description="The domain of the added or removed address matches at least one of these "
        "patterns.",
        examples=[["example.com", "*.example.org"]],
    )
    addresses: tuple[AddressPattern, ...] = _some(
        description="The added or removed address matches at least one of these patterns.",
        examples=[["sales-*@example.com"]],
    )
    destinations: Literal["internal", "external", "any"] = Field(
        default="any",
        description="Whether all destinations of a new forwarder are in the tenant's domains "
        "(`internal`), or at least one is not (`external`). Only for `forward.add`.",
        examples=["internal"],
    )
    reserved: bool | None = Field(
        default=None,
        description="Whether the address is a reserved name. Only a rule with `true` allows "
        "reserved names, and it allows no others. Without it, a denying rule applies to both.",
        examples=[True],
    )
    deny: Sentence | None = Field(
        default=None,
        description="Denies the request, with this sentence for the requester. Denying rules "
        "come before all others.",
        examples=["Contractors have no aliases. Ask your project lead."],
    )
    approvals: Mapping[GroupName, Approvals] | None = Field(
        default=None,
        min_length=1,
        description="Allows the request after this number of approvals from each group. The "
        "requester's own approval never counts.",
        examples=[{"mail-admins": 1}],
    )
    automatic: Yes | None = Field(
        default=None, description="Allows the request without approval.", examples=[True]
    )

    @model_validator(mode="after")
    def _has_one_effect(self) -> Self:
        if sum(getattr(self, effect) is not None for effect in EFFECTS) != 1:
            raise ValueError("A rule must have exactly one of deny, approvals and automatic.")
        return self

    @property
    def quorum(self) -> tuple[Quorum, ...]:
        """The approvals that the rule itself requires."""
        return tuple(Quorum(*one) for one in (self.approvals or {}).items())


def _section(model: type[_Part], **example: Any) -> Any:
    """Return an optional section, described by its docstring."""
    return Field(default_factory=model, description=model.__doc__, examples=[example])


class Policy(_Part):
    """Who may request what, and who approves it."""

    version: Version = Field(description="The version of this format.", examples=[1])
    identity: Identity = _section(Identity, pinned={"U024BE7LH": "alice@example.com"})
    groups: Mapping[GroupName, Group] = Field(
        min_length=1,
        description="Groups, by name. `everyone` is built in: everyone who may use the bot.",
        examples=[{"mail-admins": {"users": ["U024BE7LH", "U024BE7LJ"]}}],
    )
    approvers: GroupName = Field(
        description="The group that approves if the rule is automatic but a built-in rule "
        "requires two approvals.",
        examples=["mail-admins"],
    )
    channels: Channels = Field(description=Channels.__doc__, examples=[{"approvals": "C024BE91L"}])
    reserved: Reserved = _section(Reserved, names=["vpn"])
    limits: Limits = _section(Limits, open_requests=5)
    requests: Requests = _section(Requests, expire_after="24h")
    rules: tuple[Rule, ...] = Field(
        strict=False,
        min_length=1,
        description="The rules. Denying rules are evaluated first, then the others from top to "
        "bottom. The first rule that applies decides; if none applies, the request is denied.",
        examples=[
            [{"name": "own-password", "actions": ["password"], "own": True, "automatic": True}]
        ],
    )

    @cached_property
    def digest(self) -> str:
        """The digest of the policy, including the built-in names."""
        built_in = [sorted(RESERVED), list(SENSITIVE)]
        return digest_of([self.model_dump(mode="json"), built_in])

    def mentioned(self, quorum: tuple[Quorum, ...]) -> list[str]:
        """Return the ids of the users and user groups to mention on a card with this quorum."""
        if not self.channels.mention_approvers:
            return []
        groups = [self.groups[one.group] for one in quorum if one.group in self.groups]
        return [one for group in groups for one in (*group.usergroups, *group.users)]

    def channel_of(self, quorum: tuple[Quorum, ...]) -> str:
        """Return the channel for a card with this quorum: that of its first group."""
        first = self.groups.get(quorum[0].group) if quorum else None
        return (first.channel if first else None) or self.channels.approvals


def unknown_group(policy: Policy, name: str) -> str:
    """Return "" if the policy has the group, otherwise a sentence with the known groups."""
    if name == EVERYONE or name in policy.groups:
        return ""
    known = dict.fromkeys([EVERYONE, *policy.groups])
    return f"There is no group {name}. The groups are: {', '.join(known)}."
