# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The client for the mail API, which answers queries, sets passwords and executes changes.

All calls use the client core of the Ansible modules, so the bot and the playbooks interpret
responses, retry calls and detect lost updates in the same way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.backends.executor import BEFORE, FREEING, ExecutionContext, Outcome
from postroom_bot.backends.mail_plans import plan_change, require_mailbox, require_no_problems
from postroom_bot.config import Settings
from postroom_bot.domain import Change, Reason, Request
from postroom_bot.errors import Rejected, StartError, Unavailable
from postroom_bot.shared_answers import SharedAnswers
from postroom_client import errors
from postroom_client.client.client import Client
from postroom_client.client.transport import Transport
from postroom_client.dns.notations import as_return_values
from postroom_client.models import Forwarder, Mailbox, Principal
from postroom_client.names import Name, parse_address, parse_domain
from postroom_client.tenant.converge_object import apply_changes
from postroom_client.tenant.declared import DeclaredMailbox, Passwords, definition_of
from postroom_client.tenant.plan import Plan
from postroom_client.tenant.planner import plan_tenant
from postroom_client.tenant.state import TenantState

#: How many seconds the list of domains is cached.
_DOMAINS_TTL = 60.0
#: How old the list of the tenant may be for a plan, in seconds. The service itself rejects an
#: address that has been taken meanwhile.
_LIST_AGE = 10.0
#: The TTL of proposed DNS records, in seconds.
_RECORD_TTL = 3600

_log = logging.getLogger(__name__)


class _Planned(NamedTuple):
    """A plan, the principal that it changes, and the addresses that are free afterwards."""

    plan: Plan
    current: Principal | None
    freed: set[str]


class Forward(NamedTuple):
    """A forwarder, with its address and its sorted destinations."""

    address: str
    destinations: tuple[str, ...]


class Individuals(NamedTuple):
    """The names of all mailboxes, and all forwarders, sorted."""

    mailboxes: frozenset[str]
    forwarders: list[Forward]


