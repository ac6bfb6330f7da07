# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The objects that a definition declares, as the planner takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Union

from ..models import Domain, Forwarder, Mailbox
from ..names import Name
from .messages import DECLARED_ABSENT, Place, Reason


@dataclass(frozen=True, slots=True)
class DeclaredDomain:
    """A domain as declared.

    :param force: if it is absent, delete everything on it, too
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    force: bool = False
    kind: ClassVar[str] = Domain.kind


@dataclass(frozen=True, slots=True)
class DeclaredMailbox:
    """A mailbox as declared.

    :param aliases: the declared aliases; None leaves all of its aliases unchanged
    :param absent_aliases: aliases that it must not have, each with the reason
    :param places: where each of its aliases is declared
    :param purge_aliases: remove every alias that is not in ``aliases``
    :param may_create: False if it must exist already
    :param move: take its aliases from any mailbox or forwarder that has them
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    purge_aliases: bool = False
    may_create: bool = True
    move: bool = False
    kind: ClassVar[str] = Mailbox.kind


@dataclass(frozen=True, slots=True)
class DeclaredForwarder:
    """A forwarder as declared.

    :param reason: why it is declared absent, if it is
    :param members: None leaves its members unchanged
    :param purge_members: remove every member that is not in ``members``
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    members: frozenset[Name] | None = None
    purge_aliases: bool = False
    purge_members: bool = True
    kind: ClassVar[str] = Forwarder.kind


# Union, for pylint takes the bar between classes to be arithmetic.
DeclaredIndividual = Union[DeclaredMailbox, DeclaredForwarder]  # noqa: UP007


Declared = Union[DeclaredDomain, DeclaredIndividual]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Definition:
    """Declared objects by name. No name and no address is in it twice.

    :param is_whole: it describes the whole tenant; otherwise only one object, for a task about it
    """

    domains: Mapping[Name, DeclaredDomain]
    individuals: Mapping[Name, DeclaredIndividual]
    is_whole: bool = True


def definition_of(declared: Declared) -> Definition:
    """Return a definition of one object."""
    if isinstance(declared, DeclaredDomain):
        return Definition({declared.name: declared}, {}, is_whole=False)
    return Definition({}, {declared.name: declared}, is_whole=False)
