# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's metrics for Prometheus. No label identifies a person or an address."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_ACK_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
_WORK_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of a bot, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests_total = Counter(
            "postroom_bot_requests",
            "Number of transitions to each state, except new and cancelled.",
            ("action", "state"),
            registry=self.registry,
        )
        self.acks_seconds = Histogram(
            "postroom_bot_acks_seconds",
            "Time until the bot acknowledges a call from Slack. After 3 seconds, Slack shows an "
            "error.",
            ("kind",),
            registry=self.registry,
            buckets=_ACK_BUCKETS,
        )
        self.work_seconds = Histogram(
            "postroom_bot_work_seconds",
            "Time that a worker spends on one step of a request.",
            registry=self.registry,
            buckets=_WORK_BUCKETS,
        )
        self.errors_total = Counter(
            "postroom_bot_errors",
            "Unexpected errors, such as a card that Slack rejected. See the log for details.",
            ("where",),
            registry=self.registry,
        )
        self.open_requests = Gauge(
            "postroom_bot_open_requests",
            "Number of open requests.",
            ("state",),
            registry=self.registry,
        )
