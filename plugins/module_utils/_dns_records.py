# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What every state of ``email_dns_records`` begins with: the records, as the service wants them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._api.client.client import Client
from ._api.dns import formats as notation
from ._api.errors import NotFound, Refused
from ._api.models import DnsRecordSet
from ._api.names import Name, parse_domain
from ._module import Params


class Retrieved(NamedTuple):
    """The records of a domain.

    :param record_set: without records where it is no failure that there are none
    :param values: them in every notation, as return values
    """

    record_set: DnsRecordSet
    values: dict[str, Any]
    warnings: tuple[str, ...] = ()


def retrieve(client: Client, params: Params, *, check_mode: bool) -> Retrieved:
    """Ask the service for a domain's records.

    :raises InvalidInput: the domain is none, or the time to live is out of range
    :raises Refused: the domain is not registered, and not about to be, nor to be withdrawn
    """
    domain = parse_domain(params["domain"], "domain")
    ttl = notation.checked_ttl(params["ttl"])
    warnings = _in_vain(params)
    try:
        record_set = client.dns_records(domain)
    except NotFound:
        client.check_api()
        warnings = (*warnings, _unregistered(domain, params["state"], check_mode=check_mode))
        record_set = DnsRecordSet(domain, ())
    values = {
        "domain": str(domain),
        "records": notation.neutral(record_set, ttl),
        "zone": notation.zone_text(record_set, ttl),
        "octodns": notation.octodns(record_set, ttl),
    }
    return Retrieved(record_set, values, warnings)


def _in_vain(params: Params) -> tuple[str, ...]:
    """Return a warning where something is to be waited for that does not come.

    Options that say where to ask and how to sign may be everybody's defaults, and are passed over.
    """
    if not params["wait"] or params["state"] in ("verified", "present"):
        return ()
    state = params["state"]
    return (f"wait: with state {state} nothing is waited for. Use it with verified or present.",)


def _unregistered(domain: Name, state: str, *, check_mode: bool) -> str:
    """Return a warning, or refuse."""
    text = f"{domain} is not registered in this tenant. Register it first."
    if state == "absent":
        return f"{domain} is not registered in this tenant, so what to withdraw is not known."
    if check_mode:
        return (
            f"The domain {domain} is not registered yet. Check mode assumes that an earlier task "
            "creates it."
        )
    raise Refused(text) from None
