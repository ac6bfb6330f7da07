# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Surveys of the job templates that AWX needs."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.fakes.awx import surveys
from postroom_bot.executors.awx import REQUEST_VARIABLE

ALIAS_SURVEY = surveys.of_texts(**{REQUEST_VARIABLE: True}, mail_alias=True, mail_mailbox=True)
FORWARDER_SURVEY = surveys.of_texts(
    **{REQUEST_VARIABLE: True},
    mail_forwarder=True,
    mail_members=False,
    mail_purge_members=False,
    mail_state=True,
)
