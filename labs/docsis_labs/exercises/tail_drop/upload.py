# SPDX-License-Identifier: Apache-2.0
"""One upload through a buffer that drops at its tail, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_control.config.units import BufferLimit
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_labs import home
from docsis_labs.exercise import LABS

ROUND_TRIP_MS: Final = 50.0
TOPOLOGY: Final = LABS / "4-tail-drop" / "topology.yaml"
LOAD: Final = home.Load(seconds=20, uploads=1, start=1, end=20, seed=4)

_SETTLED: Final = 5.0
"""Seconds: then the modem's token bucket is empty."""


@dataclass(frozen=True)
class Seen:
    """The results of a buffer.

    Attributes:
        longest_ms: Longest time of the call's packets in the queue.
        goodput: Goodput of the upload, bit/s.
        run: All that was measured.
    """

    longest_ms: float
    goodput: float
    run: home.Measured


def play(buffer: BufferLimit) -> Seen:
    """Plays the exercise's run with a buffer."""
    run = home.play(TOPOLOGY, DropTail(buffer=buffer), LOAD)
    waits = run.round_trips_ms(_SETTLED, LOAD.end) - ROUND_TRIP_MS
    return Seen(float(waits.max(initial=0.0)), run.goodput, run)
