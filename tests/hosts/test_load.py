# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lookups succeed while the API writes to the same tables."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.postroom.email.tests.hosts.mail_host import (
    PARTNER,
    MailHost,
    unused,
)
from ansible_collections.postroom.email.tests.service.api import Api

RECIPIENTS = 20_000
SESSIONS = 8
#: The number of recipients per message. Postfix accepts up to 1,000.
BATCH = 500
MAILBOXES, ALIASES = 10, 14
WRITERS = 4
#: The minimum number of writes of each writer.
WRITES = 20


def test_recipients_while_the_api_writes(host: MailHost) -> None:
    """At least 20,000 recipients are accepted while the API adds and removes aliases."""
    addresses = []
    for _mailbox in range(MAILBOXES):
        aliases = [unused() for _alias in range(ALIASES)]
        addresses += [host.mailbox(*aliases), *aliases]
    statuses: dict[str, list[int]] = {host.mailbox(): [] for _writer in range(WRITERS)}
    replies: Counter[int] = Counter()
    seeds, enough = itertools.count(), threading.Event()
    with ThreadPoolExecutor(WRITERS + SESSIONS) as threads:
        writers = [threads.submit(_write, host.one, *one, enough) for one in statuses.items()]
        try:
            while replies.total() < RECIPIENTS or min(map(len, statuses.values())) < WRITES:
                batches = [
                    threads.submit(_replies, host, addresses, next(seeds)) for _ in range(SESSIONS)
                ]
                for batch in batches:
                    replies.update(batch.result())
                # A writer only ends early if it failed.
                assert not any(writer.done() for writer in writers)
        finally:
            enough.set()
    assert replies == {250: replies.total()}
    assert set(itertools.chain(*statuses.values())) == {200}


def _write(api: Api, name: str, statuses: list[int], enough: threading.Event) -> None:
    """Add and remove an alias in turn, and collect the statuses of the responses."""
    alias = unused()
    while not enough.is_set():
        emails = [name] if len(statuses) % 2 else [name, alias]
        statuses.append(api.patch(name, emails=emails).status_code)


def _replies(host: MailHost, addresses: list[str], seed: int) -> Counter[int]:
    """Return the number of recipients for each reply. No message is sent."""
    chosen = random.Random(seed).choices(addresses, k=BATCH)  # noqa: S311 any recipients do
    with host.mail.mx() as client:
        client.ehlo()
        client.mail(PARTNER)
        # Pipeline the commands, as other mail servers do.
        client.send("".join(f"RCPT TO:<{address}>\r\n" for address in chosen))
        return Counter(client.getreply()[0] for _address in chosen)
