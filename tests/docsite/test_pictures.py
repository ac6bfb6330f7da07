# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The pictures are drawn, with all that their sources say, and can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from ansible_collections.postroom.email.tests.support import repository

PICTURES = sorted((repository.ROOT / "docs" / "pictures").glob("*.mmd"))
_BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Texts of a flow chart, then those of a sequence.
_TEXTS = (
    re.compile(r'"([^"]+)"'),
    re.compile(r"^ +(?:actor|participant) (?:\w+ as )?(.+)$", re.MULTILINE),
    re.compile(r"^ +[\w,>: -]+?: ?(\w.+)$", re.MULTILINE),
    re.compile(r"^ +/?(?:alt|else) (.+)$", re.MULTILINE),
)
#: A drawing's scale below which its letters, of 16 pixels, are too small.
SMALLEST = 0.6


def texts_of(picture: str) -> set[str]:
    """Return every text that a picture is to show."""
    drawn = picture.rpartition("---\n")[-1]
    found = [text for pattern in _TEXTS for text in pattern.findall(drawn)]
    return {one for text in found for one in text.split("<br/>")}


def squeezed(text: str) -> str:
    """Return a text without spaces: a browser breaks lines where it likes."""
    return "".join(text.split())


@pytest.mark.parametrize("file", PICTURES, ids=lambda file: file.stem)
def test_a_guide_shows_the_picture(file: Path) -> None:
    """GitHub draws blocks in a guide; the block is the file of the picture."""
    blocks = _BLOCK.findall(repository.read("docs/architecture.md"))
    assert file.read_text("utf-8") in blocks, f"copy {file.name} into docs/architecture.md"


@pytest.fixture(params=[800, 1400], ids=lambda width: f"{width}px")
def page(request: pytest.FixtureRequest, site: Path, browser: Browser) -> Iterator[Page]:
    """Return the page of the pictures in a window of some width."""
    with browser.new_page(viewport={"width": request.param, "height": 900}) as page:
        page.goto((site / "architecture.html").as_uri())
        page.wait_for_function("document.querySelectorAll('pre.mermaid > svg').length == 2")
        yield page


def test_the_pictures_show_what_their_sources_say(page: Page) -> None:
    """Each text is in the drawing."""
    shown = squeezed(" ".join(page.locator("pre.mermaid > svg").all_text_contents()))
    for file in PICTURES:
        wanted = texts_of(file.read_text("utf-8"))
        assert len(wanted) > 15
        assert {text for text in wanted if squeezed(text) not in shown} == set()


def test_the_pictures_can_be_read(page: Page) -> None:
    """They fit into the window, and are not shrunk until nobody can read them."""
    for picture in page.locator("pre.mermaid > svg").all():
        box = picture.bounding_box()
        whole = picture.evaluate("svg => svg.viewBox.baseVal.width")
        assert box is not None
        assert page.viewport_size is not None
        assert box["x"] + box["width"] <= page.viewport_size["width"]
        assert box["width"] / whole >= SMALLEST
