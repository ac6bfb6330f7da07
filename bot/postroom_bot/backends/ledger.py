# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What chat has changed, as a definition: so that the next converge keeps it.

It is one more file beside the administrator's own:

    definition_files: [tenant.yml, chat.json]

email_tenant reads both as one, so that each has its say and neither is overruled in silence:

- Where they contradict each other (the administrator's file still lists an alias that chat has
  removed, or gives an address to somebody else), nothing is changed and the message names both
  places. One of the two has to be corrected: the file, or by another request the ledger.
- The members of a forwarder are those of both files together. A destination that chat has removed
  and the administrator's file still lists comes back; no definition can say that it is not to be.
- A mailbox that is named here is declared to be there. One that is deleted by hand is named no
  longer from then on; one that the administrator's file is to delete has its aliases removed and
  is deleted by that file alone.
- Where aliases are purged, a mailbox that is named here has its aliases declared, and those that
  neither file lists are purged.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any

from postroom_bot.domain import Action, Change


def definition(
    changes_made: Iterable[Change], mailboxes: Container[str], zone: tzinfo = UTC
) -> dict[str, Any]:
    """Return what chat wants of the tenant, in the shape of a definition file, sorted.

    An alias that has ended stays with its end, and is absent by it. Nothing depends on the time.

    :param wishes: the changes in the ledger, the oldest first, each as in ``Done.stands``
    :param mailboxes: those that are there; what is said of any other is left out
    :param zone: in which the last day of an alias ends
    """
    aliases: dict[str, list[Any]] = {}
    forwarders: list[dict[str, Any]] = []
    for change in sorted(in_force(changes_made), key=lambda change: change.target):
        if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
            aliases.setdefault(change.mailbox or "", []).append(_alias(change, zone))
        else:
            forwarders.append(_forwarder(change))
    there = [name for name in sorted(aliases) if name in mailboxes]
    return {
        "mailboxes": [{"name": name, "aliases": aliases[name]} for name in there],
        "forwarders": forwarders,
    }


def in_force(changes_made: Iterable[Change]) -> list[Change]:
    """Return those wishes that no later one has overruled.

    Of those about one address the latest counts. Only an alias that is taken from one mailbox says
    nothing of what others have: anybody may ask to be rid of an address that was never theirs.

    :param wishes: the oldest first
    """
    found: dict[str, list[Change]] = {}
    for change in changes_made:
        before = found.get(change.target, ()) if change.action is Action.ALIAS_REMOVE else ()
        found[change.target] = [*(one for one in before if one.mailbox != change.mailbox), change]
    return [change for about_one in found.values() for change in about_one]


def _alias(change: Change, zone: tzinfo) -> Any:
    if change.action is Action.ALIAS_REMOVE:
        return {"address": change.target, "state": "absent"}
    if change.expires_on is not None:
        end = datetime.combine(change.expires_on + timedelta(days=1), time(), zone)
        return {"address": change.target, "expires": end.isoformat()}
    return change.target


def _forwarder(change: Change) -> dict[str, Any]:
    if change.action is Action.FORWARD_REMOVE:
        return {"name": change.target, "state": "absent"}
    return {"name": change.target, "members": sorted(change.destinations)}
