# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The objects that a definition declares: the planner's input.

The classes are not frozen, because creating frozen objects takes twice as long. Don't change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..models import Domain, Forwarder, Mailbox
from ..names import Name
from .messages import DECLARED_ABSENT, Place, Reason


@dataclass(slots=True)
class Declared:
    """A domain, mailbox or forwarder as declared.

    :param place: where it is declared
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    model: ClassVar[type[Domain | Mailbox | Forwarder]]

    @property
    def kind(self) -> str:
        """The kind that the principal of this name must have."""
        return self.model.kind


@dataclass(slots=True)
class DeclaredDomain(Declared):
    """A domain as declared.

    :param force: if it is absent, delete everything on it, too
    """

    force: bool = False
    model = Domain


@dataclass(slots=True)
class DeclaredIndividual(Declared):
    """A mailbox or forwarder as declared.

    :param reason: why it is declared absent, if it is
    :param aliases: the declared aliases; None leaves all of its aliases unchanged
    :param absent_aliases: aliases that it must not have, each with the reason
    :param places: where each of its aliases is declared
    :param purge_aliases: remove every alias that is not in ``aliases``
    """

    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    purge_aliases: bool = False
    model: ClassVar[type[Mailbox | Forwarder]]


@dataclass(slots=True)
class DeclaredMailbox(DeclaredIndividual):
    """A mailbox as declared.

    :param must_exist: only its aliases are declared, and it is not created for them
    :param move: take its aliases from any mailbox or forwarder that has them
    """

    must_exist: bool = False
    move: bool = False
    model = Mailbox


@dataclass(slots=True)
class DeclaredForwarder(DeclaredIndividual):
    """A forwarder as declared.

    :param members: None leaves its members unchanged
    :param purge_members: remove every member that is not in ``members``
    """

    members: frozenset[Name] | None = None
    purge_members: bool = True
    model = Forwarder


class Definition(NamedTuple):
    """Declared objects by name. No name and no address is in it twice.

    :param is_whole: it describes the whole tenant; otherwise only one object, for a task about it
    """

    domains: Mapping[Name, DeclaredDomain]
    individuals: Mapping[Name, DeclaredIndividual]
    is_whole: bool = True


def definition_of(*declared: Declared, is_whole: bool = False) -> Definition:
    """Return a definition of these objects; by default it describes one object only."""
    return Definition(
        {each.name: each for each in declared if isinstance(each, DeclaredDomain)},
        {each.name: each for each in declared if isinstance(each, DeclaredIndividual)},
        is_whole,
    )
