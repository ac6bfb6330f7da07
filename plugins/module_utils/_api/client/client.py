# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A client for the mail API that retries requests and verifies writes.

If the outcome of a write is unknown, the client sends a GET before it repeats the write. PATCH
replaces whole lists and the API lacks ETags. Edits are therefore applied to a fresh copy and
verified after a delay, in case another client overwrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar

from .. import errors
from ..models import Edit, Individual, Principal, RequiredRecords
from ..names import Name
from . import endpoints
from .endpoints import (
    Call,
    ErrorResponse,
    InvalidResponse,
    Page,
    Response,
    decode,
    describe,
    error_code,
)
from .pacing import Pacing
from .transport import Transport

T = TypeVar("T")

#: The delay before an edit is verified, as a multiple of the time between the edit's GET and PATCH.
#: Another client may hold an older copy for about that long.
_VERIFY_FACTOR = 4
_MAX_VERIFY_DELAY = 2.0
_MAX_REPAIRS = 12
_MAX_LIST_ATTEMPTS = 3

#: After one of these errors, it is unknown whether a write took effect.
_UNKNOWN_OUTCOME = (errors.ConnectionBroken, errors.ServerFailed, errors.BadAnswer)
#: Errors from the GET after a failed write that are more informative than the write's own error.
_CONCLUSIVE = (errors.AlreadyExists, errors.NotFound, errors.Rejected)


