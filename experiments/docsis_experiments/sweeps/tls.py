# SPDX-License-Identifier: Apache-2.0
"""The way to a Dask scheduler: TLS with certificates on both sides, or none at all.

Dask unpickles what it is sent, so whoever reaches a scheduler can run programs on it and on its
workers. What is wrong with the way is told before Dask is asked, within a bounded time.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from docsis_testbed.errors import TestbedError

MOST_SECONDS: Final = 10.0
"""Until a scheduler has answered."""


@dataclass(frozen=True)
class Access:
    """A scheduler, and what proves to it that we may use it.

    Attributes:
        host, port: Where it is.
        ca: Certificate of the authority that has signed all others (PEM).
        certificate: Ours (PEM).
        key: Its private key (PEM), without a passphrase.
    """

    host: str
    port: int
    ca: Path
    certificate: Path
    key: Path

    @property
    def address(self) -> str:
        """Returns the address as Dask writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tls://{host}:{self.port}"

    @staticmethod
    def of(address: str, ca: Path | None, certificate: Path | None, key: Path | None) -> Access:
        """Makes an access from the options.

        Raises:
            TestbedError: The address is not one of TLS, or a file is missing, or cannot be used.
        """
        scheme, _, rest = address.partition("://")
        if not rest or scheme != "tls":
            raise TestbedError(
                f"--scheduler {address}: only tls://HOST:PORT is taken, because whoever reaches a "
                "scheduler without a certificate can run programs on its workers"
            )
        try:
            place = urlsplit(address)
            host, port = place.hostname, place.port
        except ValueError:
            host, port = None, None
        if not host or not port or place.path or place.username is not None:
            raise TestbedError(f"--scheduler {address}: must be tls://HOST:PORT")
        given = {"--tls-ca": ca, "--tls-cert": certificate, "--tls-key": key}
        if missing := [option for option, file in given.items() if file is None]:
            raise TestbedError(
                f"--scheduler {address}: {' and '.join(missing)} must be given as well, because "
                "both sides show a certificate"
            )
        for option, file in given.items():
            assert file is not None
            _readable(option, file)
        assert ca is not None
        assert certificate is not None
        assert key is not None
        access = Access(host, port, ca, certificate, key)
        access.context()
        return access

    def context(self) -> ssl.SSLContext:
        """Makes the context of connections: our certificate, and theirs of the same authority.

        Raises:
            TestbedError: A file holds no certificate or key, or they do not fit.
        """
        try:
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self.ca))
        except (ssl.SSLError, OSError) as error:
            raise TestbedError(
                f"--tls-ca {self.ca}: is no certificate in PEM form ({_reason(error)})"
            ) from None
        # A cluster has an authority of its own, and addresses instead of names, as in Dask.
        context.check_hostname = False
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        try:
            # Nobody is asked for a passphrase: a sweep may run where nobody sits.
            context.load_cert_chain(self.certificate, self.key, password=lambda: b"")
        except (ssl.SSLError, OSError) as error:
            raise TestbedError(
                f"--tls-cert {self.certificate}, --tls-key {self.key}: they are no certificate "
                f"with its key, in PEM form and without a passphrase ({_reason(error)})"
            ) from None
        return context

    def check(self, seconds: float = MOST_SECONDS) -> None:
        """Whether somebody is there who speaks TLS, and whether both accept each other.

        Raises:
            TestbedError: Not so, and why.
        """
        try:
            connection = socket.create_connection((self.host, self.port), seconds)
        except OSError as error:
            raise TestbedError(
                f"--scheduler {self.address}: nobody answers there within {seconds:g} s "
                f"({error.strerror or error}); start one with `dask scheduler`"
            ) from None
        with connection:
            try:
                with self.context().wrap_socket(connection, server_hostname=self.host) as secured:
                    # The scheduler speaks first. That it refuses our certificate is only known when
                    # it should have spoken.
                    if not secured.recv(1):
                        raise TestbedError(f"--scheduler {self.address}: hangs up at once")
            except ssl.SSLCertVerificationError as error:
                raise TestbedError(
                    f"--scheduler {self.address}: its certificate is not signed by {self.ca} "
                    f"({error.verify_message})"
                ) from None
            except ssl.SSLError as error:
                # Whoever sends an alert speaks it.
                refused = "alert" in _reason(error)
                why = "refuses our certificate" if refused else "does not speak TLS"
                raise TestbedError(
                    f"--scheduler {self.address}: {why} ({_reason(error)})"
                ) from None
            except OSError as error:
                raise TestbedError(
                    f"--scheduler {self.address}: does not answer as a scheduler with TLS does "
                    f"({error.strerror or error})"
                ) from None


def _readable(option: str, file: Path) -> None:
    try:
        with file.open("rb") as opened:
            opened.read(1)
    except OSError as error:
        raise TestbedError(f"{option} {file}: cannot be read ({error.strerror})") from None


def _reason(error: ssl.SSLError | OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return error.strerror or str(error)
