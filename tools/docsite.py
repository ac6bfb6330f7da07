# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build the docsite: `python tools/docsite.py FOLDER MERMAID`.

The site contains the guides, the READMEs, and the reference for plugins and roles, which
antsibull-docs generates. The pages are in FOLDER/html, and their sources in FOLDER/source. MERMAID
is the npm directory in which `mermaid` is installed. Warnings are treated as errors. Nothing is
downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
DOCS = ("tutorials", "guides", "reference", "explanation")
COLLECTION = "postroom.email"
PARTS = ("doctrees", "home", "html", "source", "static")
MERMAID = Path("node_modules", "mermaid", "dist", "mermaid.min.js")


def pages() -> dict[str, Path]:
    """Return the source file of each page, except for the reference of the plugins and roles."""
    docs = {
        f"{part}/{file.stem}": file for part in DOCS for file in (ROOT / "docs" / part).glob("*.md")
    }
    roles = {f"roles/{file.parent.name}": file for file in ROOT.glob("roles/*/README.md")}
    programs = {name: ROOT / name / "README.md" for name in ("bot", "service")}
    start = {"index": ROOT / "docs" / "README.md", "readme": ROOT / "README.md"}
    return {**start, **docs, **roles, **programs, "changelog": ROOT / "CHANGELOG.md"}


def lay_out(source: Path) -> None:
    """Copy the guides and READMEs to the paths of their pages."""
    for page, file in pages().items():
        copy = source / f"{page}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    # The README and the pages in docs/ refer to the pictures by different paths.
    for folder in ("docs/pictures", "pictures"):
        shutil.copytree(ROOT / "docs" / "pictures", source / folder)
    with (source / "index.md").open("a", encoding="utf-8") as index:
        index.write("\n" + (SITE / "contents.md").read_text("utf-8"))


def write_reference(target: Path, home: Path) -> None:
    """Generate the pages of the plugins and roles with antsibull-docs."""
    target.mkdir()
    settings = ("--config-file", str(SITE / "antsibull-docs.cfg"))
    command = ("antsibull-docs", *settings, "collection", "--use-current", "--squash-hierarchy")
    options = ("--fail-on-error", "--no-add-antsibull-docs-version", "--dest-dir", str(target))
    # antsibull-docs writes a log to the home directory.
    home.mkdir()
    env = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "HOME": str(home)}
    subprocess.run([*command, *options, COLLECTION], check=True, env={**os.environ, **env})


def build(folder: Path, mermaid: Path) -> None:
    """Build the site from scratch.

    :param folder: the directory for the build; files of an earlier build are removed
    :param mermaid: the npm directory in which Mermaid is installed
    :raises subprocess.CalledProcessError: if a program failed and printed the reason
    """
    for part in PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    source, static = folder / "source", folder / "static"
    lay_out(source)
    write_reference(source / "plugins", folder / "home")
    static.mkdir()
    shutil.copy(mermaid / MERMAID, static)
    strict = ("-W", "--keep-going", "-q", "-E", "-j", "auto")
    statics = f"html_static_path={SITE / 'static'},{static}"
    paths = ("-c", str(SITE), "-d", str(folder / "doctrees"), "-D", statics)
    command = (sys.executable, "-m", "sphinx", "-b", "html", *strict, *paths)
    subprocess.run([*command, str(source), str(folder / "html")], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
