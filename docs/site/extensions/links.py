# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Resolve links between the files of the repository.

On GitHub, the guides link to each other and to other files. In the docsite, a link to a file points
to the file's page or, for a plugin or playbook, to its entry in the reference. Links to all other
files point to the repository. Links to plugins of other collections point to docs.ansible.com.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.addnodes import pending_xref

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parents[3]

_PLUGIN = re.compile(r"plugins/(?P<kind>\w+?)s?/(?P<name>[a-z]\w*)\.py")
_PLAYBOOK = re.compile(r"playbooks/(\w+)\.yml")
_ELSEWHERE = re.compile(r"ansible_collections\.(\w+)\.(\w+)\.(\w+)")
_ANSIBLE = "https://docs.ansible.com/projects/ansible/latest"
#: Labels in Ansible's documentation that antsibull-docs refers to.
_LABELS = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    "inventory_plugins": "plugins/inventory.html",
    "playbooks_vault": "vault_guide/index.html",
}

_FILES = {"index": "docs/README.md", "readme": "README.md", "changelog": "CHANGELOG.md"}


def file_of(page: str) -> str:
    """Return the file that a page is created from, such as `bot/README.md` for `bot`."""
    if page in _FILES:
        return _FILES[page]
    guide = f"docs/{page}.md"
    return guide if (ROOT / guide).is_file() else f"{page}/README.md"


def place_of(file: str, pages: set[str]) -> tuple[str, str] | None:
    """Return a repository file's page and anchor, or None if the site lacks a page for it."""
    if plugin := _PLUGIN.fullmatch(file):
        return f"plugins/{plugin['name']}_{plugin['kind']}", ""
    if playbook := _PLAYBOOK.fullmatch(file):
        return "reference/playbooks", playbook[1]
    return next(((page, "") for page in pages if file_of(page) == file), None)


def _resolve_files(app: Sphinx, document: nodes.document) -> None:
    """Resolve a page's links to other pages, or to GitHub for files without a page."""
    here = posixpath.dirname(file_of(app.env.docname))
    for link in list(document.findall(pending_xref)):
        if link["reftype"] != "myst" or link.get("refdomain") == "doc":
            continue
        path, _hash, anchor = link["reftarget"].partition("#")
        file = posixpath.normpath(posixpath.join(here, path))
        page, part = place_of(file, app.env.found_docs) or ("", "")
        # If a page links to its own source file, the link points to the repository.
        if page and page != app.env.docname:
            link.attributes |= {
                "refdomain": "doc",
                "reftarget": page,
                "reftargetid": anchor or part,
            }
        elif (ROOT / file).exists():
            uri = f"{app.config.repository_url}/{file}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri))


def _drop_badges(_app: Sphinx, document: nodes.document) -> None:
    """Replace images of other sites with their texts, because the site loads nothing from there."""
    for image in list(document.findall(nodes.image)):
        if image["uri"].startswith("https://"):
            image.replace_self(nodes.Text(image["alt"]))


def _resolve_labels(
    _app: Sphinx, _env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Return a link to Ansible's documentation if the target is one of Ansible's labels."""
    label = node["reftarget"]
    place = _LABELS.get(label)
    if plugin := _ELSEWHERE.match(label):
        place = "collections/" + "/".join(plugin.groups()) + ".html"
    return nodes.reference("", "", content, refuri=f"{_ANSIBLE}/{place}") if place else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.add_config_value("repository_url", "", "env", types=str)
    app.connect("doctree-read", _resolve_files)
    app.connect("doctree-read", _drop_badges)
    app.connect("missing-reference", _resolve_labels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
