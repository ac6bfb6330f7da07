# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite has every page and picture, its links work, and it fetches nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.browser import browser

__all__ = ["browser"]

SITE = repository.ROOT / ".nox" / "site" / "html"
#: The relations of a `link` that a browser fetches.
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")
#: The last rows of tables of options that a box around the table cuts off.
CUT_OFF = """
[...document.querySelectorAll(".ansible-option-table")]
  .map(table => [table.parentElement, [...table.querySelectorAll("tr")].at(-1)])
  .filter(([box, row]) => row.getBoundingClientRect().bottom
                          > box.getBoundingClientRect().bottom + 1)
  .map(([box, row]) => row.innerText)
"""


@dataclass
class Page:
    """The addresses of a page: links, what a browser fetches to show it, and its anchors."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


class Reader(HTMLParser):
    """Collects the addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of a tag."""
        given = {key: value for key, value in attrs if value}
        self.page.anchors |= {given[key] for key in ("id", "name") if key in given}
        if "href" in given and tag == "a":
            self.page.links.append(given["href"])
        elif tag == "link" and FETCHED & set(given.get("rel", "").split()):
            self.page.loads.append(given["href"])
        elif "src" in given:
            self.page.loads.append(given["src"])


@functools.cache
def read(file: Path) -> Page:
    """Return the addresses of a page."""
    reader = Reader()
    reader.feed(file.read_text("utf-8"))
    return reader.page


def is_external(address: str) -> bool:
    """Return whether an address belongs to another site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def target(page: Path, address: str) -> tuple[Path, str]:
    """Return the file and the anchor to which an address on a page refers."""
    parts = urlsplit(address)
    file = page.parent / unquote(parts.path) if parts.path else page
    return file.resolve(), unquote(parts.fragment)


@pytest.fixture(scope="session")
def pages() -> list[Path]:
    """Return every page, except for the parts that only scripts use."""
    assert SITE.is_dir(), "build it first: nox -s docsite"
    return [file.resolve() for file in SITE.rglob("*.html") if "_static" not in file.parts]


def broken(page: Path) -> Iterator[str]:
    """Yield the addresses on a page that lead to no file or anchor."""
    for address in [*read(page).links, *read(page).loads]:
        if is_external(address) or address.startswith("data:"):
            continue
        file, anchor = target(page, address)
        is_known = file.suffix != ".html" or not anchor or anchor in read(file).anchors
        if not (file.is_file() and is_known):
            yield address


def test_every_link_works(pages: list[Path]) -> None:
    """Each file and anchor exists, and links from the front page lead to every page."""
    assert len(pages) > 20
    assert {str(page): list(broken(page)) for page in pages if any(broken(page))} == {}
    seen: set[Path] = set()
    waiting = [(SITE / "index.html").resolve()]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".html":
            seen.add(page)
            waiting += [target(page, one)[0] for one in read(page).links if not is_external(one)]
    # A form leads to the search.
    assert set(pages) - seen == {(SITE / "search.html").resolve()} - seen


def test_everything_has_its_page(pages: list[Path]) -> None:
    """Modules, filters, inventory plugins, roles, guides and programs; playbooks have anchors."""
    plugins = [
        f"reference/{file.stem}_{kind.rstrip('s')}"
        for kind in ("modules", "filter", "inventory")
        for file in repository.sources(f"plugins/{kind}/")
    ]
    roles = [f"reference/{role}_role" for role in repository.roles()]
    roles += [f"roles/{role}" for role in repository.roles()]
    guides = [file.stem for file in (repository.ROOT / "docs").glob("*.md")]
    wanted = {*plugins, *roles, *guides, "readme", "bot", "service"} - {"README"}
    built = {str(page.relative_to(SITE.resolve()).with_suffix("")) for page in pages}
    assert wanted - built == set()
    anchors = read((SITE / "playbooks.html").resolve()).anchors
    assert {name.replace("_", "-") for name in repository.playbooks()} - anchors == set()


def test_nothing_is_fetched_from_elsewhere(pages: list[Path], browser: Browser) -> None:
    """Scripts, styles, fonts and images are the site's own, and scripts load no others."""
    loads = {address for page in pages for address in read(page).loads}
    styles = [file.read_text("utf-8") for file in SITE.rglob("*.css")]
    loads |= {address for text in styles for address in IN_STYLES.findall(text)}
    assert [address for address in loads if is_external(address)] == []
    requests: list[str] = []
    with browser.new_page() as page:
        page.on("request", lambda request: requests.append(request.url))
        for name in ("index", "architecture", "reference/email_tenant_module", "search"):
            page.goto((SITE / f"{name}.html").as_uri(), wait_until="networkidle")
    assert len(requests) > 10
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_pages_fit_the_window(pages: list[Path], browser: Browser) -> None:
    """No page is wider than a phone, and no box cuts off a table of options."""
    too_wide = []
    with browser.new_page(viewport={"width": 390, "height": 800}) as page:
        for file in pages:
            page.goto(file.as_uri())
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                too_wide.append(file.name)
        for name in ("email_tenant_module", "bot_role"):
            page.goto((SITE / "reference" / f"{name}.html").as_uri())
            assert page.locator("table.ansible-option-table tr").count() > 10
            assert page.evaluate(CUT_OFF) == []
    assert too_wide == []


def test_the_pictures_are_drawn(pages: list[Path], browser: Browser) -> None:
    """The guide has each picture's source, and a browser draws them at a readable size."""
    blocks = re.findall(
        r"^```mermaid\n(.*?)^```$",
        repository.read("docs/architecture.md"),
        re.MULTILINE | re.DOTALL,
    )
    files = (repository.ROOT / "docs" / "pictures").glob("*.mmd")
    assert sorted(blocks) == sorted(file.read_text("utf-8") for file in files)
    with browser.new_page(viewport={"width": 800, "height": 900}) as page:
        page.goto((SITE / "architecture.html").as_uri())
        page.wait_for_function("document.querySelectorAll('pre.mermaid > svg').length == 2")
        for picture in page.locator("pre.mermaid > svg").all():
            box = picture.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= 800
            assert box["width"] / picture.evaluate("svg => svg.viewBox.baseVal.width") >= 0.6
