# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service: queries, rehearsal and execution of changes, and new passwords.

All calls go through the client core of the Ansible modules, so that the bot and playbooks have the
same semantics, tolerate the same faults and repair the same lost updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.backends.base import Done, ExecutionContext, translated
from postroom_bot.backends.plans import plan_change, plan_password
from postroom_bot.config import Settings
from postroom_bot.domain import Action, Change, Reason, Request
from postroom_bot.errors import Rejected, StartError, Unavailable
from postroom_client import errors
from postroom_client.client.client import Client
from postroom_client.client.transport import Transport
from postroom_client.dns.notations import as_return_values
from postroom_client.models import Forwarder, Mailbox, Principal
from postroom_client.names import Name, parse_address, parse_domain
from postroom_client.tenant.converge_object import apply_changes
from postroom_client.tenant.plan import Plan
from postroom_client.tenant.state import TenantState

#: How many seconds the list of domains is cached.
_DOMAINS_TTL = 60.0
#: The TTL of proposed DNS records, in seconds.
_RECORD_TTL = 3600
#: The key of the note that lists the addresses that an attempt is about to free.
FREEING = "freeing"

_ALIASES = (Action.ALIAS_ADD, Action.ALIAS_REMOVE)


class Forward(NamedTuple):
    """A forwarder, with its address and its sorted destinations."""

    address: str
    destinations: tuple[str, ...]


class DnsRecords(NamedTuple):
    """The DNS records to publish for a domain.

    :param records: mappings with ``type``, ``host``, ``fqdn``, ``ttl``, ``value`` and fields of
        the type, such as ``priority``
    """

    domain: str
    records: tuple[Mapping[str, Any], ...]


