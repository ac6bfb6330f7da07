# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `postroom-bot` entry point. If a package is missing, the error names the extra to install."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command and return its exit status."""
    try:
        from postroom_bot.cli import main as run  # noqa: PLC0415

        return run()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("postroom_"):
            raise
        message = f"the package {error.name} is missing. Run: pip install 'postroom[bot]'"
        print(f"postroom-bot: {message}", file=sys.stderr)  # noqa: T201
        return 2


if __name__ == "__main__":
    sys.exit(main())
