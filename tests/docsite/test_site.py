# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite is whole: every page is there, links lead somewhere, and nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.docsite import pages
from ansible_collections.postroom.email.tests.support import repository

#: The last rows of tables of options that end below what is around them.
_CUT_OFF = """
[...document.querySelectorAll(".ansible-option-table")]
  .map(table => [table.parentElement, [...table.querySelectorAll("tr")].at(-1)])
  .filter(([box, row]) => row.getBoundingClientRect().bottom
                          > box.getBoundingClientRect().bottom + 1)
  .map(([box, row]) => row.innerText)
"""
_ADDRESS = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


def all_pages(site: Path) -> list[Path]:
    """Return every page, but for the parts that only scripts use."""
    return [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]


def broken(page: Path) -> Iterator[str]:
    """Yield the addresses on a page that lead nowhere."""
    for address in [*pages.read(page).links, *pages.read(page).loads]:
        if pages.is_elsewhere(address) or address.startswith("data:"):
            continue
        file, anchor = pages.target(page, address)
        known = file.suffix != ".html" or not anchor or anchor in pages.read(file).anchors
        if not (file.is_file() and known):
            yield address


def test_every_link_leads_somewhere(site: Path) -> None:
    """Each file that a page names is there, and each place within a page."""
    found = all_pages(site)
    assert len(found) > 20
    assert {str(page): list(broken(page)) for page in found if any(broken(page))} == {}


def test_every_part_has_its_page(site: Path) -> None:
    """Modules, filters, inventory plugins, roles, guides and programs each have one."""
    plugins = [
        f"reference/{file.stem}_{kind.rstrip('s')}"
        for kind in ("modules", "filter", "inventory")
        for file in repository.sources(f"plugins/{kind}/")
    ]
    both = [
        place
        for role in repository.roles()
        for place in (f"reference/{role}_role", f"roles/{role}")
    ]
    guides = [file.stem for file in (repository.ROOT / "docs").glob("*.md")]
    wanted = {*plugins, *both, *guides, "readme", "bot", "service"} - {"README"}
    there = {str(file.relative_to(site).with_suffix("")) for file in all_pages(site)}
    assert wanted - there == set()


def test_every_playbook_is_told_of(site: Path) -> None:
    """Each has a place of its own on the page of playbooks."""
    anchors = pages.read(site / "playbooks.html").anchors
    assert {name.replace("_", "-") for name in repository.playbooks()} - anchors == set()


def test_every_page_can_be_found(site: Path) -> None:
    """From the front page, by links alone, one comes to all others."""
    seen: set[Path] = set()
    waiting = [(site / "index.html").resolve()]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".html":
            seen.add(page)
            links = pages.read(page).links
            waiting += [pages.target(page, one)[0] for one in links if not pages.is_elsewhere(one)]
    # The search has a form of its own on every page.
    known = seen | {(site / "search.html").resolve()}
    assert {page.resolve() for page in all_pages(site)} - known == set()


def test_no_page_names_what_is_elsewhere(site: Path) -> None:
    """Scripts, styles, fonts and images are the site's own."""
    outside = {
        address
        for page in all_pages(site)
        for address in pages.read(page).loads
        if pages.is_elsewhere(address)
    }
    styles = [file.read_text("utf-8") for file in site.rglob("*.css")]
    assert outside | {address for text in styles for address in _ADDRESS.findall(text)} == set()


def test_no_page_fetches_what_is_elsewhere(site: Path, browser: Browser) -> None:
    """Not by its scripts either: a browser that shows it asks for files only."""
    asked: list[str] = []
    with browser.new_page() as page:
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index", "architecture", "reference/email_tenant_module", "search"):
            page.goto((site / f"{name}.html").as_uri(), wait_until="networkidle")
    assert len(asked) > 10
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


def test_no_page_is_wider_than_a_phone(site: Path, browser: Browser) -> None:
    """What is wide scrolls by itself."""
    too_wide = []
    with browser.new_page(viewport={"width": 390, "height": 800}) as page:
        for file in all_pages(site):
            page.goto(file.as_uri())
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                too_wide.append(file.name)
    assert too_wide == []


def test_tables_of_options_are_seen(site: Path, browser: Browser) -> None:
    """Each takes the room of its rows, which no box around it cuts off."""
    for width in (390, 1280):
        with browser.new_page(viewport={"width": width, "height": 800}) as page:
            for name in ("email_tenant_module", "bot_role"):
                page.goto((site / "reference" / f"{name}.html").as_uri())
                rows = page.locator("table.ansible-option-table tr")
                assert rows.count() > 10
                assert page.evaluate(_CUT_OFF) == []