class MailApi:
    """A thread-safe client for one tenant of the mail service, and an executor of changes.

    Every method that calls the service may raise Unavailable.

    :param ca_path: a PEM file of certificate authorities to trust instead of the system's
    :param timeout: the timeout for each method call, in seconds, which must be shorter than a lease
    :param verify_delay: how many seconds to wait before verifying a change, in case another
        client overwrites it
    :param clock: a function that returns monotonic seconds
    :raises ValueError: if the URL, token, file or timeout is invalid
    """

    def __init__(
        self,
        url: str,
        token: SecretStr,
        *,
        verify: bool = True,
        ca_path: str | None = None,
        timeout: float = 30.0,
        verify_delay: float = 0.25,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout = timeout
        self._verify_delay = verify_delay
        self._clock = clock
        #: The result of the last call: ok, refused or unreachable, or "not asked" before the first
        #: call.
        self.last_answer = "not asked"
        self._domains = SharedAnswers[frozenset[str]](clock)
        self._lists = SharedAnswers[TenantState](clock)
        try:
            self._transport = Transport(
                url, token.get_secret_value(), verify=verify, ca_path=ca_path
            )
            self._client()
        except errors.InvalidInput as error:
            raise ValueError(str(error)) from None

    def close(self) -> None:
        """Close all connections. Call this only when no other thread uses the client."""
        self._transport.close()

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Make the requested change.

        :raises Rejected: if the change can't be made
        :raises ValueError: if the request is for a password
        """
        return self._plan_and_apply(request.change, request.notes, context)

    def preview(self, change: Change, notes: Mapping[str, Any] | None = None) -> Outcome:
        """Return the outcome of a change without making the change.

        :param change: the change, including its mailbox
        :param notes: the notes of an earlier attempt
        :returns: the outcome, with ``changed`` set if anything is left to do
        :raises Rejected: if the change can't be made
        :raises ValueError: if the change is a new password
        """
        return self._plan_and_apply(change, notes or {})

    def _plan_and_apply(
        self, change: Change, notes: Mapping[str, Any], context: ExecutionContext | None = None
    ) -> Outcome:
        """Plan a change, and make it if a context is given."""
        with self._translating_errors(change.target):
            client = self._client()
            planned = self._plan(client, change, notes)
            changes = planned.plan.changes
            before = frozenset(notes.get(BEFORE, _deliveries(change, planned.current)))
            # A plan for one object has at most one change.
            after = changes[0].after if changes else planned.current
            if context is not None and changes:
                context.renew()
                context.save_notes({FREEING: sorted(planned.freed), BEFORE: sorted(before)})
                try:
                    # Another client may have changed the object since the change was planned.
                    (result,) = apply_changes(client, planned.plan)
                finally:
                    self._lists.forget()
                after = result.principal
        return Outcome(
            changed=bool(changes),
            result=_result_of(change, after),
            before=before,
            after=_deliveries(change, after),
            freed=tuple(sorted(planned.freed)),
        )

    def deliveries(self, change: Change) -> frozenset[str]:
        """Return the destinations of a forwarder, or the mailbox of an alias if it has the alias.

        :param change: any change to the alias or the forwarder
        """
        with self._translating_errors(change.target):
            name = change.mailbox if change.action.is_alias else change.target
            return _deliveries(change, self._client().find(parse_address(name or "")))

    def _plan(self, client: Client, change: Change, notes: Mapping[str, Any]) -> _Planned:
        """Plan a change with the shared list, or with a new one if it seems impossible."""
        began = self._clock()
        try:
            return self._plan_once(client, change, notes, since=began - _LIST_AGE)
        except (Rejected, errors.Refused, errors.BadAnswer):
            return self._plan_once(client, change, notes, since=began)

    def _plan_once(
        self, client: Client, change: Change, notes: Mapping[str, Any], *, since: float
    ) -> _Planned:
        tenant = self._state(client, since)
        name, plan = plan_change(tenant, change)
        current = tenant.find(name)
        if current is None and not plan.changes:
            # A server that is not the mail API would also return "not found".
            client.check_api()
        require_no_problems(plan)
        # An earlier attempt may have freed addresses and crashed before it could report them.
        freed = {key for one in plan.changes for key in _sorted_keys(one.freed)}
        if noted := notes.get(FREEING, ()):
            tenant = TenantState(principals=client.list_principals())
            freed |= {each for each in noted if tenant.owner_of(parse_address(each)) is None}
        return _Planned(plan, current, freed)

    def _state(self, client: Client, since: float) -> TenantState:
        """Return the tenant's state, which shares a list of the tenant with other changes.

        With 100,000 mailboxes, a list takes seconds and 150 MB.

        :param since: the earliest time at which the list may have been requested
        """

        def read() -> TenantState:
            return TenantState(principals=client.list_principals())

        return TenantState(client, list_tenant=lambda: self._lists.get(read, since=since))

    def set_password(self, mailbox: str, password: str) -> None:
        """Replace all of a mailbox's passwords with a new password.

        :param password: a valid password, such as from ``passwords.new_password``
        :raises Rejected: if the mailbox does not exist
        """
        with self._translating_errors(mailbox):
            client, name = self._client(), parse_address(mailbox)
            tenant = self._state(client, self._clock() - _LIST_AGE)
            declared = definition_of(DeclaredMailbox(name))
            require_mailbox(tenant, name)
            passwords = Passwords({name: (password,)}, replace=True)
            plan = plan_tenant(tenant, declared, passwords=passwords)
            apply_changes(client, require_no_problems(plan))

    def aliases(self, mailbox: str) -> list[str] | None:
        """Return the aliases of a mailbox, sorted, or None if the mailbox does not exist."""
        with self._translating_errors(mailbox):
            found = self._client().find(parse_address(mailbox))
        return _sorted_keys(found.aliases) if isinstance(found, Mailbox) else None

    def individuals(self) -> Individuals:
        """Return all mailboxes and forwarders, from one list that is read now."""
        with self._translating_errors("the list"):
            listed = self._client().list_principals("individual")
        mailboxes = frozenset(one.name.key for one in listed if isinstance(one, Mailbox))
        forwarders = sorted(
            Forward(one.name.key, tuple(_sorted_keys(one.members)))
            for one in listed
            if isinstance(one, Forwarder)
        )
        return Individuals(mailboxes, forwarders)

    def domains(self) -> frozenset[str]:
        """Return the tenant's domains, which are cached for a minute."""

        def read() -> frozenset[str]:
            with self._translating_errors("the list"):
                found = self._client().list_principals("domain")
            return frozenset(each.name.key for each in found)

        return self._domains.get(read, since=self._clock() - _DOMAINS_TTL)

    def dns(self, domain: str) -> list[Mapping[str, Any]]:
        """Return the DNS records to publish for a domain.

        :returns: mappings with ``type``, ``host``, ``fqdn``, ``ttl``, ``value`` and fields of the
            type, such as ``priority``
        :raises Rejected: if the tenant does not have the domain
        """
        with self._translating_errors(domain):
            try:
                found = self._client().dns_records(parse_domain(domain))
            except errors.NotFound:
                raise Rejected("domain.missing", domain=domain) from None
        return list(as_return_values(found, _RECORD_TTL))

    @contextmanager
    def _translating_errors(self, subject: str) -> Iterator[None]:
        """Log the client core's errors, and raise Rejected or Unavailable instead.

        The core's messages may name other people's mailboxes, so they are only logged.

        :param subject: the address or domain that the call is about
        """
        try:
            yield
        except errors.PostroomError as error:
            denied = isinstance(error, (errors.Unauthorized, errors.Forbidden))
            untrusted = isinstance(error, errors.UntrustedCertificate)
            # Only an operator can fix these problems.
            level = logging.ERROR if denied or untrusted else logging.WARNING
            _log.log(level, "The mail service: %s: %s", type(error).__name__, error)
            if isinstance(error, errors.AlreadyExists):
                raise Rejected("address.taken", address=subject) from error
            if isinstance(error, errors.NotFound):
                raise Rejected("mail.not_found") from error
            if isinstance(error, (errors.Rejected, errors.Refused, errors.InvalidInput)):
                raise Rejected("mail.rejected", subject=subject) from error
            self.last_answer = "refused" if denied or untrusted else "unreachable"
            if denied:
                raise Unavailable("mail.unauthorized", lasting=True) from error
            retry_after = getattr(error, "retry_after", None)
            raise Unavailable(retry_after=retry_after, lasting=untrusted) from error
        self.last_answer = "ok"

    def _client(self) -> Client:
        """Return a core client whose timeout starts now."""
        return Client(self._transport, verify_delay=self._verify_delay, timeout=self._timeout)


def create_mail_api(settings: Settings, resources: ExitStack) -> MailApi:
    """Return a client for the tenant in the settings. `resources` closes it on exit.

    :raises StartError: if a setting is invalid
    """
    try:
        mail = MailApi(
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


def _sorted_keys(names: Iterable[Name]) -> list[str]:
    """Return the sorted lookup keys of these names."""
    return sorted(name.key for name in names)


def _deliveries(change: Change, found: Principal | None) -> frozenset[str]:
    """Return where the address of a change delivers.

    :param found: the mailbox of the alias, or the forwarder
    """
    if change.action.is_alias:
        has_alias = isinstance(found, Mailbox) and parse_address(change.target) in found.aliases
        return frozenset(change.deliveries if has_alias else ())
    members = found.members if isinstance(found, Forwarder) else ()
    return frozenset(member.key for member in members)


def _result_of(change: Change, after: Principal | None) -> Reason:
    """Return the new state as a reason for the requester."""
    params: dict[str, Any] = {"address": change.target}
    if change.action.is_alias:
        params["mailbox"] = change.mailbox
        return Reason("alias.added" if change.action.adds else "alias.removed", params)
    if not isinstance(after, Forwarder):
        return Reason("forward.removed", params)
    params["destinations"] = sorted(change.destinations)
    return Reason("forward.added" if change.action.adds else "forward.reduced", params)
