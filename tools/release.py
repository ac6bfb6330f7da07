# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build the collection and the wheel so that others get the same bytes: `release.py FOLDER`.

What differs from one machine and one day to the next is taken out: the time of the build, the modes
that a umask gives, the order in which a file system lists its files. Both are built twice, in
different places, and compared. Whoever builds them again needs the same ansible-core, setuptools
and zlib.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import ansible_tree  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST, FILES = "MANIFEST.json", "FILES.json"
#: A link of Markdown that is relative.
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def main() -> None:
    """Build into the folder, which is emptied first, and print what is there."""
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (build(Path(scratch, name)) for name in ("one", "other"))
        if differing := {name for name, _digest in first.items() ^ second.items()}:
            sys.exit(f"two builds of the same files differ: {', '.join(sorted(differing))}")
        shutil.copytree(Path(scratch, "one", "dist"), target)
    for name, digest in sorted(first.items()):
        print(f"{digest}  {target / name}")
    for reason in doubts():
        print(f"Not to be published: {reason}.")


def build(folder: Path) -> dict[str, str]:
    """Build both below the folder, and return the digest of each file by its name."""
    source, dist = folder / "source", folder / "dist"
    epoch = git("log", "-1", "--format=%ct").strip()
    before = os.umask(0o022)
    try:
        ansible_tree.copy_files(ROOT, source)
        readme = source / "README.md"
        readme.write_text(with_absolute_links(readme.read_text("utf-8")), "utf-8")
        for file in source.rglob("*"):
            file.chmod(0o755 if file.is_dir() or file.stat().st_mode & 0o100 else 0o644)
        run_builders(source, dist, os.environ | {"SOURCE_DATE_EPOCH": epoch})
    finally:
        os.umask(before)
    for tarball in dist.glob("*.tar.gz"):
        settle(tarball, int(epoch))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in dist.iterdir()}


def run_builders(source: Path, dist: Path, env: Mapping[str, str]) -> None:
    """Build the collection, then the wheel: setuptools leaves its work beside the sources."""
    galaxy = ("ansible", "galaxy", "collection", "build", "--output-path", str(dist), str(source))
    wheel = ("build", "--wheel", "--no-isolation", "--outdir", str(dist), str(source))
    for command in (galaxy, wheel):
        built = subprocess.run(
            [sys.executable, "-m", *command],
            check=False,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if built.returncode:
            sys.exit(built.stdout)


def with_absolute_links(text: str) -> str:
    """Return a page of the repository with links that work on Galaxy and PyPI."""
    metadata = galaxy()

    def absolute(link: re.Match[str]) -> str:
        # A page of GitHub does not work as an image.
        view = "raw" if link[1].endswith(".png") else "blob"
        return f"]({metadata['repository']}/{view}/{metadata['version']}/{link[1]})"

    return LINK.sub(absolute, text)


def settle(tarball: Path, epoch: int) -> None:
    """Write the collection's tarball again, in order, as if all was made at `epoch`."""
    with tarfile.open(tarball) as archive:
        members = {entry.name: entry for entry in archive.getmembers()}
        files = [entry for entry in members.values() if entry.isfile()]
        contents = {one.name: archive.extractfile(one).read() for one in files}  # type: ignore[union-attr]
    contents |= in_order(contents)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        # What describes the others comes first, as Ansible has it.
        for name in [MANIFEST, FILES, *sorted(members.keys() - {MANIFEST, FILES})]:
            entry, content = members[name], contents.get(name, b"")
            # There the time would be told once more, with its fractions.
            entry.pax_headers = {}
            entry.mtime, entry.size = epoch, len(content)
            archive.addfile(entry, io.BytesIO(content))
    # The header that `mode="w:gz"` writes has the present time.
    tarball.write_bytes(gzip.compress(plain.getvalue(), mtime=epoch))


def in_order(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the two files that describe the others, with the list of files sorted."""
    listed, manifest = json.loads(contents[FILES]), json.loads(contents[MANIFEST])
    listed["files"].sort(key=lambda entry: entry["name"])
    files = json.dumps(listed, indent=True).encode()
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(files).hexdigest()
    return {FILES: files, MANIFEST: json.dumps(manifest, indent=True).encode()}


def doubts() -> list[str]:
    """Return why what was built is not what a release is built from."""
    version = galaxy()["version"]
    notes = yaml.safe_load(ROOT.joinpath("changelogs", "changelog.yaml").read_text("utf-8"))
    changed = git("status", "--porcelain").strip()
    return [
        *(["there are changes that are not committed"] if changed else []),
        *([] if version in notes["releases"] else [f"the changelog has no release {version}"]),
        *([] if version in git("tag", "--points-at", "HEAD").split() else [f"no tag {version}"]),
    ]


def galaxy() -> dict[str, Any]:
    """Return the collection's metadata."""
    metadata: dict[str, Any] = yaml.safe_load(ROOT.joinpath("galaxy.yml").read_text("utf-8"))
    return metadata


def git(*arguments: str) -> str:
    """Ask git about the checkout."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
