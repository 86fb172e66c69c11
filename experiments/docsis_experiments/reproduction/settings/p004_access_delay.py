# SPDX-License-Identifier: Apache-2.0
"""Access delays of lone frames on 004's channel (section II, figure 3).

A modem sends frames of 1500 bytes of IP, each long after the one before it has come. The access
delay is from a frame's arrival at the modem to its arrival at the CMTS: what the hosts' links take
is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from docsis_control.queue_managers.names import Preset
from docsis_experiments.reproduction.settings.p004_levels import MAP_TIMES
from docsis_experiments.reproduction.settings.p004_network import SERVER, Channel, host, network
from docsis_experiments.stages.virtual.machine import EXACT
from docsis_experiments.stages.virtual.play import column, playing

FRAMES: Final = 100_000
"""At each MAP time."""

_FEW: Final = 300
"""Frames that show that it can be done."""

_FRAME: Final = 1518
"""Bytes of 1500 bytes of IP to the end of the CRC."""

_LINKS_NS: Final = 2 * 8 * (_FRAME + 20)
"""From host to modem and from the CMTS to the server, at 1 Gbit/s."""

_BEHIND_MS: Final = 3
"""Longer than what an access takes beside three MAPs: eight slots and the transmission."""

_STEP_NS: Final = 25_317
"""Excess of intervals over whole MAPs, so that frames come anywhere in a MAP."""


def access_delays(seed: int) -> Mapping[str, float]:
    """The least delay at each MAP time, milliseconds, of a hundred thousand frames each."""
    return _least(seed, FRAMES)


def few_access_delays(seed: int) -> Mapping[str, float]:
    """The same of a few frames."""
    return _least(seed, _FEW)


def _least(seed: int, frames: int) -> Mapping[str, float]:
    return {f"t{time}": _delays(seed, time, frames) for time in MAP_TIMES}


def _interval(map_ms: int) -> int:
    """Nanoseconds between frames: whole MAPs, longer than an access takes, and a step."""
    maps = 3 + -(-_BEHIND_MS // map_ms)
    return maps * map_ms * 1_000_000 + _STEP_NS


def _delays(seed: int, map_ms: int, frames: int) -> float:
    topology = network(1, replace(Channel(map_ms=map_ms), round_trip_ms=0))
    interval = _interval(map_ms)
    with (
        TemporaryDirectory(prefix="docsis-p4-") as folder,
        playing(
            topology,
            Preset.DROP_TAIL,
            seed=seed,
            machine=EXACT,
            folder=Path(folder),
            progress=lambda phase, passed: None,
        ) as play,
    ):
        stream = play.world.udp_stream(
            host(1),
            SERVER,
            9000,
            frame_length=_FRAME,
            interval_ns=interval,
            start_ns=play.at(1.0),
            one_in=1,
        )
        play.run_until("sampling", 1.0 + (frames + 2) * interval / 1e9)
        sent, came = map(column, play.world.packet_records(stream))
    arrived = came >= 0
    delays = (came - sent)[arrived][:frames] - _LINKS_NS
    return float(np.min(delays)) / 1e6 if delays.size else float("nan")
