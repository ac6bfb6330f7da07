#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_dns_records
short_description: Retrieve the DNS records to publish for a domain
version_added: 0.1.0
description:
  - Retrieves the MX, SPF and DKIM records that the service wants published for a domain, as data,
    as text for a BIND zone file and as octoDNS YAML.
  - Publish them as returned. Where the root of the domain has an SPF record already, merge the
    C(include) mechanism into it; a second SPF record makes both invalid.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.read_only
options:
  domain:
    description: Domain that is registered with the service.
    type: str
    required: true
  state:
    description: With V(retrieved), the records are returned and nothing else is done.
    type: str
    choices: [retrieved]
    default: retrieved
  ttl:
    description: Time to live to put on the records, in seconds.
    type: int
    default: 3600
seealso:
  - module: postroom.email.email_domain
    description: Register the domain first.
"""

EXAMPLES = r"""
- name: Get the records
  postroom.email.email_dns_records:
    domain: example.com
  register: dns

- name: Show them as lines for a zone file
  ansible.builtin.debug:
    msg: "{{ dns.zone.splitlines() }}"
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
zone:
  description: The records as lines of a BIND zone file, with absolute names.
  returned: success
  type: str
  sample: "example.com. 3600 IN MX 10 mail.example.net."
octodns:
  description: The records as YAML for a zone file of octoDNS.
  returned: success
  type: str
  sample: "'': [{ttl: 3600, type: MX, values: [{exchange: mail.example.net., preference: 10}]}]"
failure:
  description: How a request to the service failed, or why none was sent.
  returned: failure
  type: dict
  contains:
    kind:
      description: Class of the failure, such as V(Unauthorized), V(Unreachable) or V(Refused).
      type: str
      returned: always
      sample: Unauthorized
    status:
      description: HTTP status of the answer; null where none came.
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
      description: What the service said of it, without secrets.
      type: str
      returned: when a request failed
      sample: The token is not known.
"""

from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.errors import NotFound, Refused
from ansible_collections.postroom.email.plugins.module_utils._api.models import DnsRecordSet
from ansible_collections.postroom.email.plugins.module_utils._api.names import Name, parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import Problem
from ansible_collections.postroom.email.plugins.module_utils._api.records import notation
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)

ARGUMENT_SPEC: dict[str, Any] = {
    "domain": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["retrieved"], "default": "retrieved"},
    "ttl": {"type": "int", "default": 3600},
}


def retrieve_records(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    """Return the records in every notation."""
    domain = parse_domain(params["domain"], "domain")
    ttl = notation.checked_ttl(params["ttl"])
    record_set, warnings = _look(client, domain, check_mode=check_mode)
    values = {
        "domain": str(domain),
        "records": notation.neutral(record_set, ttl),
        "zone": notation.zone_text(record_set, ttl),
        "octodns": notation.octodns(record_set, ttl),
    }
    return Outcome(values=values, warnings=warnings)


def _look(client: Client, domain: Name, *, check_mode: bool) -> tuple[DnsRecordSet, list[str]]:
    """Return the records; in check mode none, with a warning, of a domain that is not there."""
    try:
        return client.dns_records(domain), []
    except NotFound:
        client.check_api()
        missing = Problem(f"{domain} is not registered in this tenant. Register it first.")
        if not check_mode:
            raise Refused(missing.text) from None
        return DnsRecordSet(domain, ()), [missing.warning]


def main() -> None:
    """Run the module."""
    run_module(retrieve_records, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
