# SPDX-License-Identifier: Apache-2.0
"""Senders on the loopback interface: they stop at their end, and their death is noticed."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docsis_experiments.stages.mininet.traffic import flows, load
from docsis_experiments.stages.mininet.traffic.flows import Flow, Kind
from docsis_experiments.stages.mininet.traffic.flows.sender import Sender, SendingError

pytestmark = pytest.mark.root

HOST = "127.0.0.1"
PATIENCE = 20.0
"""Seconds until a test gives up; none waits for as long unless it fails."""


def flow(
    kind: Kind,
    port: int,
    *,
    end: float | None = None,
    size: int = 1000,
    interval: float = 0.2,
    train: int = 1,
) -> Flow:
    """Traffic of this process to itself."""
    return Flow(
        name="mine",
        kind=kind,
        port=port,
        source=HOST,
        destination=HOST,
        source_pid=os.getpid(),
        destination_pid=os.getpid(),
        start=0.0,
        end=end,
        size=size,
        interval=interval,
        train=train,
    )


def port_of(made: socket.socket) -> int:
    port: int = made.getsockname()[1]
    return port


def abort(connection: socket.socket) -> None:
    """The other end sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def drain(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


def sent_by(sender: Sender) -> threading.Thread:
    thread = threading.Thread(target=sender.run, daemon=True)
    thread.start()
    return thread


def test_datagrams_end_where_their_timetable_does() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((HOST, 0))
        # Trains are due in the first 0.1 s and 0.2 s later: the third would be after the end.
        sending = flow("datagrams", port_of(receiver), end=0.31, train=5)
        sender = Sender([sending], time.monotonic())
        # On a machine that is late there are fewer, and never more.
        sender.run()
        receiver.setblocking(False)
        count = 0
        while True:
            try:
                receiver.recv(2000)
            except BlockingIOError:
                break
            count += 1
    assert count <= 10


@pytest.mark.parametrize("kind", ["transfer", "messages"])
@pytest.mark.parametrize("reads", [False, True])
def test_what_a_full_path_holds_back_is_not_sent_after_the_end(kind: Kind, reads: bool) -> None:
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(PATIENCE)
        size = 0 if kind == "transfer" else 50_000_000
        sender = Sender([flow(kind, port_of(server), end=0.3, size=size)], time.monotonic())
        running = sent_by(sender)
        connection, _ = server.accept()
        with connection:
            # The receiver is stuck: all buffers are full long before the end.
            running.join(PATIENCE)
            assert not running.is_alive(), "the sender waits for its receiver after its end"
            if reads:
                # Of what was in the sender's buffer nothing comes any more.
                connection.settimeout(PATIENCE)
                with pytest.raises(ConnectionResetError):
                    drain(connection)


def test_thread_that_dies_ends_the_sending() -> None:
    with socket.create_server((HOST, 0)) as server, socket.create_server((HOST, 0)) as other:
        server.settimeout(PATIENCE)
        # The other flow has no end, so a sender that waited for it would wait for good.
        sending = [
            flow("messages", port_of(server), interval=0.01),
            flow("messages", port_of(other), interval=0.01),
        ]
        failures: list[BaseException] = []

        def run() -> None:
            try:
                Sender(sending, time.monotonic()).run()
            except SendingError as error:
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        abort(server.accept()[0])
        thread.join(PATIENCE)
        assert not thread.is_alive()
    (failure,) = failures
    assert str(failure).startswith("mine: ")


@contextmanager
def program(command: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A sender as a run starts it, and its log."""
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process, log
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_program_of_flows_ends_with_words(tmp_path: Path) -> None:
    file = tmp_path / "flows.json"
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(PATIENCE)
        flows.write([flow("messages", port_of(server), interval=0.01)], file)
        with program(flows.send_command(file), tmp_path) as (process, log):
            server.settimeout(PATIENCE)
            abort(server.accept()[0])
            assert process.wait(PATIENCE) == 1
            assert log.read_text().splitlines()[-1].startswith("mine: ")


@pytest.mark.parametrize("with_udp", [False, True])
def test_program_of_streams_ends_with_words(with_udp: bool, tmp_path: Path) -> None:
    file = tmp_path / "streams.json"
    with socket.create_server((HOST, 0)) as server, socket.socket(type=socket.SOCK_DGRAM) as sink:
        server.settimeout(PATIENCE)
        sink.bind((HOST, 0))

        def stream(name: str, transport: load.Transport, made: socket.socket) -> load.Stream:
            return load.Stream(name, transport, (HOST, 0), (HOST, port_of(made)), os.getpid(),
                               os.getpid(), 0, 1e3, 800)  # fmt: skip

        streams = [stream("tcp one", "tcp", server)]
        if with_udp:
            # A datagram is due every 6.4 s: the sender does not wait for the next one.
            streams.append(stream("udp one", "udp", sink))
        load.write(streams, file)
        with program(load.send_command(file), tmp_path) as (process, log):
            server.settimeout(PATIENCE)
            abort(server.accept()[0])
            assert process.wait(PATIENCE) == 1
            assert log.read_text().splitlines()[-1].startswith("tcp one: ")
