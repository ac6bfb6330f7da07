# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The format of the policy file, with a description and an example of each key.

Validation is strict: unknown keys are errors, and types are not converted. The schema and the
reference are generated from this module.
"""

from __future__ import annotations

import json
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

from postroom_bot.addresses import address, domain, pattern
from postroom_bot.domain import Action, Quorum, digest_of
from postroom_bot.policy.protected_names import RESERVED, SENSITIVE

#: The built-in group of everyone who may use the bot.
EVERYONE = "everyone"
#: A rule has exactly one of these keys.
EFFECTS = ("deny", "approvals", "automatic")


_DURATION = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(value: Any) -> timedelta:
    """Parse a duration such as ``24h``.

    :raises ValueError: if the value is not a duration
    """
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError(
            "Must be a duration: a number from 1 to 9999 followed by m, h or d, such as 24h."
        )
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _only(*, wanted: bool | int, remedy: str = "") -> BeforeValidator:
    """Return a validator that also compares the type, because True == 1 in Python."""

    def check(value: Any) -> Any:
        if type(value) is not type(wanted) or value != wanted:
            quotes = ", without quotes" if isinstance(value, str) else ""
            raise ValueError(f"Must be {json.dumps(wanted)}{quotes}{remedy}.")
        return value

    return BeforeValidator(check)


def _text(title: str, example: str, pattern: str) -> Any:
    """Return the metadata of a string that must match the whole pattern."""
    return Field(title=title, examples=[example], pattern=f"^{pattern}$")


GroupName = Annotated[str, _text("Group name", "mail-admins", "[a-z][a-z0-9-]{0,39}")]
RuleName = Annotated[str, _text("Rule name", "own-aliases", "[a-z][a-z0-9-]{0,59}")]
UserId = Annotated[str, _text("User id", "U024BE7LH", "[UW][A-Z0-9]{2,20}")]
UsergroupId = Annotated[str, _text("User group id", "S0614TZR7", "S[A-Z0-9]{2,20}")]
ChannelId = Annotated[str, _text("Channel id", "C024BE91L", "[CG][A-Z0-9]{2,20}")]
AddressPattern = Annotated[
    str,
    _text("Pattern of addresses", "sales-*@example.com", r"[^\s@\[\]]+@[^\s@\[\]]+"),
    AfterValidator(pattern),
]
DomainPattern = Annotated[
    str, _text("Pattern of domains", "*.example.org", r"[^\s@\[\]]+"), AfterValidator(pattern)
]
LocalName = Annotated[str, _text("Local part", "vpn", "[A-Za-z0-9._-]{1,64}")]
LocalPattern = Annotated[str, _text("Pattern of local parts", "press*", "[a-z0-9*?]{1,64}")]
Address = Annotated[
    str, AfterValidator(address), Field(title="Address", examples=["alice@example.com"])
]
Domain = Annotated[str, AfterValidator(domain), Field(title="Domain", examples=["example.com"])]
Sentence = Annotated[
    str,
    StringConstraints(min_length=1, max_length=300),
    Field(title="Text", examples=["Ask your project lead."]),
]
Number = Annotated[int, Field(ge=1, le=10000, title="Number", examples=[5])]
Days = Annotated[int, Field(ge=1, le=3650, title="Number", examples=[90])]
Approvals = Annotated[int, Field(ge=1, le=10, title="Number", examples=[1])]
Version = Annotated[Literal[1], _only(wanted=1), Field(title="Number", examples=[1])]
Yes = Annotated[Literal[True], _only(wanted=True, remedy=", or omitted")]
Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    PlainSerializer(lambda value: f"{int(value.total_seconds()) // 60}m"),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$", "title": "Duration"}),
]


def _some(**about: Any) -> Any:
    """Return an optional list field, stored as a tuple."""
    return Field(default=(), strict=False, **about)


def _lasting(text: str) -> Any:
    """Return a duration field with a default."""
    return Field(default=duration(text), examples=[text], json_schema_extra={"default": text})


class _Part(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


class SlackEmailTrust(_Part):
    """How to identify mailbox owners by the email addresses in their Slack profiles."""

    model_config = ConfigDict(title="Slack email")

    domains: tuple[Domain, ...] = Field(strict=False, min_length=1, examples=[["example.com"]])
    """Domains whose addresses are trusted. Don't list a domain if users can enter any address in
    this domain in their Slack profile."""
    cooldown: Duration = _lasting("72h")
    """How long to distrust a new address after a user changes their address in Slack."""


class Identity(_Part):
    """The owners of mailboxes. Pinned mailboxes take precedence."""

    pinned: Mapping[UserId, Address] = Field(
        default_factory=dict, examples=[{"U024BE7LH": "alice@example.com"}]
    )
    """The mailbox of each user, keyed by Slack user id. Users can't change this setting in
    Slack."""
    slack_email: SlackEmailTrust | None = Field(
        default=None, examples=[{"domains": ["example.com"], "cooldown": "72h"}]
    )
    """Which confirmed addresses in Slack profiles to trust. If unset, only pinned mailboxes have
    owners."""


class Group(_Part):
    """A group of Slack users."""

    users: tuple[UserId, ...] = _some(examples=[["U024BE7LH", "U024BE7LJ"]])
    """The ids of Slack users."""
    usergroups: tuple[UsergroupId, ...] = _some(examples=[["S0614TZR7"]])
    """The ids of Slack user groups whose current members belong to the group."""
    channel: ChannelId | None = Field(default=None, examples=["C024BE91L"])
    """The channel for requests that this group approves, instead of `channels.approvals`."""


class Channels(_Part):
    """The channels that the bot posts to. Invite the bot to each of these channels."""

    approvals: ChannelId = Field(examples=["C024BE91L"])
    """The channel for cards with the buttons *Approve* and *Deny*."""
    audit: ChannelId | None = Field(default=None, examples=["C024BE92M"])
    """The channel that receives a message about every completed request."""
    mention_approvers: bool = Field(default=True, examples=[False])
    """Whether cards and reminders notify the groups whose approval is needed."""


class ReservedNames(_Part):
    """Protected names, in addition to the built-in names, which can't be removed."""

    model_config = ConfigDict(title="Reserved")

    names: tuple[LocalName, ...] = _some(examples=[["vpn", "certificates"]])
    """Local parts that only a rule with `reserved: true` allows, and that always require two
    approvals. Case, punctuation and any `+tag` are ignored."""
    patterns: tuple[LocalPattern, ...] = _some(examples=[["press*", "donations"]])
    """Patterns, without punctuation, of local parts that require two approvals regardless of the
    rule."""


