# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What ``email_dns_records`` does at name servers: from its options to what it returns.

Importing this imports dnspython, which retrieving records does without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ._api.dns import messages, resolver
from ._api.dns.answers import Redirection, Server
from ._api.dns.observe import Asked
from ._api.dns.publish import Attempts, Published, publish
from ._api.dns.query import require_dnspython
from ._api.dns.rrset import RecordSet, wanted_sets
from ._api.dns.update import Key, UpdateServer, time_left
from ._api.dns.verdict import Verdict
from ._api.dns.verify import Verification, Waiting, verify, wait
from ._api.errors import InvalidInput, NameServersNotFound, NotPublished
from ._api.models import DnsRecordSet
from ._dns_records import Retrieved
from ._module import Outcome, Params

#: Seconds for one question, or for one update.
_SECONDS_FOR_ONE = 5.0
_LONGEST_WAIT = 7 * 86400

Values = dict[str, Any]


def _untold(_text: str) -> None:
    """Tell nobody."""


class Watch(NamedTuple):
    """What there is while a task waits.

    :param tell: gets a line of text now and then
    :param sleep: waits for seconds
    """

    tell: Callable[[str], object] = _untold
    sleep: Callable[[float], object] = time.sleep


class Target(NamedTuple):
    """Where updates go.

    :param named: the server that the options name, if they do
    :param resolvers: who finds it, and tells where records lead; the system's where there are none
    """

    named: resolver.NameServer | None
    key: Key
    resolvers: tuple[Server, ...]

    def asking(self, seconds: float) -> resolver.Resolvers:
        """Return the resolvers, with so much time for a question."""
        return resolver.Resolvers(self.resolvers or resolver.system_resolvers(), seconds)


class Task:
    """The options of a task, checked. Nobody is asked yet.

    :raises InvalidInput: one of them can't be used
    :raises ImportError: dnspython is not installed
    """

    def __init__(self, params: Params) -> None:
        require_dnspython()
        self._state: str = params["state"]
        self._ttl: int = params["ttl"]
        self._asked = Asked.parse(
            params["nameservers"] or (), params["resolvers"] or (), _SECONDS_FOR_ONE
        )
        self._wait_seconds = _read_wait(params)
        # The records of others, which stay, may be in the way of those that are published.
        usual = "presence" if self._state == "present" else "match"
        self._wait_for: str = params["wait_for"] or usual
        self._target = (
            None if self._state == "verified" else _read_target(params, self._asked.resolvers)
        )

    def ensure(
        self, retrieved: Retrieved, *, seconds: float, check_mode: bool, watch: Watch | None
    ) -> Outcome:
        """Verify, publish or withdraw the records, as the options say.

        :param seconds: for publishing and withdrawing
        :raises NotPublished: they were not seen in time
        """
        record_set, values, warnings = retrieved
        if not record_set.records:
            return Outcome(values={**values, **self._nothing()}, warnings=warnings)
        outcome = Outcome(values=values, warnings=warnings)
        if self._target is not None:
            published = self._publish(record_set, self._target, seconds, dry_run=check_mode)
            outcome = _with(published, outcome)
        # In check mode there is nothing to come that could be waited for.
        waiting = None
        if self._wait_seconds is not None and not check_mode:
            tell, sleep = watch or Watch()
            beside = self._wait_for == "presence"
            waiting = Waiting(self._wait_seconds, tell, sleep=sleep, beside=beside)
        if self._state == "verified" or (self._state == "present" and waiting is not None):
            return self._verify(record_set, outcome, waiting)
        return outcome

    def _nothing(self) -> Values:
        """Return what there is to say of a domain that has no records."""
        if self._target is not None:
            return {"changes": [], "current": []}
        return {"verified": False, "stage": "unknown", "advice": [], "current": []}

    def _publish(
        self, record_set: DnsRecordSet, target: Target, seconds: float, *, dry_run: bool
    ) -> Published:
        attempts = Attempts(seconds)
        until = time.monotonic() + seconds
        resolvers = target.asking(min(_SECONDS_FOR_ONE, time_left(until)))
        server = _update_server(target, record_set.domain.key, resolvers, until)
        return publish(
            wanted_sets(record_set, self._ttl),
            server,
            absent=self._state == "absent",
            dry_run=dry_run,
            attempts=attempts,
            ask=resolver.confirmed(resolvers, server.servers),
        )

    def _verify(
        self, record_set: DnsRecordSet, outcome: Outcome, waiting: Waiting | None
    ) -> Outcome:
        if waiting is None:
            found = verify(record_set, self._asked)
        else:
            found = wait(record_set, self._asked, waiting)
        # The server that was written to knows best what is there now.
        values = {**_values_of(found), **outcome.values}
        values["records"] = _judged(outcome.values["records"], found.verdicts)
        if waiting is None:
            return outcome._replace(values=values)
        _raise_if_lacking(record_set, found, waiting, values)
        # What is lacking nevertheless is there, with something in its way.
        warnings = (*outcome.warnings, *(verdict.line for verdict in found.lacking))
        return outcome._replace(values=values, warnings=warnings)


