# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Decide which undeclared objects to purge, and check the limits of a purge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..errors import InvalidInput
from ..models import ALIAS, SECTIONS, Domain, Forwarder, Mailbox, Principal
from ..names import Name, matches
from .messages import first_ten
from .problems import Problem

#: The kinds that can be purged, in the order in which messages list them.
KINDS = (ALIAS, Mailbox.kind, Forwarder.kind, Domain.kind)
_PLURALS = {ALIAS: "aliases", **SECTIONS}


@dataclass(frozen=True)
class Purge:
    """The undeclared objects that may be deleted, none by default.

    :param scope: shell-style patterns; only objects that match one of them are deleted
    :param ignore: shell-style patterns; objects that match one of them are kept
    :param max_deletions: the maximum number of deleted objects that the definition does not name
    :param max_percent: the maximum percentage of such objects among all objects of each kind
    :raises InvalidInput: if a value is out of range
    """

    kinds: frozenset[str] = frozenset()
    scope: tuple[str, ...] = ("*",)
    ignore: tuple[str, ...] = ()
    max_deletions: int = 0
    max_percent: float | None = None

    def __post_init__(self) -> None:
        if self.max_deletions < 0:
            raise InvalidInput(f"max_deletions: {self.max_deletions} is negative. Set 0 or more.")
        if self.max_percent is not None and not 0 <= self.max_percent <= 100:
            raise InvalidInput(
                f"max_delete_percent: {self.max_percent:g} is out of range. "
                "Set a number from 0 to 100."
            )
        for option, patterns in (("scope", self.scope), ("ignore", self.ignore)):
            if not all(pattern.strip() for pattern in patterns):
                raise InvalidInput(
                    f"{option}: A pattern is empty. Write one such as *@example.com."
                )

    def takes(self, kind: str, name: Name, addresses: Iterable[Name] = ()) -> bool:
        """Return whether to delete an undeclared object or alias.

        :param addresses: the object's other addresses; if one of them is ignored, the object is
            kept
        """
        return (
            kind in self.kinds
            and matches(name.key, self.scope)
            and not any(map(self.ignores, (name, *addresses)))
        )

    def ignores(self, name: Name) -> bool:
        """Return whether a name or an address matches a pattern in ``ignore``."""
        return matches(name.key, self.ignore)

    def idle_patterns(self, principals: Collection[Principal]) -> Iterator[Problem]:
        """Yield a warning for each pattern that matches no object and may be misspelled.

        A pattern with a wildcard domain, such as ``postmaster@*``, is skipped, because it may be
        intended for future objects.
        """
        for option, patterns in (("scope", self.scope), ("ignore", self.ignore)):
            for pattern in patterns:
                names = ({each.name, *each.addresses} for each in principals)
                if set("*?[") & set(pattern.rpartition("@")[2]):
                    continue
                if not any(matches(name.key, [pattern]) for each in names for name in each):
                    yield Problem("idle_pattern", {"option": option, "pattern": pattern})

    def exceeded_limits(
        self, deletions: Mapping[str, Collection[Name]], existing: Mapping[str, int]
    ) -> Iterator[Problem]:
        """Yield a problem for each limit that a plan exceeds.

        :param deletions: the objects that would be deleted although the definition does not name
            them, keyed by kind
        :param existing: the number of existing objects, keyed by kind
        """
        counts = Counter({kind: len(names) for kind, names in deletions.items() if names})
        total = sum(counts.values())
        if total > self.max_deletions:
            names = [f"{kind} {name}" for kind in KINDS for name in sorted(deletions.get(kind, ()))]
            numbers = [
                f"{counts[k]} {k if counts[k] == 1 else _PLURALS[k]}" for k in KINDS if counts[k]
            ]
            params = {
                "counts": " and ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1]))),
                "names": first_ten(names),
                "allowed": self.max_deletions,
                "total": total,
            }
            yield Problem("too_many_deletions", params, prerequisite=True)
        most = self.max_percent
        for kind, count in counts.items():
            percent = 100 * count / max(existing.get(kind, 0), 1)
            if most is not None and percent > most:
                params = {
                    "percent": percent,
                    "kinds": _PLURALS[kind],
                    "count": count,
                    "existing": existing[kind],
                    "allowed": most,
                }
                yield Problem("percentage_exceeded", params, prerequisite=True)
