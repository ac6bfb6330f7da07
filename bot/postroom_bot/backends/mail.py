# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service: looking, trying a wish out, carrying it out, setting a password.

Everything goes through the client core that the Ansible modules use, so that chat and playbooks
mean the same, survive the same faults and repair the same lost updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.backends.base import Done, ExecutionContext
from postroom_bot.backends.errors import in_plain_words
from postroom_bot.backends.plans import Intent, intent_of, no_domain, password_intent
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import Unavailable
from postroom_client import errors
from postroom_client.client.client import Client
from postroom_client.client.transport import Transport
from postroom_client.dns import rrset
from postroom_client.models import (
    Forwarder,
    Mailbox,
    Principal,
)
from postroom_client.names import (
    Name,
    parse_address,
    parse_domain,
)
from postroom_client.tenant.changes import Plan
from postroom_client.tenant.converge import apply_changes
from postroom_client.tenant.state import TenantState

#: Seconds for which the list of domains is believed.
_DOMAINS_KEEP = 60.0
#: Seconds that DNS records are proposed to live.
_TTL = 3600
#: The note of the addresses that a try is about to free.
FREEING = "freeing"

_ALIASES = (Action.ALIAS_ADD, Action.ALIAS_REMOVE)


class Forward(NamedTuple):
    """A forwarder as it is there: its address, and where mail goes on to, sorted."""

    address: str
    destinations: tuple[str, ...]


class DnsRecords(NamedTuple):
    """What to publish for a domain.

    :param records: each with ``type``, ``host``, ``fqdn``, ``ttl``, ``value`` and what its type
        adds, such as ``priority``
    :param zone: the same as lines for a zone file
    """

    domain: str
    records: tuple[Mapping[str, Any], ...]
    zone: str


