# SPDX-License-Identifier: Apache-2.0
"""A call beside two uploads through a modem with a large buffer, in virtual time."""

from __future__ import annotations

from typing import Final

from docsis_control.queue_managers.names import Preset
from docsis_labs import home
from docsis_labs.exercise import LABS

MSR: Final = 20_000_000
"""Maximum Sustained Traffic Rate of the exercise's modem, bit/s."""

BUFFER_KB: Final = 625
"""250 ms at that rate."""

TOPOLOGY: Final = LABS / "1-bufferbloat" / "topology.yaml"

_BEGIN, _END, _SECONDS = 4, 16, 18
BEGIN_NS: Final = _BEGIN * 1_000_000_000
END_NS: Final = _END * 1_000_000_000


def play(seed: int) -> home.Measured:
    """Plays the exercise's run: load from BEGIN_NS to END_NS."""
    load = home.Load(seconds=_SECONDS, uploads=2, start=_BEGIN, end=_END, seed=seed)
    return home.play(TOPOLOGY, Preset.DROP_TAIL_250MS, load)
