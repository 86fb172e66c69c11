# SPDX-License-Identifier: Apache-2.0
"""A scenario for tests to change, and records of runs that were never made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from time_samples import IN_TIME

from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.measurement.record import Control, Packets, Received, RunRecord
from docsis_testbed.paths import TOPOLOGIES

NETWORK: Final = TOPOLOGIES / "scenarios" / "networks" / "home.yaml"

TEXT: Final = f"""\
name: small
title: A small one
source: {{paper: Nobody's, figure: "1"}}
scale: All of it.
topology: {NETWORK}
direction: upstream
ramp_up: 2 s
measured: 10 s
runs:
  - {{label: tail, manager: drop-tail, buffer: 100 ms}}
  - {{label: codel, manager: {{algorithm: codel, target: 5 ms}}}}
traffic:
  - {{name: call, kind: voip}}
  - {{name: ftp, kind: transfer, count: 3, servers: [server1, server2]}}
  - {{name: game, kind: game}}
  - {{name: steady, kind: cbr, rate: 1 Mbps, frame: 500 B, start: 2 s, end: 4 s}}
expectations:
  - check: value
    quantity: {{metric: latency, of: [call], statistic: p90}}
    runs: [tail]
    published: {{at_least: 40, at_most: 60}}
    tolerance: 5
    source: figure 1
    reason: a guess
  - check: order
    quantity: {{metric: latency, of: [call]}}
    runs: [codel, tail]
    slack: 0
    source: figure 1
    reason: another guess
"""

EVERY_KIND: Final = f"""\
name: short
title: A short one
source: {{paper: None}}
scale: Nothing is published of it.
topology: {NETWORK}
direction: upstream
ramp_up: 3 s
measured: 6 s
tcp: {{initial_window: 3}}
channel: {{sequence: [10 Mbps, 5 Mbps], step: 3 s}}
runs:
  - {{label: tail, manager: drop-tail, buffer: 100 ms}}
traffic:
  - {{name: call, kind: voip}}
  - {{name: ftp, kind: transfer, count: 2, size: 1 MB}}
  - {{name: game, kind: game, interval: 500 ms}}
  - {{name: steady, kind: cbr, rate: 500 kbps, frame: 500 B, start: 3 s, end: 5 s}}
  - {{name: train, kind: burst, frames: 20, interval: 1 s}}
expectations:
  - check: value
    quantity: {{metric: goodput, of: [ftp], during: {{start: 1 s, end: 3 s}}}}
    runs: [tail]
    published: 9.3
    tolerance: {{below: 1.5, above: 0.5}}
    source: nobody
    reason: 10 Mbit/s of frames.
  - check: value
    quantity: {{metric: latency, of: [call], statistic: max}}
    runs: [tail]
    published: 1
    tolerance: 0
    source: nobody
    reason: Cannot be; so the run fails.
"""
"""Every kind of traffic under a channel that changes; it is quick, and one of its values fails."""

GRID: Final = (
    """\
grid:
  managers: [drop-tail, codel]
  buffers: [50 ms, 100 ms, 200 ms]
""",
    """\
runs:
  - {label: tail, manager: drop-tail, buffer: 100 ms}
  - {label: codel, manager: {algorithm: codel, target: 5 ms}}
""",
)
"""A grid, and the runs that it is to stand for."""


def write(folder: Path, *changes: tuple[str, str], text: str = TEXT) -> Path:
    """A scenario's file, with pieces of it replaced: (old, new)."""
    file = folder / f"{text.split(maxsplit=2)[1]}.yaml"
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    file.write_text(text)
    return file


def loaded(folder: Path, *changes: tuple[str, str]) -> Loaded:
    """The scenario with pieces of it replaced."""
    return load(write(folder, *changes))


def shown(page: str) -> str:
    """A page without its scripts and charts, which `test_charts.py` looks at."""
    return re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)


def packets(delay_ms: float, *, lost_every: int = 0, seconds: float = 10.0) -> Packets:
    """50 a second of one delay, from 2 s before the measured time to 3 s after it."""
    sent = np.arange(-2.0, seconds + 3, 0.02)
    delays = np.full(sent.size, float(delay_ms))
    if lost_every:
        delays[::lost_every] = np.nan
    return Packets(sent, delays)


def received(rates_mbps: Mapping[str, float]) -> Received:
    """Constant goodput by flow."""
    times = np.arange(-2.0, 13.0, 0.1)
    counts = {name: (times + 2) * rate * 1e6 / 8 for name, rate in rates_mbps.items()}
    return Received(times, counts)


def record(label: str, delay_ms: float, **changes: Any) -> RunRecord:
    """A run whose packets all have one delay, and whose flows have 1, 2 and 3 Mbit/s."""
    values: dict[str, Any] = {
        "label": label,
        "manager": "Drop tail",
        "preset": Preset.DROP_TAIL,
        "management": {"algorithm": "drop-tail"},
        "buffer_ms": 100.0,
        "seconds": 10.0,
        "packets": {
            "call": packets(delay_ms),
            "ftp": packets(delay_ms + 1),
            "game": packets(delay_ms),
            "steady": packets(delay_ms),
        },
        "messages": {"game": Packets(np.array([1.0, 3.0]), np.array([50.0, 70.0]))},
        "received": {
            "ftp": received({"ftp-1": 1.0, "ftp-2": 2.0, "ftp-3": 3.0}),
            "game": received({"game": 0.04}),
            "steady": received({"steady": 0.9}),
        },
        "steps": (),
        "control": Control(),
        "counters": {"sf_drop_aqm": 3, "sf_drop_buffer_full": 4},
        "controller": {
            "updates": 9,
            "missed": 0,
            "lateness_ms": {"p50": 0.1, "p99": 0.2, "max": 0.3},
        },
        "timing": IN_TIME,
        "faults": (),
        "calls": frozenset({"call"}),
    }
    return RunRecord(**(values | changes))
