# SPDX-License-Identifier: Apache-2.0
"""Raw samples as CSV, and what the controller recorded, on one time axis.

Time is seconds since the start of the run's measured time, so that the runs
of several queue managers can be laid over each other.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.demo.plan import Measurement

GOODPUT_BIN_SECONDS: Final = 0.5
"""Goodput is averaged over this long: shorter shows packets, longer hides sawteeth."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """A run over time.

    Attributes:
        probe_s: When each probe was sent, seconds since the measured time began.
        probe_ms: Its one-way delay, milliseconds; NaN where it was lost.
        goodput_s: Middles of goodput's bins, seconds.
        goodput_mbps: Mean goodput of each, Mbit/s.
        control_s: When the controller looked, seconds; empty if it did not.
        qdelay_ms: The queue's delay as the controller computes it, milliseconds.
        drop_prob: RFC 8034 drop_prob_.
        loaded_s: Length of the measured time, seconds.
    """

    probe_s: Floats
    probe_ms: Floats
    goodput_s: Floats
    goodput_mbps: Floats
    control_s: Floats
    qdelay_ms: Floats
    drop_prob: Floats
    loaded_s: float


def series(measurement: Measurement, device: str, service_flow: int) -> Series:
    """Put everything that a run recorded on one time axis.

    Args:
        measurement: The run.
        device: Whose queue is shown: the modem's name.
        service_flow: Index of the service flow.
    """
    origin = measurement.loaded.start_ns
    middles, mbps = measurement.goodput.binned(GOODPUT_BIN_SECONDS)
    control = control_samples(
        measurement.folder / "controller" / f"samples-{device}.csv", service_flow
    )
    wall_ns = control[:, 0] * 1e9 + measurement.monotonic_offset_ns
    return Series(
        probe_s=(measurement.probes.sent_ns - origin) / 1e9,
        probe_ms=measurement.probes.delay_ms,
        goodput_s=(middles - origin) / 1e9,
        goodput_mbps=mbps,
        control_s=(wall_ns - origin) / 1e9,
        qdelay_ms=control[:, 1],
        drop_prob=control[:, 2],
        loaded_s=(measurement.loaded.end_ns - origin) / 1e9,
    )


def control_samples(path: Path, service_flow: int) -> Floats:
    """Rows of monotonic_s, qdelay_ms, drop_prob; none when there was no control loop."""
    if not path.is_file():
        return np.zeros((0, 3))
    with path.open(newline="") as file:
        rows = [
            [float(row[key]) for key in ("monotonic_s", "qdelay_ms", "drop_prob")]
            for row in csv.DictReader(file)
            if int(row["service_flow"]) == service_flow
        ]
    return np.array(rows).reshape(-1, 3)


def write(data: Series, folder: Path) -> None:
    """Write latency.csv, goodput.csv and queue.csv."""
    _write(
        folder / "latency.csv",
        ("time_s", "one_way_delay_ms"),
        zip(data.probe_s, data.probe_ms, strict=True),
    )
    _write(
        folder / "goodput.csv",
        ("time_s", "goodput_mbps"),
        zip(data.goodput_s, data.goodput_mbps, strict=True),
    )
    _write(
        folder / "queue.csv",
        ("time_s", "qdelay_ms", "drop_prob"),
        zip(data.control_s, data.qdelay_ms, data.drop_prob, strict=True),
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[tuple[float, ...]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            # A lost probe has no delay: an empty field.
            writer.writerow(["" if np.isnan(value) else f"{value:.6g}" for value in row])
