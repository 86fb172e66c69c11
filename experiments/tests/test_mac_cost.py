# SPDX-License-Identifier: Apache-2.0
"""How the cost of a MAC is measured: what is compared, and how its interval is made."""

from __future__ import annotations

import itertools

import pytest

from docsis_experiments.stages.virtual.mac_cost import (
    CHANNEL,
    FRAME_BYTES,
    NONE,
    SECONDS,
    Datagrams,
    difference,
)
from docsis_experiments.stages.virtual.speed import measure


def test_the_order_within_pairs_alternates_and_the_difference_is_the_channels() -> None:
    asked = []
    noise = itertools.cycle((-3.0, 0.0, 5.0))

    def of(channel: str) -> float:
        asked.append(channel)
        return (1100.0 if channel == CHANNEL else 1000.0) + next(noise)

    found = difference(6, of)
    assert asked[:4] == [NONE, CHANNEL, CHANNEL, NONE]
    assert found.low < 100 < found.high
    assert found.high - found.low < 16


def test_a_machine_that_slows_down_evenly_adds_nothing() -> None:
    clock = itertools.count()
    found = difference(20, lambda channel: next(clock) + (100 if channel == CHANNEL else 0))
    assert found.low < 100 < found.high


@pytest.mark.parametrize("channel", [NONE, CHANNEL])
def test_every_datagram_passes_with_a_channel_and_without(channel: str) -> None:
    sent = 1 / 100 * SECONDS
    figures = measure(channel, Datagrams(channel, FRAME_BYTES[-1]), sent)
    assert figures["frames"] == pytest.approx(sent * 80e6 / 8 / FRAME_BYTES[-1], abs=2)
    assert figures["parts_seconds"]["world"] > 0
