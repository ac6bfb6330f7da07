# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service's API client, used for queries and new passwords.

All calls use the Ansible modules' client core, so the bot and the playbooks share its semantics,
fault tolerance and handling of lost updates.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.backends.mail_plans import plan_password, require_no_problems
from postroom_bot.config import Settings
from postroom_bot.errors import Rejected, StartError, Unavailable
from postroom_client import errors
from postroom_client.client.client import Client
from postroom_client.client.transport import Transport
from postroom_client.dns.notations import as_return_values
from postroom_client.models import Forwarder, Mailbox, Principal
from postroom_client.names import Name, parse_address, parse_domain
from postroom_client.tenant.converge_object import apply_changes
from postroom_client.tenant.state import TenantState

#: How many seconds the list of domains is cached.
_DOMAINS_TTL = 60.0
#: The TTL of proposed DNS records, in seconds.
_RECORD_TTL = 3600

_log = logging.getLogger(__name__)


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


class MailApi:
    """A thread-safe client for one tenant of the mail service.

    Every method that calls the service may raise Unavailable.

    :param ca_path: a PEM file of certificate authorities to trust instead of the system's
    :param timeout: the timeout for each method call, in seconds; leases last longer
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
        #: The cached domains and when they expire, in one tuple that threads replace atomically.
        self._domains: tuple[frozenset[str], float] = (frozenset(), clock())
        try:
            self._transport = Transport(
                url, token.get_secret_value(), verify=verify, ca_path=ca_path
            )
            self.client()
        except errors.InvalidInput as error:
            raise ValueError(str(error)) from None

    def close(self) -> None:
        """Close all connections. Call this only when no other thread uses the client."""
        self._transport.close()

    def set_password(self, mailbox: str, password: str) -> None:
        """Replace all of a mailbox's passwords with a new password.

        :raises Rejected: if the mailbox does not exist
        """
        with self.translating_errors(mailbox):
            client = self.client()
            name = parse_address(mailbox)
            apply_changes(
                client, require_no_problems(plan_password(TenantState(client), name, password))
            )

    def aliases(self, mailbox: str) -> list[str] | None:
        """Return the aliases of a mailbox, sorted, or None if the mailbox does not exist."""
        with self.translating_errors(mailbox):
            found = self.client().find(parse_address(mailbox))
        return sorted_keys(found.aliases) if isinstance(found, Mailbox) else None

    def mailboxes(self) -> frozenset[str]:
        """Return the names of all mailboxes."""
        return frozenset(e.name.key for e in self._individuals() if isinstance(e, Mailbox))

    def forwarders(self) -> list[Forward]:
        """Return all forwarders, sorted."""
        return sorted(
            Forward(each.name.key, tuple(sorted_keys(each.members)))
            for each in self._individuals()
            if isinstance(each, Forwarder)
        )

    def domains(self) -> frozenset[str]:
        """Return the tenant's domains, which are cached for a minute."""
        domains, until = self._domains
        if self._clock() >= until:
            with self.translating_errors("the list"):
                found = self.client().list_principals("domain")
            domains = frozenset(each.name.key for each in found)
            self._domains = domains, self._clock() + _DOMAINS_TTL
        return domains

    def dns(self, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain.

        :raises Rejected: if the tenant does not have the domain
        """
        with self.translating_errors(domain):
            try:
                found = self.client().dns_records(parse_domain(domain))
            except errors.NotFound:
                raise Rejected("domain.missing", domain=domain) from None
        return DnsRecords(found.domain.key, tuple(as_return_values(found, _RECORD_TTL)))

    @contextmanager
    def translating_errors(self, subject: str) -> Iterator[None]:
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

    def _individuals(self) -> list[Principal]:
        with self.translating_errors("the list"):
            return self.client().list_principals("individual")

    def client(self) -> Client:
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


def sorted_keys(names: Iterable[Name]) -> list[str]:
    """Return the sorted lookup keys of these names."""
    return sorted(name.key for name in names)
