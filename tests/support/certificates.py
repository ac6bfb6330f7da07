# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An authority and certificates for the loopback, made by the openssl program."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


class Authority:
    """Signs certificates; its own lies in ``path``."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self.path = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        _openssl(
            "req",
            "-x509",
            *_new_key(self._key),
            "-out",
            str(self.path),
            "-days",
            "2",
            "-subj",
            f"/CN=Test {name}",
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        )

    def serves(self, alternative_name: str) -> ssl.SSLContext:
        """Return a server's context with a certificate for ``IP:...`` or ``DNS:...``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate(alternative_name))
        return context

    def certificate(self, alternative_name: str) -> tuple[Path, Path]:
        """Return the files of a certificate for ``IP:...`` or ``DNS:...`` and of its key."""
        stem = self._folder / f"{self.path.stem}-{alternative_name.replace(':', '-')}"
        key, request, certificate, extensions = (
            stem.with_suffix(end) for end in (".key", ".csr", ".pem", ".ext")
        )
        extensions.write_text(
            f"subjectAltName={alternative_name}\nauthorityKeyIdentifier=keyid\n"
            "basicConstraints=CA:FALSE\n",
            encoding="ascii",
        )
        _openssl("req", *_new_key(key), "-out", str(request), "-subj", "/CN=server")
        _openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            str(self.path),
            "-CAkey",
            str(self._key),
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            str(extensions),
            "-out",
            str(certificate),
        )
        return certificate, key


def _new_key(path: Path) -> list[str]:
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    return [*curve, "-nodes", "-keyout", str(path)]


def _openssl(*arguments: str) -> None:
    if OPENSSL is None:
        raise FileNotFoundError("openssl")
    subprocess.run([OPENSSL, *arguments], check=True, capture_output=True)
