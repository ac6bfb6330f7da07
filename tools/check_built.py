# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Check the contents of the built wheel and collection: `check_built.py FOLDER`.

The README of the collection and the description of the wheel have only absolute links, because
Galaxy and PyPI show them. On the collection's other pages, relative links lead to files in the
collection.
"""

from __future__ import annotations

import posixpath
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.release import LINK  # noqa: E402

# The directories of the wheel's packages in the checkout, and the packages' names.
SOURCES = {
    "plugins/module_utils/_api": "postroom_client",
    "bot/postroom_bot": "postroom_bot",
    "common/postroom_common": "postroom_common",
    "service/postroom_service": "postroom_service",
}
# Files that the collection must contain, and prefixes of paths that it must not contain.
NEEDED = {"README.md", "LICENSE", "meta/runtime.yml", "plugins/module_utils/_module.py"}
UNWANTED = (
    "service/postroom_service/",
    "bot/postroom_bot/",
    "common/",
    "tools/",
    "tests/",
    ".nox/",
    ".venv/",
    ".collections/",
    "noxfile.py",
)


def expected_in_wheel() -> set[str]:
    """Return the names of the files that the wheel must contain."""
    return {
        f"{name}/{file.relative_to(ROOT / folder).as_posix()}"
        for folder, name in SOURCES.items()
        for file in (ROOT / folder).rglob("*")
        if file.suffix == ".py" or file.name == "py.typed"
    }


def problems_of_wheel(wheel: Path) -> list[str]:
    """Return the problems of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        page = archive.read(metadata).decode()
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    missing, extra = expected_in_wheel() - names, names - expected_in_wheel()
    return [
        *(f"{wheel.name}: {name} is missing" for name in sorted(missing)),
        *(f"{wheel.name}: {name} does not belong there" for name in sorted(extra)),
        *(f"{wheel.name}: its page has the relative link {link}" for link in LINK.findall(page)),
    ]


def problems_of_collection(tarball: Path) -> list[str]:
    """Return the problems of the collection."""
    with tarfile.open(tarball) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
        pages = {
            name: archive.extractfile(name).read().decode()  # type: ignore[union-attr]
            for name in names
            if name.endswith(".md")
        }
    modules = {f"plugins/modules/{file.name}" for file in ROOT.glob("plugins/modules/*.py")}
    missing = (NEEDED | modules) - names
    extra = {name for name in names if name.startswith(UNWANTED)}
    return [
        *(f"{tarball.name}: {name} is missing" for name in sorted(missing)),
        *(f"{tarball.name}: {name} does not belong there" for name in sorted(extra)),
        *(
            f"{tarball.name}: README.md has the relative link {link}"
            for link in LINK.findall(pages["README.md"])
        ),
        *(f"{tarball.name}: {problem}" for problem in dead_links(names, pages)),
    ]


def dead_links(names: set[str], pages: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem for each relative link that leads to a missing file.

    :param names: the names of all files
    :param pages: the texts of the pages, keyed by name
    """
    folders = {str(folder) for name in names for folder in Path(name).parents}
    for name, text in sorted(pages.items()):
        for link in LINK.findall(text):
            file = posixpath.join(posixpath.dirname(name), link.partition("#")[0])
            if posixpath.normpath(file) not in names | folders:
                yield f"{name} links to {link}, which is missing"


def main() -> None:
    """Check the wheel and the collection in the directory."""
    folder = Path(sys.argv[1])
    (wheel,), (tarball,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    problems = problems_of_wheel(wheel) + problems_of_collection(tarball)
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    print(f"{wheel.name} and {tarball.name} contain the expected files")


if __name__ == "__main__":
    main()
