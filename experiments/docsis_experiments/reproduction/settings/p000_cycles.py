# SPDX-License-Identifier: Apache-2.0
"""PIE's measuring cycles behind K1's channel: what RFC 8033, 5.2, reads from bursts. Pure.

The registers keep PIE's average alone, so its single cycles are computed here from the departures
of a modem whose queue never empties: in each MAP a grant of what the sustained rate allows, at a
uniform place, in which frames leave at the line rate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Final

from docsis_control.law.pie import DQ_THRESHOLD
from docsis_control.mac.profiles import CABLELABS_2014, named

SUSTAINED: Final = 200_000_000
LINE_RATE: Final = 1_000_000_000
FRAME: Final = 1518

MAPS: Final = 60_000
"""Two minutes."""


def departures(seed: int, maps: int = MAPS, frame: int = FRAME) -> Iterator[float]:
    """When each frame enters its burst, seconds; a frame that is cut counts where it begins."""
    profile = named(CABLELABS_2014)
    draw = random.Random(f"cycles {seed}")
    length = profile.map_length / 1e9
    on_channel = frame + profile.header
    # The bucket counts frames, the channel their headers besides.
    grant = SUSTAINED * length / 8 * on_channel / frame
    number = 0
    for which in range(maps):
        begin = which * length + draw.random() * (length - grant * 8 / LINE_RATE)
        while number * on_channel < (which + 1) * grant:
            yield begin + (number * on_channel - which * grant) * 8 / LINE_RATE
            number += 1


def cycles(times: Iterator[float], frame: int = FRAME) -> Iterator[float]:
    """Yields PIE's reading in each cycle, bit/s (RFC 8033, appendix B, without the average)."""
    start = next(times)
    count = 0
    for now in times:
        count += frame
        if count >= DQ_THRESHOLD:
            yield 8 * count / (now - start)
            start, count = now, 0


def above_twice(seed: int) -> Mapping[str, float]:
    """Percent of the cycles that read more than twice the rate that there is."""
    found = list(cycles(departures(seed)))
    return {"share": 100 * sum(rate > 2 * SUSTAINED for rate in found) / len(found)}
