# SPDX-License-Identifier: Apache-2.0
"""How files of 000 follow each other on a kept connection, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from docsis_experiments.reproduction.settings.p000_loads import PAUSE, Congestion, Files, tcp
from docsis_experiments.reproduction.settings.p000_loads import uploads as groups
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import DISTANT_MS, Mac, home
from docsis_experiments.reproduction.settings.p000_units import quantity, unit
from docsis_experiments.runs.play import play

pytest.importorskip("docsis_world")

FILE_BYTES: Final = 500_000
"""Small enough for the bucket to stay full, so that no queue builds up."""

SECONDS: Final = 20
ROUND_TRIP: Final = DISTANT_MS / 1e3

SLOW_START_ROUNDS: Final = 7
"""Windows of 4, 8, ... 256 segments hold the file's 345, so that its last one is sent six round
trips after the first."""


def files_received(keys: Mapping[str, Any], congestion: Congestion) -> float:
    """Files of one upload at 100 ms that were received while nothing else was sent."""
    [distant] = [
        group
        for group in groups(1, f"{FILE_BYTES} B", Files.KEPT, congestion, PAUSE)
        if group["name"] == "distant"
    ]
    played = play(
        unit(
            901,
            Manager.CD.value,
            managed(Manager.CD, 901),
            home(Mac.NONE),
            [distant],
            [goodput := quantity("goodput", ["distant"])],
            ramp_up="0 s",
            measured=f"{SECONDS} s",
            keys=keys,
        )
    )
    return played.quantities[goodput.key].value * 1e6 / 8 * SECONDS / FILE_BYTES


@pytest.mark.parametrize("congestion", Congestion)
def test_file_begins_in_slow_start_after_the_pause(congestion: Congestion) -> None:
    assert tcp(congestion)["tcp"]["least_timeout"] == "200 ms"
    slowly = 0.3 + (SLOW_START_ROUNDS - 1) * ROUND_TRIP
    assert files_received(tcp(congestion), congestion) <= SECONDS / slowly


def test_file_goes_on_with_its_window_when_the_timeout_is_a_second() -> None:
    keys = {"tcp": {**tcp(Congestion.RENO)["tcp"], "least_timeout": "1 s"}}
    # The window of the file before is no less than half a file, so that two round trips suffice.
    quickly = 0.3 + 2 * ROUND_TRIP
    starting = 2.0
    assert files_received(keys, Congestion.RENO) >= (SECONDS - starting) / quickly