def _read_wait(params: Params) -> int | None:
    """Return the seconds to wait, or None where nothing is waited for."""
    seconds: int = params["wait_timeout"]
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise InvalidInput(
            f"wait_timeout: {seconds} can't be used. Give seconds from 0 to {_LONGEST_WAIT}."
        )
    return seconds if params["wait"] else None


def _read_target(params: Params, resolvers: tuple[Server, ...]) -> Target:
    for option in ("tsig_name", "tsig_secret"):
        if not (params[option] or "").strip():
            raise InvalidInput(
                f"{option}: it is not set, and updates have to be signed. "
                "Set tsig_name and tsig_secret to the key that the name server knows."
            )
    named = params["update_server"]
    return Target(
        resolver.parse_server(named, "update_server") if named else None,
        # What a file or a YAML block holds often ends with a line break.
        Key(params["tsig_name"].strip(), params["tsig_secret"].strip(), params["tsig_algorithm"]),
        resolvers,
    )


def _update_server(
    target: Target, domain: str, resolvers: resolver.Resolvers, until: float
) -> UpdateServer:
    """Return the server that was named, or else the primary of the domain's zone."""
    servers = resolver.addresses([target.named or _primary(domain, resolvers)], resolvers)
    return UpdateServer(servers, target.key, _SECONDS_FOR_ONE, until)


def _primary(domain: str, resolvers: resolver.Resolvers) -> resolver.NameServer:
    try:
        return resolver.primary_of(domain, resolvers)
    except NameServersNotFound as error:
        raise NameServersNotFound(
            error.cause,
            "Set update_server to the primary name server, or resolvers to servers that respond.",
        ) from None


def _with(published: Published, outcome: Outcome) -> Outcome:
    """Return what a task returns, with what was published or withdrawn."""
    changes, warnings, _refused = published.publication
    values = {
        **outcome.values,
        "changes": [change.as_dict() for change in changes],
        "current": _current(published.sets, published.aliases, published.redirections),
    }
    return Outcome(bool(changes), values, published.diff, (*outcome.warnings, *warnings))


def _raise_if_lacking(
    record_set: DnsRecordSet, found: Verification, waiting: Waiting, values: Values
) -> None:
    """Raise unless everything is there that was waited for.

    :param values: what would be returned; the error carries it
    """
    lacking = tuple(verdict for verdict in found.verdicts if not waiting.is_over(verdict))
    if not lacking:
        return
    head = messages.text(
        "timed_out",
        seconds=f"{waiting.seconds:g}",
        lacking=len(lacking),
        number=len(found.verdicts),
        domain=record_set.domain,
    )
    error = NotPublished("\n".join([head, *(verdict.line for verdict in lacking)]))
    error.done = values.get("changes", ())
    error.details = {key: value for key, value in values.items() if key != "changes"}
    raise error


def _values_of(found: Verification) -> Values:
    sets = (one for one in found.current.values() if one is not None)
    return {
        "verified": found.verified,
        "stage": found.stage,
        "advice": list(found.advice),
        "current": _current(sets, found.aliases, found.redirections),
    }


def _judged(records: list[Values], verdicts: Iterable[Verdict]) -> list[Values]:
    """Return the records with what is known of each."""
    return [
        {
            **record,
            "status": verdict.status,
            "found": list(verdict.found),
            "detail": verdict.detail,
            "code": verdict.code,
            "remedy": verdict.remedy,
            "servers": [{**one._asdict(), "found": list(one.found)} for one in verdict.servers],
        }
        for record, verdict in zip(records, verdicts, strict=True)
    ]


def _current(
    sets: Iterable[RecordSet], aliases: Mapping[str, str], redirections: Mapping[str, Redirection]
) -> list[Values]:
    """Return record sets, and what makes their names aliases, as plain data."""
    return [
        *(one.as_dict() for one in sets if one.values),
        *(
            _alias(name, "CNAME", target)
            for name, target in aliases.items()
            if name not in redirections
        ),
        *(
            _alias(above.owner, "DNAME", above.dname_target(name))
            for name, above in redirections.items()
            if above.type == "DNAME"
        ),
    ]


def _alias(name: str, kind: str, target: str) -> Values:
    return {"name": name, "type": kind, "ttl": None, "value": [f"{target}."]}