class Mail:
    """A tenant of the mail service. Thread-safe.

    Every method that calls the service may raise Unavailable.

    :param url: the URL of the service
    :param token: the token of the tenant
    :param verify: whether to verify the certificate of the service
    :param ca_path: a PEM file of certificate authorities to trust instead of the system's
    :param timeout: the timeout for each method call, in seconds; leases last longer
    :param settle: how many seconds after a change to verify it, in case of a concurrent writer
    :param clock: a function that returns monotonic seconds
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
        #: The result of the last call: ok, refused or unreachable; "not asked" before the first.
        self.last_answer = "not asked"
        #: The cached domains and their expiry, in one tuple, which threads replace atomically.
        self._domains: tuple[frozenset[str], float] = (frozenset(), clock())
        try:
            self._transport = Transport(
                url, token.get_secret_value(), verify=verify, ca_path=ca_path
            )
            self._client()
        except errors.InvalidInput as error:
            raise ValueError(str(error)) from None

    def close(self) -> None:
        """Close all connections. Other threads must no longer use the client."""
        self._transport.close()

    def check(self, change: Change) -> bool:
        """Return whether executing a change would change anything. Writes nothing.

        :param change: the change, including its mailbox
        :raises Rejected: the change can't be made
        """
        with self._asking(change.target):
            plan, _found = _plan(self._client(), change)
        return bool(plan.changes)

    def rehearse(self, request: Request) -> Done:
        """Return the result that executing a request would have. Writes nothing.

        :returns: the result, in which ``changed`` is True if anything is left to do
        :raises Rejected: the change can't be made
        """
        return self._execute(request, None)

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the requested change.

        :raises Rejected: the change can't be made
        :raises ValueError: the request is for a password; `set_password` sets these
        """
        return self._execute(request, context)

    def _execute(self, request: Request, context: ExecutionContext | None) -> Done:
        change = request.change
        with self._asking(change.target):
            client = self._client()
            plan, current = _plan(client, change)
            # An earlier attempt may have freed addresses and crashed before it could report them.
            freed = {key for one in plan.changes for key in _keys(one.freed)}
            if noted := request.progress.get(FREEING, ()):
                tenant = TenantState(principals=client.list_principals())
                freed |= {each for each in noted if tenant.owner_of(parse_address(each)) is None}
            # A plan for one object has at most one change.
            after = plan.changes[0].after if plan.changes else current
            if context is not None and plan.changes:
                context.renew()
                context.note({FREEING: sorted(freed)})
                # A concurrent writer may have changed the object since it was planned.
                (result,) = apply_changes(client, plan)
                after = result.principal
        reason, ledger = _outcome(change, after)
        return Done(bool(plan.changes), reason, ledger, tuple(sorted(freed)))

    def set_password(self, mailbox: str, password: str) -> None:
        """Replace a mailbox's passwords with a new one.

        :raises Rejected: the mailbox does not exist
        """
        with self._asking(mailbox):
            client = self._client()
            name = parse_address(mailbox)
            apply_changes(client, _checked(plan_password(TenantState(client), name, password)))

    def aliases(self, mailbox: str) -> list[str] | None:
        """Return the aliases of a mailbox, sorted, or None if the mailbox does not exist."""
        with self._asking(mailbox):
            found = self._client().find(parse_address(mailbox))
        return _keys(found.aliases) if isinstance(found, Mailbox) else None

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
        """Return the tenant's domains, which are cached for a minute."""
        domains, until = self._domains
        if self._clock() >= until:
            with self._asking("the list"):
                found = self._client().list_principals("domain")
            domains = frozenset(each.name.key for each in found)
            self._domains = domains, self._clock() + _DOMAINS_TTL
        return domains

    def dns(self, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain.

        :raises Rejected: the tenant does not have the domain
        """
        with self._asking(domain):
            try:
                found = self._client().dns_records(parse_domain(domain))
            except errors.NotFound:
                raise Rejected("domain.missing", domain=domain) from None
        return DnsRecords(found.domain.key, tuple(as_return_values(found, _RECORD_TTL)))

    @contextmanager
    def _asking(self, subject: str) -> Iterator[None]:
        """Translate the client core's errors, and update `last_answer`."""
        try:
            with translated(subject):
                yield
        except Unavailable as later:
            self.last_answer = "refused" if later.lasting else "unreachable"
            raise
        self.last_answer = "ok"

    def _individuals(self) -> list[Principal]:
        with self._asking("the list"):
            return self._client().list_principals("individual")

    def _client(self) -> Client:
        return Client(self._transport, verify_delay=self._settle, timeout=self._timeout)


def mail_of(settings: Settings, resources: ExitStack) -> Mail:
    """Return a client for the tenant in the settings, to be closed by `resources`.

    :raises StartError: a setting is invalid
    """
    try:
        mail = Mail(
            settings.api_url,
            settings.api_token,
            verify=settings.validate_certs,
            ca_path=str(settings.ca_path) if settings.ca_path else None,
            timeout=settings.timeout,
        )
    except ValueError as error:
        raise StartError(f"the mail service can't be used: {error}") from None
    resources.callback(mail.close)
    return mail


def _plan(client: Client, change: Change) -> tuple[Plan, Principal | None]:
    """Return the plan of a change and the current state of its object."""
    tenant = TenantState(client)
    name, plan = plan_change(tenant, change)
    found = tenant.find(name)
    if found is None and not plan.changes:
        # A server that is not the mail API would respond with "not found", too.
        client.check_api()
    return _checked(plan), found


def _checked(plan: Plan) -> Plan:
    """Return the plan, or raise Refused if it has problems that `plans` did not detect."""
    if plan.problems:
        raise errors.Refused(" ".join(problem.text for problem in plan.problems))
    return plan


def _outcome(change: Change, after: Principal | None) -> tuple[Reason, Change]:
    """Return the new state as a reason for the requester, and the change for the ledger."""
    params: dict[str, Any] = {"address": change.target}
    if change.action in _ALIASES:
        params["mailbox"] = change.mailbox
        added = change.action is Action.ALIAS_ADD
        return Reason("alias.added" if added else "alias.removed", params), change
    if not isinstance(after, Forwarder):
        ledger = replace(change, action=Action.FORWARD_REMOVE, destinations=())
        return Reason("forward.removed", params), ledger
    params["destinations"] = sorted(change.destinations)
    added = change.action is Action.FORWARD_ADD
    members = tuple(_keys(after.members))
    ledger = replace(change, action=Action.FORWARD_ADD, destinations=members)
    return Reason("forward.added" if added else "forward.reduced", params), ledger


def _keys(names: Iterable[Name]) -> list[str]:
    return sorted(name.key for name in names)
