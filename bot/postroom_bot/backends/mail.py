# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service: queries, rehearsal and execution of changes, and new passwords.

Everything goes through the client core that the Ansible modules use, so that the bot and playbooks
have the same semantics, survive the same faults and repair the same lost updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.backends.base import Done, ExecutionContext
from postroom_bot.backends.errors import translated
from postroom_bot.backends.plans import Intent, intent_of, password_intent
from postroom_bot.domain import Action, Change, Reason, Request
from postroom_bot.errors import Rejected, Unavailable
from postroom_client import errors
from postroom_client.client.client import Client
from postroom_client.client.transport import Transport
from postroom_client.dns import rrset
from postroom_client.models import Forwarder, Mailbox, Principal
from postroom_client.names import Name, parse_address, parse_domain
from postroom_client.tenant.changes import Plan
from postroom_client.tenant.converge_object import apply_changes
from postroom_client.tenant.state import TenantState

#: Seconds for which the list of domains is cached.
_DOMAINS_TTL = 60.0
#: The TTL of proposed DNS records, in seconds.
_RECORD_TTL = 3600
#: The key of the note that lists the addresses an attempt is about to free.
FREEING = "freeing"

_ALIASES = (Action.ALIAS_ADD, Action.ALIAS_REMOVE)


class Forward(NamedTuple):
    """A forwarder: its address and its destinations, sorted."""

    address: str
    destinations: tuple[str, ...]


class DnsRecords(NamedTuple):
    """The DNS records to publish for a domain.

    :param records: each with ``type``, ``host``, ``fqdn``, ``ttl``, ``value`` and what its type
        adds, such as ``priority``
    :param zone: the same as lines for a zone file
    """

    domain: str
    records: tuple[Mapping[str, Any], ...]
    zone: str


