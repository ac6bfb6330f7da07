# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is released does not depend on when and where it is built."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from typing import TYPE_CHECKING

from ansible_collections.postroom.email.tools import release

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEXTS = {"README.md": b"Read me.", "docs/é.md": b"", "meta/runtime.yml": b"---\n"}


def tarball(path: Path, names: list[str], mtime: float) -> Path:
    """Write a collection as Ansible does, with its files in that order."""
    listed = {"files": [{"name": name, "ftype": "file"} for name in names], "format": 1}
    files = json.dumps(listed).encode()
    manifest = {"file_manifest_file": {"chksum_sha256": hashlib.sha256(files).hexdigest()}}
    described = {release.MANIFEST: json.dumps(manifest).encode(), release.FILES: files}
    with tarfile.open(path, "w:gz") as archive:
        for name, content in [*described.items(), *((name, TEXTS[name]) for name in names)]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), mtime
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    """Whatever their order and time were; and the manifest describes them still."""
    one = tarball(tmp_path / "one.tar.gz", list(TEXTS), 1795291720.775)
    other = tarball(tmp_path / "other.tar.gz", sorted(TEXTS, reverse=True), 17)
    assert one.read_bytes() != other.read_bytes()
    for built in (one, other):
        release.settle(built, 1_700_000_000)
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as archive:
        held = {name: archive.extractfile(name) for name in archive.getnames()}
        contents = {name: file.read() for name, file in held.items() if file}
        assert {entry.mtime for entry in archive.getmembers()} == {1_700_000_000}
    assert list(contents)[:2] == [release.MANIFEST, release.FILES]
    assert contents.items() >= TEXTS.items()
    told = json.loads(contents[release.MANIFEST])["file_manifest_file"]["chksum_sha256"]
    assert told == hashlib.sha256(contents[release.FILES]).hexdigest()
    names = [entry["name"] for entry in json.loads(contents[release.FILES])["files"]]
    assert names == sorted(TEXTS)


def test_what_is_no_release_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not committed, has no notes or no tag; once all of that is there, nothing is."""
    monkeypatch.setattr(release, "ROOT", tmp_path)
    notes = tmp_path / "changelogs" / "changelog.yaml"
    notes.parent.mkdir()
    notes.write_text("releases: {0.1.0: {}}\n", "utf-8")
    tmp_path.joinpath("galaxy.yml").write_text("version: 0.2.0\n", "utf-8")

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@one.example")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=First")
    git("tag", "0.1.0")
    assert release.doubts() == ["the changelog has no release 0.2.0", "no tag 0.2.0"]
    notes.write_text("releases: {0.1.0: {}, 0.2.0: {}}\n", "utf-8")
    assert release.doubts() == ["there are changes that are not committed", "no tag 0.2.0"]
    git("commit", "--quiet", "--all", "--message=Second")
    git("tag", "0.2.0")
    assert release.doubts() == []
