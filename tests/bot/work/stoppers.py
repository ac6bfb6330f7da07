# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Executors that stop where a process or a service could."""

from __future__ import annotations

from postroom_bot.executors.base import Done, Executor, Keeper, TryLater
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Request


class Unready:
    """Does nothing now.

    :param retry_after: seconds, as the service asks for
    :param error: raised in place of TryLater, as by a mistake in an executor
    """

    def __init__(
        self, *, retry_after: float | None = None, error: type[Exception] | None = None
    ) -> None:
        self._trouble = error() if error else TryLater(retry_after=retry_after)
        self.tries = 0

    def carry_out(self, request: Request, keeper: Keeper) -> Done:
        """Stop."""
        self.tries += 1
        raise self._trouble


class Cut:
    """Carries out with another, and stops before anybody hears of it.

    :param trouble: what it stops by
    """

    def __init__(self, executor: Executor, trouble: Exception | None = None) -> None:
        self._executor = executor
        self._trouble = trouble or RuntimeError("cut")

    def carry_out(self, request: Request, keeper: Keeper) -> Done:
        """Do it and stop."""
        self._executor.carry_out(request, keeper)
        raise self._trouble


class Dying(Mail):
    """The mail service, in a process that ends before a password is set."""

    def set_password(self, mailbox: str, password: str) -> None:
        """End."""
        raise SystemExit
