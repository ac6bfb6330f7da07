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
  - Publishes and withdraws them by signed dynamic updates (RFC 2136, TSIG). Records of others are
    kept, and concurrent changes of other clients are not overwritten.
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
  domain:
    description: Domain that is registered with the service.
    type: str
    required: true
  state:
    description:
      - V(retrieved) returns the records and asks no name server.
      - V(verified) verifies the records. Without O(wait) it does not fail because of its findings.
      - V(present) publishes the records. The service's terms are merged into an existing SPF record
        unless it would then exceed the DNS look-ups that receivers allow. Other MX records are kept,
        with a warning. Another key at the service's DKIM selector is replaced. If a wildcard stops
        applying to the domain, the task warns.
      - V(present) fails and changes nothing if only the owner of the domain can decide, for example
        with a null MX record, several SPF records, or a name that is an alias or delegated.
      - V(absent) withdraws exactly these records. Withdraw before you delete the domain from the
        service, because only the service knows the records.
    type: str
    choices: [retrieved, verified, present, absent]
    default: retrieved
  ttl:
    description:
      - Time to live of the records, in seconds.
      - A record set that contains records of others keeps its own.
    type: int
    default: 3600
  nameservers:
    description:
      - The authoritative name servers to verify at, each a name or an address, such as
        V(ns1.example.net), V(192.0.2.1), V(192.0.2.1:5353) or V([2001:db8::1]:53).
      - If not set, they are found by the NS records of the domain's zone.
    type: list
    elements: str
  resolvers:
    description:
      - Addresses of recursive resolvers, such as V(192.0.2.1) or V([2001:db8::1]:5353). They find name
        servers, count the look-ups of the SPF record, validate DNSSEC, and show whether a published
        domain is visible everywhere.
      - If not set, those of the system. With O(nameservers), which may not be the public ones,
        V(verified) then asks no resolver.
    type: list
    elements: str
  update_server:
    description:
      - Name server that takes the updates, written as O(nameservers) are.
      - If not set, the primary that the SOA record of the domain's zone names.
    type: str
  tsig_name:
    description: Name of the key that signs updates. Required for V(present) and V(absent) of O(state).
    type: str
  tsig_secret:
    description: The key itself, in base64. Required for V(present) and V(absent) of O(state).
    type: str
  tsig_algorithm:
    description: Algorithm of the key.
    type: str
    choices: [hmac-sha256, hmac-sha384, hmac-sha512]
    default: hmac-sha256
  wait:
    description:
      - With V(verified) and V(present) of O(state), wait until every record is published at every
        authoritative name server that answers. After O(wait_timeout), the task fails and lists the
        records that do not meet O(wait_for).
      - Inside Ansible's own process, the task reports progress.
    type: bool
    default: false
  wait_for:
    description:
      - What O(wait) waits for.
      - V(match) waits until every record matches, V(presence) until every record is published, even
        if records of others conflict with it. Each conflict causes a warning.
      - If not set, V(match) for V(verified) and V(presence) for V(present) of O(state).
    type: str
    choices: [match, presence]
  wait_timeout:
    description: Seconds to wait at most.
    type: int
    default: 600
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
  register: mail_records

- name: Show them as lines for a zone file
  ansible.builtin.debug:
    msg: "{{ mail_records.zone.splitlines() }}"

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
domain:
  description: The domain.
  returned: success
  type: str
  sample: example.com
records:
  description: The records, in the order of the service.
  returned: success
  type: list
  elements: dict
  contains:
    type:
      description: Type of the record. One of V(MX) and V(TXT).
      type: str
      returned: always
      sample: MX
    host:
      description: Name relative to the domain; V(@) is the domain itself.
      type: str
      returned: always
      sample: "@"
    fqdn:
      description: Name in full, as A-labels, without a dot at the end.
      type: str
      returned: always
      sample: example.com
    ttl:
      description: Time to live in seconds.
      type: int
      returned: always
      sample: 3600
    value:
      description: Host name of the mail server, or the whole text.
      type: str
      returned: always
      sample: mail.example.net
    priority:
      description: Priority. Lower numbers are tried first.
      type: int
      returned: for MX records
      sample: 10
    strings:
      description: The text in strings of at most 255 bytes.
      type: list
      elements: str
      returned: for TXT records
      sample: ["v=spf1 include:example.net ~all"]
    quoted:
      description: The strings in quotes, as zone files and most DNS providers take them.
      type: str
      returned: for TXT records
      sample: '"v=spf1 include:example.net ~all"'
    status:
      description:
        - V(match) if every server that answered has it; V(missing) if one certainly does not;
          V(conflict) if other records conflict with it; V(unknown) if no server gave a reliable answer.
      type: str
      returned: when it was verified
      sample: missing
    found:
      description: The values that were found, as in a zone file.
      type: list
      elements: str
      returned: when it was verified
      sample: []
    detail:
      description: What was found, and where.
      type: str
      returned: when it was verified
      sample: "ns1.example.com (192.0.2.53): there is no MX record at example.com."
    code:
      description:
        - Why, as a stable code, such as V(present), V(mx_missing), V(spf_several), V(dkim_truncated),
          V(servers_disagree) or V(silent).
      type: str
      returned: when it was verified
      sample: mx_missing
    remedy:
      description: What to do. Empty if there is nothing to do.
      type: str
      returned: when it was verified
      sample: "At example.com, add the record MX 10 mail.example.net."
    servers:
      description: The same of each authoritative name server.
      type: list
      elements: dict
      returned: when it was verified
      contains:
        server:
          description: Name and address of the server.
          type: str
          returned: always
          sample: ns1.example.com (192.0.2.53)
        status:
          description: As RV(records[].status), of this server.
          type: str
          returned: always
          sample: missing
        code:
          description: As RV(records[].code), of this server.
          type: str
          returned: always
          sample: mx_missing
        found:
          description: What this server has.
          type: list
          elements: str
          returned: always
          sample: []
        detail:
          description: What was found.
          type: str
          returned: always
          sample: there is no MX record at example.com
