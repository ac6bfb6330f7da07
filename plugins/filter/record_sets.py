# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: record_sets
short_description: Merge the service's DNS records into the current record sets
version_added: 0.1.0
description:
  - DNS providers and their modules replace whole record sets. A record set consists of all records
    of one type at one name. This filter returns the record sets to write, including the existing
    records of other services.
  - With O(state=present), the service's MX records are added, and the service's terms are merged
    into the SPF record. The service's DKIM key replaces other keys at its selector. Other MX
    records are kept, and the filter warns about them.
  - With O(state=absent), only the service's records are removed.
  - Fails if the domain's owner has to decide what to do, for example if the name is an alias, or if
    it has a null MX record or several SPF records.
  - If the input comes from a task with
    O(postroom.email.email_dns_records#module:state=verified), the filter also fails if the name
    servers did not answer or disagreed, because writing the record sets could then delete other
    records. If O(current) comes from the DNS provider, pass records from a task with
    O(postroom.email.email_dns_records#module:state=retrieved) instead.
author: [Postroom contributors (@postroom)]
positional: current, state
options:
  _input:
    description: Records that the service requires, from M(postroom.email.email_dns_records).
    type: list
    elements: dict
    required: true
  current:
    description:
      - Current records. Include all records at the names of the required records. You can pass a
        whole zone, because records at other names, and records of types other than MX, TXT and
        CNAME, are ignored.
      - Each item is a record or a record set. Its full name is in the key C(name), C(record) or
        C(fqdn). Each item also has the keys C(type) and C(ttl).
      - The values of an item are in one of the keys C(record_values), C(values), C(value),
        C(content), C(records) and C(resource_records). The values are a string, a list of strings,
        or a list of mappings with C(content) or C(value), and optionally C(comment). The modules
        M(postroom.email.email_dns_records) and M(amazon.aws.route53) and the APIs of Cloudflare,
        Hetzner and PowerDNS return these formats.
      - A TXT value is either in double quotes, as in a zone file, or plain text without quotes or
        escapes. The priority of an MX record is in the key C(priority), or before the host in the
        value.
    type: list
    elements: dict
    default: []
  state:
    description: Whether to publish or withdraw the service's records.
    type: str
    choices: [present, absent]
    default: present
  escapes:
    description: Number base of escapes (digits after a backslash) in the TXT values of O(current)
      and of the result. Route 53 uses V(octal). All other formats use V(decimal).
    type: str
    choices: [decimal, octal]
    default: decimal
  resolvers:
    description:
      - Addresses of the resolvers that are used to count the DNS lookups of a merged SPF record.
        By default, the system's resolvers are used.
      - If the merged SPF record would need more lookups than receivers allow, the record is not
        changed, and C(refused) is set. If dnspython is not installed, the filter warns and does not
        count the lookups.
    type: list
    elements: str
seealso:
  - module: postroom.email.email_dns_records
    description: Retrieves the records, and publishes them with dynamic updates.
  - module: amazon.aws.route53
  - module: hetzner.hcloud.zone_rrset
"""

EXAMPLES = r"""
- name: Verify the records
  postroom.email.email_dns_records:
    domain: example.com
    state: verified
  register: dns

- name: Show the record sets to write
  ansible.builtin.debug:
    msg: >-
      {{ dns.records | postroom.email.record_sets(dns.current)
      | rejectattr('action', 'eq', 'none') }}

- name: Show the record sets to write in order to withdraw the service's records
  ansible.builtin.debug:
    msg: "{{ dns.records | postroom.email.record_sets(dns.current, state='absent') }}"
"""

RETURN = r"""
_value:
  description:
    - One mapping for each record set that the service requires, in the order of the input,
      including unchanged record sets.
    - C(name) is the name without a trailing dot, C(type) is the record type, C(ttl) is the time to
      live in seconds, and C(value) is the list of all values in zone file format. If the list is
      empty, delete the record set.
    - C(comments) lists the comment on each value, or null for a value without a comment. It is only
      set if at least one value has a comment.
    - C(action) is V(create), V(update), V(delete) or V(none), and C(reason) explains it. C(before)
      is a mapping with the current C(ttl) and C(value), or null if there is no such record set yet.
    - C(refused), if set, explains why the record set is not changed although it lacks some of the
      service's records or terms.
  type: list
  elements: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.utils.display import Display

from ..module_utils._api.dns import messages
from ..module_utils._api.dns.publish import RecordPlan, plan_absence, plan_presence
from ..module_utils._api.dns.query import require_dnspython
from ..module_utils._api.dns.read_record_sets import ParsedSets, as_list, read_record_sets
from ..module_utils._api.dns.record_types import Key, RecordSet
from ..module_utils._api.dns.resolver import Resolvers, parse_server, system_resolvers
from ..module_utils._api.dns.spf_lookups import Ask, limited
from ..module_utils._api.errors import InvalidInput, Refused
from ..plugin_utils._filters import as_filter

_QUESTION_TIMEOUT = 3.0


@as_filter
def record_sets(
    records: Any,
    current: Any = (),
    state: Any = "present",
    escapes: Any = "decimal",
    resolvers: Any = None,
) -> list[dict[str, Any]]:
    for option, given, choices in (
        ("state", state, ("present", "absent")),
        ("escapes", escapes, ("decimal", "octal")),
    ):
        if given not in choices:
            raise InvalidInput(f"{option}: {given!r} is unknown. Set {' or '.join(choices)}.")
    wanted = list(read_record_sets(records).sets.values())
    matches = _verified_matches(records)
    # A record set without a TTL is assumed to have the required TTL.
    ttl = max((one.ttl for one in wanted), default=0)
    names = {one.name for one in wanted}
    found = read_record_sets(current, ttl, names, escapes, "current")
    # A record that was verified as a match may be published at the target of an alias.
    to_plan = [w for w in wanted if w.name not in found.redirections or w.key not in matches]
    if state == "present":
        plan = plan_presence(to_plan, found.sets, found.redirections, ask=_lookup(resolvers))
    else:
        plan = plan_absence(to_plan, found.sets, found.redirections)
    for warning in plan.warnings:
        Display().warning(warning)
    return [_row(one, found, plan) for one in wanted]


def _verified_matches(records: Any) -> set[Key]:
    """Return the name and type of each record set whose verified records all match.

    :raises Refused: if the current records are unknown or the name servers disagree, because
        writing whole record sets could then delete other records
    """
    verified: dict[Key, list[str]] = {}
    problems: list[str] = []
    for record in as_list(records, "records"):
        if not isinstance(record, Mapping) or "status" not in record:
            continue
        key = str(record.get("fqdn", "")), str(record.get("type", ""))
        verified.setdefault(key, []).append(record["status"])
        known = [one for one in record.get("servers", ()) if one["status"] != "unknown"]
        other = [one for one in known if set(one["found"]) != set(known[0]["found"])]
        if record["status"] == "unknown":
            params = {"set": " ".join(key), "detail": record.get("detail", "")}
            problems.append(messages.text("unknown_set", **params))
        elif other:
            params = {"set": " ".join(key), "one": other[0]["server"], "other": known[0]["server"]}
            problems.append(messages.text("ambiguous_set", **params))
    if problems:
        raise Refused(" ".join(dict.fromkeys(problems)))
    return {key for key, statuses in verified.items() if set(statuses) == {"match"}}


def _lookup(resolvers: Any) -> Ask | None:
    """Return the function that looks up names in SPF records, or None if dnspython is missing."""
    # A list that is set on the command line arrives as a string.
    given = resolvers.split(",") if isinstance(resolvers, str) else resolvers
    texts = [str(address) for address in as_list(given or [], "resolvers")]
    servers = tuple(parse_server(text, "resolvers", is_resolver=True) for text in texts)
    try:
        require_dnspython()
    except ImportError:
        return None
    return limited(Resolvers(servers or system_resolvers(), _QUESTION_TIMEOUT).confirmed_texts)


def _row(wanted: RecordSet, found: ParsedSets, plan: RecordPlan) -> dict[str, Any]:
    def shown(record_set: RecordSet) -> dict[str, Any]:
        row = {"ttl": record_set.ttl, "value": found.spelled(record_set)}
        comments = [found.comments.get((*record_set.key, value)) for value in record_set.values]
        return {**row, "comments": comments} if any(comments) else row

    before = found.sets.get(wanted.key)
    row = {"action": "none", "reason": "", "before": shown(before) if before else None}
    after = before
    for change in plan.changes:
        if change.subject.key == wanted.key:
            after = change.after
            row |= {"action": change.action, "reason": change.reason}
    if wanted.key in plan.refused:
        row["refused"] = plan.refused[wanted.key]
    after = after or wanted._replace(values=())
    return {"name": wanted.name, "type": wanted.type, **shown(after), **row}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"record_sets": record_sets}
