# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Show blocks of `mermaid` as pictures, which the site's copy of Mermaid draws in the browser.

Mermaid is loaded as a plain script, which also works if the pages are opened as local files. The
modules that existing extensions load don't.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT = "mermaid.min.js"
#: The element by which Mermaid finds pictures.
_BEGIN = '<pre class="mermaid">'
# Start immediately. By default, Mermaid waits until the complete page has loaded.
_START = """mermaid.initialize({
  theme: "neutral",
  themeVariables: {noteBkgColor: "#fff5d6", noteTextColor: "#222", noteBorderColor: "#ccb"},
  securityLevel: "strict",
});"""


class Picture(SphinxDirective):
    """A directive for a block of `mermaid`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture's text, which is also shown without scripts."""
        text = html.escape("\n".join(self.content))
        return [nodes.raw("", f"{_BEGIN}\n{text}\n</pre>", format="html")]


def _load_mermaid(
    app: Sphinx, _page: str, _template: str, _context: Any, tree: nodes.document | None
) -> None:
    """Load Mermaid only on pages with pictures, because it is large."""
    if tree and any(_BEGIN in node.astext() for node in tree.findall(nodes.raw)):
        app.add_js_file(SCRIPT)
        app.add_js_file(None, body=_START)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("mermaid", Picture)
    app.connect("html-page-context", _load_mermaid)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
