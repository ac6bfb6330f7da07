# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a running service is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from . import passwords


@dataclass(frozen=True)
class Settings:
    """Settings of the application itself; those of the process are in server.py."""

    mail_host: str = "mail.postroom.test"
    service_domain: str = "spf.postroom.test"
    secret_cost: str = passwords.DEFAULT_COST
