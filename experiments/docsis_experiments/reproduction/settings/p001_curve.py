# SPDX-License-Identifier: Apache-2.0
"""LRED's drop curve (001, figure 10c), frame by frame through the compiled pipeline.

Trains of small frames come to an idle service flow. What its bucket has lets some of them pass at
once, and every further one waits until there are tokens for it, half a millisecond longer than the
one before. A frame that LRED drops takes no tokens: how long a frame has waited follows from how
many of its train have passed before it. So every train has a frame at each of twelve waits, below,
between and above the thresholds, and one more for each that was dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.reproduction.settings.p001_managers import lred
from docsis_experiments.reproduction.settings.p001_network import (
    HOSTS,
    SERVER,
    SMALLEST_BURST,
    Peak,
    network,
)
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import column, playing

FRAME: Final = 118
"""Bytes to the end of the CRC; the smallest that are not taken for acknowledgements."""

RATE: Final = 8 * FRAME * 2000
"""bit/s: a frame in half a millisecond."""

AT_ONCE: Final = SMALLEST_BURST // FRAME
"""Frames that pass with the tokens of an idle bucket."""

POINTS: Final = 12
_TRAIN: Final = AT_ONCE + POINTS + 8
"""Frames of a train: more than the points, for as many as are dropped come no further."""

_INTERVAL_NS: Final = 25_000_000
"""From train to train: the longest wait is 10 ms, and a bucket is full again after 7 more."""

MIN_THRESHOLD_MS: Final = 2.0
MAX_THRESHOLD_MS: Final = 5.0
PMIN: Final = 0.01
PMAX: Final = 0.05

FRAMES: Final = 100_000
"""At each point, at least."""

_LINK_MS: Final = 8e-6 * (FRAME + 20)
"""Time between frames of a train: a frame's time on a link of 1 Gbit/s."""

_PORT: Final = 20_000


def wait_ms(passed: int) -> float:
    """How long a frame waits when so many of its train have passed; no drop before it."""
    tokens = max(0, (passed + 1) * FRAME - SMALLEST_BURST)
    return max(0.0, 8e3 * tokens / RATE - passed * _LINK_MS)


def point(number: int) -> int:
    """How many of a train have passed before a frame of a point, 0 to 11."""
    return AT_ONCE + 1 + number


def law(number: int) -> float:
    """Probability of a drop at a point, by figure 10c."""
    wait = wait_ms(point(number))
    if wait < MIN_THRESHOLD_MS:
        return 0.0
    share = (wait - MIN_THRESHOLD_MS) / (MAX_THRESHOLD_MS - MIN_THRESHOLD_MS)
    return PMIN + min(1.0, share) * (PMAX - PMIN)


@dataclass(frozen=True)
class Counted:
    """Frames of one point."""

    frames: int
    dropped: int


def counted(lost: npt.NDArray[np.bool_]) -> list[Counted]:
    """Frames and drops at each point.

    Args:
        lost: A row for each train: whether its frames were dropped.
    """
    before: npt.NDArray[np.int64] = np.cumsum(~lost, axis=1) - ~lost
    return [
        Counted(int((before == point(n)).sum()), int((lost & (before == point(n))).sum()))
        for n in range(POINTS)
    ]


def curve(seed: int) -> Mapping[str, float]:
    """Frames and drops at each point, of a hundred thousand trains."""
    return _curve(seed, FRAMES)


def short_curve(seed: int) -> Mapping[str, float]:
    """The same of a thousand trains, which shows that it can be done."""
    return _curve(seed, 1000)


def _curve(seed: int, trains: int) -> Mapping[str, float]:
    found = counted(_sent(seed, trains))
    return {f"frames {n}": float(one.frames) for n, one in enumerate(found)} | {
        f"dropped {n}": float(one.dropped) for n, one in enumerate(found)
    }


def _sent(seed: int, trains: int) -> npt.NDArray[np.bool_]:
    """Sends the trains; tells which frames of each were dropped."""
    topology = network(RATE, 0, Peak(RATE, SMALLEST_BURST))
    management = lred(f"{MIN_THRESHOLD_MS:g} ms", f"{MAX_THRESHOLD_MS:g} ms", PMIN, PMAX)
    with (
        TemporaryDirectory(prefix="docsis-p4-") as folder,
        playing(
            topology,
            management,
            seed=seed,
            machine=EXACT,
            folder=Path(folder),
            progress=lambda phase, passed: None,
        ) as play,
    ):
        # One more interval: a stream begins somewhere in the first.
        seconds = (trains + 2) * _INTERVAL_NS / 1e9
        stream = play.world.udp_stream(
            HOSTS[0],
            SERVER,
            _PORT,
            frame_length=FRAME,
            interval_ns=_INTERVAL_NS,
            train=_TRAIN,
            start_ns=play.at(1.0),
            one_in=1,
        )
        play.run_until("sampling", 1.0 + seconds)
        _, came = play.world.packet_records(stream)
    lost = column(came) < 0
    whole = min(trains, lost.size // _TRAIN)
    return lost[: whole * _TRAIN].reshape(whole, _TRAIN)