class Limits(_Part):
    """Limits for each person and mailbox."""

    open_requests: Number = Field(default=5, examples=[5])
    """The maximum number of open requests per person."""
    requests_per_day: Number = Field(default=20, examples=[20])
    """The maximum number of requests per person in 24 hours."""
    aliases_per_mailbox: Number = Field(default=20, examples=[20])
    """The maximum number of aliases per mailbox."""


class RequestTiming(_Part):
    """Deadlines, reminders, and how long removed addresses stay reserved and requests are kept."""

    model_config = ConfigDict(title="Requests")

    expire_after: Duration = _lasting("24h")
    """How long approvers have to decide before a request expires."""
    remind_after: Duration = _lasting("4h")
    """How long a request waits before the approvers get the first reminder. Each further reminder
    comes after twice the time, until the request expires. The default is half of `expire_after`,
    but at most 4h."""
    end_notice: Duration = _lasting("3d")
    """How far in advance the requester is notified that an alias or a forwarder ends."""
    tombstone: Duration = _lasting("90d")
    """How long a removed address stays reserved for its previous owner."""
    retention: Duration = _lasting("365d")
    """How long the bot keeps requests that have ended, with their votes. It keeps requests whose
    aliases or destinations still exist, and the audit, which also names them."""

    @model_validator(mode="after")
    def _remind_before_the_end(self) -> Self:
        if "remind_after" not in self.model_fields_set:
            earliest = min(self.remind_after, self.expire_after / 2)
            object.__setattr__(self, "remind_after", earliest)
        return self


