# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy in force, which can be reloaded while the bot is running."""

from __future__ import annotations

import logging
from pathlib import Path

from postroom_bot.ops.health import Health
from postroom_bot.policy.loader import PolicyError, load
from postroom_bot.policy.model import Policy

log = logging.getLogger(__name__)


class PolicyReloader:
    """Holds the policy from a file. Threads share it.

    :raises PolicyError: the file can't be used
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._policy = load(path)
        self._is_outdated = False

    def current(self) -> Policy:
        """Return the policy in force."""
        return self._policy

    def health(self) -> Health:
        """Return whether the policy in force is the file's; a previous one works, too."""
        if self._is_outdated:
            text = "the file has errors (see the log); the previous policy is still in force"
            return Health(works=True, text=text)
        return Health(works=True)

    def reload(self) -> None:
        """Reload the file. If it has errors, keep the policy in force."""
        try:
            policy = load(self._path)
        except PolicyError as error:
            log.warning("the policy was not reloaded because the file has errors:")
            for sentence in error.sentences:
                log.warning("%s", sentence)
            # Readiness reports this after the errors are in the log.
            self._is_outdated = True
            return
        log.info("the policy was reloaded: %s", policy.digest)
        self._policy, self._is_outdated = policy, False