class Mail:
    """One tenant of the mail service. Threads may share it.

    Every method that calls the service may raise Unavailable.

    :param url: the service's URL
    :param token: of the tenant
    :param verify: whether to verify its certificate
    :param ca_path: a PEM file of trusted authorities in place of the system's
    :param timeout: seconds for one call of a method here; leases last longer
    :param settle: seconds after which a change is verified, in case of a concurrent writer
    :param clock: monotonic seconds
    :raises ValueError: the URL, token, file or timeout is invalid
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
        #: The domains and when they expire, in one tuple that threads replace.
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
        """The service's last answer: ok, refused, unreachable, or not asked."""
        return self._last_answer

    def check(self, change: Change) -> bool:
        """Return whether executing a change would change anything. Nothing is written.

        :param change: with its mailbox
        :raises Rejected: the change can't be made
        """
        with self._asking(change.target):
            plan, _found = _look(self._client(), intent_of(change))
        return bool(plan.changes)

    def rehearse(self, request: Request) -> Done:
        """Return what executing a request would result in. Nothing is written.

        :return: ``changed`` is whether there is anything left to do
        :raises Rejected: the change can't be made
        """
        change = change_of(request)
        with self._asking(change.target):
            return _prepare(self._client(), change, request.progress).outcome()

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the requested change.

        :raises Rejected: the change can't be made
        :raises ValueError: it is a request for a password, which only its owner's click executes
        """
        change = change_of(request)
        with self._asking(change.target):
            client = self._client()
            prepared = _prepare(client, change, request.progress)
            if prepared.plan.changes:
                context.renew()
                context.note({FREEING: prepared.freed})
                # A plan for one object has one change. Another writer may have come first.
                (result,) = apply_changes(client, prepared.plan)
                prepared = prepared._replace(ledger=_ledger_entry(change, result.principal))
            return prepared.outcome()

    def set_password(self, mailbox: str, password: str) -> None:
        """Replace a mailbox's passwords with a new one.

        :raises Rejected: there is no such mailbox
        """
        with self._asking(mailbox):
            client = self._client()
            plan, _found = _look(client, password_intent(mailbox, password))
            apply_changes(client, plan)

    def aliases(self, mailbox: str) -> list[str] | None:
        """Return the aliases of a mailbox, sorted, or None if there is no such mailbox."""
        with self._asking(mailbox):
            found = self._client().find(parse_address(mailbox))
        return _keys(found.aliases) if isinstance(found, Mailbox) else None

    def mailbox_exists(self, name: str) -> bool:
        """Return whether an address is the name of a mailbox."""
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
        """Return the tenant's domains, at most a minute old."""
        domains, until = self._domains
        if self._clock() >= until:
            with self._asking("the list"):
                found = self._client().list_principals("domain")
            domains = frozenset(each.name.key for each in found)
            self._domains = domains, self._clock() + _DOMAINS_TTL
        return domains

    def dns(self, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain.

        :raises Rejected: the tenant does not have it
        """
        with self._asking(domain):
            try:
                found = self._client().dns_records(parse_domain(domain))
            except errors.NotFound:
                raise Rejected("domain.missing", domain=domain) from None
        records = tuple(rrset.as_return_values(found, _RECORD_TTL))
        return DnsRecords(
            found.domain.key, records, rrset.zone_text(rrset.wanted_sets(found, _RECORD_TTL))
        )

    @contextmanager
    def _asking(self, subject: str) -> Iterator[None]:
        """Translate errors, and remember the service's last answer."""
        try:
            with translated(subject):
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


def change_of(request: Request) -> Change:
    """Return the requested change with its mailbox.

    :raises ValueError: it is a request for a password, which only its owner's click executes
    """
    if request.change.action is Action.PASSWORD:
        raise ValueError("a password is set only when its owner clicks")
    if request.change.action in _ALIASES and not request.change.mailbox:
        return replace(request.change, mailbox=request.requester_mailbox)
    return request.change


class _Prepared(NamedTuple):
    """A plan and its outcome.

    :param ledger: as in Done
    :param freed: the addresses that deliver nowhere afterwards, and did before the first attempt
    """

    change: Change
    plan: Plan
    ledger: Change
    freed: list[str]

    def outcome(self) -> Done:
        """Return the outcome of executing the plan."""
        result = _result(self.change, self.ledger)
        return Done(bool(self.plan.changes), result, self.ledger, tuple(self.freed))


def _prepare(client: Client, change: Change, progress: Mapping[str, Any]) -> _Prepared:
    intent = intent_of(change)
    plan, after = _look(client, intent)
    # An earlier attempt may have freed some and crashed before it could report that.
    freed = {key for one in plan.changes for key in _keys(one.freed)}
    if noted := progress.get(FREEING, ()):
        tenant = TenantState(principals=client.list_principals())
        freed |= {each for each in noted if tenant.owner_of(parse_address(each)) is None}
    for planned in plan.changes:
        after = planned.after
    return _Prepared(change, plan, _ledger_entry(change, after), sorted(freed))


def _look(client: Client, intent: Intent) -> tuple[Plan, Principal | None]:
    """Return the plan and the current state of its object.

    :raises Refused: the core reports a problem that `plans` did not detect
    """
    state = TenantState(client)
    plan, found = intent.plan(state), state.find(intent.name)
    if found is None and not plan.changes:
        # Any server that is not the mail API would answer "not found", too.
        client.check_api()
    if plan.problems:
        raise errors.Refused(" ".join(problem.text for problem in plan.problems))
    return plan, found


def _ledger_entry(change: Change, after: Principal | None) -> Change:
    if change.action in _ALIASES:
        return change
    if isinstance(after, Forwarder):
        destinations = tuple(_keys(after.members))
        return replace(change, action=Action.FORWARD_ADD, destinations=destinations)
    return replace(change, action=Action.FORWARD_REMOVE, destinations=())


def _result(change: Change, ledger: Change) -> Reason:
    """Return the new state, for the requester."""
    address = {"address": change.target}
    if change.action is Action.ALIAS_ADD:
        return Reason("alias.added", {**address, "mailbox": change.mailbox})
    if change.action is Action.ALIAS_REMOVE:
        return Reason("alias.removed", {**address, "mailbox": change.mailbox})
    if ledger.action is Action.FORWARD_REMOVE:
        return Reason("forward.removed", address)
    params = {**address, "destinations": sorted(change.destinations)}
    added = change.action is Action.FORWARD_ADD
    return Reason("forward.added" if added else "forward.reduced", params)


def _keys(names: Iterable[Name]) -> list[str]:
    return sorted(name.key for name in names)
