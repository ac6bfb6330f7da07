# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Render `mermaid` blocks as diagrams, which the site's copy of Mermaid draws in the browser.

Mermaid is loaded as a plain script, which works even if the pages are opened as local files. The
JavaScript modules that existing extensions load don't work in local files.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT = "mermaid.min.js"
#: The HTML by which Mermaid recognizes a diagram.
_BEGIN = '<pre class="mermaid">'
# Start Mermaid immediately. By default, it waits until the complete page has loaded.
_START = """mermaid.initialize({
  theme: "neutral",
  themeVariables: {noteBkgColor: "#fff5d6", noteTextColor: "#222", noteBorderColor: "#ccb"},
  securityLevel: "strict",
});"""


class Picture(SphinxDirective):
    """The directive for `mermaid` blocks."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the diagram's source, which readers without JavaScript see as text."""
        text = html.escape("\n".join(self.content))
        return [nodes.raw("", f"{_BEGIN}\n{text}\n</pre>", format="html")]


def _load_mermaid(
    app: Sphinx, _page: str, _template: str, _context: Any, tree: nodes.document | None
) -> None:
    """Load Mermaid only on pages with diagrams, because the script is large."""
    if tree and any(_BEGIN in node.astext() for node in tree.findall(nodes.raw)):
        app.add_js_file(SCRIPT)
        app.add_js_file(None, body=_START)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.add_directive("mermaid", Picture)
    app.connect("html-page-context", _load_mermaid)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
