# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Several at once over one executor or two: no alias and no destination is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    TEAM,
    Notebook,
    alias,
    emails,
    forward,
    mail_at,
    members,
    no_alias,
    request_for,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.executors.base import Done
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Wish

WRITERS = 2
EACH = 6


def all_at_once(mails: list[Mail], wishes: list[Wish]) -> list[Done]:
    """Carry wishes out by turns through these executors, all at the same time."""
    with ThreadPoolExecutor(WRITERS) as pool:
        jobs = [
            pool.submit(mails[number % len(mails)].carry_out, request_for(wish), Notebook())
            for number, wish in enumerate(wishes)
        ]
        return [job.result() for job in jobs]


def test_threads_share_an_executor(mail: Mail, api: Api) -> None:
    """Each writes to a mailbox of its own, as the locks of the work see to."""
    boxes = [api.mailbox(f"m{number}@example.com") for number in range(EACH)]
    wishes = [alias(f"a{number}@example.com", box) for number, box in enumerate(boxes)]
    assert all(done.changed for done in all_at_once([mail], wishes))
    for number, box in enumerate(boxes):
        assert emails(api, box) == {box, f"a{number}@example.com"}


def test_two_bots_on_one_mailbox(service: RunningService, api: Api) -> None:
    """Lists are replaced whole; what one undoes of the other's is repaired."""
    mails = [mail_at(service, settle=0.1), mail_at(service, settle=0.1)]
    wishes = [alias(f"a{number}@example.com") for number in range(EACH)]
    all_at_once(mails, wishes)
    assert emails(api, ALICE) == {ALICE, *(wish.target for wish in wishes)}
    changes = [no_alias(wish.target) for wish in wishes] + [alias("new@example.com")]
    all_at_once(mails, changes)
    assert emails(api, ALICE) == {ALICE, "new@example.com"}
    for mail in mails:
        mail.close()


def test_two_bots_on_one_forwarder(service: RunningService, api: Api) -> None:
    """The same for destinations; what stands is what was really found there afterwards."""
    mails = [mail_at(service, settle=0.1), mail_at(service, settle=0.1)]
    api.forwarder(TEAM, [ALICE])
    wishes = [forward(TEAM, f"p{number}@far.example") for number in range(EACH)]
    done = all_at_once(mails, wishes)
    everyone = {ALICE, *(f"p{number}@far.example" for number in range(EACH))}
    assert members(api, TEAM) == everyone
    assert everyone in [set(each.stands.destinations) for each in done]
    for mail in mails:
        mail.close()
