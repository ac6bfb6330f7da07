# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a page of the docsite links to, loads, and can be linked to at."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches for a `link`; others only tell of neighbours.
_FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


@dataclass
class Page:
    """A page's own addresses.

    :param links: where its links lead
    :param loads: what a browser fetches to show it
    :param anchors: the names of its places
    """

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag tells."""
        given = {key: value for key, value in attrs if value}
        self.page.anchors |= {given[key] for key in ("id", "name") if key in given}
        if "href" in given and tag == "a":
            self.page.links.append(given["href"])
        elif tag == "link" and _FETCHED & set(given.get("rel", "").split()):
            self.page.loads.append(given["href"])
        elif "src" in given:
            self.page.loads.append(given["src"])


@functools.cache
def read(file: Path) -> Page:
    """Return what a page holds."""
    reader = _Reader()
    reader.feed(file.read_text("utf-8"))
    return reader.page


def is_elsewhere(address: str) -> bool:
    """Tell whether an address is of another site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def target(page: Path, address: str) -> tuple[Path, str]:
    """Return the file and the anchor that an address on a page is about."""
    parts = urlsplit(address)
    file = page.parent / unquote(parts.path) if parts.path else page
    return file.resolve(), unquote(parts.fragment)
