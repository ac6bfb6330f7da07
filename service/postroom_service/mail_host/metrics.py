# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon's Prometheus metrics. No label contains an address or a login."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    """The metrics, in a separate registry.

    - ``messages``, label ``result``: submitted messages (accepted, refused or deferred)
    - ``limited``: recipients refused because of the hourly limit
    - ``signed``: messages signed with DKIM
    - ``rewrites``, labels ``map`` and ``result``: lookups in the maps that rewrite senders
    - ``kicks``, label ``result``: runs of ``doveadm kick`` (ok or failed)
    - ``removed``: mail folders of deleted and moved mailboxes that were removed
    - ``listening``: 1 while the daemon receives the database's notifications
    - ``maps_filled``: 1 while Postfix finds domains and mailboxes in its maps
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.messages = Counter(
            "postroom_mail_messages", "Submitted messages.", ("result",), registry=registry
        )
        self.limited = Counter(
            "postroom_mail_limited_recipients",
            "Recipients refused because of the hourly limit.",
            registry=registry,
        )
        self.signed = Counter(
            "postroom_mail_signed_messages", "Messages with a DKIM signature.", registry=registry
        )
        self.rewrites = Counter(
            "postroom_mail_rewrites",
            "Lookups in the maps that rewrite senders.",
            ("map", "result"),
            registry=registry,
        )
        self.kicks = Counter(
            "postroom_mail_kicks", "Runs of doveadm kick.", ("result",), registry=registry
        )
        self.removed = Counter(
            "postroom_mail_removed_folders",
            "Mail folders of deleted and moved mailboxes that were removed.",
            registry=registry,
        )
        self.listening = Gauge(
            "postroom_mail_listening",
            "Whether the daemon receives the database's notifications.",
            registry=registry,
        )
        self.maps_filled = Gauge(
            "postroom_mail_maps_filled",
            "Whether Postfix finds domains and mailboxes in its maps.",
            registry=registry,
        )

    def page(self) -> bytes:
        """Return all metrics in Prometheus's text format (media type CONTENT_TYPE)."""
        return generate_latest(self._registry)
