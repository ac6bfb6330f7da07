# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A file of HTML in a real browser, which notes down whatever the page wants from elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NO_CHROMIUM = "no Chromium: chromium is not on PATH"
#: Without these, it looks for its maker's hosts at every start.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium, and skip the test where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Leaf:
    """A page that is open.

    :param requests: the addresses that it asked for, its own one first
    :param complaints: what the browser said of it, such as of what its policy forbids
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def opened(cls, browser: Browser, file: Path, **options: Any) -> Iterator[Leaf]:
        """Open a file until the block ends, with options of Playwright's contexts."""
        context = browser.new_context(**options)
        leaf = cls(context.new_page())
        leaf.page.on("request", leaf._note_request)
        leaf.page.on("console", leaf._note_complaint)
        leaf.page.goto(file.as_uri())
        yield leaf
        context.close()

    def unfold(self) -> None:
        """Open everything that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true })")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements, folded ones too, with single spaces."""
        found = self.page.locator(selector).all_text_contents()
        return [" ".join(text.split()) for text in found]

    def ask(self, expression: str) -> Any:
        """Return what an expression of JavaScript comes to."""
        return self.page.evaluate(expression)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _note_complaint(self, message: ConsoleMessage) -> None:
        self.complaints.append(message.text)
