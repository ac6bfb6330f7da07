# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build the collection and the wheel reproducibly: `release.py FOLDER`.

The result does not depend on the time of the build, the umask or the order of files in the file
system. To check this, the collection and the wheel are built twice, in different directories, and
compared. To reproduce a build, use the same versions of ansible-core, setuptools and zlib.
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
#: A relative link in Markdown.
LINK = re.compile(r"\]\((?!https?\\?:|#|mailto:)([^)\s]+)\)")


def main() -> None:
    """Empty the directory, build into it and print the digests of the files."""
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
        print(f"Do not publish this build: {reason}.")


def build(folder: Path) -> dict[str, str]:
    """Build the collection and the wheel, and return each file's digest, keyed by file name."""
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
    """Build the collection before the wheel, because setuptools adds files to the source tree."""
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
    """Return a page of the repository with absolute links, which work on Galaxy."""
    metadata = galaxy()

    def absolute(link: re.Match[str]) -> str:
        # An image needs the raw file, not GitHub's page about it.
        view = "raw" if link[1].endswith(".png") else "blob"
        return f"]({metadata['repository']}/{view}/{metadata['version']}/{link[1]})"

    return LINK.sub(absolute, text)


def settle(tarball: Path, epoch: int) -> None:
    """Rewrite the collection's tarball with sorted files and all times set to `epoch`."""
    with tarfile.open(tarball) as archive:
        members = {entry.name: entry for entry in archive.getmembers()}
        files = [entry for entry in members.values() if entry.isfile()]
        contents = {one.name: archive.extractfile(one).read() for one in files}  # type: ignore[union-attr]
    contents |= in_order(contents)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        # The manifests come first, as in tarballs built by Ansible.
        for name in [MANIFEST, FILES, *sorted(members.keys() - {MANIFEST, FILES})]:
            entry, content = members[name], contents.get(name, b"")
            # These headers would contain the original time with fractions of a second.
            entry.pax_headers = {}
            entry.mtime, entry.size = epoch, len(content)
            archive.addfile(entry, io.BytesIO(content))
    # With `mode="w:gz"`, the gzip header would contain the current time.
    tarball.write_bytes(gzip.compress(plain.getvalue(), mtime=epoch))


def in_order(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the two manifests with a sorted list of files."""
    listed, manifest = json.loads(contents[FILES]), json.loads(contents[MANIFEST])
    listed["files"].sort(key=lambda entry: entry["name"])
    files = json.dumps(listed, indent=True).encode()
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(files).hexdigest()
    return {FILES: files, MANIFEST: json.dumps(manifest, indent=True).encode()}


def doubts() -> list[str]:
    """Return the reasons why the build must not be published as a release."""
    version = galaxy()["version"]
    notes = yaml.safe_load(ROOT.joinpath("changelogs", "changelog.yaml").read_text("utf-8"))
    changed = git("status", "--porcelain").strip()
    return [
        *(["there are uncommitted changes"] if changed else []),
        *([] if version in notes["releases"] else [f"the changelog has no release {version}"]),
        *([] if version in git("tag", "--points-at", "HEAD").split() else [f"no tag {version}"]),
    ]


def galaxy() -> dict[str, Any]:
    """Return the collection's metadata."""
    metadata: dict[str, Any] = yaml.safe_load(ROOT.joinpath("galaxy.yml").read_text("utf-8"))
    return metadata


def git(*arguments: str) -> str:
    """Run git in the checkout and return its output."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
