# SPDX-License-Identifier: Apache-2.0
"""An experiment's TCP as Linux can have it: metrics of the hosts' routes."""

from __future__ import annotations

from docsis_experiments.experiment.tcp import ETHERNET_SEGMENT, Tcp
from docsis_testbed.errors import TestbedError
from docsis_testbed.netlink import TcpMetrics


def check_tcp(tcp: Tcp) -> None:
    """Refuse what Linux cannot do.

    Raises:
        TestbedError: With the key.
    """
    if tcp.profile != "linux":
        raise TestbedError(
            f"tcp.profile: Mininet's hosts have Linux's TCP, which is not the profile "
            f"{tcp.profile}; use --virtual, or the profile linux"
        )
    if tcp.receive_window is not None:
        # A route's metric `window` bounds it only until Linux tunes the buffer.
        raise TestbedError(
            "tcp.receive_window: Mininet's hosts have Linux's TCP, which tunes its receive window "
            "itself; use --virtual, or leave the key out"
        )


def tcp_metrics(tcp: Tcp) -> TcpMetrics | None:
    """The route metrics for an experiment's TCP; None where it is Linux's own."""
    metrics = TcpMetrics(
        initial_window=tcp.initial_window,
        every_segment=tcp.acknowledgements == "every-segment",
        least_timeout_ms=None
        if tcp.least_timeout is None
        else round(tcp.least_timeout / 1_000_000),
        segment=None if tcp.segment == ETHERNET_SEGMENT else tcp.segment,
    )
    return metrics if metrics.as_route() else None
