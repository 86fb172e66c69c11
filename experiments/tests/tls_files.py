# SPDX-License-Identifier: Apache-2.0
"""Certificate authorities and certificates for tests, made with the openssl command."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificates:
    """Files of an authority and of one certificate that it has signed."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def dask_options(self) -> list[str]:
        """For `dask scheduler` and `dask worker`."""
        return [
            *("--tls-ca-file", str(self.ca)),
            *("--tls-cert", str(self.certificate)),
            *("--tls-key", str(self.key)),
        ]

    @property
    def options(self) -> list[str]:
        """For `docsis-p4 sweep`."""
        return [
            *("--tls-ca", str(self.ca)),
            *("--tls-cert", str(self.certificate)),
            *("--tls-key", str(self.key)),
        ]


def make(folder: Path) -> Certificates:
    """A new authority and a certificate of it, in a folder that is made."""
    folder.mkdir()
    ca, ca_key = folder / "ca.pem", folder / "ca-key.pem"
    certificate, key, request = folder / "node.pem", folder / "node-key.pem", folder / "node.csr"
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    _openssl(
        "req", "-x509", *new_key, "-days", "2", "-subj", f"/CN=authority of {folder.name}",
        "-keyout", str(ca_key), "-out", str(ca),
    )  # fmt: skip
    _openssl("req", *new_key, "-subj", "/CN=node", "-keyout", str(key), "-out", str(request))
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(ca), "-CAkey", str(ca_key),
        "-CAcreateserial", "-days", "2", "-out", str(certificate),
    )  # fmt: skip
    return Certificates(ca, certificate, key)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)
