# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Query a name server without using the collection's code, and print one line for each record.

python ask.py 127.0.0.1 5353 example.com TXT
"""

from __future__ import annotations

import sys

import dns.message
import dns.query
import dns.rdata
import dns.rdtypes.ANY.TXT

SECONDS = 5.0


def main(address: str, port: str, name: str, kind: str) -> None:
    """Print the records of a name: each TXT value as one string, others as in a zone file."""
    query = dns.message.make_query(name, kind)
    answer = dns.query.tcp(query, address, SECONDS, int(port))
    for found in answer.answer:
        for record in found:
            print(_text(record))  # noqa: T201 - this is a command-line program


def _text(record: dns.rdata.Rdata) -> str:
    if isinstance(record, dns.rdtypes.ANY.TXT.TXT):
        return b"".join(record.strings).decode()
    return record.to_text()


if __name__ == "__main__":
    main(*sys.argv[1:])
