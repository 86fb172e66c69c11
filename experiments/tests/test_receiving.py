# SPDX-License-Identifier: Apache-2.0
"""Receivers count the datagrams that come to their sockets."""

from __future__ import annotations

import socket

from docsis_experiments.stages.mininet.traffic.receiving import ReceivingSockets

HOST = "127.0.0.1"
SENT = 500


def test_datagrams_without_room_are_counted_as_lost() -> None:
    sockets = ReceivingSockets(1)
    with (
        socket.socket(type=socket.SOCK_DGRAM) as receiver,
        socket.socket(type=socket.SOCK_DGRAM) as sender,
    ):
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        receiver.bind((HOST, 0))
        sockets.count_datagrams(receiver, 0, lambda _length: 1)
        assert sockets.lost() == 0
        # Over the loopback interface they are there, or lost, when the call returns.
        for _ in range(SENT):
            sender.sendto(bytes(1000), receiver.getsockname())
        ticks = sockets.ticks()
        while sockets.counted[0] + sockets.lost() < SENT:
            next(ticks)
        assert 0 < sockets.lost() < SENT
        assert sockets.counted[0] + sockets.lost() == SENT
