# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Purging: what may be deleted though nobody named it, and how much of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..errors import InvalidInput
from ..models import Domain, Forwarder, Mailbox, Principal
from ..names import Name, matcher
from .definition import Finding
from .plan_common import listed

ALIAS = "alias"
#: What can be purged, in the order in which it is shown.
KINDS = (ALIAS, Mailbox.kind, Forwarder.kind, Domain.kind)
_SEVERAL = {
    ALIAS: "aliases",
    Mailbox.kind: "mailboxes",
    Forwarder.kind: "forwarders",
    Domain.kind: "domains",
}


@dataclass(frozen=True, slots=True)
class PurgeRules:
    """What the administrator allows.

    :param kinds: which of KINDS
    :param scope: shell-style patterns; what matches none of them is left alone
    :param ignore: shell-style patterns; what matches one of them is left alone
    :param max_deletions: how many may go that are not named
    :param max_percent: how much of each kind may go, in percent of what there is
    :raises InvalidInput: one of them makes no sense
    """

    kinds: frozenset[str] = frozenset()
    scope: tuple[str, ...] = ("*",)
    ignore: tuple[str, ...] = ()
    max_deletions: int = 0
    max_percent: float | None = None

    def __post_init__(self) -> None:
        if self.max_deletions < 0:
            raise InvalidInput(
                f"max_deletions: {self.max_deletions} can't be used. Give 0 or more."
            )
        if self.max_percent is not None and not 0 <= self.max_percent <= 100:
            raise InvalidInput(
                f"max_delete_percent: {self.max_percent:g} can't be used. Give 0 to 100."
            )
        for option, patterns in (("scope", self.scope), ("ignore", self.ignore)):
            if not all(pattern.strip() for pattern in patterns):
                raise InvalidInput(
                    f"{option}: there is an empty pattern. Write one such as *@example.com."
                )


class Purge:
    """Rules, ready to be asked about each object of a tenant."""

    def __init__(self, rules: PurgeRules) -> None:
        self.rules = rules
        self._in_scope = matcher(rules.scope)
        self._is_ignored = matcher(rules.ignore)

    def takes(self, principal: Principal) -> bool:
        """Tell whether something undeclared is to go.

        What also holds an address that is to be left alone stays, and that address with it.
        """
        return (
            principal.kind in self.rules.kinds
            and self._in_scope(principal.name.key)
            and not any(map(self.ignores, {principal.name, *principal.addresses}))
        )

    def ignores(self, name: Name) -> bool:
        """Tell whether a name or an address is never to go without being named."""
        return self._is_ignored(name.key)

    def of_aliases(self, undeclared: Iterable[Name]) -> frozenset[Name]:
        """Return those of the undeclared aliases of something declared that are to go."""
        if ALIAS not in self.rules.kinds:
            return frozenset()
        return frozenset(
            alias for alias in undeclared if self._in_scope(alias.key) and not self.ignores(alias)
        )

    def idle_patterns(self, principals: Collection[Principal]) -> Iterator[str]:
        """Yield, as warnings, which patterns match nothing that is there, such as misspelt ones.

        One for any domain, such as ``postmaster@*``, may well wait for what it is to match.
        """
        for option, patterns in (("scope", self.rules.scope), ("ignore", self.rules.ignore)):
            for pattern in patterns:
                matches = matcher([pattern])
                names = ({p.name, *p.addresses} for p in principals)
                if set("*?[") & set(pattern.rpartition("@")[2]):
                    continue
                if not any(matches(name.key) for each in names for name in each):
                    yield (
                        f"{option}: {pattern} matches nothing in the tenant or in the plan. "
                        "Check its spelling."
                    )

    def findings(
        self, unnamed: Mapping[str, Collection[Name]], held: Mapping[str, int]
    ) -> Iterator[Finding]:
        """Yield which limits would be passed.

        :param unnamed: what would be deleted without being named, by kind
        :param held: how many there are, by kind
        """
        counts = Counter({kind: len(names) for kind, names in unnamed.items() if names})
        total = sum(counts.values())
        if total > self.rules.max_deletions:
            names = [f"{kind} {name}" for kind in KINDS for name in sorted(unnamed.get(kind, ()))]
            yield Finding(
                f"{_in_words(counts)} would be deleted without being named: {listed(names)}. "
                f"max_deletions allows {self.rules.max_deletions}. Look at the plan in check mode; "
                f"if it is right, set max_deletions to {total}, else narrow scope or declare them.",
                prerequisite=True,
            )
        yield from self._percentages(counts, held)

    def _percentages(self, counts: Counter[str], held: Mapping[str, int]) -> Iterator[Finding]:
        most = self.rules.max_percent
        for kind, count in counts.items():
            percent = 100 * count / max(held.get(kind, 0), 1)
            if most is not None and percent > most:
                yield Finding(
                    f"{percent:.3g} % of all {_SEVERAL[kind]} ({count} of {held[kind]}) would be "
                    f"deleted without being named. max_delete_percent allows {most:g}. Look at "
                    "the plan in check mode, and raise it only if the plan is right.",
                    prerequisite=True,
                )


def _in_words(counts: Counter[str]) -> str:
    parts = [
        f"{counts[kind]} {kind if counts[kind] == 1 else _SEVERAL[kind]}"
        for kind in KINDS
        if counts[kind]
    ]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
