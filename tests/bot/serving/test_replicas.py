# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Several processes over one PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.support.bot import running_bot
from ansible_collections.postroom.email.tests.support.company import Company
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database


def test_two_replicas_share_the_work(here: Company, tmp_path: Path, postgresql_url: str) -> None:
    """Both migrate and start together; what one took in is carried out, also when one is gone."""
    options = {"auto_migrate": True, "replicas": 2, "lease": 4, "timeout": 3}
    with (
        fresh_database(postgresql_url) as url,
        running_bot(
            tmp_path / "1", here.slack, here.mail, here.policy, database=url, settings=options
        ) as first,
        running_bot(
            tmp_path / "2", here.slack, here.mail, here.policy, database=url, settings=options
        ),
    ):
        here.slack.wait_for_connection(2)
        addresses = [f"replica-{number}@example.com" for number in range(6)]
        for address in addresses:
            assert here.alice.command(f"/email alias add {address}").ok
        first.kill()
        for address in addresses:
            here.slack.wait_for_message(here.alice.direct_channel, address)
            card = here.slack.wait_for_message(here.approvals, address)
            here.bob.press(card, "request_approve")
        here.slack.wait_for(lambda: set(addresses) <= set(here.aliases()))
