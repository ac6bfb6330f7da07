# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Remove tables of contents from pages, because the theme shows one next to each page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _drop_contents(_app: Sphinx, document: nodes.document) -> None:
    """Remove the table of contents that antsibull-docs adds to every page with `.. contents::`."""
    for topic in list(document.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            topic.parent.remove(topic)
            # Headings link back to entries in the table that was removed.
            for title in document.findall(nodes.title):
                title.attributes.pop("refid", None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("doctree-read", _drop_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
