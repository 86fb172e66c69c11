# SPDX-License-Identifier: Apache-2.0
"""The way to a scheduler: TLS on both sides, or one sentence about what is wrong."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import tls_files
from tls_files import Certificates

from docsis_experiments.sweeps.tls import Access
from docsis_testbed.errors import TestbedError


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return tls_files.make(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return tls_files.make(tmp_path_factory.mktemp("tls") / "others")


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Somebody who does `serve` with the first who connects; yields the port."""

    def run() -> None:
        try:
            connection, _ = listener.accept()
            with connection:
                serve(connection)
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.close()
            thread.join(timeout=30)


def with_tls(files: Certificates, words: bytes = b"hello") -> Callable[[socket.socket], None]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files.ca))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(files.certificate, files.key)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.sendall(words)

    return serve


def access(port: int, files: Certificates) -> Access:
    return Access.of(f"tls://127.0.0.1:{port}", files.ca, files.certificate, files.key)


def told(check: Callable[[], object]) -> str:
    with pytest.raises(TestbedError) as refused:
        check()
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "127.0.0.1:8786", "ws://host:1", "tls:host:1", ""]
)
def test_anything_but_tls_is_refused_by_name(address: str, ours: Certificates) -> None:
    words = told(lambda: Access.of(address, ours.ca, ours.certificate, ours.key))
    assert words.startswith(f"--scheduler {address}: only tls://HOST:PORT is taken")


@pytest.mark.parametrize(
    "address", ["tls://host", "tls://:1", "tls://host:x", "tls://host:99999", "tls://a:1/b"]
)
def test_an_address_must_have_host_and_port(address: str, ours: Certificates) -> None:
    words = told(lambda: Access.of(address, ours.ca, ours.certificate, ours.key))
    assert words == f"--scheduler {address}: must be tls://HOST:PORT"


def test_certificates_are_required(ours: Certificates) -> None:
    words = told(lambda: Access.of("tls://host:1", ours.ca, None, None))
    assert "--tls-cert and --tls-key must be given as well" in words


def test_files_that_are_no_certificates(tmp_path: Path, ours: Certificates) -> None:
    missing, broken = tmp_path / "missing.pem", tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for files, words in (
        ((missing, ours.certificate, ours.key), f"--tls-ca {missing}: cannot be read"),
        ((ours.ca, missing, ours.key), f"--tls-cert {missing}: cannot be read"),
        ((ours.ca, ours.certificate, tmp_path), f"--tls-key {tmp_path}: cannot be read"),
        ((broken, ours.certificate, ours.key), f"--tls-ca {broken}: is no certificate"),
        ((ours.ca, ours.certificate, broken), "they are no certificate with its key"),
        ((ours.ca, ours.ca, ours.key), "they are no certificate with its key"),
    ):
        assert words in told(partial(Access.of, "tls://host:1", *files))


def test_nobody_there(ours: Certificates) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    words = told(access(port, ours).check)
    assert words.startswith(f"--scheduler tls://127.0.0.1:{port}: nobody answers there within 10 s")


def test_somebody_who_says_nothing(ours: Certificates) -> None:
    ended = threading.Event()

    def silent(connection: socket.socket) -> None:
        del connection
        ended.wait(30)

    with listening(silent) as port:
        words = told(lambda: access(port, ours).check(seconds=0.2))
        ended.set()
    assert "does not answer as a scheduler with TLS does" in words


def test_somebody_without_tls(ours: Certificates) -> None:
    with listening(lambda connection: connection.sendall(b"220 mail.example.org\r\n")) as port:
        words = told(access(port, ours).check)
    assert "does not speak TLS" in words


def test_a_scheduler_of_another_authority(ours: Certificates, others: Certificates) -> None:
    with listening(with_tls(others)) as port:
        words = told(access(port, ours).check)
    assert f"its certificate is not signed by {ours.ca}" in words


def test_a_scheduler_that_refuses_our_certificate(ours: Certificates, others: Certificates) -> None:
    # It is known to us, and we are not known to it.
    mixed = Certificates(others.ca, ours.certificate, ours.key)
    with listening(with_tls(mixed)) as port:
        words = told(access(port, ours).check)
    assert "refuses our certificate" in words


def test_a_scheduler_that_fits(ours: Certificates) -> None:
    with listening(with_tls(ours)) as port:
        access(port, ours).check()
