# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The phrases that describe a request's state."""

from __future__ import annotations

from collections.abc import Mapping

from postroom_bot.domain import State

#: The predicates of sentences about a request.
PREDICATES: Mapping[str, str] = {
    State.NEW: "has not been evaluated yet",
    State.PENDING: "is waiting for approval",
    State.APPROVED: "is already approved",
    State.EXECUTING: "is already being executed",
    State.DONE: "is already done",
    State.FAILED: "has failed",
    State.REFUSED: "was stopped",
    State.DENIED: "was denied",
    State.EXPIRED: "has expired",
    State.CANCELLED: "was cancelled",
}
#: The beginnings of the status of requests that have ended.
ENDED = {
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.REFUSED: "Stopped",
    State.DENIED: "Denied",
    State.EXPIRED: "Expired",
    State.CANCELLED: "Cancelled",
}