class Rule(_Part):
    """A rule. It applies to requests that meet all its conditions."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [effect]} for effect in EFFECTS]}
    )

    name: RuleName = Field(examples=["own-aliases"])
    """The rule's name in messages and in the audit."""
    actions: tuple[Annotated[Action, Field(strict=False)], ...] = Field(
        default=tuple(Action), strict=False, min_length=1, examples=[["alias.add", "alias.remove"]]
    )
    """The requested action is one of these actions."""
    groups: tuple[GroupName, ...] = Field(
        default=(EVERYONE,), strict=False, min_length=1, examples=[["everyone"]]
    )
    """The requester is a member of at least one of these groups."""
    own: bool | None = Field(default=None, examples=[True])
    """Whether the requester owns the mailbox. This condition is only for aliases and passwords,
    because only mailboxes have owners."""
    domains: tuple[DomainPattern, ...] = _some(examples=[["example.com", "*.example.org"]])
    """The domain of the added or removed address matches at least one of these patterns."""
    addresses: tuple[AddressPattern, ...] = _some(examples=[["sales-*@example.com"]])
    """The added or removed address matches at least one of these patterns."""
    destinations: Literal["internal", "external", "any"] = Field(
        default="any", examples=["internal"]
    )
    """Whether all destinations of a new forwarder are in the tenant's domains (`internal`), or at
    least one is not (`external`). This condition is only for `forward.add`."""
    reserved: bool | None = Field(default=None, examples=[True])
    """Whether the address is a reserved name. With `true`, the rule applies only to reserved names,
    with `false` only to other names. By default, a denying rule applies to all names, and any other
    rule only to names that are not reserved."""
    end_date: Literal["required", "optional"] = Field(default="optional", examples=["required"])
    """Whether new aliases and forwarders need an end date. The rule denies requests without one if
    this is `required`."""
    max_days: Days | None = Field(default=None, examples=[90])
    """The longest duration of a new alias or forwarder in days, counted from the request. The rule
    denies requests with a later end date, or without one."""
    deny: Sentence | None = Field(
        default=None, examples=["Contractors don't get aliases. Ask your project lead."]
    )
    """Denies the request and shows this sentence to the requester. Denying rules are evaluated
    before all other rules."""
    approvals: Mapping[GroupName, Approvals] | None = Field(
        default=None, min_length=1, examples=[{"mail-admins": 1}]
    )
    """Allows the request after this number of approvals from each group. The requester's own
    approval never counts."""
    automatic: Yes | None = Field(default=None, examples=[True])
    """Allows the request without approval."""

    @model_validator(mode="after")
    def _has_one_effect(self) -> Self:
        if sum(getattr(self, effect) is not None for effect in EFFECTS) != 1:
            raise ValueError("A rule must have exactly one of deny, approvals and automatic.")
        return self

    @property
    def requires_end_date(self) -> bool:
        """Whether new aliases and forwarders need an end date."""
        return self.end_date == "required" or self.max_days is not None

    @property
    def quorum(self) -> tuple[Quorum, ...]:
        """The approvals that the rule itself requires."""
        return tuple(Quorum(*one) for one in (self.approvals or {}).items())


def _section(model: type[_Part], **example: Any) -> Any:
    """Return an optional section that is described by its model's docstring."""
    return Field(default_factory=model, description=model.__doc__, examples=[example])


class Policy(_Part):
    """Who may request what, and who approves it."""

    version: Version = Field(examples=[1])
    """The version of the policy format."""
    identity: Identity = _section(Identity, pinned={"U024BE7LH": "alice@example.com"})
    groups: Mapping[GroupName, Group] = Field(
        min_length=1, examples=[{"mail-admins": {"users": ["U024BE7LH", "U024BE7LJ"]}}]
    )
    """Groups, keyed by name. The built-in group `everyone` contains everyone who may use the
    bot."""
    approvers: GroupName = Field(examples=["mail-admins"])
    """The group that approves if the rule is automatic but a built-in rule requires two
    approvals."""
    channels: Channels = Field(description=Channels.__doc__, examples=[{"approvals": "C024BE91L"}])
    reserved: ReservedNames = _section(ReservedNames, names=["vpn"])
    limits: Limits = _section(Limits, open_requests=5)
    requests: RequestTiming = _section(RequestTiming, expire_after="24h")
    rules: tuple[Rule, ...] = Field(
        strict=False,
        min_length=1,
        examples=[
            [{"name": "own-password", "actions": ["password"], "own": True, "automatic": True}]
        ],
    )
    """The rules. Denying rules are evaluated first, and then all other rules from top to bottom.
    The first rule that applies decides. If no rule applies, the request is denied."""

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
        """Return the channel of the quorum's first group, or the default channel for cards."""
        first = self.groups.get(quorum[0].group) if quorum else None
        return (first.channel if first else None) or self.channels.approvals


def unknown_group(policy: Policy, name: str) -> str:
    """Return a message that lists the known groups, or "" if the group exists."""
    if name == EVERYONE or name in policy.groups:
        return ""
    known = dict.fromkeys([EVERYONE, *policy.groups])
    return f"There is no group {name}. The groups are: {', '.join(known)}."