verified:
  description: Whether every record is V(match).
  returned: when it was verified
  type: bool
  sample: true
stage:
  description:
    - V(created) if a record is missing or in conflict; V(published) if all are at the authoritative
      name servers; V(active) if the resolvers have them, too; V(unknown) if nothing wrong was found,
      but some servers did not answer.
  returned: when it was verified
  type: str
  sample: active
advice:
  description: Warnings about records that match.
  returned: when it was verified
  type: list
  elements: str
  sample:
    - >-
      The DNS look-ups of the SPF record at example.com could not be counted, so there may be more
      than the 10 that receivers allow: no resolver answered for spf.example.net.
current:
  description:
    - The current record sets of these names and types, as far as known, with the values of others.
    - After publishing and withdrawing, those of the updated name server; else those of all
      authoritative name servers.
  returned: when O(state) is not V(retrieved)
  type: list
  elements: dict
  contains:
    name:
      description: Name in full, as A-labels, without a dot at the end.
      type: str
      returned: always
      sample: example.com
    type:
      description:
        - Type of the records. One of V(MX), V(TXT), and V(CNAME) for a name that is an alias.
      type: str
      returned: always
      sample: TXT
    ttl:
      description: Time to live in seconds; null for an alias.
      type: int
      returned: always
      sample: 3600
    value:
      description: The values as text for a zone file.
      type: list
      elements: str
      returned: always
      sample: ['"v=spf1 mx include:example.net ~all"']
zone:
  description: The records as lines of a BIND zone file, with absolute names.
  returned: success
  type: str
  sample: "example.com. 3600 IN MX 10 mail.example.net."
octodns:
  description: The records as YAML for a zone file of octoDNS.
  returned: success
  type: str
  sample: |
    ---
    "":
      - type: MX
        ttl: 3600
        values:
          - {preference: 10, exchange: "mail.example.net."}
changes:
  description:
    - What was changed, or would be in check mode, in order.
    - After a failure, the changes before it, which remain.
  returned: when O(state) is V(present) or V(absent), and on failure
  type: list
  elements: dict
  contains:
    action:
      description: What was done. One of V(create), V(update) and V(delete).
      type: str
      returned: always
      sample: update
    kind:
      description: Kind of the object, which is V(record set).
      type: str
      returned: always
      sample: record set
    name:
      description: Name and type of the record set.
      type: str
      returned: always
      sample: example.com TXT
    code:
      description:
        - Why, as a stable code, such as V(mx_missing), V(mx_priority),
          V(spf_incomplete), V(dkim_other_key), V(ttl) or V(spf_terms_withdrawn).
      type: str
      returned: always
      sample: spf_incomplete
    reason:
      description: Why, as a clause.
      type: str
      returned: always
      sample: its SPF record lacks include:example.net
failure:
  description: How a request to the service failed, or why none was sent.
  returned: failure
  type: dict
  contains:
    code:
      description:
        - Stable identifier of the failure, such as V(unauthorized), V(unreachable) or V(refused).
        - Test this in conditions, because messages may change.
      type: str
      returned: always
      sample: unauthorized
    kind:
      description: Class of the failure, such as V(Unauthorized), V(Unreachable) or V(Refused).
      type: str
      returned: always
      sample: Unauthorized
    status:
      description: HTTP status of the response; null without a response.
      type: int
      returned: when a request failed
      sample: 401
    method:
      description: HTTP method of the request.
      type: str
      returned: when a request failed
      sample: GET
    path:
      description: Path of the request.
      type: str
      returned: when a request failed
      sample: /api/principal
    detail:
      description: The error of the service, without secrets.
      type: str
      returned: when a request failed
      sample: The token is not known.
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

    :param watch: how to wait
    """
    end = client.now() + client.timeout
    if params["state"] == "retrieved":
        found = retrieve(client, params, check_mode=check_mode)
        return Outcome(values=found.values, warnings=found.warnings)
    # Imported here because it imports dnspython.
    from ansible_collections.postroom.email.plugins.module_utils._dns_verify_publish import Task  # noqa: PLC0415

    # The options are checked before a request is sent.
    task = Task(params)
    found = retrieve(client, params, check_mode=check_mode)
    return task.ensure(found, seconds=end - client.now(), check_mode=check_mode, watch=watch)


def main() -> None:
    """Run the module."""
    run_module(ensure_records, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
