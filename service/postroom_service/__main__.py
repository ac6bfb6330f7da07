# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `postroom-service` entry point, which reports the extra to install for a missing package."""

from __future__ import annotations

import sys

MAIL = (
    *("aiosmtpd", "dkim", "kilter", "lmdb", "prometheus_client", "proxyprotocol", "pymap"),
    *("pysasl", "srslib"),
)


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from .cli import main as run  # noqa: PLC0415

        return run()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("postroom_"):
            raise
        extras = "service,mail" if error.name in MAIL else "service"
        message = f"the package {error.name} is missing. Run: pip install 'postroom[{extras}]'"
        print(f"postroom-service: {message}", file=sys.stderr)  # noqa: T201
        return 2


if __name__ == "__main__":
    sys.exit(main())
