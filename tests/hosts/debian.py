# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian hosts with systemd on their own network, without virtual machines.

A host is a systemd-nspawn container of a Debian tree that mmdebstrap created. Changes to a
host are kept in memory and are lost when the host stops.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import tomllib
import yaml

from ansible_collections.postroom.email.tests.support import repository, system_programs
from ansible_collections.postroom.email.tests.support.processes import Running

MIRROR = "http://deb.debian.org/debian"
#: The Debian releases and their versions of Python.
RELEASES = {"bookworm": "3.11", "trixie": "3.13"}
BASE_PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "python3-apt",
    "python3-venv",
    "systemd-sysv",
)
BRIDGE = "mail"
#: The address of this machine on the hosts' network.
GATEWAY = "10.53.0.1"
WHEELS = "/wheels"
BOOT_SECONDS = 120.0
STOP_SECONDS = 60.0

_CLONE_NEWNET = 0x40000000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def unusable() -> str:
    """Return the reason why this machine can't run hosts, or an empty string."""
    if os.geteuid() != 0:
        return "only root can start hosts"
    return system_programs.not_installed("mmdebstrap", "systemd-nspawn", "ip")


class Host(Running):
    """A running host."""

    def __init__(self, name: str, address: str, image: Path, folder: Path) -> None:
        self.name = name
        self.address = address
        self.image = image
        options = [
            f"--directory={image}",
            "--volatile=overlay",
            f"--machine={name.partition('.')[0]}",
            f"--hostname={name}",
            f"--network-bridge={BRIDGE}",
            *("--register=no", "--keep-unit", "--link-journal=no"),
            *("--resolv-conf=off", "--timezone=off", "--console=pipe", "--quiet", "--boot"),
        ]
        command = ["systemd-nspawn", *options]
        super().__init__(command, os.environ, folder / f"{name}.log", STOP_SECONDS)
        self.wait_until(self._has_booted, BOOT_SECONDS)
        for words in (f"addr add {address}/24 dev host0", "link set host0 up"):
            self.run("ip", *words.split())
        self.write("/etc/resolv.conf", f"nameserver {GATEWAY}\n")

    @property
    def leader(self) -> int:
        """The PID of the host's first process as seen on this machine, or 0 before it starts."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("utf-8").split()
        return int(children[0]) if children else 0

    def attempt(self, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on the host, and return the result even if it fails."""
        return subprocess.run(
            ["nsenter", f"--target={self.leader}", "--all", *command],
            # The host has its own PATH, which differs from this machine's.
            env={**os.environ, "PATH": _PATH},
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *command: str, text: str = "") -> str:
        """Run a command on the host, and return its output.

        :raises RuntimeError: if the command fails
        """
        done = self.attempt(*command, text=text)
        if "unavailable resources" in done.stderr:  # from systemd, on a busy machine
            done = self.attempt(*command, text=text)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        self.run("tee", path, text=text)

    def _has_booted(self) -> bool:
        if not self.leader:
            return False
        state = self.attempt("systemctl", "is-system-running").stdout.strip()
        return state in ("running", "degraded")


@contextlib.contextmanager
def network(*addresses: str) -> Iterator[None]:
    """Move this thread to a new network with these addresses. Hosts connect to this network."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/self/ns/net", os.O_RDONLY)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network namespace")
    try:
        for words in (
            "link set lo up",
            f"link add {BRIDGE} type bridge",
            *(f"addr add {address}/24 dev {BRIDGE}" for address in addresses),
            f"link set {BRIDGE} up",
        ):
            subprocess.run([system_programs.require("ip"), *words.split()], check=True)
        yield
    finally:
        libc.setns(before, _CLONE_NEWNET)
        os.close(before)


def image(release: str, *packages: str) -> Path:
    """Return the tree of a Debian release that can install the mail host offline.

    :param packages: additional Debian packages to make available offline
    """
    debian = [*_debian_packages(), *packages]
    requirements = _requirements()
    identity = "\n".join([release, *BASE_PACKAGES, *debian, *requirements])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "postroom-tests" / f"{release}-{digest}"
    if place.exists():
        return place
    new = place.with_name(f"{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.parent.mkdir(parents=True, exist_ok=True)
    # The role installs these packages from apt's cache.
    download = f'chroot "$1" apt-get install -qq --yes --download-only {" ".join(debian)}'
    options = ("--skip=cleanup/apt", f"--customize-hook={download}")
    base = f"--include={','.join(BASE_PACKAGES)}"
    _call("mmdebstrap", "--variant=minbase", base, *options, release, str(new), MIRROR)
    _download_wheels(new / WHEELS.lstrip("/"), RELEASES[release], requirements)
    # systemd takes the host name from this file. mmdebstrap copied this machine's name into it.
    (new / "etc/hostname").unlink(missing_ok=True)
    new.rename(place)
    return place


def _debian_packages() -> list[str]:
    variables = yaml.safe_load(
        (repository.ROOT / "roles/mail_host/vars/main.yml").read_text("utf-8")
    )
    return [package for group in variables["__mail_host_packages"].values() for package in group]


def _requirements() -> list[str]:
    project = tomllib.loads((repository.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return sorted({*project["dependencies"], *extras["service"], *extras["mail"]})


def _download_wheels(folder: Path, python: str, requirements: Sequence[str]) -> None:
    pip = (sys.executable, "-m", "pip", "--quiet")
    # PyPI has no wheel for dkimpy, and pip can't build wheels for another Python version.
    [dkimpy] = [each for each in requirements if each.startswith("dkimpy")]
    _call(*pip, "wheel", "--no-deps", f"--wheel-dir={folder}", dkimpy)
    options = ("--only-binary=:all:", f"--python-version={python}", f"--find-links={folder}")
    _call(*pip, "download", *options, f"--dest={folder}", *requirements)


def _call(*command: str) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-3000:]}")
