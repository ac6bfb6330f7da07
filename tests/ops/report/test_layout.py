# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report in a browser: on a desk and a telephone, by day and by night, on paper, read aloud."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.browsing import Leaf
from ansible_collections.postroom.email.tests.ops.report.contrast import FAINT, Shade, ratio
from ansible_collections.postroom.email.tests.ops.report.stage import Stage, wanted

#: What WCAG 2.2 asks of text at level AA.
LEAST_CONTRAST = 4.5
SCHEMES = ("light", "dark")
#: Elements that reach beyond the right edge.
TOO_WIDE = """
    [...document.body.querySelectorAll("*")]
        .filter(it => it.getClientRects().length && !it.closest("thead, caption"))
        .filter(it => it.getBoundingClientRect().right > innerWidth + 0.5)
        .map(it => it.outerHTML.slice(0, 80))
"""
#: Asks for a picture, and waits for what the page's policy says to that.
FORBIDDEN = """
    new Promise(done => {
        document.addEventListener("securitypolicyviolation", it => done(it.effectiveDirective))
        new Image().src = "http://127.0.0.1:9/planted.png"
    })
"""
LEVELS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(it => +it.tagName[1])"
#: Cells of the body that no header cell of their column or row names.
NAMELESS = """
    [...document.querySelectorAll("table")].filter(it =>
        !it.caption?.textContent.trim()
        || it.querySelectorAll("th:not([scope=col]):not([scope=row])").length
        || it.tHead.rows[0].cells.length !== it.tBodies[0].rows[0].cells.length
        || [...it.tBodies[0].rows].some(row => row.cells[0].scope !== "row")
    ).length
"""


def test_nothing_is_fetched(page: Leaf, written: Path) -> None:
    """The file is all there is, its policy lets nothing in, and the browser has no complaint."""
    page.unfold()
    assert page.requests == [written.as_uri()]
    assert page.complaints == []
    text = written.read_text("utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:,\")[^\"]*", text) == []
    # The policy is in force: what somebody might get in would stay alone.
    assert page.ask(FORBIDDEN) == "img-src"


def test_a_telephone_is_wide_enough(phone: Leaf) -> None:
    """At 360 pixels nothing scrolls sideways, folded or not, and rows are cards."""
    phone.unfold()
    assert phone.ask("document.documentElement.scrollWidth") == 360
    assert phone.ask(TOO_WIDE) == []
    assert phone.ask("getComputedStyle(document.querySelector('tbody tr')).display") == "block"


def test_a_click_takes_a_whole_value(page: Leaf, stage: Stage) -> None:
    """The long key as well, as one text without line breaks."""
    within = page.page.locator("details:has(> summary h3:text-is('created.example'))")
    key = within.locator(".long .paste").last
    key.click()
    _spf, dkim = wanted(stage.api, "created.example")
    assert page.ask("getSelection().toString()") == dkim


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contrast(browser: Browser, written: Path, scheme: str) -> None:
    """Every text can be told from what is behind it, by day and by night."""
    with Leaf.opened(browser, written, color_scheme=scheme) as leaf:
        leaf.unfold()
        shades = [Shade(*found) for found in leaf.ask(FAINT)]
        paper = leaf.ask("getComputedStyle(document.body).backgroundColor")
    assert len({shade.text for shade in shades}) >= 5
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 380) is (scheme == "light")
    assert [shade for shade in shades if ratio(shade) < LEAST_CONTRAST] == []


def test_it_can_be_read_aloud(page: Leaf) -> None:
    """It has a language, headings in order, and tables whose cells have names."""
    assert page.ask("document.documentElement.lang") == "en"
    levels = page.ask(LEVELS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.ask(NAMELESS) == 0
    ids = page.ask("[...document.querySelectorAll('[id]')].map(it => it.id)")
    assert len(ids) == len(set(ids))
    targets = page.ask("[...document.querySelectorAll('a')].map(it => it.hash.slice(1))")
    assert targets
    assert set(targets) <= set(ids)


def test_a_status_is_a_word(page: Leaf) -> None:
    """No status is told by a colour or a mark alone."""
    words = set(page.texts(".status"))
    assert words == {
        "active",
        "as it should be",
        "created",
        "in conflict",
        "missing",
        "not known",
        "published",
        "unknown",
    }


def test_paper(page: Leaf) -> None:
    """A4 in black, with headers on each page and nothing of the lists folded away."""
    assert re.search(
        rb"/MediaBox \[0 0 59[45]\.\d+ 84[12]\.\d+\]", page.page.pdf(prefer_css_page_size=True)
    )
    page.ask("document.querySelectorAll('.list').forEach(it => { it.open = false })")
    page.page.emulate_media(media="print")
    assert page.page.get_by_text("bob@active.example", exact=True).is_visible()
    assert (
        page.ask("getComputedStyle(document.querySelector('thead')).display")
        == "table-header-group"
    )
    colours = page.ask(
        "[...document.querySelectorAll('.status')].map(it => getComputedStyle(it).color)"
    )
    assert set(colours) == {"rgb(0, 0, 0)"}
