# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Purging: which undeclared objects may be deleted, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..errors import InvalidInput
from ..models import ALIAS, SECTIONS, Domain, Forwarder, Mailbox, Principal
from ..names import Name, matcher
from .messages import Problem, listed

#: What can be purged, in the order in which it is shown.
KINDS = (ALIAS, Mailbox.kind, Forwarder.kind, Domain.kind)
_PLURALS = {ALIAS: "aliases", **SECTIONS}


@dataclass(frozen=True)
class Purge:
    """Which undeclared objects may be deleted. By default none.

    :param kinds: which of KINDS
    :param scope: shell-style patterns; only objects that match one of them are deleted
    :param ignore: shell-style patterns; objects that match one of them are kept
    :param max_deletions: how many objects may be deleted without being named
    :param max_percent: how much of each kind may be deleted, in percent of what exists
    :raises InvalidInput: a value is out of range
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
                f"max_delete_percent: {self.max_percent:g} is out of range. Set 0 to 100."
            )
        for option, patterns in (("scope", self.scope), ("ignore", self.ignore)):
            if not all(pattern.strip() for pattern in patterns):
                raise InvalidInput(
                    f"{option}: A pattern is empty. Write one such as *@example.com."
                )

    @cached_property
    def _in_scope(self) -> Callable[[str], bool]:
        return matcher(self.scope)

    @cached_property
    def _is_ignored(self) -> Callable[[str], bool]:
        return matcher(self.ignore)

    def takes(self, kind: str, name: Name, addresses: Iterable[Name] = ()) -> bool:
        """Return whether to delete an undeclared object or alias.

        :param addresses: its other addresses; an object with an ignored address is kept
        """
        return (
            kind in self.kinds
            and self._in_scope(name.key)
            and not any(map(self.ignores, (name, *addresses)))
        )

    def ignores(self, name: Name) -> bool:
        """Return whether a name or an address is never deleted without being named."""
        return self._is_ignored(name.key)

    def idle_patterns(self, principals: Collection[Principal]) -> Iterator[Problem]:
        """Yield a warning for each pattern that matches no object, such as a misspelt one.

        A pattern for any domain, such as ``postmaster@*``, may well wait for something to match.
        """
        for option, patterns in (("scope", self.scope), ("ignore", self.ignore)):
            for pattern in patterns:
                matches = matcher([pattern])
                names = ({each.name, *each.addresses} for each in principals)
                if set("*?[") & set(pattern.rpartition("@")[2]):
                    continue
                if not any(matches(name.key) for each in names for name in each):
                    yield Problem("idle_pattern", {"option": option, "pattern": pattern})

    def problems(
        self, unnamed: Mapping[str, Collection[Name]], held: Mapping[str, int]
    ) -> Iterator[Problem]:
        """Yield which limits a plan exceeds.

        :param unnamed: what would be deleted without being named, by kind
        :param held: how many objects exist, by kind
        """
        counts = Counter({kind: len(names) for kind, names in unnamed.items() if names})
        total = sum(counts.values())
        if total > self.max_deletions:
            names = [f"{kind} {name}" for kind in KINDS for name in sorted(unnamed.get(kind, ()))]
            numbers = [
                f"{counts[k]} {k if counts[k] == 1 else _PLURALS[k]}" for k in KINDS if counts[k]
            ]
            params = {
                "counts": " and ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1]))),
                "names": listed(names),
                "allowed": self.max_deletions,
                "total": total,
            }
            yield Problem("too_many_deletions", params, prerequisite=True)
        most = self.max_percent
        for kind, count in counts.items():
            percent = 100 * count / max(held.get(kind, 0), 1)
            if most is not None and percent > most:
                params = {
                    "percent": percent,
                    "kinds": _PLURALS[kind],
                    "count": count,
                    "held": held[kind],
                    "allowed": most,
                }
                yield Problem("percentage_exceeded", params, prerequisite=True)
