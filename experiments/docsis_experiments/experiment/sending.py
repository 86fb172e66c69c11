# SPDX-License-Identifier: Apache-2.0
"""Turns a group into attributes of a flow between two hosts. Pure."""

from __future__ import annotations

from typing import Any

from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.traffic.senders import (
    LedbatTransfers,
    Sender,
    TcpMessages,
    TcpTransfers,
    UdpTrains,
)


def sending(
    sender: TcpTransfers | TcpMessages | LedbatTransfers | UdpTrains, tcp: Tcp
) -> dict[str, Any]:
    """A sender as attributes of a `Flow`."""
    usual = tcp.usual_congestion_control
    match sender:
        case TcpTransfers():
            return {
                "kind": "transfer",
                "size": sender.size,
                "interval": sender.pause,
                "congestion_control": sender.congestion_control or usual,
                "kept": sender.kept,
                "rate": sender.rate,
            }
        case TcpMessages():
            return {
                "kind": "messages",
                "size": sender.size,
                "interval": sender.interval,
                "congestion_control": usual,
            }
        case LedbatTransfers():
            return {
                "kind": "transfer",
                "size": 0,
                "interval": 0.0,
                "congestion_control": "ledbat",
                "shared_rate": sender.shared_rate,
                "ledbat_target_ns": sender.target_ns,
            }
        case UdpTrains():
            return {
                "kind": "datagrams",
                "size": sender.frame,
                "interval": sender.interval,
                "train": sender.train,
            }


def reply_delay(sender: Sender, round_trip_ms: float) -> tuple[float, float]:
    """How much longer than the topology's a flow's round trip may be, seconds."""
    if not isinstance(sender, LedbatTransfers) or sender.round_trip_ns is None:
        return 0.0, 0.0
    least, most = sender.round_trip_ns
    return least / 1e9 - round_trip_ms / 1e3, most / 1e9 - round_trip_ms / 1e3
