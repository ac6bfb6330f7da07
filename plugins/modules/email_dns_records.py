#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_dns_records
short_description: Retrieve, verify, publish and withdraw the DNS records of a domain
version_added: 0.1.0
description:
  - Retrieves the MX, SPF and DKIM records that the service requires for a domain, as data, as text for
    a BIND zone file and as octoDNS YAML.
  - Verifies them at every authoritative name server, and returns a remedy for each record that is
    missing or wrong.
  - Publishes and withdraws them with signed dynamic updates (RFC 2136, TSIG). Other records are
    kept, and concurrent changes by other clients are not overwritten.
  - For DNS providers without dynamic updates, use the P(postroom.email.dns#role) role.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
attributes:
  check_mode:
    details:
      - In check mode, no update is sent and the task does not wait. If the domain is not
        registered, the task only warns, because an earlier task may register it.
options:
  domain: {description: Domain that is registered with the service., type: str, required: true}
  state:
    description:
      - V(retrieved) returns the records without querying any name server.
      - V(verified) verifies the records. Unless O(wait) is set, the task does not fail if records
        are missing or wrong.
      - V(present) publishes the records. The service's terms are merged into an existing SPF record
        unless it would then need more DNS lookups than receivers allow. Other MX records are kept,
        and the task warns about them. Another key at the service's DKIM selector is replaced.
      - V(present) fails and changes nothing if the domain's owner has to decide what to do, for
        example if there is a null MX record, if there are several SPF records, or if the name is an
        alias or is delegated.
      - V(absent) withdraws the records that the service requires, and no others. Use it before you
        delete the domain from the service, because the module gets the records from the service.
    type: str
    choices: [retrieved, verified, present, absent]
    default: retrieved
  ttl:
    description: Time to live in seconds. A record set that also contains other records keeps its
      current TTL.
    type: int
    default: 3600
  nameservers:
    description: Names or addresses of the authoritative name servers to query, such as
      V(ns1.example.net), V(192.0.2.1:5353) or V([2001:db8::1]:53). By default, the name servers in
      the zone's NS records are queried.
    type: list
    elements: str
  resolvers:
    description:
      - Addresses of recursive resolvers, such as V(192.0.2.1) or V([2001:db8::1]:5353). They are
        used to find name servers, to count the lookups of the SPF record, to validate DNSSEC, and
        to check whether they return the published records.
      - By default, the system's resolvers are used. If O(nameservers) is set, V(verified) does not
        check the records at the system's resolvers, because the given name servers may not be the
        public ones.
    type: list
    elements: str
  update_server:
    description: Name server that accepts the updates, in the same format as in O(nameservers). By
      default, the updates are sent to the primary server in the zone's SOA record.
    type: str
  tsig_name:
    description: Name of the TSIG key that signs updates. Required to publish and withdraw records.
    type: str
  tsig_secret:
    description: Secret of the TSIG key, in base64. Required to publish and withdraw records.
    type: str
  tsig_algorithm:
    description: Algorithm of the TSIG key.
    type: str
    choices: [hmac-sha256, hmac-sha384, hmac-sha512]
    default: hmac-sha256
  wait:
    description: With O(state=verified) or O(state=present), whether to wait until every
      authoritative name server that answers has the records. If O(wait_timeout) expires first, the
      task fails and lists the records that are still missing or wrong.
    type: bool
    default: false
  wait_for:
    description:
      - V(match) waits until every record matches. V(presence) waits until every record is published,
        and warns if other records conflict with it.
      - The default is V(match) if O(state=verified), and V(presence) if O(state=present).
    type: str
    choices: [match, presence]
  wait_timeout: {description: Maximum number of seconds to wait., type: int, default: 600}
notes:
  - O(timeout) limits the requests to the service and the publication of the records. It does not
    limit verification, which can take up to half a minute if servers do not answer, or waiting,
    which O(wait_timeout) limits.
seealso:
  - module: postroom.email.email_domain
    description: Register the domain first.
"""

EXAMPLES = r"""
- name: Get the records
  postroom.email.email_dns_records:
    domain: example.com

- name: Verify the records
  postroom.email.email_dns_records:
    domain: example.com
    state: verified
  register: mail_dns

- name: Show the remedies
  ansible.builtin.debug:
    msg: "{{ mail_dns.records | rejectattr('status', 'eq', 'match') | map(attribute='remedy') }}"

- name: Publish the records, and wait until all name servers have them
  postroom.email.email_dns_records:
    domain: example.com
    state: present
    update_server: ns1.example.com
    tsig_name: mail
    tsig_secret: "{{ vault_tsig_secret }}"
    wait: true

- name: Withdraw the records before the domain is deleted
  postroom.email.email_dns_records:
    domain: example.com
    state: absent
    update_server: ns1.example.com
    tsig_name: mail
    tsig_secret: "{{ vault_tsig_secret }}"
"""

RETURN = r"""
domain: {description: The domain., returned: success, type: str}
records:
  description: The records, in the order in which the service returns them.
  returned: success
  type: list
  elements: dict
  contains:
    type: {description: V(MX) or V(TXT)., returned: always, type: str}
    host: {description: Name relative to the domain; V(@) is the domain itself., returned: always, type: str}
    fqdn: {description: "Full name, as A-labels, without a trailing dot.", returned: always, type: str}
    ttl: {description: Time to live in seconds., returned: always, type: int}
    value:
      description: Host name of the mail server, or the whole text of a TXT record.
      returned: always
      type: str
    priority:
      description: Priority of the mail server; lower numbers are tried first.
      returned: for MX records
      type: int
    strings:
      description: The text in strings of at most 255 bytes.
      returned: for TXT records
      type: list
      elements: str
    quoted:
      description: The strings in quotes, in the form that zone files and most DNS providers
        require.
      returned: for TXT records
      type: str
      sample: '"v=spf1 include:example.net ~all"'
    status:
      description: V(match) if every server that answered has the record; V(missing) if at least one
        server does not have it; V(conflict) if other records conflict with it, if receivers would
        reject it, or if its DNSSEC signatures are invalid; V(unknown) if no server gave a reliable answer.
      returned: when it was verified
      type: str
    code:
      description: Stable code of the reason, such as V(present), V(mx_missing), V(spf_several),
        V(dkim_truncated), V(servers_disagree) or V(silent).
      returned: when it was verified
      type: str
    found:
      description: The values that were found, as in a zone file.
      returned: when it was verified
      type: list
      elements: str
    detail:
      description: The state of the record, with the servers that report it.
      returned: when it was verified
      type: str
    remedy:
      description: What to do; empty if there is nothing to do.
      returned: when it was verified
      type: str
      sample: "At example.com, add the record MX 10 mail.example.net."
    servers:
      description: The verdict on the record at each authoritative name server.
      returned: when it was verified
      type: list
      elements: dict
      contains:
        server: {description: Name and address of the server., returned: always, type: str}
        status: {description: "Like RV(records[].status), for this server.", returned: always, type: str}
        code: {description: "Like RV(records[].code), for this server.", returned: always, type: str}
        found: {description: "Like RV(records[].found), for this server.", returned: always, type: list, elements: str}
        detail: {description: "Like RV(records[].detail), for this server.", returned: always, type: str}
verified: {description: Whether the status of every record is V(match)., returned: when it was verified, type: bool}
stage:
  description: V(created) if a record is missing or in conflict; V(published) if the authoritative
    name servers have all records; V(active) if the resolvers also return them; V(unknown) if no
    problem was found, but no server gave a reliable answer for some of the records.
  returned: when it was verified
  type: str
advice:
  description: Warnings about SPF records whose DNS lookups could not be counted.
  returned: when it was verified
  type: list
  elements: str
current:
  description:
    - The current record sets with the names and types of RV(records), as far as they are known,
      including values that do not belong to the service, and aliases at these names.
    - With O(state=present) and O(state=absent), these are the record sets on the name server that
      the module updates. With O(state=verified), each record set has the values from all
      authoritative name servers.
  returned: when O(state) is not V(retrieved)
  type: list
  elements: dict
  contains:
    name: {description: "Full name, as A-labels, without a trailing dot.", returned: always, type: str}
    type: {description: "V(MX), V(TXT), or V(CNAME) for an alias.", returned: always, type: str}
    ttl: {description: Time to live in seconds; null for an alias., returned: always, type: int}
    value: {description: "The values, as in a zone file.", returned: always, type: list, elements: str}
zone:
  description: The records as lines of a BIND zone file, with absolute names.
  returned: success
  type: str
  sample: "example.com. 3600 IN MX 10 mail.example.net."
octodns: {description: The records as YAML for an octoDNS zone file., returned: success, type: str}
changes:
  description:
    - The changes in order. In check mode, these are the planned changes.
    - After a failure, these are the changes that were made before the failure. They are not undone.
  returned: when O(state) is V(present) or V(absent), and on failure
  type: list
  elements: dict
  contains:
    action: {description: "V(create), V(update) or V(delete).", returned: always, type: str}
    kind: {description: Always V(record set)., returned: always, type: str}
    name: {description: Name and type of the record set., returned: always, type: str}
    reason: {description: Reasons for the change., returned: always, type: str}
    code:
      description: Code of the first reason, such as V(mx_missing), V(mx_priority),
        V(spf_incomplete), V(dkim_other_key), V(ttl) or V(spf_terms_withdrawn).
      returned: always
      type: str
failure:
  description: Details of the failure.
  returned: failure
  type: dict
  contains:
    code: {description: "Stable identifier to use in conditions, such as V(unauthorized).", returned: always, type: str}
    kind: {description: "Class of the error, such as V(Unauthorized).", returned: always, type: str}
    status: {description: HTTP status; null if there was no response., returned: when a request failed, type: int}
    method: {description: HTTP method., returned: when a request failed, type: str}
    path: {description: Path of the request., returned: when a request failed, type: str}
    detail: {description: "The service's message, without secrets.", returned: when a request failed, type: str}
"""

import time
from collections.abc import Callable
from typing import Any

from ..module_utils._api.client.client import Client
from ..module_utils._api.dns import notations
from ..module_utils._api.dns.record_types import wanted_sets
from ..module_utils._api.errors import NotFound, Refused
from ..module_utils._api.models import RequiredRecords
from ..module_utils._api.names import parse_domain
from ..module_utils._module import Outcome, Params, run_module

ALGORITHMS = ["hmac-sha256", "hmac-sha384", "hmac-sha512"]

ARGUMENT_SPEC: dict[str, Any] = {
    "domain": {"type": "str", "required": True},
    "state": {
        "type": "str",
        "choices": ["retrieved", "verified", "present", "absent"],
        "default": "retrieved",
    },
    "ttl": {"type": "int", "default": 3600},
    "nameservers": {"type": "list", "elements": "str"},
    "resolvers": {"type": "list", "elements": "str"},
    "update_server": {"type": "str"},
    "tsig_name": {"type": "str"},
    "tsig_secret": {"type": "str", "no_log": True},
    "tsig_algorithm": {"type": "str", "choices": ALGORITHMS, "default": ALGORITHMS[0]},
    "wait": {"type": "bool", "default": False},
    "wait_for": {"type": "str", "choices": ["match", "presence"]},
    "wait_timeout": {"type": "int", "default": 600},
}


def ensure_records(
    client: Client,
    params: Params,
    *,
    check_mode: bool,
    report: Callable[[str], object] = lambda _text: None,
    sleep: Callable[[float], object] = time.sleep,
) -> Outcome:
    """Retrieve, verify, publish or withdraw the records.

    :param report: a function that shows the progress of a wait
    :param sleep: a function that waits for a number of seconds
    """
    end = client.pacing.clock() + client.pacing.timeout
    if params["state"] == "retrieved":
        return _retrieve(client, params, check_mode=check_mode)[1]
    # Import this only here, because it imports dnspython.
    from ..module_utils._dns_verify_publish import DnsTask  # noqa: PLC0415

    # Validate the options before sending a request.
    task = DnsTask(params, check_mode=check_mode, report=report, sleep=sleep)
    required, outcome = _retrieve(client, params, check_mode=check_mode)
    return task.run(required, outcome, end - client.pacing.clock())


def _retrieve(
    client: Client, params: Params, *, check_mode: bool
) -> tuple[RequiredRecords, Outcome]:
    """Return a domain's records, or none if it is unregistered and the task allows that."""
    domain = parse_domain(params["domain"], "domain")
    ttl = notations.checked_ttl(params["ttl"])
    state = params["state"]
    warnings: list[str] = []
    # Unused servers and keys cause no warning, because they may be defaults for many tasks.
    if params["wait"] and state not in ("verified", "present"):
        warnings.append(f"wait has no effect with state {state}. Use it with verified or present.")
    try:
        required = client.dns_records(domain)
    except NotFound:
        client.check_api()
        if state == "absent":
            warnings.append(f"{domain} is not registered in this tenant. Nothing is withdrawn.")
        elif check_mode:
            # The planner uses the same text, because Ansible displays identical warnings only once.
            warnings.append(
                f"The domain {domain} is not registered yet. Check mode assumes that an earlier "
                "task creates it."
            )
        else:
            from ..module_utils._api.dns.messages import text  # noqa: PLC0415

            raise Refused(text("unregistered", domain=domain)) from None
        required = RequiredRecords(domain, ())
    values = {
        "domain": str(domain),
        "records": notations.as_return_values(required, ttl),
        "zone": notations.zone_text(wanted_sets(required, ttl)),
        "octodns": notations.octodns(required, ttl),
    }
    return required, Outcome(values=values, warnings=warnings)


def main() -> None:
    run_module(ensure_records, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
