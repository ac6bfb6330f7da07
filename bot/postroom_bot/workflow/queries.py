# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Answer queries from the database and the mail service while the person waits.

The callers check the person's account with `People.caller`. Only approvers see other people's
mailboxes. The functions raise UserError or Rejected if there is no answer for this person, and
Unavailable if the mail service fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.backends.mail_api import Forward
from postroom_bot.domain import Person, Request
from postroom_bot.errors import Forbidden, UserError
from postroom_bot.policy.engine import is_approver
from postroom_bot.store import requests
from postroom_bot.workflow.dependencies import Dependencies


class AliasList(NamedTuple):
    """A mailbox and its aliases, sorted."""

    mailbox: str
    aliases: list[str]


def status(deps: Dependencies, user: str, request_id: str | None = None) -> list[Request]:
    """Return the person's latest requests, or only the request with this id."""
    if request_id is None:
        return deps.database.read(lambda c: requests.recent_by(c, user))
    found = deps.database.read(lambda c: requests.get(c, request_id))
    if found is None or found.requester != user:
        raise UserError("request.unknown", request=request_id)
    return [found]


def aliases(deps: Dependencies, person: Person, mailbox: str | None = None) -> AliasList:
    """Return the aliases of a mailbox.

    :param mailbox: the mailbox; None for the person's own
    """
    wanted = mailbox or person.mailbox
    if wanted is None:
        raise UserError(person.mailbox_obstacle or "mailbox.unknown")
    if wanted != person.mailbox and not is_approver(deps.policy(), person):
        raise Forbidden("mailbox.private")
    with deps.mail_slot():
        found = deps.mail.aliases(wanted)
    if found is None:
        raise UserError("mailbox.missing", mailbox=wanted)
    return AliasList(wanted, found)


def forwarders(deps: Dependencies, person: Person) -> list[Forward]:
    """Return the forwarders to the person's own mailbox, or all of them for approvers."""
    with deps.mail_slot():
        found = deps.mail.individuals().forwarders
    if is_approver(deps.policy(), person):
        return found
    return [one for one in found if person.mailbox in one.destinations]


def dns(deps: Dependencies, domain: str) -> list[Mapping[str, Any]]:
    """Return the DNS records to publish for a domain. They are public."""
    with deps.mail_slot():
        return deps.mail.dns(domain)
