# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Leave out tables of contents within pages: the theme shows one beside each page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _drop_contents(_app: Sphinx, document: nodes.document) -> None:
    """Remove what `.. contents::` has made, which antsibull-docs writes into every page."""
    for topic in list(document.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            topic.parent.remove(topic)
            # Headings link back to their entries, which are gone with it.
            for title in document.findall(nodes.title):
                title.attributes.pop("refid", None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register it."""
    app.connect("doctree-read", _drop_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
