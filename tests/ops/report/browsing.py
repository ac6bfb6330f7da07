# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A file of HTML in a real browser, which notes down whatever the page wants from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request


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
