# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather the facts that the inventory returns for each domain of a tenant."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from ..module_utils._api.client.client import Client
from ..module_utils._api.concurrency import map_concurrently
from ..module_utils._api.dns.observe import Servers
from ..module_utils._api.dns.query import require_dnspython
from ..module_utils._api.dns.verify import Stage, verify
from ..module_utils._api.errors import BadAnswer, InvalidInput, NotFound, Rejected, ServerFailed
from ..module_utils._api.models import Domain, Principal, UnmanagedPrincipal
from ..module_utils._api.names import Name, matches, parse_domain

Facts = dict[str, Any]
#: The reasons for an unknown stage: the service returned no records, the domain's name servers were
#: not found or did not answer, or ``stage_timeout`` expired.
StageReason = Literal["no_records", "no_name_servers", "no_answer", "timed_out"]

_QUESTION_TIMEOUT = 5.0
#: The limit is low, because each domain needs several concurrent queries.
_MAX_CONCURRENT_DOMAINS = 16
_COUNTS = {"mailbox": "email_mailboxes", "forwarder": "email_forwarders"}
_ALIASES = "email_aliases"
_NUMBERS = (*_COUNTS.values(), _ALIASES)
_STAGE, _REASON = "email_stage", "email_stage_reason"


class _StageResult(NamedTuple):
    """The stage of a domain, or None if the domain has just been deleted."""

    stage: Stage | None
    warning: str = ""
    reason: StageReason | None = None


def gather(client: Client, options: Mapping[str, Any]) -> tuple[dict[str, Facts], list[str]]:
    """Read the domains of a tenant and gather their facts.

    :param options: the inventory's options, of which ``domains``, ``exclude``, ``stage``,
        ``nameservers``, ``resolvers`` and ``stage_timeout`` are used
    :return: the facts, keyed by domain name in alphabetical order, and warnings about domains that
        are omitted or whose stage is unknown
    :raises InvalidInput: if a name server or resolver is invalid
    :raises ImportError: if ``stage`` is set and dnspython is not installed
    """
    servers: Servers | None = None
    if options["stage"]:
        require_dnspython()
        servers = Servers.parse(options["nameservers"], options["resolvers"], _QUESTION_TIMEOUT)
    principals = client.list_principals()
    names, warnings = _selected(principals, options)
    counts = Counter(_locations(principals))
    facts: dict[str, Facts] = {
        name.key: {key: counts[name.key, key] for key in _NUMBERS} for name in names
    }
    if servers is not None:
        end = time.monotonic() + options["stage_timeout"]
        find = partial(_find_stage, client, servers, end)
        results = map_concurrently(names, find, most=_MAX_CONCURRENT_DOMAINS)
        for name, found in results.items():
            if found.stage is None:
                del facts[name.key]
            else:
                facts[name.key][_STAGE] = found.stage
                facts[name.key] |= {_REASON: found.reason} if found.reason else {}
        warnings += [found.warning for found in results.values() if found.warning]
        late = [name for name, found in results.items() if found.reason == "timed_out"]
        if late:
            warnings.append(
                f"The stages of {len(late)} domains, including '{late[0]}', are unknown, because "
                "stage_timeout expired. Raise it, or select fewer domains."
            )
    return facts, warnings


def is_gathered(domains: object) -> bool:
    """Return whether cached data has the format of the facts that ``gather`` returns.

    Other data is not trusted, because users who can write to the cache could put templates into it.
    """
    return isinstance(domains, dict) and all(
        _is_domain(name) and isinstance(facts, dict) and all(map(_is_fact, facts, facts.values()))
        for name, facts in domains.items()
    )


def _is_fact(key: object, value: object) -> bool:
    if key == _STAGE:
        return value in get_args(Stage)
    if key == _REASON:
        return value in get_args(StageReason)
    return key in _NUMBERS and isinstance(value, int)


def _find_stage(client: Client, servers: Servers, end: float, name: Name) -> _StageResult:
    if time.monotonic() >= end:
        return _StageResult("unknown", reason="timed_out")
    own = client.with_new_deadline(extend_when_throttled=True)
    try:
        records = own.dns_records(name)
    except NotFound:
        warning = f"'{name}' was deleted while its stage was being determined. It is left out."
        return _StageResult(None, warning)
    except (Rejected, ServerFailed, BadAnswer) as error:
        # The service responded, so the problem concerns only this domain.
        warning = f"The stage of '{name}' is unknown: {error}"
        return _StageResult("unknown", warning, "no_records")
    found = verify(records, servers)
    if found.stage != "unknown":
        return _StageResult(found.stage)
    has_servers = any(verdict.servers for verdict in found.verdicts)
    return _StageResult("unknown", reason="no_answer" if has_servers else "no_name_servers")


def _selected(
    principals: Iterable[Principal], options: Mapping[str, Any]
) -> tuple[list[Name], list[str]]:
    """Return the selected domains in alphabetical order, and warnings.

    Invalid names are omitted with a warning. There is also a warning for each name in the options
    that does not exist, because it may be misspelled.
    """
    wanted, unwanted = options["domains"], options["exclude"]
    names = sorted(each.name for each in principals if isinstance(each, Domain))
    chosen = [
        name for name in names if matches(name.key, wanted) and not matches(name.key, unwanted)
    ]
    invalid = [name for name in chosen if not _is_domain(name.key)]
    warnings = [f"{str(name)!r} is not a valid domain name. It is left out." for name in invalid]
    keys = [name.key for name in names]
    warnings += [
        f"{option}: {pattern} is not a domain of the tenant. Check its spelling."
        for option in ("domains", "exclude")
        for pattern in options[option]
        # A pattern with wildcards may match future domains.
        if not set("*?[") & set(pattern) and not any(matches(key, [pattern]) for key in keys)
    ]
    return [name for name in chosen if name not in invalid], warnings


def _is_domain(key: object) -> bool:
    """Return whether a name is a normalized domain name, which can't contain a template."""
    try:
        return isinstance(key, str) and parse_domain(key).key == key
    except InvalidInput:
        return False


def _locations(principals: Iterable[Principal]) -> Iterator[tuple[str, str]]:
    """Yield the domain of each address and the name of the fact that counts such addresses."""
    for principal in principals:
        if isinstance(principal, (Domain, UnmanagedPrincipal)):
            continue
        yield principal.name.domain.key, _COUNTS[principal.kind]
        yield from ((alias.domain.key, _ALIASES) for alias in principal.aliases)
