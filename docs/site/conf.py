# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Sphinx configuration for the docsite, which `tools/docsite.py` builds."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from pygments.lexers.shell import BashLexer
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

galaxy = yaml.safe_load((HERE.parents[1] / "galaxy.yml").read_text("utf-8"))

project = "Postroom"
copyright = "2026, Postroom contributors"
version = release = galaxy["version"]
language = "en"

extensions = ["myst_parser", "sphinx_antsibull_ext", "contents", "links", "pictures"]
repository_url = f"{galaxy['repository']}/blob/main"

# As on GitHub, every heading gets an anchor, and diagrams are fenced `mermaid` blocks.
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_title = f"{project} {version}"
html_css_files = ["postroom.css"]
html_copy_source = False
html_use_index = False
# Don't warn about examples that contain templates, placeholders or omitted output.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    """Highlight `console` blocks as commands. Pygments would expect prompts in them."""
    app.add_lexer("console", BashLexer)
