# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Find forwarding loops and the order in which forwarders can change without creating one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from ..models import Forwarder
from ..names import Name

_MAX_SHOWN = 10

#: The forwarders to which each forwarder sends mail, keyed by name.
Graph = Mapping[Name, Iterable[Name]]


def forwarding_graph(forwarders: Iterable[Forwarder]) -> dict[Name, set[Name]]:
    """Return the graph of these forwarders."""
    forwarders = list(forwarders)
    owners = {address: each.name for each in forwarders for address in each.addresses}
    return {
        each.name: {owners[member] for member in each.members if member in owners}
        for each in forwarders
    }


def find_cycle(graph: Graph) -> list[Name] | None:
    """Return the names on a loop in the direction of mail, with the first repeated at the end."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[Name] = error.args[1][::-1]
        return cycle
    return None


def find_new_cycles(before: Graph, after: Graph) -> list[list[Name]]:
    """Return loops in ``after`` that are not in ``before``.

    Each forwarder is in at most one of the returned loops.
    """
    if find_cycle(after) is None:
        return []
    cycles: list[list[Name]] = []
    reported: set[Name] = set()
    for source, targets in after.items():
        for target in sorted(set(targets).difference(before.get(source, ()))):
            way = None if source in reported else _find_way(after, target, source)
            if way is not None:
                cycles.append([source, *way])
                reported.update(way)
    return cycles


def starting_at(start: Name, cycle: Sequence[Name]) -> list[Name]:
    """Return the loop ``cycle``, rotated so that it starts at ``start``."""
    at = cycle.index(start)
    return [*cycle[at:-1], *cycle[:at], start]


def describe_cycle(cycle: Sequence[Name]) -> str:
    """Return a loop as ``a -> b -> a``, shortened in the middle if it is long."""
    more = len(cycle) - _MAX_SHOWN
    if more > 0:
        return " -> ".join([*map(str, cycle[: _MAX_SHOWN - 1]), f"{more} more", str(cycle[-1])])
    return " -> ".join(map(str, cycle))


def _find_way(graph: Graph, start: Name, end: Name) -> list[Name] | None:
    """Return the path of mail from one forwarder to another, including both, or None."""
    came_from = {start: start}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == end:
            way = [here]
            while way[-1] != start:
                way.append(came_from[way[-1]])
            return way[::-1]
        onward = [name for name in graph[here] if name not in came_from]
        came_from |= dict.fromkeys(onward, here)
        waiting.extend(onward)
    return None


def levels(graph: Graph) -> dict[Name, int]:
    """Return the length of the longest forwarding chain that starts at each forwarder.

    :param graph: a graph without loops
    """
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    found: dict[Name, int] = {}
    level = 0
    while sorter.is_active():
        ready = sorter.get_ready()
        found |= dict.fromkeys(ready, level)
        sorter.done(*ready)
        level += 1
    return found
