# SPDX-License-Identifier: Apache-2.0
"""Senders on the loopback interface: they stop at their end, and their death is noticed."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pytest

from docsis_experiments.stages.mininet.traffic import flows, load
from docsis_experiments.stages.mininet.traffic.flows import Flow, Kind
from docsis_experiments.stages.mininet.traffic.flows.retransmitted import Retransmitted
from docsis_experiments.stages.mininet.traffic.flows.sender import Sender, SendingError
from docsis_testbed.errors import TestbedError
from docsis_testbed.session import wait_until_ready

pytestmark = pytest.mark.root

HOST = "127.0.0.1"
SO_ATTACH_FILTER = 26
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
                # Nothing more of the sender's buffer arrives.
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
    file, counts = tmp_path / "flows.json", tmp_path / "retransmitted.csv"
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(PATIENCE)
        flows.write([flow("messages", port_of(server), interval=0.01)], file)
        with program(flows.send_command(file, counts), tmp_path) as (process, log):
            server.settimeout(PATIENCE)
            abort(server.accept()[0])
            assert process.wait(PATIENCE) == 1
            assert log.read_text().splitlines()[-1].startswith("mine: ")
    # It had nothing to send again, and says so however it ended.
    assert flows.read_retransmitted(counts) == {"mine": 0}


def test_program_of_flows_tells_what_it_sent_again(tmp_path: Path) -> None:
    """Open connections and closed ones count, at the moment at which the program is ended."""
    file, counts = tmp_path / "flows.json", tmp_path / "retransmitted.csv"
    with socket.create_server((HOST, 0)) as server, socket.create_server((HOST, 0)) as other:
        for each in (server, other):
            each.settimeout(PATIENCE)
        sending = [
            replace(flow("transfer", port_of(server), size=0), name="endless"),
            replace(flow("transfer", port_of(other), size=1000, interval=0.01), name="files"),
            replace(flow("datagrams", 9, interval=1.0), name="datagrams"),
        ]
        flows.write(sending, file)
        with program(flows.send_command(file, counts), tmp_path) as (process, log):
            endless, _ = server.accept()
            for _ in range(3):
                one, _ = other.accept()
                with one:
                    drain(one)
            process.terminate()
            assert process.wait(PATIENCE) == 0, log.read_text()
            endless.close()
    told = flows.read_retransmitted(counts)
    # Who sends no TCP is not told of.
    assert set(told) == {"endless", "files"}
    assert told["files"] == 0


def deaf(connection: socket.socket) -> None:
    """From now on a TCP socket drops every segment that comes, as if it were lost on the way."""
    drop_all = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0))
    attached = struct.pack("@HP", 1, ctypes.addressof(drop_all))
    connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, attached)


def test_segments_that_are_sent_again_are_counted() -> None:
    """Over all connections of a flow, open or closed."""
    counted = Retransmitted(["lossy", "silent"])
    with socket.create_server((HOST, 0)) as server:
        before = 0
        for _ in range(2):
            made = socket.create_connection(server.getsockname())
            peer, _ = server.accept()
            with made, peer, counted.counting("lossy", made):
                assert counted.counts() == {"lossy": before, "silent": 0}
                deaf(peer)
                made.send(b"again")
                deadline = time.monotonic() + PATIENCE
                while counted.counts()["lossy"] == before:
                    assert time.monotonic() < deadline, "the kernel sent nothing again"
                    time.sleep(0.01)
            before = counted.counts()["lossy"]
        assert before >= 2


@pytest.mark.parametrize(
    "content", [None, "", "flow,segments\nmine,1\n", "flow,retransmitted_segments\nmine,x\n"]
)
def test_counts_that_are_not_whole_are_refused(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "retransmitted.csv"
    if content is not None:
        file.write_text(content)
    if content == "":
        assert flows.read_retransmitted(file) == {}
        return
    with pytest.raises(TestbedError, match=r"retransmitted\.csv: no counts of the sender"):
        flows.read_retransmitted(file)


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


def test_program_of_streams_begins_when_it_is_told(tmp_path: Path) -> None:
    """Not a time after it is ready: the idle time of a run ends for all of its traffic at once."""
    file, start = tmp_path / "streams.json", tmp_path / "start"
    with socket.create_server((HOST, 0)) as server, socket.socket(type=socket.SOCK_DGRAM) as sink:
        sink.bind((HOST, 0))
        ends: dict[load.Transport, socket.socket] = {"tcp": server, "udp": sink}
        streams = [
            load.Stream(transport, transport, (HOST, 0), (HOST, port_of(made)), os.getpid(),
                        os.getpid(), 0, 1e6, 800)
            for transport, made in ends.items()
        ]  # fmt: skip
        load.write(streams, file)
        for made in ends.values():
            made.settimeout(PATIENCE)
        with program(load.send_command(file, start), tmp_path) as (process, log):
            connection, _ = server.accept()
            wait_until_ready(process, "the sender", log)
            start_ns = time.time_ns() + 400_000_000
            load.tell(process, start, start_ns)
            with connection:
                connection.settimeout(PATIENCE)
                assert sink.recv(2000)
                assert time.time_ns() >= start_ns
                assert connection.recv(1)
            process.terminate()
            assert process.wait(PATIENCE) == -signal.SIGTERM, log.read_text()


def test_files_follow_on_a_kept_connection() -> None:
    with socket.create_server((HOST, 0)) as server:
        files = flow("transfer", port_of(server), end=PATIENCE / 10, size=300_000, interval=0.01)
        thread = sent_by(Sender([replace(files, kept=True)], time.monotonic()))
        server.settimeout(PATIENCE)
        connection, _ = server.accept()
        came = 0
        with connection:
            connection.settimeout(PATIENCE)
            with suppress(ConnectionResetError):
                while count := len(connection.recv(1 << 20)):
                    came += count
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert came >= 2 * 300_000
        # Nobody has connected once more.
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_an_application_sends_no_faster_than_its_rate() -> None:
    with socket.create_server((HOST, 0)) as server:
        rate = 8_000_000
        began = time.monotonic()
        end = 1.0
        capped = replace(flow("transfer", port_of(server), size=0, end=end), rate=rate)
        thread = sent_by(Sender([capped], began))
        server.settimeout(PATIENCE)
        connection, _ = server.accept()
        came = 0
        with connection:
            connection.settimeout(PATIENCE)
            with suppress(ConnectionResetError):
                while count := len(connection.recv(1 << 20)):
                    came += count
        thread.join(PATIENCE)
        # What the machine made it wait for is not caught up on, so that there may be less.
        assert 0 < came <= rate / 8 * end * 1.05


def test_what_tcp_could_not_send_at_its_rate_is_not_caught_up_on() -> None:
    """As in virtual time, an application gives nothing while a chunk waits to be sent."""
    with socket.create_server((HOST, 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        rate, stalls, end = 8_000_000, 0.5, 1.0
        began = time.monotonic()
        capped = replace(flow("transfer", port_of(server), size=0, end=end), rate=rate)
        thread = sent_by(Sender([capped], began))
        server.settimeout(PATIENCE)
        connection, _ = server.accept()
        came = 0
        with connection:
            connection.settimeout(PATIENCE)
            time.sleep(max(0.0, began + stalls - time.monotonic()))
            with suppress(ConnectionResetError):
                while count := len(connection.recv(1 << 20)):
                    came += count
        thread.join(PATIENCE)
        # A late machine catches up on 0.05 s; the receiver's buffer and two chunks were waiting.
        assert 0 < came <= rate / 8 * (end - stalls + 0.05) + 50_000


@contextmanager
def messages_of(sending: Flow, server: socket.socket, origin: float) -> Iterator[Iterator[int]]:
    """When each message of a flow was handed over, wall clock in nanoseconds."""

    def run() -> None:
        # The receiver goes before the sender.
        with suppress(SendingError):
            Sender([sending], origin).run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    server.settimeout(PATIENCE)
    connection, _ = server.accept()
    connection.settimeout(PATIENCE)

    def stamps(incoming: BinaryIO) -> Iterator[int]:
        while True:
            size, stamp = flows.MESSAGE.unpack(incoming.read(flows.MESSAGE.size))
            assert len(incoming.read(size - flows.MESSAGE.size)) == size - flows.MESSAGE.size
            yield stamp

    with connection, connection.makefile("rb") as incoming:
        yield stamps(incoming)
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_message_waits_for_its_sender_s_own_socket() -> None:
    """Each is timed from when it is due, though the socket takes it half a second later."""
    with socket.create_server((HOST, 0)) as server:
        # More than the buffers of both sockets take of a message: the kernel enlarges none of them.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        sending = flow("messages", port_of(server), size=20_000_000, interval=0.1)
        with messages_of(sending, server, time.monotonic()) as stamps:
            time.sleep(0.5)
            first, second, third = islice(stamps, 3)
    # The first may be late; the others are stamped with their times.
    assert first <= second <= first + 1e8 + 1000
    assert second < third <= second + 1e8 + 1000


def test_a_late_machine_is_no_part_of_a_message_s_latency() -> None:
    with socket.create_server((HOST, 0)) as server:
        now_ns = time.time_ns()
        sending = flow("messages", port_of(server), interval=0.5)
        # The thread comes five seconds after the first message was due.
        with messages_of(sending, server, time.monotonic() - 5.0) as stamps:
            assert min(islice(stamps, 5)) >= now_ns
