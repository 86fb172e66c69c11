# SPDX-License-Identifier: Apache-2.0
"""Whether what a modem sends keeps to both bucket inequalities of 000, appendix C.

    TxBytes(t1, t2) <= (t2 - t1) R / 8 + B
    TxBytes(t1, t2) <= (t2 - t1) P / 8 + 1522      for all t1 < t2

Seen where the frames arrive. They are all of one length in a world where nothing is late and no
link fills, so each is on its way for the same time: arrivals are departures but for a constant.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.config.models import MAX_FRAME
from docsis_control.queue_managers.names import Preset
from docsis_experiments.reproduction.settings.p000_network import (
    NEAR,
    SERVICE_2018,
    UPLOADER,
    Mac,
    Service,
    home,
)
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import column, playing

PACKETS: Final = 500_000
"""Packets of one world."""

_SHORTEST: Final = 762
"""Bytes. Two shorter frames may leave at once, and would then wait for each other on the link."""
_LONGEST: Final = 1518

_ON_NS: Final = 40_000_000
_OFF_NS: Final = 60_000_000
_OVERLOAD: Final = 1.6
"""Times the peak rate, while something is sent: less than half of the time, so tokens come back."""

Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """The draws of a seed.

    Attributes:
        service: Rates and burst.
        frame: Length of all frames, bytes.
    """

    service: Service
    frame: int


def drawn(seed: int, world: int = 0) -> Drawn:
    """Rates, a burst and a length of one of a seed's worlds."""
    draw = random.Random(f"buckets {seed} {world}")
    sustained = draw.randrange(20_000_000, 200_000_001)
    service = replace(
        SERVICE_2018,
        sustained=sustained,
        peak=draw.randrange(sustained, 2 * sustained + 1),
        burst=draw.randrange(MAX_FRAME, 1_000_001),
    )
    return Drawn(service, draw.randrange(_SHORTEST, _LONGEST + 1))


def violations(times_ns: Nanoseconds, frame: int, rate: int, depth: int) -> int:
    """Frames up to which, from some frame before, more was sent than the rate and depth allow.

    In bits times 10^9, whole numbers all the way; a nanosecond is allowed for the clock's.

    Args:
        times_ns: When each frame left, ascending.
        frame: Its bytes.
        rate: bit/s.
        depth: Bytes.
    """
    # Whole numbers of 64 bits hold half a minute at 250 Mbit/s.
    spent = np.arange(1, times_ns.size + 1, dtype=object) * (8 * frame * 10**9)
    earned = (times_ns - times_ns[0]).astype(object) * rate
    above = spent - earned
    least = np.minimum.accumulate(above - 8 * frame * 10**9)
    return int(np.count_nonzero(above - least > 8 * depth * 10**9 + rate))


def checked(seed: int, world: int = 0, packets: int = PACKETS) -> Mapping[str, float]:
    """How many frames of a world were looked at, and how many broke an inequality."""
    what = drawn(seed, world)
    service, frame = what.service, what.frame
    topology = home(Mac.NONE, service, transfers_ms=(0,), populated=False)
    interval_ns = round(8e9 * frame / (service.peak * _OVERLOAD))
    seconds = packets * interval_ns / 1e9 * (_ON_NS + _OFF_NS) / _ON_NS
    with (
        TemporaryDirectory(prefix="docsis-p4-") as folder,
        playing(
            topology,
            Preset.DROP_TAIL,
            None,
            seed=seed,
            machine=EXACT,
            folder=Path(folder),
            progress=lambda phase, passed: None,
        ) as play,
    ):
        number = play.world.udp_stream(
            UPLOADER,
            NEAR,
            5201,
            frame_length=frame,
            interval_ns=interval_ns,
            on_ns=_ON_NS,
            off_ns=_OFF_NS,
            start_ns=play.at(0.0),
            stop_ns=play.at(seconds),
            one_in=1,
        )
        play.run_until("sending", seconds + 1)
        _, came = play.world.packet_records(number)
    times = column(came)
    times = np.sort(times[times >= 0])
    broken = violations(times, frame, service.sustained, service.burst)
    broken += violations(times, frame, service.peak, MAX_FRAME)
    return {"packets": float(times.size), "violations": float(broken)}