class Mail:
    """One tenant of the mail service. Threads may share it.

    Every method that asks the service raises Unavailable where it gives no answer.

    :param url: the service's address
    :param token: of the tenant
    :param verify: whether its certificate has to be valid
    :param ca_path: a PEM file of the authorities to trust in place of the system's
    :param timeout: seconds for all of one call of a method here; a lease has to outlast it
    :param settle: seconds after which a change is looked at again, in case of another writer
    :param clock: tells the seconds
    :raises ValueError: the address, the token, the file or the time can't be used, in a sentence
    """

    def __init__(
        self,
        url: str,
        token: SecretStr,
        *,
        verify: bool = True,
        ca_path: str | None = None,
        timeout: float = 30.0,
        settle: float = 0.25,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout = timeout
        self._settle = settle
        self._clock = clock
        self._last_answer = "not asked"
        #: The domains and until when they are believed, in one: threads read and replace it.
        self._domains: tuple[frozenset[str], float] = (frozenset(), clock())
        try:
            self._transport = Transport(
                url, token.get_secret_value(), verify=verify, ca_path=ca_path
            )
            self._client()
        except errors.InvalidInput as error:
            raise ValueError(str(error)) from None

    def close(self) -> None:
        """Close every connection. No thread may be using one."""
        self._transport.close()

    @property
    def last_answer(self) -> str:
        """How the service took what it was asked last: ok, refused, unreachable, or not asked."""
        return self._last_answer

    def check(self, change: Change) -> bool:
        """Return whether carrying a wish out would change anything. Nothing is written.

        :param wish: with its mailbox
        :raises Rejected: it can't be carried out as things are
        """
        with self._asking(change.target):
            plan, _found = _look(self._client(), intent_of(change))
        return bool(plan.changes)

    def rehearse(self, request: Request) -> Done:
        """Return what carrying a request out would come to. Nothing is written.

        :return: ``changed`` tells whether anything is left to be done
        :raises Rejected: it can't be done
        """
        change = wish_of(request)
        with self._asking(change.target):
            return _prepare(self._client(), change, request.progress).outcome()

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the tenant what the request says.

        :raises Rejected: it can't be done
        :raises ValueError: it is a request for a password, which is never carried out unseen
        """
        change = wish_of(request)
        with self._asking(change.target):
            client = self._client()
            prepared = _prepare(client, change, request.progress)
            if prepared.plan.changes:
                context.renew()
                context.note({FREEING: prepared.freed})
                # One change, for one wish. Another writer may have been there just before.
                (result,) = apply_changes(client, prepared.plan)
                prepared = prepared._replace(stands=_standing(change, result.principal))
            return prepared.outcome()

    def set_password(self, mailbox: str, password: str) -> None:
        """Replace a mailbox's passwords by one.

        :raises Rejected: there is no such mailbox
        """
        with self._asking(mailbox):
            client = self._client()
            plan, _found = _look(client, password_intent(mailbox, password))
            apply_changes(client, plan)

    def aliases(self, mailbox: str) -> list[str] | None:
        """Return the further addresses of a mailbox, sorted, or None where it is none."""
        with self._asking(mailbox):
            found = self._client().find(parse_address(mailbox))
        return _keys(found.aliases) if isinstance(found, Mailbox) else None

    def mailbox_exists(self, name: str) -> bool:
        """Tell whether an address is a mailbox's own."""
        return self.aliases(name) is not None

    def mailboxes(self) -> frozenset[str]:
        """Return the names of all mailboxes."""
        return frozenset(e.name.key for e in self._individuals() if isinstance(e, Mailbox))

    def forwarders(self) -> list[Forward]:
        """Return all forwarders, sorted."""
        return sorted(
            Forward(each.name.key, tuple(_keys(each.members)))
            for each in self._individuals()
            if isinstance(each, Forwarder)
        )

    def domains(self) -> frozenset[str]:
        """Return the tenant's domains, as of a minute ago at most."""
        domains, until = self._domains
        if self._clock() >= until:
            with self._asking("the list"):
                found = self._client().list_principals("domain")
            domains = frozenset(each.name.key for each in found)
            self._domains = domains, self._clock() + _DOMAINS_KEEP
        return domains

    def dns(self, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain.

        :raises Rejected: it is no domain of this tenant
        """
        with self._asking(domain):
            try:
                found = self._client().dns_records(parse_domain(domain))
            except errors.NotFound:
                raise no_domain(domain) from None
        records = tuple(rrset.as_return_values(found, _TTL))
        return DnsRecords(
            found.domain.key, records, rrset.zone_text(rrset.wanted_sets(found, _TTL))
        )

    @contextmanager
    def _asking(self, subject: str) -> Iterator[None]:
        """Put errors into plain words, and remember how the service answered."""
        try:
            with in_plain_words(subject):
                yield
        except Unavailable as later:
            self._last_answer = "refused" if later.lasting else "unreachable"
            raise
        self._last_answer = "ok"

    def _individuals(self) -> list[Principal]:
        with self._asking("the list"):
            return self._client().list_principals("individual")

    def _client(self) -> Client:
        return Client(self._transport, verify_delay=self._settle, timeout=self._timeout)


def wish_of(request: Request) -> Change:
    """Return what a request asks for, with its mailbox.

    :raises ValueError: it is a request for a password, which is never carried out unseen
    """
    if request.change.action is Action.PASSWORD:
        raise ValueError("a password is set only while its owner is looking")
    if request.change.action in _ALIASES and not request.change.mailbox:
        return replace(request.change, mailbox=request.requester_mailbox)
    return request.change


class _Prepared(NamedTuple):
    """What is to be done, and what will be so afterwards.

    :param stands: as in Done
    :param freed: the addresses that deliver nowhere afterwards, and did before the first try
    """

    change: Change
    plan: Plan
    stands: Change
    freed: list[str]

    def outcome(self) -> Done:
        """Return what carrying it out comes to."""
        sentence = _sentence(self.change, self.stands)
        return Done(bool(self.plan.changes), sentence, self.stands, tuple(self.freed))


def _prepare(client: Client, change: Change, progress: Mapping[str, Any]) -> _Prepared:
    intent = intent_of(change)
    plan, after = _look(client, intent)
    # An earlier try may have freed some and gone down before it could say so.
    freed = {*_still_free(client, progress.get(FREEING, ())), *_freed(plan)}
    for planned in plan.changes:
        after = planned.after
    return _Prepared(change, plan, _standing(change, after), sorted(freed))


def _look(client: Client, intent: Intent) -> tuple[Plan, Principal | None]:
    """Return the plan, and what it is about as it is now.

    :raises Refused: the core sees an obstacle that nobody was told of
    """
    state = TenantState(client)
    plan, found = intent.plan(state), state.find(intent.name)
    if found is None and not plan.changes:
        # Not found is the answer of anything that is not the mail service, too.
        client.check_api()
    if plan.problems:
        raise errors.Refused(" ".join(problem.text for problem in plan.problems))
    return plan, found


def _freed(plan: Plan) -> list[str]:
    """Return the addresses that a plan frees."""
    return _keys({address for change in plan.changes for address in change.freed})


def _still_free(client: Client, addresses: Iterable[str]) -> list[str]:
    """Return those addresses that deliver nowhere now."""
    if not addresses:
        return []
    tenant = TenantState(principals=client.list_principals())
    return [each for each in addresses if tenant.owner_of(parse_address(each)) is None]


def _standing(change: Change, after: Principal | None) -> Change:
    if change.action in _ALIASES:
        return change
    if isinstance(after, Forwarder):
        destinations = tuple(_keys(after.members))
        return replace(change, action=Action.FORWARD_ADD, destinations=destinations)
    return replace(change, action=Action.FORWARD_REMOVE, destinations=())


def _sentence(change: Change, stands: Change) -> str:
    """Return what is so now, for the requester."""
    if change.action is Action.ALIAS_ADD:
        return f"`{change.target}` delivers to `{change.mailbox}`."
    if change.action is Action.ALIAS_REMOVE:
        return f"`{change.target}` no longer delivers to `{change.mailbox}`."
    if stands.action is Action.FORWARD_REMOVE:
        return f"Mail to `{change.target}` is no longer forwarded."
    named = ", ".join(f"`{each}`" for each in sorted(change.destinations))
    if change.action is Action.FORWARD_ADD:
        return f"Mail to `{change.target}` goes on to {named}."
    return f"Mail to `{change.target}` no longer goes on to {named}."


def _keys(names: Iterable[Name]) -> list[str]:
    return sorted(name.key for name in names)
