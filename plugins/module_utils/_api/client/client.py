# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The client: what can be asked of a tenant, carried through or failing with one true sentence.

After a write whose outcome is not known a fresh GET decides what became of it. Lists are replaced
whole by this interface and it has no ETag, so an edit is worked into a fresh copy, and looked at
again when writers that read before it have had time to write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from .. import errors
from ..models import DnsRecordSet, Edit, Forwarder, Individual, Mailbox, Principal
from ..names import Name
from . import endpoints as calls
from .endpoints import Call
from .retry import UNSURE, Caller
from .transport import Sender

#: An edit is confirmed after this many times the span between its reading and its writing, which
#: is the span in which another writer may hold an older copy.
_SETTLE_FACTOR = 4
_LONGEST_SETTLE = 2.0
_MOST_REPAIRS = 12
_MOST_READINGS = 3


class Client:
    """One task's view of one tenant. Threads may share it.

    :param sender: the connections
    :param settle: seconds after which an edit is confirmed at the earliest; a writer beside this
        one that takes longer from reading to writing can undo it unnoticed
    :param options: the time and the retries that a Caller takes
    :raises InvalidInput: one of the options is out of range
    """

    def __init__(self, sender: Sender, *, settle: float = 0.25, **options: Any) -> None:
        self._caller = Caller(sender, **options)
        self._shortest_settle = settle

    @property
    def timeout(self) -> float:
        """The seconds that it was given."""
        return self._caller.timeout

    def time_left(self) -> float:
        """Return the remaining seconds; may be negative."""
        return self._caller.time_left()

    def now(self) -> float:
        """Return its clock's seconds."""
        return self._caller.clock()

    def halt(self) -> None:
        """Let this client and all that were made from it send nothing more."""
        self._caller.halt()

    def with_time(self, seconds: float, *, is_patient: bool = False) -> Client:
        """Return a client over the same connections that has time of its own.

        :param is_patient: waiting for a turn among others uses up none of it
        """
        other = copy(self)
        other._caller = self._caller.with_time(  # noqa: SLF001 - it is a copy of this one
            seconds, is_patient=is_patient
        )
        return other

    def find(self, name: Name) -> Principal | None:
        """Return a principal, or None where the service positively says there is none."""
        try:
            return self._caller.ask(calls.get(name))
        except errors.NotFound:
            return None

    def list_principals(self, wire_type: str | None = None) -> list[Principal]:
        """Return everything that the tenant holds, or everything of one ``type``.

        :raises BadAnswer: the list has holes; what would be returned is not the whole
        """
        path = calls.PRINCIPALS + (f"?type={wire_type}" if wire_type else "")
        for _reading in range(_MOST_READINGS):
            found, totals = self._read_list(path)
            # A list that changes while it is paged moves rows from one page into one read before.
            if len(totals) <= 1:
                return found
        raise _incomplete(calls.list_page(path), len(found), "gave another total on each page")

    def check_list(self, names: Collection[Name]) -> None:
        """See that a list that was read is not cut short where nothing in it says so.

        The lists by type are shorter, so that a cap on rows cuts less of them.

        :param names: those in the list of everything
        :raises BadAnswer: a list by type has one more, and it is in no list of everything
        """
        by_type = [
            (wire_type, principal.name)
            for wire_type in calls.WIRE_TYPES
            for principal in self.list_principals(wire_type)
            if principal.name not in names
        ]
        # Some may only have come meanwhile.
        now = {principal.name for principal in self.list_principals()} if by_type else set()
        for wire_type, name in by_type:
            if name not in now and self.find(name) is not None:
                said = f"has {name} too when asked for type {wire_type}"
                raise _incomplete(calls.list_page(), len(names), said)

    def check_api(self) -> None:
        """See that the service is behind the address at all, where the rest is a not-found.

        :raises BadAnswer: there is something else
        """
        self.list_principals("domain")

    def _read_list(self, path: str) -> tuple[list[Principal], set[int]]:
        """Read a list once, page by page. Return it and the totals that the pages gave."""
        found: dict[Name, Principal] = {}
        totals: set[int] = set()
        following: str | None = path
        number = 1
        while following is not None:
            call = calls.list_page(following)
            page, linked = self._caller.ask_page(call)
            before = len(found)
            found.update((row.name, row) for row in self._whole_rows(page))
            totals |= set() if page.total is None else {page.total}
            if len(totals) > 1:
                break
            number += 1
            is_short = len(found) < max(totals, default=0)
            following = linked or (_page_path(path, number, page.size) if is_short else None)
            if following is not None and len(found) == before:
                said = f"says {max(totals)}" if totals else "goes on without end"
                raise _incomplete(call, len(found), said)
        return list(found.values()), totals

    def dns_records(self, domain: Name) -> DnsRecordSet:
        """Return the DNS records to publish for a registered domain."""
        return self._caller.ask(calls.dns_records(domain))

    def create(self, principal: Principal, secrets: tuple[str, ...] = ()) -> Principal:
        """Create a domain, a mailbox or a forwarder, and return it as it is now.

        :raises CreatedMeanwhile: another client has just created it with the same settings
        """
        call = calls.create(principal, secrets)
        self._caller.hide(secrets)

        def settle() -> bool:
            found = self.find(principal.name)
            if found is None or found == principal:
                return found is not None
            raise _created_differently(call)

        try:
            reply = self._caller.carry_out(call, settle)
        except errors.AlreadyExists as error:
            found = self.find(principal.name)
            if found is None:
                raise
            if found != principal:
                raise _created_differently(call) from None
            raise errors.CreatedMeanwhile(
                f"{principal.name} was created by someone else meanwhile. Run again.",
                error.failure,
            ) from None
        if reply == principal:
            return reply
        with _verifying(principal.name):
            return self._existing(principal.name)

    def delete(self, name: Name) -> None:
        """Delete a principal. One that is gone already is a success."""
        call = calls.delete(name)
        try:
            self._caller.carry_out(call, lambda: self.find(name) is None)
        except errors.NotFound:
            return

    def edit(self, name: Name, edit: Edit, secrets: tuple[str, ...] = ()) -> Individual:
        """Work an edit into a principal's lists and replace its passwords, in one request.

        Return the principal when the edit has stood for a while: a writer that had read the lists
        before may write its older copy, and is noticed if it does so within that while.

        :param secrets: new passwords; none leaves them alone
        :raises LostUpdate: other writers keep undoing it
        """
        self._caller.hide(secrets)
        started = self._caller.clock()
        current, wrote = self.write_edit(name, edit, secrets)
        if not wrote or edit == Edit():
            return current
        with _verifying(name):
            for attempt in range(_MOST_REPAIRS):
                self.settle(self._caller.clock() - started, attempt)
                started = self._caller.clock()
                current, wrote = self.write_edit(name, edit)
                if not wrote:
                    return current
            raise errors.LostUpdate(
                f"{name}: what was written was replaced {_MOST_REPAIRS} times by another writer. "
                "Find out what else changes it, stop that, and run again.",
                errors.Failure("LostUpdate", None, "PATCH", calls.get(name).path, ""),
            )

    def write_edit(
        self, name: Name, edit: Edit, secrets: tuple[str, ...] = ()
    ) -> tuple[Individual, bool]:
        """Read, work the edit in, write. Return the principal and whether a write was needed.

        Whether it stands when other writers have written is for the caller to look after.
        """

        def stands() -> bool:
            current = self._editable(name)
            # Passwords can't be read back. Writing them again is safe.
            return not secrets and edit.applied_to(current) == current

        attempt = 0
        while True:
            current = self._editable(name)
            target = edit.applied_to(current)
            if target == current and not secrets:
                return current, attempt > 0
            try:
                reply = self._caller.once(_patch(current, target, secrets))
                return (reply if isinstance(reply, (Mailbox, Forwarder)) else target), True
            except errors.ServiceError as error:
                if isinstance(error, UNSURE):
                    if self._caller.took_effect(error, stands):
                        return target, True
                    if secrets:
                        error.add("Whether the password was replaced is not known. Run again.")
                attempt = self._caller.pause_or_raise(error, attempt)

    def _editable(self, name: Name) -> Individual:
        current = self._existing(name)
        if isinstance(current, (Mailbox, Forwarder)):
            return current
        raise errors.Rejected(
            f"{name} is a {current.kind} now and has no address list to change. Run again.",
            errors.Failure("Rejected", None, "GET", calls.get(name).path, ""),
        )

    def settle(self, span: float, attempt: int = 0) -> None:
        """Wait until writers that read before an edit have had time to write.

        :param span: the seconds between its reading and its writing
        """
        pause = max(min(_SETTLE_FACTOR * span, _LONGEST_SETTLE), self._shortest_settle)
        # Writers that keep undoing each other must fall out of step.
        self._caller.sleep(pause * (1 + attempt * self._caller.rng()))

    def _existing(self, name: Name) -> Principal:
        return self._caller.ask(calls.get(name))

    def _whole_rows(self, page: calls.Page) -> list[Principal]:
        """Return a page's principals; those that came as bare names are fetched."""
        fetched = (self.find(name) for name in page.bare_names)
        return [*page.principals, *(row for row in fetched if row is not None)]


