# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What records tell that were verified: whether what is there is known, and where it is.

Records that were only retrieved tell nothing, and raise no doubts: then what is there was looked up
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import Refused
from .record_input import listed
from .rrset import Key


def refuse_doubts(records: Any) -> None:
    """See that whole record sets can be written without losing what somebody else has there.

    :param records: as the module returns them
    :raises Refused: what is there is not known, or the name servers do not agree on it
    """
    doubts = dict.fromkeys(
        f"{name} {kind}: {doubt}"
        for (name, kind), record in _verified(records)
        for doubt in _doubts(record)
    )
    if doubts:
        raise Refused(" ".join(doubts))


def matching(records: Any) -> set[Key]:
    """Return the names and types of which every record was verified to be there, aliases followed.

    :param records: as the module returns them
    """
    keys = {key for key, _record in _verified(records)}
    return keys - {key for key, record in _verified(records) if record["status"] != "match"}


def _verified(records: Any) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    for record in listed(records, "records"):
        if isinstance(record, Mapping) and "status" in record:
            yield (str(record.get("fqdn", "")), str(record.get("type", ""))), record


def _doubts(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what keeps the whole set from being known, in a sentence or two."""
    if record["status"] == "unknown":
        yield (
            f"what is there is not known. {record.get('detail', '')} Verify again once the name "
            "servers answer, for records of others could be lost."
        )
    told = [one for one in record.get("servers", ()) if one["status"] != "unknown"]
    for one in told[1:]:
        if set(one["found"]) != set(told[0]["found"]):
            yield (
                f"the name servers do not agree on what is there: {one['server']} has other "
                f"records than {told[0]['server']}. Verify again once they do."
            )
            return
