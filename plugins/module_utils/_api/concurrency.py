# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Call a function with several items at the same time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
T = TypeVar("T")

_MAX_CONCURRENCY = 32


def map_concurrently(
    items: Collection[Item], action: Callable[[Item], T], *, most: int = _MAX_CONCURRENCY
) -> dict[Item, T]:
    """Call a function with each item concurrently and return the results, keyed by item.

    The results are awaited in the order of the items. After an error or an interrupt, the remaining
    calls finish in the background.
    """
    pool = ThreadPoolExecutor(most)
    try:
        running = {item: pool.submit(action, item) for item in items}
        return {item: future.result() for item, future in running.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
