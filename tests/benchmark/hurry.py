# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send prepared requests in a process of its own, each over a connection of its own.

    python hurry.py HOST PORT FILE rate 50
    python hurry.py HOST PORT FILE connections 16

FILE has the requests as JSON, in base64. With a rate, each is sent when its time comes, whatever
has become of those before, and waits from then on; with connections, each begins when another has
ended. What is printed are the seconds of all of them together, and of each.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

LONGEST_ANSWER = 30.0


class Sender:
    """Sends requests to one address, and writes down how long each took."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self.seconds: list[float] = []

    async def at_a_rate(self, requests: list[bytes], rate: float) -> None:
        """Send so many a second."""
        begin = perf_counter()
        times = (begin + number / rate for number in range(len(requests)))
        await asyncio.gather(*map(self._send_at, times, requests))

    async def one_after_another(self, requests: list[bytes], connections: int) -> None:
        """Have so many under way, always."""
        waiting = iter(requests)
        await asyncio.gather(*(self._send_all(waiting) for _ in range(connections)))

    async def _send_at(self, time: float, request: bytes) -> None:
        await asyncio.sleep(time - perf_counter())
        await self._send(request, time)

    async def _send_all(self, requests: Iterator[bytes]) -> None:
        for request in requests:
            await self._send(request, perf_counter())

    async def _send(self, request: bytes, begin: float) -> None:
        async with asyncio.timeout(LONGEST_ANSWER):
            reader, writer = await asyncio.open_connection(*self._address)
            writer.write(request)
            answer = await reader.read()
        self.seconds.append(perf_counter() - begin)
        writer.close()
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"the answer was {answer[:200]!r}")


def main(host: str, port: int, file: Path, how: str, often: int) -> None:
    """Send what a file has, and print how long it took."""
    requests = [base64.b64decode(text) for text in json.loads(file.read_text("utf-8"))]
    sender = Sender(host, port)
    send = {"rate": sender.at_a_rate, "connections": sender.one_after_another}[how]
    begin = perf_counter()
    asyncio.run(send(requests, often))
    print(json.dumps({"all": perf_counter() - begin, "each": sender.seconds}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
