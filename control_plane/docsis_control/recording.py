# SPDX-License-Identifier: Apache-2.0
"""What the control loop did, tick by tick, and a summary of it."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.law.docsis_pie import Status
from docsis_control.law.service_flows import Observation
from docsis_control.numbers import SERVICE_FLOWS

RECENT: Final = 3_750
"""Ticks of the last minute."""

CAPACITY: Final = 225_000
"""Ticks kept: an hour of them. The oldest go first."""

_FULL_FLOWS: Final = 8
"""Service flows of which an hour of samples is kept; more share that room."""

_TICK: Final = np.dtype(
    [("monotonic_ns", "i8"), ("lateness_ns", "i8"), ("cycle_ns", "i8"), ("missed", "i8")]
)
_SAMPLE: Final = np.dtype(
    [
        ("monotonic_ns", "i8"),
        ("switch_us", "i8"),
        ("service_flow", "i4"),
        ("backlog", "i8"),
        ("msr_tokens", "f8"),
        ("qdelay", "f8"),
        ("rate_estimate", "f8"),
        ("drop_prob", "f8"),
        ("burst_allowance", "i8"),
        ("status", "i4"),
    ]
)
Records = npt.NDArray[np.void]


class _Ring:
    """A bounded sequence of records that never allocates once it has been made."""

    def __init__(self, dtype: np.dtype[np.void], capacity: int) -> None:
        self._records: Records = np.zeros(capacity, dtype)
        self._count = 0

    def append(self, record: tuple[float, ...]) -> None:
        self._records[self._count % len(self._records)] = record
        self._count += 1

    def extend(self, records: Records) -> None:
        """Adds at most as many records as are kept."""
        start = self._count % len(self._records)
        first = len(self._records) - start
        self._records[start : start + len(records)] = records[:first]
        self._records[: max(0, len(records) - first)] = records[first:]
        self._count += len(records)

    def in_order(self) -> Records:
        """The records kept, oldest first."""
        if self._count <= len(self._records):
            return self._records[: self._count]
        return np.roll(self._records, -(self._count % len(self._records)))

    def newest(self, count: int) -> Records:
        """That many of the records kept, or all, oldest first; costs the same at any length."""
        count = min(count, self._count, len(self._records))
        return self._records[np.arange(self._count - count, self._count) % len(self._records)]


@dataclass(frozen=True)
class Distribution:
    """Quantiles of a time, in milliseconds; 0 where there was none."""

    p50: float
    p99: float
    max: float

    @staticmethod
    def of(nanoseconds: npt.NDArray[np.int64]) -> "Distribution":
        """Of a sample in nanoseconds."""
        if nanoseconds.size == 0:
            return Distribution(0.0, 0.0, 0.0)
        p50, p99 = np.percentile(nanoseconds, (50, 99)) / 1e6
        return Distribution(float(p50), float(p99), float(nanoseconds.max() / 1e6))


@dataclass(frozen=True)
class ControllerStats:
    """How well the control loop kept its time.

    Attributes:
        updates: Intervals' updates that the switch acknowledged.
        missed: Intervals that passed without one while the switch was there.
        lateness_ms: From an interval's deadline to the start of its update.
        cycle_ms: From the start of an update to its acknowledgement.
        reconnects: How often the connection was lost and made again.
    """

    updates: int
    missed: int
    lateness_ms: Distribution
    cycle_ms: Distribution
    reconnects: int


class DeviceRecord:
    """The record of one device's control loop."""

    def __init__(self, service_flows: Sequence[int], capacity: int = CAPACITY) -> None:
        self._ticks = _Ring(_TICK, capacity)
        samples = capacity * min(max(1, len(service_flows)), _FULL_FLOWS)
        self._samples = _Ring(_SAMPLE, max(samples, SERVICE_FLOWS))
        self.follow(service_flows)
        self.updates = 0
        self.missed = 0
        self.reconnects = 0
        self.access = ""
        self.traffic_manager = False

    def tick(self, deadline: int, start: int, done: int, missed: int) -> None:
        """Adds an update: its times in CLOCK_MONOTONIC nanoseconds, and the intervals it missed."""
        self.updates += 1
        self.missed += missed
        self._ticks.append((deadline, start - deadline, done - start, missed))

    def follow(self, service_flows: Sequence[int]) -> None:
        """From now on samples are of these service flows, by index, in this order."""
        self._sample = np.zeros(len(service_flows), _SAMPLE)
        self._sample["service_flow"] = service_flows

    def sample(self, monotonic_ns: int, switch_us: int, seen: Observation) -> None:
        """Adds what an update saw and decided."""
        sample, state = self._sample, seen.state
        sample["monotonic_ns"] = monotonic_ns
        sample["switch_us"] = switch_us
        sample["backlog"] = seen.backlog
        sample["msr_tokens"] = seen.msr_tokens
        sample["qdelay"] = seen.qdelay
        sample["rate_estimate"] = seen.rate_estimate
        sample["drop_prob"] = state.drop_prob
        sample["burst_allowance"] = state.burst_allowance
        sample["status"] = state.status
        self._samples.extend(sample)

    @property
    def ticks(self) -> Records:
        """Ticks kept, oldest first: fields monotonic_ns, lateness_ns, cycle_ns, missed."""
        return self._ticks.in_order()

    @property
    def samples(self) -> Records:
        """Samples kept, oldest first; fields as the columns of the CSV file, in base units."""
        return self._samples.in_order()

    def stats(self) -> ControllerStats:
        """The summary so far; quantiles of the ticks kept."""
        return _stats((self,))

    def recent(self) -> tuple[Distribution, Distribution]:
        """Lateness and cycle of the last minute; cheap enough to ask between two updates."""
        ticks = self._ticks.newest(RECENT)
        return Distribution.of(ticks["lateness_ns"]), Distribution.of(ticks["cycle_ns"])

    def save(self, name: str, folder: Path) -> None:
        """Writes ticks-NAME.csv and samples-NAME.csv."""
        with (folder / f"ticks-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("monotonic_s", "lateness_ms", "cycle_ms", "missed"))
            for deadline, lateness, cycle, missed in self.ticks.tolist():
                writer.writerow(
                    (f"{deadline / 1e9:.6f}", f"{lateness / 1e6:.3f}", f"{cycle / 1e6:.3f}", missed)
                )
        with (folder / f"samples-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(
                (
                    "monotonic_s",
                    "switch_time_us",
                    "service_flow",
                    "backlog_bytes",
                    "msr_tokens_bytes",
                    "qdelay_ms",
                    "drop_prob",
                    "burst_allowance_ms",
                    "state",
                    "rate_estimate_bps",
                )
            )
            for row in self.samples.tolist():
                at, switch_us, flow, backlog, tokens, qdelay, rate, prob, burst, status = row
                writer.writerow(
                    (
                        f"{at / 1e9:.6f}",
                        switch_us,
                        flow,
                        backlog,
                        f"{tokens:.1f}",
                        f"{qdelay * 1e3:.3f}",
                        f"{prob:.9f}",
                        f"{burst / 1e3:.1f}",
                        Status(status).name,
                        # Nothing where nobody measured it.
                        "" if math.isnan(rate) else f"{rate:.0f}",
                    )
                )


def _stats(records: Sequence[DeviceRecord]) -> ControllerStats:
    ticks = np.concatenate([record.ticks for record in records]) if records else np.zeros(0, _TICK)
    return ControllerStats(
        updates=sum(record.updates for record in records),
        missed=sum(record.missed for record in records),
        lateness_ms=Distribution.of(ticks["lateness_ns"]),
        cycle_ms=Distribution.of(ticks["cycle_ns"]),
        reconnects=sum(record.reconnects for record in records),
    )


def save(records: Mapping[str, DeviceRecord], folder: Path) -> None:
    """Writes stats.json, and ticks and samples of each device that has a control loop.

    stats.json holds the fields of `ControllerStats` over all devices, and under
    `devices` those of each, with how its state was reached.
    """
    folder.mkdir(parents=True, exist_ok=True)
    looped = {name: record for name, record in records.items() if record.updates}
    for name, record in looped.items():
        record.save(name, folder)
    stats = asdict(_stats(list(looped.values())))
    stats["reconnects"] = sum(record.reconnects for record in records.values())
    stats["devices"] = {
        name: {
            **asdict(record.stats()),
            "state_access": record.access,
            "traffic_manager": record.traffic_manager,
        }
        for name, record in records.items()
    }
    text = json.dumps(stats, indent=2) + "\n"
    (folder / "stats.json").write_text(text, encoding="utf-8")
