# SPDX-License-Identifier: Apache-2.0
"""Steady traffic on the loopback interface is sent and counted in frames to the end of the CRC."""

from __future__ import annotations

import io
import os
import socket
import threading
import time

import pytest

from docsis_control.lengths import frame_length
from docsis_experiments.stages.mininet.traffic import load
from docsis_experiments.traffic.lengths import TCP_HEADERS, UDP_HEADERS, udp_payload

HOST = "127.0.0.1"


@pytest.mark.parametrize("length", [100, 218, 800, 1518])
def test_datagram_fills_its_frame_to_the_end_of_the_crc(length: int) -> None:
    assert frame_length(UDP_HEADERS + udp_payload(length)) == length


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(type=kind) as made:
        made.bind((HOST, 0))
        port: int = made.getsockname()[1]
        return port


def stream(transport: load.Transport, length: int) -> load.Stream:
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    own = os.getpid()
    return load.Stream("one", transport, (HOST, free_port(kind)), (HOST, free_port(kind)), own, own,
                       0, 1e6, length)  # fmt: skip


class Output(io.StringIO):
    """Samples; the receiver is ended once one shows so many bytes."""

    def __init__(self, enough: int) -> None:
        super().__init__()
        self._enough = enough
        self._until = time.monotonic() + 20

    def flush(self) -> None:
        """After every line."""
        if self.counted >= self._enough or time.monotonic() > self._until:
            raise EOFError

    @property
    def counted(self) -> int:
        """Bytes of the last sample."""
        last = self.getvalue().splitlines()[-1].split(",")[1]
        return int(last) if last.isdigit() else 0


@pytest.mark.root
def test_receiver_counts_the_frames_of_datagrams() -> None:
    one = stream("udp", 800)
    receiver = load.Receiver([one])
    with one.endpoint(socket.SOCK_DGRAM) as sender:
        for _ in range(10):
            sender.send(bytes(udp_payload(800)))
        output = Output(8000)
        with pytest.raises(EOFError):
            receiver.run(output)
    assert output.counted == 8000


@pytest.mark.root
def test_receiver_counts_the_frames_of_segments() -> None:
    one = stream("tcp", 800)
    receiver = load.Receiver([one])
    # Payload of a full segment with timestamps.
    full = 800 - 4 - TCP_HEADERS
    with one.endpoint(socket.SOCK_STREAM) as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) == full
        done = threading.Event()

        def send() -> None:
            # One that is acknowledged is not joined with the next.
            for _ in range(5):
                sender.sendall(bytes(full))
                done.wait(0.02)

        thread = threading.Thread(target=send)
        thread.start()
        output = Output(5 * 800)
        with pytest.raises(EOFError):
            receiver.run(output)
        thread.join()
    assert output.counted == 5 * 800
