# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Verify, publish or withdraw DNS records according to a task's options.

This code is separate because it imports dnspython, which is not needed to retrieve records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._api.dns import messages
from ._api.dns.notations import as_dict
from ._api.dns.observe import Servers
from ._api.dns.publish import publish
from ._api.dns.query import Server, require_dnspython
from ._api.dns.record_types import RecordSet, wanted_sets
from ._api.dns.resolver import Resolvers, addresses, parse_server, primary_of, system_resolvers
from ._api.dns.update import TsigKey, UpdateServer
from ._api.dns.verify import Verification, Waiting, verify
from ._api.errors import InvalidInput, NameServersNotFound, NotPublished
from ._api.models import RequiredRecords
from ._module import Outcome, Params

#: The timeout for one query or one update, in seconds.
_QUESTION_TIMEOUT = 5.0
_MAX_WAIT = 7 * 86400

Values = dict[str, Any]


class DnsTask:
    """A task with validated options.

    :param report: see Waiting
    :param sleep: see Waiting
    :raises InvalidInput: if an option is invalid
    :raises ImportError: if dnspython is not installed
    """

    def __init__(
        self,
        params: Params,
        *,
        check_mode: bool,
        report: Callable[[str], object],
        sleep: Callable[[float], object],
    ) -> None:
        require_dnspython()
        self._check_mode = check_mode
        self._state: str = params["state"]
        self._ttl: int = params["ttl"]
        self._servers = Servers.parse(
            params["nameservers"] or (), params["resolvers"] or (), _QUESTION_TIMEOUT
        )
        seconds: int = params["wait_timeout"]
        if not 0 <= seconds <= _MAX_WAIT:
            raise InvalidInput(
                f"wait_timeout: {seconds} is out of range. "
                f"Set a number of seconds from 0 to {_MAX_WAIT}."
            )
        self._waiting: Waiting | None = None
        # Check mode publishes nothing, so there is nothing to wait for.
        if params["wait"] and self._state != "absent" and not check_mode:
            # Records that the task publishes may conflict with existing records, which are kept.
            default = "presence" if self._state == "present" else "match"
            accept = (params["wait_for"] or default) == "presence"
            self._waiting = Waiting(seconds, report, sleep=sleep, accept_conflicts=accept)
        self._key: TsigKey | None = None
        self._server: Server | None = None
        if self._state != "verified":
            for option in ("tsig_name", "tsig_secret"):
                if not (params[option] or "").strip():
                    raise InvalidInput(
                        f"{option}: it is not set, and updates must be signed. Set tsig_name and "
                        "tsig_secret to the name and the secret of the name server's key."
                    )
            # A value from a file or a YAML block often ends with a line break.
            name, secret = params["tsig_name"].strip(), params["tsig_secret"].strip()
            self._key = TsigKey(name, secret, params["tsig_algorithm"])
            named = params["update_server"]
            self._server = parse_server(named, "update_server") if named else None

    def run(self, required: RequiredRecords, outcome: Outcome, seconds: float) -> Outcome:
        """Verify, publish or withdraw the records.

        :param outcome: the return values for the records that the service requires
        :param seconds: the timeout for publishing and withdrawing
        :raises NotPublished: if the wait timed out
        """
        if not required.records:
            verified = {"verified": False, "stage": "unknown", "advice": []}
            empty = verified if self._state == "verified" else {"changes": []}
            return outcome._replace(values={**outcome.values, "current": [], **empty})
        if self._key is not None:
            outcome = self._publish(required, self._key, outcome, seconds)
        if self._state == "verified" or self._waiting is not None:
            return self._verify(required, outcome)
        return outcome

    def _publish(
        self, required: RequiredRecords, key: TsigKey, outcome: Outcome, seconds: float
    ) -> Outcome:
        until = time.monotonic() + seconds
        resolvers = Resolvers(
            self._servers.resolvers or system_resolvers(), min(_QUESTION_TIMEOUT, seconds)
        )
        try:
            named = self._server or primary_of(required.domain.key, resolvers)
        except NameServersNotFound as error:
            raise NameServersNotFound(
                error.cause,
                "Set update_server to the primary name server, or resolvers to servers that "
                "respond.",
            ) from None
        servers = addresses([named], resolvers)
        published = publish(
            wanted_sets(required, self._ttl),
            UpdateServer(servers, key, _QUESTION_TIMEOUT, until),
            absent=self._state == "absent",
            dry_run=self._check_mode,
            ask=Resolvers(
                resolvers.servers, min(_QUESTION_TIMEOUT, seconds), servers
            ).confirmed_texts,
        )
        plan = published.plan
        aliases = {n: a.target for n, a in published.redirections.items() if a.type != "NS"}
        values = {
            **outcome.values,
            "changes": [change.as_dict() for change in plan.changes],
            "current": _current(published.sets, aliases),
        }
        warnings = (*outcome.warnings, *plan.warnings)
        return Outcome(bool(plan.changes), values, plan.diff, warnings)

    def _verify(self, required: RequiredRecords, outcome: Outcome) -> Outcome:
        waiting = self._waiting
        found = verify(required, self._servers, waiting)
        sets = [one for one in found.current.values() if one is not None]
        values: Values = {
            "verified": found.verified,
            "stage": found.stage,
            "advice": list(found.advice),
            "current": _current(sets, found.aliases),
            # After an update, the primary server's record sets replace the older record sets in
            # current.
            **outcome.values,
            "records": _with_verdicts(outcome.values["records"], found),
        }
        if waiting is None:
            return outcome._replace(values=values)
        lacking = [each for each in found.verdicts if not waiting.is_over(each)]
        if lacking:
            params: Values = {"seconds": f"{waiting.seconds:g}", "domain": required.domain}
            params |= {"lacking": len(lacking), "number": len(found.verdicts)}
            lines = [messages.text("timed_out", **params), *(each.line for each in lacking)]
            error = NotPublished("\n".join(lines))
            error.done = values.pop("changes", ())
            error.details = values
            raise error
        # The remaining records are published, but conflict with existing records.
        warnings = (*outcome.warnings, *(verdict.line for verdict in found.lacking))
        return outcome._replace(values=values, warnings=warnings)


def _with_verdicts(records: list[Values], found: Verification) -> list[Values]:
    return [
        {
            **record,
            "status": verdict.status,
            "code": verdict.code,
            "found": list(verdict.found),
            "detail": verdict.detail,
            "remedy": verdict.remedy,
            "servers": [{**one._asdict(), "found": list(one.found)} for one in verdict.servers],
        }
        for record, verdict in zip(records, found.verdicts, strict=True)
    ]


def _current(sets: Iterable[RecordSet], aliases: Mapping[str, str]) -> list[Values]:
    """Return record sets and aliases as the return value ``current``."""
    return [
        *(as_dict(one) for one in sets if one.values),
        *(
            {"name": name, "type": "CNAME", "ttl": None, "value": [f"{target}."]}
            for name, target in aliases.items()
        ),
    ]