@contextmanager
def _verifying(name: Name) -> Iterator[None]:
    """Have an error tell that the write before it was answered."""
    try:
        yield
    except errors.PostroomError as error:
        error.wrote = True
        error.add(f"{name} was written, but how it stands now is not known.")
        raise


def _patch(
    current: Individual, target: Individual, secrets: tuple[str, ...]
) -> Call[Principal | None]:
    """Return the call that turns ``current`` into ``target``, with what differs and no more."""
    addresses = target.addresses if target.aliases != current.aliases else None
    members = None
    if isinstance(target, Forwarder) and isinstance(current, Forwarder):
        members = target.members if target.members != current.members else None
    return calls.update(current.name, addresses=addresses, members=members, secrets=secrets)


def _created_differently(call: Call[Any]) -> errors.AlreadyExists:
    return errors.AlreadyExists(
        f"{call.subject} was created differently by someone else meanwhile. Run again.",
        errors.Failure("AlreadyExists", None, call.method, call.path, ""),
    )


def _page_path(path: str, number: int, size: int) -> str:
    return f"{path}{'&' if '?' in path else '?'}page={number}&limit={max(size, 1)}"


def _incomplete(call: Call[Any], have: int, said: str) -> errors.BadAnswer:
    return errors.BadAnswer(
        f"The list of the tenant is incomplete: {have} principals came and the service {said}. "
        "Nothing is decided on such a list. Run again; if it stays, ask the service's operator.",
        errors.Failure("BadAnswer", 200, call.method, call.path, f"{have} came, it {said}"),
    )
