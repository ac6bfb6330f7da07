# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a plan is made of: changes in order, and the problems that stand against them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..models import Action, Edit, Principal, shown

_NO_EDIT = Edit()


class Problem(NamedTuple):
    """Why the wanted state does not fit.

    :param missing: what is missing and an earlier task may create, as a clause: in check mode the
        problem is then a warning
    :param refuses: False for a problem that is a warning in a real run, too
    """

    text: str
    missing: str = ""
    refuses: bool = True

    @property
    def warning(self) -> str:
        """The warning in check mode. Ansible shows equal ones once, so it names what is missing."""
        return f"{self.missing}. Check mode assumes that an earlier task creates it."


@dataclass(frozen=True, slots=True)
class Change:
    """One principal's way from what it is to what it is to be.

    :param edit: for an update of lists, what to add and to remove
    :param secrets: passwords to set; in no representation
    :param sets_always: of a creation: set them even if someone else creates the mailbox meanwhile
    """

    action: Action
    before: Principal | None
    after: Principal | None
    reason: str
    edit: Edit = _NO_EDIT
    secrets: tuple[str, ...] = field(default=(), repr=False)
    sets_always: bool = False

    @property
    def subject(self) -> Principal:
        """The principal, as it is to be or as it was."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change is about something")
        return subject

    def as_dict(self) -> dict[str, str]:
        """Return it as a module shows it."""
        return shown(self.action, self.subject.kind, self.subject.name, self.reason)


class Plan(NamedTuple):
    """Changes in the order in which they are to be made.

    :param warnings: what the plan does and the user may not expect
    :param all_or_nothing: the changes before one that fails are taken back
    """

    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    all_or_nothing: bool = False


def as_diff(plan: Plan) -> list[dict[str, Any]]:
    """Return a plan's before and after, one pair a change, as Ansible shows differences."""
    return [_diff_of(change) for change in plan.changes]


def _diff_of(change: Change) -> dict[str, Any]:
    header = f"{change.subject.kind} {change.subject.name}"
    before = change.before.as_dict() if change.before else {}
    after = change.after.as_dict() if change.after else {}
    if change.secrets:
        after["passwords"] = "set" if change.action == "create" else "replaced"
    return {"before_header": header, "after_header": header, "before": before, "after": after}
