# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger of changes from chat as a definition, so that the next converge keeps them.

It is an additional definition file beside the administrator's own:

    definition_files: [tenant.yml, chat.json]

email_tenant merges both:

- If they contradict each other (the administrator's file still lists an alias that was removed from
  chat, or assigns an address to another mailbox), nothing is changed, and the error names both
  places. Correct the file, or change the ledger with another request.
- A forwarder has the members of both files. A destination that was removed from chat, but is still
  in the administrator's file, is added again: a definition can't declare a member absent.
- Mailboxes in the ledger are declared present, as long as they exist. If the administrator's file
  declares one absent, its aliases are removed, and that file deletes it.
- If aliases are purged, the purge includes the aliases of mailboxes in the ledger that are in
  neither file.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any

from postroom_bot.domain import Action, Change


def definition(
    changes: Iterable[Change], mailboxes: Container[str], zone: tzinfo = UTC
) -> dict[str, Any]:
    """Return the ledger as the data of a definition file, sorted.

    An alias that has expired keeps its end date, so the result does not depend on the time.

    :param changes: the changes in the ledger, the oldest first
    :param mailboxes: the existing mailboxes; changes of others are left out
    :param zone: the time zone in which the last day of an alias ends
    """
    aliases: dict[str, list[Any]] = {}
    forwarders: list[dict[str, Any]] = []
    for change in sorted(in_force(changes), key=lambda change: change.target):
        if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
            aliases.setdefault(change.mailbox or "", []).append(_alias(change, zone))
        else:
            forwarders.append(_forwarder(change))
    there = [name for name in sorted(aliases) if name in mailboxes]
    return {
        "mailboxes": [{"name": name, "aliases": aliases[name]} for name in there],
        "forwarders": forwarders,
    }


def in_force(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that no later one has replaced.

    The latest change of an address counts. But removing an alias from one mailbox does not affect
    other mailboxes, because anyone may request the removal of an address that was never theirs.

    :param changes: the oldest first
    """
    found: dict[str, list[Change]] = {}
    for change in changes:
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
