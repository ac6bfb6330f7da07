# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A certificate authority for tests, which runs the openssl program (3.0 or later)."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

from ansible_collections.postroom.email.tests.support import system_programs


class Authority:
    """A certificate authority. ``path`` is the file of its own certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self.path = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        usage = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
        _new_certificate(self.path, self._key, f"Test {name}", usage)

    def serves(self, alternative_name: str) -> ssl.SSLContext:
        """Return a TLS server context with a certificate for ``IP:...`` or ``DNS:...``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate(alternative_name))
        return context

    def certificate(self, alternative_name: str) -> tuple[Path, Path]:
        """Return the files of a new certificate for ``IP:...`` or ``DNS:...`` and of its key."""
        stem = self._folder / f"{self.path.stem}-{alternative_name.replace(':', '-')}"
        certificate, key = stem.with_suffix(".pem"), stem.with_suffix(".key")
        usage = [f"subjectAltName={alternative_name}", "basicConstraints=CA:FALSE"]
        signer = ["-CA", str(self.path), "-CAkey", str(self._key)]
        _new_certificate(certificate, key, "server", usage, *signer)
        return certificate, key


def _new_certificate(
    path: Path, key: Path, name: str, extensions: list[str], *options: str
) -> None:
    command = [system_programs.require("openssl"), "req", "-x509", "-days", "2"]
    command += ["-subj", f"/CN={name}", *options]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(path)]
    for extension in extensions:
        command += ["-addext", extension]
    subprocess.run(command, check=True, capture_output=True)
