# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: record_sets
short_description: Work the service's DNS records into the record sets that are there
version_added: 0.1.0
description:
  - DNS providers and their modules replace whole record sets, that is all records of one type at
    one name. This filter returns the whole sets to write, with everybody else's records kept.
  - With O(state=present), the service's mail servers are added, and other priorities of them
    removed; the service's terms are merged into the SPF record; the service's DKIM key replaces
    other keys of its selector. Mail servers of others are kept with a warning.
  - With O(state=absent), exactly these are taken out.
  - Fails where only the owner of the domain can decide, such as with a CNAME record at the name,
    with a null MX record, or with several SPF records, and says what to do.
  - Nothing is looked up. Retrieve what is there from the provider, or from the name servers with
    M(postroom.email.email_dns_records).
  - If the records were verified, fails also where the name servers did not tell what is there, or
    do not agree on it, because writing whole sets could lose records of others. With what the
    provider itself shows as O(current), pass records that were only retrieved.
author:
  - Postroom contributors (@postroom)
positional: current, state
options:
  _input:
    description: Records that the service asks for, as M(postroom.email.email_dns_records) returns them.
    type: list
    elements: dict
    required: true
  current:
    description:
      - What is there now, of these names at least. Other names do not matter, and neither do
        types other than MX, TXT, CNAME and DNAME, so that a whole zone will do.
      - An item is a record or a record set, and empty ones are passed over. Its name in full is
        C(name), C(record) or C(fqdn), in any case, with or without a dot at the end. Its C(type)
        and its C(ttl) are beside it.
      - Its values are C(record_values), C(values), C(value), C(content), C(records) or
        C(resource_records), as one text, as a list of texts, or as a list of mappings with C(content)
        or C(value). This is what M(postroom.email.email_dns_records), M(amazon.aws.route53),
        M(amazon.aws.route53_info), M(community.dns.hetzner_dns_record_set_info) and the
        interfaces of Cloudflare and PowerDNS return.
      - A TXT value is strings in double quotes, as a zone file has them, or a bare text in which
        nothing is escaped. If it begins with a double quote, it is the former.
      - An MX value has its priority before the host, or beside it as C(priority).
      - A C(comment) beside a C(content) or a C(value) is kept for providers that have one on each
        record.
    type: list
    elements: dict
    default: []
  state:
    description: Whether the service's records are to be there.
    type: str
    choices: [present, absent]
    default: present
  escapes:
    description:
      - How the digits after a backslash count in the TXT values of O(current).
      - V(octal) is for what Route 53 returns, V(decimal) for everything else.
    type: str
    choices: [decimal, octal]
    default: decimal
  resolvers:
    description:
      - Addresses of the resolvers that look up how many DNS look-ups a merged SPF record takes. The
        default is those of the system.
      - A merged record that takes more than ten look-ups is left as it is, with C(refused) saying why,
        because receivers would reject it. Without dnspython, the filter warns and does not count.
    type: list
    elements: str
seealso:
  - module: postroom.email.email_dns_records
    description: Retrieves the records; publishes them by itself where the server takes dynamic updates.
  - plugin: postroom.email.records_for
    plugin_type: filter
    description: Turns the record sets into options of the modules of DNS providers.
"""

EXAMPLES = r"""
- name: Get the records, and what is there
  postroom.email.email_dns_records:
    domain: example.com
    state: verified
  register: dns

- name: Show the record sets to write
  ansible.builtin.debug:
    msg: >-
      {{ dns.records | postroom.email.record_sets(dns.current)
      | rejectattr('action', 'eq', 'none') }}

- name: Show what is left once the service's records are withdrawn
  ansible.builtin.debug:
    msg: "{{ dns.records | postroom.email.record_sets(dns.current, state='absent') }}"
"""

RETURN = r"""
_value:
  description:
    - One mapping for each name and type of the records, in their order, unchanged ones included.
    - Each has C(name), without a dot at the end, C(type), C(ttl) in seconds, and C(value), a list
      of all values as a zone file has them, with those that were there as they were written. Without
      values the record set is to go.
    - Where one of the values has a comment, C(comments) has that of each value, or null.
    - C(action) is V(create), V(update), V(delete) or V(none), and C(reason) says why. C(before) is
      null where there is no record set, and otherwise a mapping with C(ttl) and C(value).
    - C(refused) explains why a record set that lacks something is left alone. Otherwise it is omitted.
  type: list
  elements: dict
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ansible.utils.display import Display

