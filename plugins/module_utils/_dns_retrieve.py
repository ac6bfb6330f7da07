# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Retrieve the DNS records that the service requires."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._api.client.client import Client
from ._api.dns import notations
from ._api.dns.record_sets import wanted_sets
from ._api.errors import NotFound, Refused
from ._api.models import RequiredRecords
from ._api.names import parse_domain
from ._module import Params


class Retrieved(NamedTuple):
    """A domain's records as the service returned them.

    :param required: the records; empty if the domain is not registered and this is not an error
    :param values: the module's return values for the records
    """

    required: RequiredRecords
    values: dict[str, Any]
    warnings: tuple[str, ...] = ()


def retrieve(client: Client, params: Params, *, check_mode: bool) -> Retrieved:
    """Retrieve a domain's records from the service.

    :raises InvalidInput: if the domain is invalid, or the time to live is out of range
    :raises Refused: if the domain is not registered and the state is not absent
    """
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
            from ._api.dns.messages import text  # noqa: PLC0415

            raise Refused(text("unregistered", domain=domain)) from None
        required = RequiredRecords(domain, ())
    values = {
        "domain": str(domain),
        "records": notations.as_return_values(required, ttl),
        "zone": notations.zone_text(wanted_sets(required, ttl)),
        "octodns": notations.octodns(required, ttl),
    }
    return Retrieved(required, values, tuple(warnings))