class Client:
    """A client for one tenant and one task. Threads may share it.

    :param verify_delay: the minimum delay in seconds before an edit is verified. Another client
        that takes longer between its GET and its PATCH may overwrite the edit undetected.
    :param options: the options of Pacing, such as ``timeout`` and ``retries``
    :raises InvalidInput: if an option is out of range
    """

    def __init__(self, transport: Transport, *, verify_delay: float = 0.25, **options: Any) -> None:
        self._transport = transport
        #: The deadline, the retries and the rate limit.
        self.pacing = Pacing(**options)
        self._min_verify_delay = verify_delay
        #: The token and the passwords sent so far, which a server may repeat in a later response.
        self._secrets = list(transport.secrets)

    def with_new_deadline(
        self, seconds: float | None = None, *, extend_when_throttled: bool = False
    ) -> Client:
        """Return a client whose timeout starts now and that shares this client's connections.

        :param seconds: the timeout; None for the same as this client's
        :param extend_when_throttled: don't count the time spent waiting for the rate limit towards
            the timeout
        """
        other = copy(self)
        other.pacing = self.pacing.with_timeout(
            self.pacing.timeout if seconds is None else seconds,
            extend_when_throttled=extend_when_throttled,
        )
        # Only this client's responses can contain its passwords. Redacting thousands of them is
        # slow.
        other._secrets = list(self._secrets)  # noqa: SLF001
        return other

    def find(self, name: Name) -> Principal | None:
        """Return a principal, or None if it does not exist."""
        try:
            return self._read(endpoints.get(name))
        except errors.NotFound:
            return None

    def list_principals(self, wire_type: str | None = None) -> list[Principal]:
        """Return all principals of the tenant.

        :param wire_type: return only principals with this ``type`` in the API
        :raises BadAnswer: if the list is incomplete
        """
        path = endpoints.PRINCIPALS + (f"?type={wire_type}" if wire_type else "")
        for _attempt in range(_MAX_LIST_ATTEMPTS):
            found, totals = self._list_once(path)
            # If the list changes between pages, rows may move to a page that was already read.
            if len(totals) <= 1:
                return found
        raise _truncated_list(
            endpoints.list_page(path), len(found), "the total changes between pages"
        )

    def check_list(self, names: Collection[Name]) -> None:
        """Check that the service did not silently truncate its list of principals.

        The lists of single types are shorter, so a row limit would cut off fewer principals there.

        :raises BadAnswer: if the list of a single type contains a name that is not in ``names``
        """
        # Import this only here, because tasks for one object rarely need it and the import is slow.
        from ..concurrency import map_concurrently  # noqa: PLC0415

        lists = map_concurrently(endpoints.WIRE_TYPES, self.list_principals)
        by_type = [
            (wire_type, principal.name)
            for wire_type, found in lists.items()
            for principal in found
            if principal.name not in names
        ]
        # Another client may have just created the missing principals.
        current = {each.name for each in self.list_principals()} if by_type else set()
        for wire_type, name in by_type:
            if name not in current and self.find(name) is not None:
                detail = f"the list of type {wire_type} also has {name}"
                raise _truncated_list(endpoints.list_page(), len(names), detail)

    def check_api(self) -> None:
        """Check that a not-found response really came from the mail API.

        :raises BadAnswer: if api_url is not the URL of the mail API
        """
        self.list_principals("domain")

    def _list_once(self, path: str) -> tuple[list[Principal], set[int]]:
        """Read all pages of a list. Return the principals and the totals that the pages report."""
        found: dict[Name, Principal] = {}
        totals: set[int] = set()
        next_path: str | None = path
        number = 1
        while next_path is not None:
            call = endpoints.list_page(next_path)
            page = self._read(call)
            count_before = len(found)
            found.update((principal.name, principal) for principal in page.principals)
            for name in page.bare_names:
                principal = self.find(name)
                if principal is not None:
                    found[principal.name] = principal
            totals |= set() if page.total is None else {page.total}
            if len(totals) > 1:
                break
            number += 1
            next_path = page.next_path
            if next_path is None and len(found) < max(totals, default=0):
                limit = max(len(page.principals) + len(page.bare_names), 1)
                next_path = f"{path}{'&' if '?' in path else '?'}page={number}&limit={limit}"
            if next_path is not None and len(found) == count_before:
                detail = f"the total is {max(totals)}" if totals else "its pages do not end"
                raise _truncated_list(call, len(found), detail)
        return list(found.values()), totals

    def dns_records(self, domain: Name) -> RequiredRecords:
        """Return the DNS records to publish for a registered domain."""
        return self._read(endpoints.dns_records(domain))

    def create(self, principal: Principal, secrets: tuple[str, ...] = ()) -> Principal:
        """Create a domain, a mailbox or a forwarder and return its current state.

        :raises CreatedMeanwhile: if another client has just created the same principal
        """
        call = endpoints.create(principal, secrets)
        self._secrets.extend(secrets)

        def exists() -> bool:
            """Return whether the principal exists. Fail if it has other settings."""
            found = self.find(principal.name)
            if found is None or found == principal:
                return found is not None
            raise errors.AlreadyExists(
                f"{principal.name} was just created by another client with other settings. "
                "Run again.",
                errors.Failure(None, call.method, call.path, ""),
            ) from None

        try:
            reply = self._write(call, exists)
        except errors.AlreadyExists as error:
            if not exists():
                raise
            raise errors.CreatedMeanwhile(
                f"{principal.name} was just created by another client. Run again.", error.failure
            ) from None
        if reply == principal:
            return reply
        with _after_write(principal.name):
            return self._read(endpoints.get(principal.name))

    def delete(self, name: Name) -> None:
        """Delete a principal if it exists."""
        try:
            self._write(endpoints.delete(name), lambda: self.find(name) is None)
        except errors.NotFound:
            return

    def edit(self, name: Name, edit: Edit) -> Individual:
        """Apply an edit to a principal's lists and return the principal's current state.

        The edit is verified after a delay and repeated if another client overwrote it.

        :raises LostUpdate: if other clients keep overwriting the edit
        """
        started = self.pacing.clock()
        current, wrote = self.edit_once(name, edit)
        if not wrote:
            return current
        with _after_write(name):
            for attempt in range(_MAX_REPAIRS):
                self.wait_to_verify(self.pacing.clock() - started, attempt)
                started = self.pacing.clock()
                current, wrote = self.edit_once(name, edit)
                if not wrote:
                    return current
            raise errors.LostUpdate(
                f"{name}: another client overwrote the change {_MAX_REPAIRS} times. "
                "Find and stop that client, and run again.",
                errors.Failure(None, "PATCH", endpoints.get(name).path, ""),
            )

    def edit_once(
        self, name: Name, edit: Edit, secrets: tuple[str, ...] = ()
    ) -> tuple[Individual, bool]:
        """Apply an edit without verifying it. Return the principal, and whether a write was sent.

        The caller must verify the edit, because another client may overwrite it.

        :param secrets: the new passwords; if empty, the current ones are kept
        """
        self._secrets.extend(secrets)
        attempt, is_unknown = 0, False
        while True:
            current = self._read_individual(name)
            target = edit.applied_to(current)
            if target == current and not secrets:
                return current, attempt > 0
            try:
                reply = self._send(endpoints.update(current, target, secrets))
            except errors.ServiceError as error:
                if isinstance(error, _UNKNOWN_OUTCOME):
                    is_unknown = True
                    current = self._read_outcome(error, lambda: self._read_individual(name))
                    if not secrets and edit.applied_to(current) == current:
                        return target, True
                if is_unknown and secrets:
                    # Passwords can't be read back; writing them again is safe.
                    error.add("It is not known whether the password was replaced. Run again.")
                attempt = self.pacing.back_off(error, attempt)
            else:
                return (reply if isinstance(reply, Individual) else target), True

    def wait_to_verify(self, seconds: float, attempt: int = 0) -> None:
        """Wait until other clients that read the old list have probably written their changes.

        :param seconds: the time between the edit's GET and its PATCH
        """
        delay = max(min(_VERIFY_FACTOR * seconds, _MAX_VERIFY_DELAY), self._min_verify_delay)
        # The random part prevents two clients from overwriting each other's edits in lockstep.
        self.pacing.sleep(delay * (1 + attempt * self.pacing.rng()))

    def _read_individual(self, name: Name) -> Individual:
        current = self._read(endpoints.get(name))
        if isinstance(current, Individual):
            return current
        raise errors.Rejected(
            f"{name} is now a {current.kind}, which has no address list. Run again.",
            errors.Failure(None, "GET", endpoints.get(name).path, ""),
        )

    def _read(self, call: Call[T]) -> T:
        """Send a GET with retries."""
        attempt = 0
        while True:
            try:
                return self._send(call)
            except errors.ServiceError as error:  # noqa: PERF203 - the loop retries
                attempt = self.pacing.back_off(error, attempt)

    def _write(self, call: Call[T], took_effect: Callable[[], bool]) -> T | None:
        """Send a write with retries. If its outcome is unknown, check it with a GET before a retry.

        :param took_effect: a function that sends a GET and returns whether the write took effect
        :return: the result, or None if the write took effect but its response was lost
        """
        attempt = 0
        is_unknown = False
        while True:
            try:
                return self._send(call)
            except errors.ServiceError as error:  # noqa: PERF203 - the loop retries
                is_unknown = is_unknown or isinstance(error, _UNKNOWN_OUTCOME)
                # An earlier attempt at the same call may have caused the conflict.
                may_be_ours = isinstance(error, (*_UNKNOWN_OUTCOME, errors.AlreadyExists))
                if is_unknown and may_be_ours and self._read_outcome(error, took_effect):
                    return None
                if isinstance(error, errors.ConnectionBroken):
                    error.add(
                        "A check shortly afterwards found that the request had not taken effect, "
                        "but it may still do so."
                    )
                attempt = self.pacing.back_off(error, attempt)

    def _read_outcome(self, error: errors.ServiceError, read: Callable[[], T]) -> T:
        """Read the state after a write with an unknown outcome.

        :raises ServiceError: the error, marked as ``unsure``, if the state can't be read
        """
        try:
            return read()
        except _CONCLUSIVE:
            raise
        except errors.ServiceError:
            unsure = type(error)(
                f"{error} It is not known whether the request took effect, because the check "
                "afterwards failed as well. Run again when the service responds.",
                error.failure,
            )
            unsure.unsure = True
            raise unsure from None

    def _send(self, call: Call[T]) -> T:
        """Wait for the rate limit, send a call once and return its result."""
        self.pacing.wait_for_turn()
        left = self.pacing.time_left()
        if left <= 0:
            raise errors.DeadlineExceeded(
                f"The task's timeout of {self.pacing.timeout:g} s expired before {describe(call)}. "
                "Raise timeout, or find out why the service is slow.",
                errors.Failure(None, call.method, call.path, ""),
            )
        # A write gets half of the remaining time. The other half is for the GET that checks its
        # outcome.
        timeout = left if call.method == "GET" else max(left / 2, min(left, 1.0))
        sent = self.pacing.clock()
        response = self._transport.send(call, timeout)
        try:
            result = result_of(call, response, self._secrets)
        except errors.Throttled as error:
            pause = error.retry_after or 0.0
            # If the pause is longer than the timeout, this call fails, but other calls are not
            # delayed.
            self.pacing.rate_limit.throttle(pause if pause < self.pacing.timeout else 0.0, sent)
            raise
        self.pacing.rate_limit.succeed()
        return result