from ansible_collections.postroom.email.plugins.module_utils._api.dns import resolver
from ansible_collections.postroom.email.plugins.module_utils._api.dns.formats import Escapes
from ansible_collections.postroom.email.plugins.module_utils._api.dns.plan import (
    Publication,
    Surroundings,
    plan_absence,
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import (
    require_dnspython,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_input import (
    DEFAULT_TTL,
    Found,
    listed,
    matching,
    read_found,
    refuse_doubts,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.rrset import RecordSet
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_check import (
    CheckSpf,
    checker,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter

Choice = TypeVar("Choice")

_STATES = {"present": True, "absent": False}
_SECONDS_FOR_ONE = 3.0
_SECONDS_FOR_ALL = 10.0
_ESCAPES: dict[str, Escapes] = {"decimal": "decimal", "octal": "octal"}


@as_filter
def record_sets(
    records: Any,
    current: Any = (),
    state: Any = "present",
    escapes: Any = "decimal",
    resolvers: Any = None,
) -> list[dict[str, Any]]:
    is_present = _choice("state", state, _STATES)
    wanted = list(read_found(records, DEFAULT_TTL).sets.values())
    refuse_doubts(records)
    # A set that does not say its time to live is taken to have the wanted one.
    ttl = max((record_set.ttl for record_set in wanted), default=0)
    names = {record_set.name for record_set in wanted}
    found = read_found(current, ttl, names, _choice("escapes", escapes, _ESCAPES), "current")
    to_plan = _to_plan(records, wanted, found)
    if is_present:
        around = Surroundings(redirections=found.redirections)
        check = _check_spf(resolvers)
        publication = plan_presence(to_plan, found.sets, found.aliases, around, check)
    else:
        publication = plan_absence(to_plan, found.sets, found.aliases, found.redirections)
    for warning in publication.warnings:
        Display().warning(warning)
    return [_row(record_set, found, publication) for record_set in wanted]


def _check_spf(resolvers: Any) -> CheckSpf:
    """Return the function that counts the look-ups of SPF records."""
    # Variables from the command line are texts.
    addresses = resolvers.split(",") if isinstance(resolvers, str) else resolvers
    addresses = listed(addresses or [], "resolvers")
    given = tuple(resolver.parse_address(str(address), "resolvers") for address in addresses)

    def check(name: str, wanted: str, before: str | None, after: str) -> Sequence[str]:
        try:
            require_dnspython()
        except ImportError:
            if before == after:
                return []
            return [f"{name}: its SPF record's DNS look-ups were not counted: install dnspython."]
        asked = resolver.Resolvers(given or resolver.system_resolvers(), _SECONDS_FOR_ONE)
        return checker(resolver.confirmed(asked), _SECONDS_FOR_ALL)(name, wanted, before, after)

    return check


def _choice(option: str, given: Any, choices: Mapping[str, Choice]) -> Choice:
    choice = choices.get(str(given))
    if choice is None:
        raise InvalidInput(f"{option}: {given!r} is not known. Give {' or '.join(choices)}.")
    return choice


def _to_plan(records: Any, wanted: Iterable[RecordSet], found: Found) -> list[RecordSet]:
    """Return the sets without those that are where an alias leads to."""
    there = matching(records)
    return [
        record_set
        for record_set in wanted
        if record_set.name not in found.aliases or record_set.key not in there
    ]


def _row(wanted: RecordSet, found: Found, publication: Publication) -> dict[str, Any]:
    before = found.sets.get(wanted.key)
    row = {"action": "none", "reason": "", "before": _shown(before, found) if before else None}
    after = before
    for change in publication.changes:
        if change.subject.key == wanted.key:
            after = change.after
            row |= {"action": change.action, "reason": change.reason}
    if wanted.key in publication.refused:
        row["refused"] = publication.refused[wanted.key]
    return {
        "name": wanted.name,
        "type": wanted.type,
        **_shown(after or wanted._replace(values=()), found),
        **row,
    }


def _shown(record_set: RecordSet, found: Found) -> dict[str, Any]:
    shown = {"ttl": record_set.ttl, "value": found.spelled(record_set)}
    comments = found.commented(record_set)
    return {**shown, "comments": comments} if any(comments) else shown


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"record_sets": record_sets}
