# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""An SPF record is checked through resolvers before it is written or suggested.

One look-up too many makes receivers reject the whole record, and with it mail of the domain's owner
that does not involve the service. A term before the service's own may refuse the service's mail.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..errors import TooExpensive
from .edit import Weigh
from .spf_conflicts import check_refusals
from .spf_cost import cost_advice, rejection_of
from .spf_lookups import Ask, count, within


def weigher(ask: Ask, seconds: float) -> Weigh:
    """Return the function that checks SPF records.

    It takes a name, the service's record, the record there or None, and the record to write. It
    returns advice, and raises TooExpensive if the new record takes too many look-ups and the one
    before does not, and SpfConflict if the new record refuses the service's mail.

    :param seconds: for all questions
    """
    # Both records lead to the same questions.
    ask = within(seconds, functools.cache(ask))

    def weigh(name: str, wanted: str, before: str | None, after: str) -> Sequence[str]:
        check_refusals(after, wanted, name, ask)
        if before == after:
            return ()
        cost = count(after, name, ask)
        rejection = rejection_of(cost)
        record = f"the SPF record at {name}"
        if rejection is None:
            return cost_advice(record, cost)
        if cost.too_many and (before is None or rejection_of(count(before, name, ask)) is None):
            raise TooExpensive(
                f"With the service's mechanisms, receivers would reject {record}: {rejection.why}. "
                f"First {rejection.remedy}."
            )
        return [f"Receivers reject {record}: {rejection.why}. Fix it: {rejection.remedy}."]

    return weigh
