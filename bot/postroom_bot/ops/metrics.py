# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the bot counts and measures, for Prometheus. No label says who, or which address."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_ACK_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
_WORK_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one bot; each has its own registry, so that there may be several.

    - ``requests_total``, labels ``action`` and ``state``: the states that requests came to
    - ``acks_seconds``, label ``kind``: from Slack's call to the bot's acknowledgement
    - ``work_seconds``: one look of the worker at one request
    - ``errors_total``, label ``where``: what should not have happened
    - ``open_requests``, label ``state``: how many requests there are now
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests_total = Counter(
            "postroom_bot_requests",
            "States that requests came to.",
            ("action", "state"),
            registry=self.registry,
        )
        self.acks_seconds = Histogram(
            "postroom_bot_acks_seconds",
            "Time until Slack had its acknowledgement.",
            ("kind",),
            registry=self.registry,
            buckets=_ACK_BUCKETS,
        )
        self.work_seconds = Histogram(
            "postroom_bot_work_seconds",
            "Time of one look of the worker at one request.",
            registry=self.registry,
            buckets=_WORK_BUCKETS,
        )
        self.errors_total = Counter(
            "postroom_bot_errors",
            "What should not have happened.",
            ("where",),
            registry=self.registry,
        )
        self.open_requests = Gauge(
            "postroom_bot_open_requests",
            "Requests that something may still become of.",
            ("state",),
            registry=self.registry,
        )

    def page(self) -> bytes:
        """Return all of it in Prometheus' text format, of the type CONTENT_TYPE."""
        return generate_latest(self.registry)
