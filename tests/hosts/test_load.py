# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Look-ups succeed while the API writes to the same tables."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
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
WRITES_PER_SECOND = 100
WRITERS = 4


def test_recipients_while_the_api_writes(host: MailHost) -> None:
    """20,000 recipients are accepted while the API adds and removes aliases."""
    addresses = []
    for _mailbox in range(MAILBOXES):
        aliases = [unused() for _alias in range(ALIASES)]
        addresses += [host.mailbox(*aliases), *aliases]
    writing = [host.mailbox() for _writer in range(WRITERS)]
    with api_writes(host.one, writing) as writes, ThreadPoolExecutor(SESSIONS) as pool:
        batches = range(RECIPIENTS // BATCH)
        replies = sum(pool.map(lambda seed: _replies(host, addresses, seed), batches), Counter())
    assert replies == {250: RECIPIENTS}
    assert set(writes) == {200}
    # Check that the writers were active in the meantime.
    assert writes[200] > 10 * WRITERS


@contextlib.contextmanager
def api_writes(api: Api, names: list[str]) -> Iterator[Counter[int]]:
    """Add and remove aliases until the block ends, and yield the number of responses per status."""
    ended = threading.Event()
    statuses: Counter[int] = Counter()

    def write(name: str) -> Counter[int]:
        alias, found = unused(), Counter[int]()
        begun = time.monotonic()
        while not ended.is_set():
            emails = [name] if found.total() % 2 else [name, alias]
            found[api.patch(name, emails=emails).status_code] += 1
            due = begun + found.total() * len(names) / WRITES_PER_SECOND
            ended.wait(max(due - time.monotonic(), 0))
        return found

    with ThreadPoolExecutor(len(names)) as pool:
        writers = [pool.submit(write, name) for name in names]
        try:
            yield statuses
        finally:
            ended.set()
            for writer in writers:
                statuses.update(writer.result())


def _replies(host: MailHost, addresses: list[str], seed: int) -> Counter[int]:
    """Return the number of recipients for each reply. No message is sent."""
    chosen = random.Random(seed).choices(addresses, k=BATCH)  # noqa: S311 any recipients do
    with host.mail.mx() as client:
        client.ehlo()
        client.mail(PARTNER)
        # Pipeline the commands, as other mail servers do.
        client.send("".join(f"RCPT TO:<{address}>\r\n" for address in chosen))
        return Counter(client.getreply()[0] for _address in chosen)
