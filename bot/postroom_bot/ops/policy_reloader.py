# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy in force, which may be read anew while the bot runs."""

from __future__ import annotations

import logging
from pathlib import Path

from postroom_bot.ops.health import Health
from postroom_bot.policy.loader import PolicyError, load
from postroom_bot.policy.model import Policy

log = logging.getLogger(__name__)


class PolicyReloader:
    """Holds the policy of a file. Threads may share it.

    :raises PolicyError: the file can't be used
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._policy = load(path)
        self._is_old = False

    def current(self) -> Policy:
        """Return the policy in force."""
        return self._policy

    def health(self) -> Health:
        """Tell whether the policy in force is the file's; with an old one, the bot still works."""
        if self._is_old:
            text = "the file has mistakes, see the log; the policy of before is in force"
            return Health(works=True, text=text)
        return Health(works=True)

    def reload(self) -> None:
        """Read the file anew; where it can't be used, the policy in force stays so."""
        try:
            policy = load(self._path)
        except PolicyError as error:
            log.warning("the policy stays as it was, for the file has mistakes:")
            for sentence in error.sentences:
                log.warning("%s", sentence)
            # Only now: whoever is told of it by readiness has to find the mistakes in the log.
            self._is_old = True
            return
        log.info("the policy was read anew: %s", policy.digest)
        self._policy, self._is_old = policy, False
