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
  - Verifies them at every authoritative name server, with a remedy for each record.
  - Publishes and withdraws them by signed dynamic updates (RFC 2136, TSIG). Other records are kept,
    and concurrent changes by other clients are not overwritten.
  - For DNS providers without dynamic updates, use the role P(postroom.email.dns#role).
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
attributes:
  check_mode:
    details:
      - In check mode no update is sent and the task does not wait. A domain that is not registered
        causes a warning, because an earlier task may register it.
options:
  domain: {description: Domain that is registered with the service., type: str, required: true}
  state:
    description:
      - V(retrieved) returns the records and asks no name server.
      - V(verified) verifies the records. Without O(wait) it does not fail because of its findings.
      - V(present) publishes the records. The service's terms are merged into an existing SPF record
        unless it would then exceed the DNS look-ups that receivers allow. Other MX records are kept,
        and the task warns about them. Another key at the service's DKIM selector is replaced.
      - V(present) fails and changes nothing if only the owner of the domain can decide, for example
        with a null MX record, several SPF records, or a name that is an alias or delegated.
      - V(absent) withdraws exactly these records. Use it before you delete the domain from the
        service, because only the service knows the records.
    type: str
    choices: [retrieved, verified, present, absent]
    default: retrieved
  ttl:
    description: Time to live in seconds. A record set that also contains other records keeps its own.
    type: int
    default: 3600
  nameservers:
    description:
      - Authoritative name servers to verify at, each a name or an address, such as V(ns1.example.net),
        V(192.0.2.1:5353) or V([2001:db8::1]:53). By default, those in the NS records of the zone.
    type: list
    elements: str
  resolvers:
    description:
      - Addresses of recursive resolvers, such as V(192.0.2.1) or V([2001:db8::1]:5353). They find name
        servers, count the look-ups of the SPF record, validate DNSSEC, and show whether a published
        domain is visible everywhere.
      - By default, those of the system. With O(nameservers), which may not be the public ones,
        V(verified) then asks no resolver.
    type: list
    elements: str
  update_server:
    description:
      - Name server that takes the updates, written as in O(nameservers). By default, the primary in
        the SOA record of the zone.
    type: str
  tsig_name:
    description: Name of the key that signs updates. Required to publish and withdraw.
    type: str
  tsig_secret:
    description: The key itself, in base64. Required to publish and withdraw.
    type: str
  tsig_algorithm:
    description: Algorithm of the key.
    type: str
    choices: [hmac-sha256, hmac-sha384, hmac-sha512]
    default: hmac-sha256
  wait:
    description:
      - With V(verified) and V(present) of O(state), wait until every authoritative name server that
        answers has the records. After O(wait_timeout), the task fails and lists the others.
    type: bool
    default: false
  wait_for:
    description:
      - V(match) waits until every record matches. V(presence) waits until every record is published,
        and warns if other records conflict with it.
      - The default is V(match) for V(verified) and V(presence) for V(present) of O(state).
    type: str
    choices: [match, presence]
  wait_timeout: {description: Maximum number of seconds to wait., type: int, default: 600}
notes:
  - O(timeout) is the time for the service and for publishing. Verifying takes up to half a minute
    more if servers do not answer; waiting takes up to O(wait_timeout).
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

- name: Publish, and wait until all name servers have it
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
  description: The records, in the order of the service.
  returned: success
  type: list
  elements: dict
  contains:
    type: {description: V(MX) or V(TXT)., returned: always, type: str}
    host: {description: Name relative to the domain; V(@) is the domain itself., returned: always, type: str}
    fqdn: {description: "Full name, as A-labels, without a trailing dot.", returned: always, type: str}
    ttl: {description: Time to live in seconds., returned: always, type: int}
    value: {description: "Host name of the mail server, or the whole text.", returned: always, type: str}
    priority: {description: Lower numbers are tried first., returned: for MX records, type: int}
    strings:
      description: The text in strings of at most 255 bytes.
      returned: for TXT records
      type: list
      elements: str
    quoted:
      description: The strings in quotes, as zone files and most DNS providers take them.
      returned: for TXT records
      type: str
      sample: '"v=spf1 include:example.net ~all"'
    status:
      description:
        - V(match) if every server that answered has it; V(missing) if one certainly does not;
          V(conflict) if other records conflict with it; V(unknown) if no server gave a reliable answer.
      returned: when it was verified
      type: str
    code:
      description:
        - Stable code of the reason, such as V(present), V(mx_missing), V(spf_several),
          V(dkim_truncated), V(servers_disagree) or V(silent).
      returned: when it was verified
      type: str
    found:
      description: The values that were found, as in a zone file.
      returned: when it was verified
      type: list
      elements: str
    detail: {description: What was found and where., returned: when it was verified, type: str}
    remedy:
      description: What to do; empty if there is nothing to do.
      returned: when it was verified
      type: str
      sample: "At example.com, add the record MX 10 mail.example.net."
    servers:
      description: The same for each authoritative name server.
      returned: when it was verified
      type: list
      elements: dict
      contains:
        server: {description: Name and address of the server., returned: always, type: str}
        status: {description: As for the record., returned: always, type: str}
        code: {description: As for the record., returned: always, type: str}
        found: {description: As for the record., returned: always, type: list, elements: str}
        detail: {description: As for the record., returned: always, type: str}
verified: {description: Whether every record is a V(match)., returned: when it was verified, type: bool}
stage:
  description:
    - V(created) if a record is missing or in conflict; V(published) if all are at the authoritative
      name servers; V(active) if the resolvers have them, too; V(unknown) if nothing wrong was found,
      but some servers did not answer.
  returned: when it was verified
  type: str
advice:
  description: Warnings that the look-ups of an SPF record could not be counted.
  returned: when it was verified
  type: list
  elements: str
current:
  description:
    - The current record sets of these names and types, as far as known, including other values.
    - After publishing and withdrawing, those of the updated name server; else those of all
      authoritative name servers.
  returned: when O(state) is not V(retrieved)
  type: list
  elements: dict
  contains:
    name: {description: "Full name, as A-labels, without a trailing dot.", returned: always, type: str}
    type: {description: "V(MX), V(TXT), or V(CNAME) for an alias.", returned: always, type: str}
    ttl: {description: Time to live in seconds; null for an alias., returned: always, type: int}
    value: {description: The values as in a zone file., returned: always, type: list, elements: str}
zone:
  description: The records as lines of a BIND zone file, with absolute names.
  returned: success
  type: str
  sample: "example.com. 3600 IN MX 10 mail.example.net."
octodns: {description: The records as YAML for a zone file of octoDNS., returned: success, type: str}
changes:
  description:
    - The changes in order; in check mode, the planned ones.
    - After a failure, the changes before it, which remain.
  returned: when O(state) is V(present) or V(absent), and on failure
  type: list
  elements: dict
  contains:
    action: {description: "V(create), V(update) or V(delete).", returned: always, type: str}
    kind: {description: Always V(record set)., returned: always, type: str}
    name: {description: Name and type of the record set., returned: always, type: str}
    reason: {description: Reasons for the change., returned: always, type: str}
    code:
      description:
        - Code of the first reason, such as V(mx_missing), V(mx_priority), V(spf_incomplete),
          V(dkim_other_key), V(ttl) or V(spf_terms_withdrawn).
      returned: always
      type: str
failure:
  description: Details of the failure.
  returned: failure
  type: dict
  contains:
    code:
      description: Stable identifier for conditions, such as V(unauthorized) or V(unreachable).
      returned: always
      type: str
    kind: {description: "Class of the error, such as V(Unauthorized).", returned: always, type: str}
    status:
      description: HTTP status of the response; null if no response was received.
      returned: when a request failed
      type: int
    method: {description: HTTP method., returned: when a request failed, type: str}
    path: {description: Path of the request., returned: when a request failed, type: str}
    detail:
      description: Error message of the service, without secrets.
      returned: when a request failed
      type: str
"""

from typing import TYPE_CHECKING, Any

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._dns_retrieve import retrieve
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)

if TYPE_CHECKING:
    from ansible_collections.postroom.email.plugins.module_utils._dns_verify_publish import Watch

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
    client: Client, params: Params, *, check_mode: bool, watch: Watch | None = None
) -> Outcome:
    """Retrieve, verify, publish or withdraw the records.

    :param watch: how to wait and report progress
    """
    end = client.now() + client.timeout
    if params["state"] == "retrieved":
        found = retrieve(client, params, check_mode=check_mode)
        return Outcome(values=found.values, warnings=found.warnings)
    # Imported here because it imports dnspython.
    from ansible_collections.postroom.email.plugins.module_utils._dns_verify_publish import DnsTask  # noqa: PLC0415

    # Validate the options before sending a request.
    task = DnsTask(params)
    found = retrieve(client, params, check_mode=check_mode)
    return task.run(found, seconds=end - client.now(), check_mode=check_mode, watch=watch)


def main() -> None:
    """Run the module."""
    run_module(ensure_records, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
