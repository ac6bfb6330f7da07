# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a mailbox is there, with its aliases and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import InvalidInput
from ..models import Edit, Mailbox, password_flaw
from ..names import Name
from .changes import Change, Plan, Problem
from .plan_common import bouncing, claims, difference, purge_without_list, updates, wrong_kind
from .state import Tenant


@dataclass(frozen=True, slots=True)
class WantedMailbox:
    """A mailbox as declared. ``aliases`` of None leaves them alone, an empty set does not.

    :param replace_passwords: set them even if the mailbox exists
    :raises InvalidInput: a password is unusable, or there is none to replace the old ones with
    """

    name: Name
    passwords: tuple[str, ...] = field(default=(), repr=False)
    replace_passwords: bool = False
    aliases: frozenset[Name] | None = None
    purge_aliases: bool = False

    def __post_init__(self) -> None:
        for number, password in enumerate(self.passwords, 1):
            flaw = password_flaw(password)
            if flaw:
                raise InvalidInput(f"passwords: entry {number} of {len(self.passwords)} {flaw}")
        if self.replace_passwords and not self.passwords:
            raise InvalidInput(
                "passwords: required with update_password always or probe. "
                "Give at least one, or leave update_password out."
            )


def plan_mailbox(tenant: Tenant, wanted: WantedMailbox) -> Plan:
    """Plan that a mailbox is there, with its aliases and passwords."""
    found = tenant.find(wanted.name)
    warnings = list(purge_without_list(wanted.aliases, purge=wanted.purge_aliases))
    if found is None:
        after = Mailbox(wanted.name, (wanted.aliases or frozenset()) - {wanted.name})
        problems = [*_no_password(wanted), *claims(tenant, after, after.addresses)]
        change = Change("create", None, after, "it is not there", secrets=wanted.passwords)
        return Plan((change,), tuple(problems), tuple(warnings))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox)))
    add, remove = difference(found.aliases, wanted.aliases, purge=wanted.purge_aliases)
    edit = Edit(add_aliases=add - {wanted.name}, remove_aliases=remove)
    secrets = wanted.passwords if wanted.replace_passwords else ()
    problems = list(claims(tenant, found, edit.add_aliases))
    warnings += bouncing(tenant, edit.remove_aliases, {found.name})
    return Plan(updates(found, edit, secrets), tuple(problems), tuple(warnings))


def _no_password(wanted: WantedMailbox) -> Iterator[Problem]:
    if not wanted.passwords:
        yield Problem(
            f"The mailbox {wanted.name} does not exist yet and can't be created without a "
            "password. Set passwords to a list of at least one.",
            missing=f"The mailbox {wanted.name} does not exist yet, and passwords is not set",
        )
