# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite contains every page and picture, its links work, and it loads nothing external."""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.browser import browser

__all__ = ["browser"]

SITE = (repository.ROOT / ".nox" / "site" / "html").resolve()
_LINK = re.compile(r"<(\w+)\b[^>]*?\s(?:href|src)=\"([^\"]+)\"")
_ANCHOR = re.compile(r"\s(?:id|name)=\"([^\"]+)\"")
_IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


@functools.cache
def links(page: Path) -> list[tuple[str, str]]:
    """Return the tag name and the URL of each element with a URL."""
    return [(tag, html.unescape(to)) for tag, to in _LINK.findall(page.read_text("utf-8"))]


@functools.cache
def anchors(page: Path) -> set[str]:
    """Return the anchors on a page."""
    return set(_ANCHOR.findall(page.read_text("utf-8")))


@pytest.fixture(scope="module")
def pages() -> list[Path]:
    """Provide every page, except for pages that only scripts use."""
    assert SITE.is_dir(), "build it first: nox -s docsite"
    return [file for file in SITE.rglob("*.html") if "_static" not in file.parts]


def test_every_link_works(pages: list[Path]) -> None:
    """Each file and anchor that a page links to exists."""
    assert len(pages) > 20
    broken = []
    for page in pages:
        for _tag, to in links(page):
            path, _mark, anchor = to.partition("#")
            file = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if re.match(r"(\w+:|//)", to):
                continue
            is_page = file.suffix == ".html" and file.is_file()
            if not file.is_file() or (is_page and anchor and unquote(anchor) not in anchors(file)):
                broken.append((page.name, to))
    assert broken == []


def test_everything_has_its_page(pages: list[Path]) -> None:
    """All plugins, roles, guides and programs have pages, and playbooks have anchors."""
    plugins = [
        f"plugins/{file.stem}_{kind.rstrip('s')}"
        for kind in ("modules", "filter", "inventory")
        for file in repository.sources(f"plugins/{kind}/")
    ]
    roles = [f"plugins/{role}_role" for role in repository.roles()]
    roles += [f"roles/{role}" for role in repository.roles()]
    docs = [f"{file.parent.name}/{file.stem}" for file in fenced_blocks.PAGES]
    wanted = {*plugins, *roles, *docs, "readme", "bot", "service"}
    assert wanted - {str(page.relative_to(SITE).with_suffix("")) for page in pages} == set()
    playbooks = {name.replace("_", "-") for name in repository.playbooks()}
    assert playbooks - anchors(SITE / "reference" / "playbooks.html") == set()


def test_nothing_is_fetched_from_elsewhere(pages: list[Path], browser: Browser) -> None:
    """Styles, fonts, images and scripts are loaded from the site itself."""
    styles = [file.read_text("utf-8") for file in SITE.rglob("*.css")]
    loads = [address for text in styles for address in _IN_STYLES.findall(text)]
    loads += [to for page in pages for tag, to in links(page) if tag not in ("a", "link")]
    assert [address for address in loads if re.match(r"(https?:|//)", address)] == []
    requests: list[str] = []
    with browser.new_page() as page:
        page.on("request", lambda request: requests.append(request.url))
        for name in ("index", "explanation/architecture", "plugins/email_tenant_module", "search"):
            page.goto((SITE / f"{name}.html").as_uri(), wait_until="networkidle")
    assert len(requests) > 10
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_the_pictures_are_drawn(browser: Browser) -> None:
    """The guide contains the source of each picture, and a browser draws all pictures."""
    text = repository.read("docs/explanation/architecture.md")
    blocks = re.findall(r"^```mermaid\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    files = (repository.ROOT / "docs" / "pictures").glob("*.mmd")
    assert sorted(blocks) == sorted(file.read_text("utf-8") for file in files)
    with browser.new_page() as page:
        page.goto((SITE / "explanation" / "architecture.html").as_uri())
        page.wait_for_function("document.querySelectorAll('pre.mermaid > svg').length == 2")
