# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the README's two commands as a newcomer would.

A newcomer has a minimal Debian with the packages that the README names, an ordinary account with an
empty home directory, and a clone of the last commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MIRROR = "http://deb.debian.org/debian"
# apt also installs ca-certificates with Git, which recommends it.
PACKAGES = ("ca-certificates", "git", "make", "python3", "python3-venv")
USER = "newcomer"
USER_ID = 1000
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
#: Variables that describe this machine's way to the package indexes.
NETWORK = re.compile(
    r"(https?|no|all)_proxy|(pip|uv)_(default_|extra_)?index(_url)?", re.IGNORECASE
)
SCRIPT = """
set -e
make demo
make test
echo "The checkout takes $(du --summarize --block-size=MB . | cut -f 1)."
left=$(ls -A /tmp)
if [ -n "$left" ]; then echo "Left in /tmp: $left"; exit 1; fi
"""


def image(release: str, state: Path) -> Path:
    """Return the tree of a minimal Debian with an ordinary user. Create it if it is missing."""
    digest = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    tree = state / f"{release}-{digest}"
    if not tree.exists():
        new = state / f"{release}.new"
        shutil.rmtree(new, ignore_errors=True)
        state.mkdir(parents=True, exist_ok=True)
        user = f'chroot "$1" useradd --uid {USER_ID} --shell /bin/bash {USER}'
        options = (
            "--variant=minbase",
            f"--include={','.join(PACKAGES)}",
            f"--customize-hook={user}",
        )
        command = ["mmdebstrap", "--quiet", *options, release, str(new), MIRROR]
        subprocess.run(command, check=True, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
        new.rename(tree)
    return tree


def clone(home: Path) -> None:
    """Clone the checkout into a new home directory that belongs to the user."""
    status = ["git", "-C", str(ROOT), "status", "--porcelain"]
    if subprocess.run(status, check=True, capture_output=True).stdout:
        sys.exit("The newcomer gets a clone of the last commit: commit your changes first.")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", ROOT.as_uri(), str(home / "email")], check=True)
    subprocess.run(["chown", "--recursive", f"{USER_ID}:{USER_ID}", str(home)], check=True)


def main(release: str, state: Path) -> int:
    """Run the commands, and return their exit status."""
    home = state / "home"
    tree = image(release, state)
    clone(home)
    settings = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    settings["PIP_CERT"] = CERTIFICATES
    options = [
        *("--quiet", "--register=no", "--keep-unit", "--as-pid2", "--console=pipe"),
        *("--volatile=overlay", "--timezone=off", "--resolv-conf=copy-host"),
        f"--directory={tree}",
        f"--bind={home}:/home/{USER}",
        f"--bind-ro={CERTIFICATES}",
        f"--user={USER}",
        f"--chdir=/home/{USER}/email",
        # The values may contain passwords, so they are not in the command line.
        *(f"--setenv={name}" for name in settings),
    ]
    try:
        command = ["systemd-nspawn", *options, "/bin/sh", "-c", SCRIPT]
        return subprocess.run(command, check=False, env=os.environ | settings).returncode
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
