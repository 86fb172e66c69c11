# SPDX-License-Identifier: Apache-2.0
"""004-V1, V2: the best downstream TCP is metered out by its acknowledgements.

"4 segments metered out every 4 milliseconds": two acknowledgements of two segments each in a burst,
and a burst in two MAPs. Queues are large (section II: "making sure the buffers at the CM were
large").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_levels import USUAL, map_times
from docsis_experiments.reproduction.settings.p004_network import Channel, network
from docsis_experiments.reproduction.settings.p004_outcomes import PAYLOAD, exponent, goodput_mbps
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_FRAME: Final = 1518
"""Bytes of a full segment's frame to the end of its CRC."""


def _point(map_ms: int, capacity: int = 1) -> Setting:
    channel = Channel(map_ms=map_ms, capacity=capacity, packets=1000)
    return Setting(1, channel, alone="downstream", receive_window="1 MB")


def _times(level: Level) -> Iterable[Setting]:
    return map(_point, map_times(level))


def _speed(made: Measuring) -> None:
    times = map_times(made.level)

    def power(outcomes: Sequence[Outcome]) -> float:
        return exponent(times, [goodput_mbps(one) for one in outcomes])

    made.part("goodput", [_point(USUAL)], lambda outcomes: goodput_mbps(outcomes[0]))
    made.part("exponent in t", list(map(_point, times)), power)
    made.exact("usable", usable_mbps())


def usable_mbps() -> float:
    """Payload that a downstream of full segments carries: their share of the line's bytes."""
    channel = network(1, Channel()).channel
    framing = channel.downstream_framing if channel else None
    assert channel is not None, "004's network has rates"
    assert framing is not None, "004's network has packets"
    packets = -(-(_FRAME + framing.frame_header) // (framing.packet - framing.header))
    return channel.downstream / 1e6 * PAYLOAD / (packets * framing.packet)


def _capacities(level: Level) -> Iterable[Setting]:
    del level
    return (_point(USUAL, capacity=2), _point(USUAL))


def _more(made: Measuring) -> None:
    def over(outcomes: Sequence[Outcome]) -> float:
        doubled, before = map(goodput_mbps, outcomes)
        return ratio(doubled, before)

    made.part("both channels doubled", list(_capacities(made.level)), over)


ROWS: Final[tuple[Row, ...]] = (
    row("004-V1", TCP, _times, _speed),
    row("004-V2", TCP, _capacities, _more),
)
