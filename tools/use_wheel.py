# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Test the wheel and the collection in one environment: `use_wheel.py COLLECTION POLICY`.

Run it with the Python of an environment in which the wheel and ansible-core are installed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGES = ("postroom_client", "postroom_common", "postroom_bot", "postroom_service")
SECONDS = 60


def program(name: str) -> str:
    """Return the path of a program in this environment."""
    return str(Path(sys.executable).with_name(name))


def import_packages() -> None:
    """Import every module except the migrations, which only Alembic can import."""
    for package in PACKAGES:
        (folder,) = importlib.import_module(package).__path__
        for file in sorted(Path(folder).rglob("*.py")):
            name = file.relative_to(folder).with_suffix("")
            if "migrations" not in name.parts[:-1]:
                importlib.import_module(".".join([package, *name.parts]))
        if not importlib.resources.files(package).joinpath("py.typed").is_file():
            sys.exit(f"{package} has no py.typed")


def use_together(collection: Path, folder: Path) -> None:
    """Install the collection and run a playbook against the wheel's service."""
    installed, ready, token = folder / "collections", folder / "ready.json", folder / "token"
    install = [program("ansible-galaxy"), "collection", "install", "-p", str(installed)]
    subprocess.run([*install, str(collection)], check=True, stdout=subprocess.DEVNULL)
    serve = [program("postroom-service"), "serve", "--port", "0", "--ready-file", str(ready)]
    service = subprocess.Popen(
        [*serve, "--database", "memory", "--bootstrap", "demo", "--token-file", str(token)]
    )
    try:
        end = time.monotonic() + SECONDS
        while not ready.exists() and service.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        env = os.environ | {
            "ANSIBLE_COLLECTIONS_PATH": str(installed),
            "ANSIBLE_HOME": str(folder / "ansible"),
            "POSTROOM_API_URL": json.loads(ready.read_text("utf-8"))["url"],
            "POSTROOM_API_TOKEN": token.read_text("utf-8").strip(),
        }
        playbook = [program("ansible-playbook"), "postroom.email.export"]
        exported = f"mail_definition_file={folder / 'tenant.yml'}"
        subprocess.run([*playbook, "-e", exported], env=env, check=True)
    finally:
        service.terminate()
        service.wait()


def main() -> None:
    """Test the packages, the programs and the collection."""
    import_packages()
    for name in ("postroom-bot", "postroom-service"):
        subprocess.run([program(name), "--version"], check=True)
    asked = ["--user", "U024BE7LH", "alias", "add", "sales@example.com"]
    explain = [program("postroom-bot"), "explain", "--policy", sys.argv[2], *asked]
    subprocess.run(explain, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        use_together(Path(sys.argv[1]).resolve(), Path(folder))
    version = importlib.metadata.version("postroom")
    print(f"postroom {version}: the packages, both programs and the collection work together")


if __name__ == "__main__":
    main()
