# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Use the installed wheel as its users do. Run with the Python that it is installed for."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import subprocess
import sys
from pathlib import Path

CORE = "ansible_collections.postroom.email.plugins.module_utils._api"


def main() -> None:
    """Import the client core under its true name, and start the program."""
    core = importlib.import_module(CORE)
    (folder,) = core.__path__
    for file in sorted(Path(folder).rglob("*.py")):
        importlib.import_module(".".join([CORE, *file.relative_to(folder).with_suffix("").parts]))
    for package in (CORE, "postroom_bot", "postroom_service"):
        if not importlib.resources.files(package).joinpath("py.typed").is_file():
            sys.exit(f"{package} has no py.typed")
    for name in ("postroom-bot", "postroom-service"):
        program = Path(sys.executable).with_name(name)
        subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)
    version = importlib.metadata.version("postroom")
    print(f"postroom {version}: the client core, postroom-bot and postroom-service work")


if __name__ == "__main__":
    main()
