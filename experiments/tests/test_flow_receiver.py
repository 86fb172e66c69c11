# SPDX-License-Identifier: Apache-2.0
"""The receiver of flows counts what their own senders send, and nothing of anybody else."""

from __future__ import annotations

import io
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from docsis_experiments.stages.mininet.traffic.flows import MESSAGE, PORTS_BETWEEN, Flow, Kind
from docsis_experiments.stages.mininet.traffic.flows.receiver import Receiver

HOST, STRANGER = "127.0.0.1", "127.0.0.2"
PATIENCE = 20.0
"""Seconds until a test gives up; none waits for as long unless it fails."""
SIZE = 1000
"""Bytes of a message."""


def free_port() -> int:
    with socket.socket() as made:
        made.bind((HOST, 0))
        port: int = made.getsockname()[1]
        return port


def flow(kind: Kind, *, port: int = 5201, source_port: int = 0) -> Flow:
    """Traffic of this process to itself."""
    own = os.getpid()
    return Flow(
        "mine", kind, port, HOST, HOST, own, own, 0.0, None, SIZE, 0.2, source_port=source_port
    )


class Samples(io.StringIO):
    """The file that the receiver writes its samples to; setting `over` ends the receiver."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()

    def flush(self) -> None:
        """After every line."""
        if self.over.is_set():
            raise EOFError

    @property
    def counted(self) -> int:
        """Bytes of the flow in the last sample."""
        lines = self.getvalue().splitlines()
        return int(lines[-1].split(",")[1]) if len(lines) > 1 and lines[-1].count(",") == 2 else 0


@contextmanager
def receiving(one: Flow) -> Iterator[tuple[Samples, io.StringIO]]:
    """The samples and messages of a receiver that runs until the end of the block."""
    samples, messages = Samples(), io.StringIO()
    receiver = Receiver([one], messages)

    def run() -> None:
        with suppress(EOFError):
            receiver.run(samples)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield samples, messages
    finally:
        samples.over.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()


@contextmanager
def connected(one: Flow, address: str = HOST, port: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as made:
        made.settimeout(PATIENCE)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.connect((one.destination, one.port))
        yield made


def wait_until_closed(made: socket.socket) -> None:
    """Until the other end has closed it."""
    with suppress(ConnectionResetError):
        assert not made.recv(1)


def message(size: int) -> bytes:
    """A message that says it is so long, and has `SIZE` bytes."""
    return MESSAGE.pack(size, time.time_ns()).ljust(SIZE, b"\0")


def wait_for(samples: Samples, count: int) -> None:
    until = time.monotonic() + PATIENCE
    while samples.counted < count and time.monotonic() < until:
        time.sleep(0.02)
    assert samples.counted == count


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ((HOST, 20_001), True),
        ((HOST, 20_001 + PORTS_BETWEEN), True),
        ((HOST, 20_002), False),
        ((HOST, 20_001 - PORTS_BETWEEN), False),
        ((HOST, 20_001 + 60 * PORTS_BETWEEN), False),
        ((STRANGER, 20_001), False),
    ],
)
def test_a_flow_comes_from_its_own_ports(peer: tuple[str, int], expected: bool) -> None:
    assert flow("transfer", source_port=20_001).may_come_from(peer) is expected


@pytest.mark.parametrize("port", [1024, 65_535])
def test_without_a_port_a_flow_comes_from_its_address(port: int) -> None:
    assert flow("transfer").may_come_from((HOST, port))
    assert not flow("transfer").may_come_from((STRANGER, port))


@pytest.mark.root
@pytest.mark.parametrize("kind", ["transfer", "messages"])
@pytest.mark.parametrize("address", [STRANGER, HOST])
def test_a_stranger_s_bytes_are_not_counted(
    kind: Kind, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = free_port()
    one = flow(kind, port=free_port(), source_port=own)
    with receiving(one) as (samples, messages):
        with connected(one, address) as stranger:
            # It may be closed before all of that is sent.
            with suppress(ConnectionError):
                stranger.sendall(10 * message(SIZE))
            wait_until_closed(stranger)
            port = stranger.getsockname()[1]
        with connected(one, port=own) as sender:
            sender.sendall(3 * message(SIZE))
            wait_for(samples, 3 * SIZE)
    assert messages.getvalue().count("mine") == (3 if kind == "messages" else 0)
    assert f"mine: {address}:{port} is not its sender; its connection is closed" in (
        capsys.readouterr().out
    )


@pytest.mark.root
@pytest.mark.parametrize("address", [STRANGER, HOST])
def test_a_stranger_s_datagrams_are_not_counted(address: str) -> None:
    own = free_port()
    one = flow("datagrams", port=free_port(), source_port=own)

    def send(address: str, port: int, count: int) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as made:
            made.bind((address, port))
            for _ in range(count):
                made.sendto(bytes(SIZE), (HOST, one.port))

    with receiving(one) as (samples, _):
        send(address, 0, 10)
        send(HOST, own, 3)
        # Both are in the order in which they were sent.
        wait_for(samples, 3 * SIZE)


@pytest.mark.root
@pytest.mark.parametrize("size", [0, MESSAGE.size - 1, SIZE - 1, SIZE + 1, 2**40, 2**64 - 1])
def test_a_message_of_another_length_ends_its_connection(
    size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    one = flow("messages", port=free_port())
    with receiving(one) as (_, messages):
        with connected(one) as hostile:
            with suppress(ConnectionError):
                hostile.sendall(message(size))
            wait_until_closed(hostile)
        before = messages.getvalue()
        # The receiver goes on with others.
        with connected(one) as sender:
            sender.sendall(message(SIZE))
            until = time.monotonic() + PATIENCE
            while "mine" not in messages.getvalue() and time.monotonic() < until:
                time.sleep(0.02)
    assert before == "flow,sent_ns,latency_ms\n"
    assert messages.getvalue().count("mine") == 1
    assert f"mine: a message of {size} B, not {SIZE} B; its connection is closed" in (
        capsys.readouterr().out
    )


@pytest.mark.root
def test_messages_come_in_pieces() -> None:
    one = flow("messages", port=free_port())
    with receiving(one) as (samples, messages), connected(one) as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        whole = 3 * message(SIZE)
        for start, end in ((0, 10), (10, SIZE + 5), (SIZE + 5, 3 * SIZE)):
            sender.sendall(whole[start:end])
            wait_for(samples, end)
    assert messages.getvalue().count("mine") == 3
