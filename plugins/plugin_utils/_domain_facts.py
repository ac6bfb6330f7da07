# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the inventory tells of each domain of a tenant."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.dns.observe import Servers
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import (
    require_dnspython,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.resolver import (
    map_concurrently,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.verify import Stage, verify
from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    BadAnswer,
    InvalidInput,
    NotFound,
    Rejected,
    ServerFailed,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Foreign,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    matcher,
    parse_domain,
)

Facts = dict[str, Any]
#: Why a stage is unknown: the service gave no records, the domain's name servers were not found or
#: gave no answer, or ``stage_timeout`` was over.
Reason = Literal["no_records", "no_name_servers", "no_answer", "timed_out"]

#: Seconds for one question to one name server.
_SECONDS_FOR_ONE = 5.0
#: Each of them has several questions under way.
_DOMAINS_AT_ONCE = 16
_COUNTS = {"mailbox": "email_mailboxes", "forwarder": "email_forwarders"}
_ALIASES = "email_aliases"
_NUMBERS = (*_COUNTS.values(), _ALIASES)
_STAGE, _REASON = "email_stage", "email_stage_reason"
_WILD = set("*?[")
_GONE = "'{name}' was deleted while its stage was looked up. It is no host."
_NOT_GIVEN = "The stage of '{name}' is unknown: {error}"
_TIMED_OUT = (
    "The stages of {number} domains, '{name}' among them, are unknown, because stage_timeout was "
    "over before they were looked up. Raise it, or choose fewer domains."
)


class _Looked(NamedTuple):
    """How far a domain has come, None where it has been deleted meanwhile, and what to warn of."""

    stage: Stage | None
    warning: str = ""
    reason: Reason | None = None

    @property
    def facts(self) -> Facts:
        """The variables of the host."""
        return {_STAGE: self.stage} | ({_REASON: self.reason} if self.reason else {})


class Gathered(NamedTuple):
    """What was read.

    :param domains: plain data by name, names in order: whole numbers, and a word for the stage
    :param warnings: a sentence for each domain that is no host, or that there is less to tell of
    """

    domains: dict[str, Facts]
    warnings: tuple[str, ...]


def gather(client: Client, options: Mapping[str, Any]) -> Gathered:
    """Read the domains of a tenant.

    :param options: ``domains`` and ``exclude``, lists of patterns; ``stage``, whether to ask name
        servers, whom in ``nameservers`` and ``resolvers``, and ``stage_timeout``, the seconds after
        which no further domain is looked up
    :raises InvalidInput: one of the servers is none
    :raises ImportError: name servers are to be asked, and dnspython is not installed
    """
    asked = _asked(options) if options["stage"] else None
    principals = client.list_principals()
    names, warnings = _chosen(principals, options)
    facts = _counted(principals, names)
    if asked is not None:
        end = time.monotonic() + options["stage_timeout"]
        look = partial(_stage, client, asked, end)
        stages = map_concurrently(names, look, most=_DOMAINS_AT_ONCE)
        facts = {
            name.key: {**facts[name.key], **each.facts}
            for name, each in stages.items()
            if each.stage
        }
        warnings += tuple(each.warning for each in stages.values() if each.warning)
        late = [name for name, each in stages.items() if each.reason == "timed_out"]
        if late:
            warnings += (_TIMED_OUT.format(number=len(late), name=late[0]),)
    return Gathered(facts, warnings)


def is_gathered(domains: object) -> bool:
    """Say whether something, such as what a cache gives, could be the domains of `Gathered`.

    In a cache anybody who may write its files can put something else, such as a template.
    """
    return isinstance(domains, dict) and all(
        _is_domain(name) and isinstance(facts, dict) and all(map(_is_fact, facts, facts.values()))
        for name, facts in domains.items()
    )


def _is_fact(key: object, value: object) -> bool:
    if key == _STAGE:
        return value in get_args(Stage)
    if key == _REASON:
        return value in get_args(Reason)
    return key in _NUMBERS and isinstance(value, int)


def _asked(options: Mapping[str, Any]) -> Servers:
    require_dnspython()
    return Servers.parse(options["nameservers"], options["resolvers"], _SECONDS_FOR_ONE)


def _stage(client: Client, asked: Servers, end: float, name: Name) -> _Looked:
    if time.monotonic() >= end:
        return _Looked("unknown", reason="timed_out")
    own = client.with_timeout(client.timeout, extend_when_throttled=True)
    try:
        records = own.dns_records(name)
    except NotFound:
        return _Looked(None, _GONE.format(name=name))
    except (Rejected, ServerFailed, BadAnswer) as error:
        # The service has answered, so this is about the one domain; the others can be told of.
        return _Looked("unknown", _NOT_GIVEN.format(name=name, error=error), "no_records")
    found = verify(records, asked)
    if found.stage != "unknown":
        return _Looked(found.stage)
    has_servers = any(verdict.servers for verdict in found.verdicts)
    return _Looked("unknown", reason="no_answer" if has_servers else "no_name_servers")


def _chosen(
    principals: Iterable[Principal], options: Mapping[str, Any]
) -> tuple[list[Name], tuple[str, ...]]:
    """Return the domains that are to be hosts, in order, and warnings about those that can't.

    A name that is chosen or left out and isn't there is warned of, too: it may be misspelt.
    """
    wanted, unwanted = matcher(options["domains"]), matcher(options["exclude"])
    names = sorted(each.name for each in principals if isinstance(each, Domain))
    chosen = [name for name in names if wanted(name.key) and not unwanted(name.key)]
    odd = [name for name in chosen if not _is_domain(name.key)]
    warnings = [f"{str(name)!r} is registered but no domain name. It is no host." for name in odd]
    warnings += _idle(options, [name.key for name in names])
    return [name for name in chosen if name not in odd], tuple(warnings)


def _idle(options: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each name in the patterns that is no domain's; others may yet match."""
    for option in ("domains", "exclude"):
        for pattern in options[option]:
            if not _WILD & set(pattern) and not any(map(matcher([pattern]), keys)):
                yield f"{option}: {pattern} is no domain of the tenant. Check its spelling."


def _is_domain(key: object) -> bool:
    """Say whether it is made of letters, digits, hyphens and dots, which no template is."""
    try:
        return isinstance(key, str) and parse_domain(key).key == key
    except InvalidInput:
        return False


def _counted(principals: Iterable[Principal], names: Iterable[Name]) -> dict[str, Facts]:
    counts = Counter(_places(principals))
    return {name.key: {key: counts[name.key, key] for key in _NUMBERS} for name in names}


def _places(principals: Iterable[Principal]) -> Iterator[tuple[str, str]]:
    """Yield the domain of each address, and what it counts as there."""
    for principal in principals:
        if isinstance(principal, (Domain, Foreign)):
            continue
        yield principal.name.domain.key, _COUNTS[principal.kind]
        yield from ((alias.domain.key, _ALIASES) for alias in principal.aliases)