def result_of(call: Call[T], response: Response, secrets: Sequence[str] = ()) -> T:
    """Return the result of a call.

    :param secrets: values to redact from errors, in addition to the call's own secrets
    :raises ServiceError: if the response is an error or did not come from the mail API
    """
    try:
        body, text = decode(response.body)
        if response.status >= 300 or text is not None or error_code(body) is not None:
            raise ErrorResponse
        result = call.read(body["data"] if isinstance(body, dict) and "data" in body else body)
    except InvalidResponse as reason:
        # Import this only here, because most requests succeed and don't need it.
        from .failures import failure_of  # noqa: PLC0415

        raise failure_of(call, response, reason, secrets) from None
    if isinstance(result, Page):
        return result._replace(next_path=response.next_path)
    return result


@contextmanager
def _after_write(name: Name) -> Iterator[None]:
    """Mark errors that are raised in the block as errors after a successful write."""
    try:
        yield
    except errors.PostroomError as error:
        error.wrote = True
        error.add(f"{name} was written, but its current state is not known.")
        raise


def _truncated_list(call: Call[Any], count: int, detail: str) -> errors.BadAnswer:
    return errors.BadAnswer(
        f"The service's list of principals is incomplete: it has {count} entries, but {detail}. "
        "Run again; if the error persists, ask the operator of the service.",
        errors.Failure(200, call.method, call.path, f"{count} principals, {detail}"),
    )
