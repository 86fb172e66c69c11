# SPDX-License-Identifier: Apache-2.0
"""The record of the control loop, tick by tick, and a summary of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.law.service_flows import Observation
from docsis_control.numbers import SERVICE_FLOWS
from docsis_control.own_files import created
from docsis_control.priority import lower_thread
from docsis_control.record_files import write_samples, write_ticks
from docsis_control.record_ring import Records, Ring

RECENT: Final = 3_750
"""Ticks of the last minute."""

CAPACITY: Final = 225_000
"""Ticks kept: an hour of them. The oldest go first."""

_FULL_FLOWS: Final = 8
"""Service flows of which an hour of samples is kept; more share that room."""

_PIECE: Final = 1 << 14
"""Records that are written at once."""

_TICK: Final = np.dtype(
    [("monotonic_ns", "i8"), ("lateness_ns", "i8"), ("cycle_ns", "i8"), ("missed", "i8")]
)
# As narrow as their values are: with hundreds of service flows this is most of the memory.
_SAMPLE: Final = np.dtype(
    [
        ("monotonic_ns", "i8"),
        ("switch_us", "i8"),
        ("service_flow", "i2"),
        ("backlog", "i4"),
        ("msr_tokens", "f8"),
        # In whole bytes, of which a bucket has less than 2^32.
        ("msr_bucket", "u4"),
        ("qdelay", "f8"),
        ("rate_estimate", "f8"),
        ("drop_prob", "f8"),
        ("burst_allowance", "i4"),
        ("status", "i1"),
    ]
)


@dataclass(frozen=True)
class Distribution:
    """Quantiles of a time, in milliseconds; 0 where there was none."""

    p50: float
    p99: float
    max: float

    @staticmethod
    def of(nanoseconds: npt.NDArray[np.int64]) -> "Distribution":
        """Computes the distribution of a sample in nanoseconds."""
        if nanoseconds.size == 0:
            return Distribution(0.0, 0.0, 0.0)
        p50, p99 = np.percentile(nanoseconds, (50, 99)) / 1e6
        return Distribution(float(p50), float(p99), float(nanoseconds.max() / 1e6))


@dataclass(frozen=True)
class ControllerStats:
    """Punctuality of the control loop.

    Attributes:
        updates: Intervals' updates that the switch acknowledged.
        missed: Intervals that passed without one while the switch was there.
        lateness_ms: Time from an interval's deadline to the start of its update.
        cycle_ms: Time from the start of an update to its acknowledgement.
        reconnects: How often the connection was lost and made again.
    """

    updates: int
    missed: int
    lateness_ms: Distribution
    cycle_ms: Distribution
    reconnects: int


class DeviceRecord:
    """The record of one device's control loop.

    Args:
        service_flows: Their indices, in the order in which the loop sees them.
        capacity: Ticks that are kept.
        sampled: Number of service flows whose samples are kept; all unless given.
    """

    def __init__(
        self, service_flows: Sequence[int], capacity: int = CAPACITY, sampled: int | None = None
    ) -> None:
        self._sampled = sampled
        self._ticks = Ring(_TICK, capacity)
        samples = capacity * min(max(1, len(service_flows)), _FULL_FLOWS)
        self._samples = Ring(_SAMPLE, max(samples, SERVICE_FLOWS))
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
        """Takes samples from now on of these service flows, by index, in this order."""
        kept = service_flows[: self._sampled]
        self._sample = np.zeros(len(kept), _SAMPLE)
        self._sample["service_flow"] = kept

    def sample(self, monotonic_ns: int, switch_us: int, seen: Observation) -> None:
        """Adds what an update saw and decided."""
        sample, state, count = self._sample, seen.state, len(self._sample)
        sample["monotonic_ns"] = monotonic_ns
        sample["switch_us"] = switch_us
        sample["backlog"] = seen.backlog[:count]
        sample["msr_tokens"] = seen.msr_tokens[:count]
        sample["msr_bucket"] = seen.msr_bucket[:count]
        sample["qdelay"] = seen.qdelay[:count]
        sample["rate_estimate"] = seen.rate_estimate[:count]
        sample["drop_prob"] = state.drop_prob[:count]
        sample["burst_allowance"] = state.burst_allowance[:count]
        sample["status"] = state.status[:count]
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
        write_ticks(folder / f"ticks-{name}.csv", self._ticks.pieces(_PIECE))
        write_samples(folder / f"samples-{name}.csv", self._samples.pieces(_PIECE))


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

    The thread that calls this goes behind switches from then on, since nothing is controlled any
    more and writing takes long.
    """
    lower_thread()
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
    with created(folder / "stats.json") as file:
        file.write(text)
