# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decide whether approvals meet a quorum, and which groups and voters count for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from postroom_bot.domain import Person, Quorum, Request


def quorum_met(quorum: Sequence[Quorum], voters: Iterable[Collection[str]]) -> bool:
    """Return whether approvals meet a quorum. Each approval counts for only one group.

    By Hall's theorem, the approvals meet the quorum if no subset of its groups needs more approvals
    than the members of these groups have given.

    :param voters: the groups of each voter
    """
    members = [frozenset(groups) for groups in voters]
    for size in range(1, len(quorum) + 1):
        for chosen in combinations(quorum, size):
            names = {one.group for one in chosen}
            have = sum(1 for groups in members if groups & names)
            if have < sum(one.approvals for one in chosen):
                return False
    return True


def groups_of(request: Request, voter: Person) -> frozenset[str]:
    """Return the quorum's groups to which the voter belongs."""
    return voter.groups & {one.group for one in request.quorum}


def is_own(request: Request, voter: Person) -> bool:
    """Return whether the voter has the requester's Slack id or mailbox."""
    same_mailbox = voter.mailbox is not None and voter.mailbox == request.requester_mailbox
    return voter.user == request.requester or same_mailbox
