# SPDX-License-Identifier: Apache-2.0
"""Latency-based RED (001), of the wait or of the depth."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import MAX_BUFFER, KeyedError
from docsis_control.config.units import Buffer, BufferLimit, format_bytes
from docsis_control.queue_managers.bounds import between, time
from docsis_control.queue_managers.management import Described, MeasuredAs, QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.table_entries import PROBABILITY_ONE, entry, fixed, reciprocal

if TYPE_CHECKING:
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

PARAMETERS: Final = "FrameEgress.lred.parameters"
"""Its table."""


class Lred(QueueManagement):
    """Latency-based RED (001, figure 10c): thresholds of the wait, or of the queue's depth.

    From min_probability at the first threshold it grows to max_probability at the second, and
    stays there.
    """

    title: ClassVar[str] = "LRED (Cloonan 2013)"
    decides: ClassVar[str] = "at the head (`lred.p4`)"
    state: ClassVar[str] = "table `FrameEgress.lred`; no state"

    algorithm: Literal["lred"] = "lred"
    min_threshold: Buffer = Field(
        default=BufferLimit(time=200_000_000), description="MINth: a time, or a size."
    )
    max_threshold: Buffer = Field(
        default=BufferLimit(time=400_000_000), description="MAXth, the same kind as min_threshold."
    )
    min_probability: float = Field(default=0.01, description="Pmin, from min_threshold on.")
    max_probability: float = Field(default=0.05, description="Pmax, from max_threshold on.")

    @field_validator("min_threshold", "max_threshold")
    @classmethod
    def _threshold(cls, value: BufferLimit) -> BufferLimit:
        if value.time is not None:
            time(value.time, "a threshold in time")
        else:
            assert value.size is not None
            if not 1 <= value.size <= MAX_BUFFER:
                raise ValueError(
                    f"a threshold must be from 1 B to {MAX_BUFFER} B, "
                    f"not {format_bytes(value.size)}"
                )
        return value

    @field_validator("min_probability", "max_probability")
    @classmethod
    def _probability(cls, value: float) -> float:
        return between(value, 0, 1, "a probability")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.min_threshold, self.max_threshold
        if (low.time is None) != (high.time is None):
            raise KeyedError(
                "max_threshold",
                f"{high} and the min_threshold of {low} must both be times, or both be sizes",
            )
        if self._of(low) >= self._of(high):
            raise KeyedError("min_threshold", f"{low} is not below the max_threshold of {high}")
        if self.min_probability > self.max_probability:
            raise KeyedError(
                "min_probability",
                f"{self.min_probability:g} is above the max_probability of "
                f"{self.max_probability:g}",
            )
        return self

    @staticmethod
    def _of(limit: BufferLimit) -> int:
        value = limit.size if limit.time is None else limit.time
        assert value is not None
        return value

    @property
    def by_depth(self) -> bool:
        """Whether the thresholds are bytes of the queue, and not times."""
        return self.min_threshold.time is None

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """See `QueueManagement`."""
        low, high = _measure(self.min_threshold), _measure(self.max_threshold)
        yield entry(
            flow,
            PARAMETERS,
            "set_depth_curve" if self.by_depth else "set_sojourn_curve",
            min_threshold=low,
            max_threshold=high,
            min_probability=fixed(self.min_probability, PROBABILITY_ONE),
            max_probability=fixed(self.max_probability, PROBABILITY_ONE),
            threshold_reciprocal=reciprocal(low, high),
        )

    def measured_as(self, buffer_size: int) -> MeasuredAs:
        """See `QueueManagement`; a few frames are in the lower half of the curve."""
        del buffer_size
        low, high = (BufferLimit(size=1_000), BufferLimit(size=1_000_000))
        if not self.by_depth:
            low, high = BufferLimit(time=1_000), BufferLimit(time=1_000_000_000)
        curve = {
            "min_threshold": low,
            "max_threshold": high,
            "min_probability": 0.00001,
            "max_probability": 0.0001,
        }
        return MeasuredAs(self.model_copy(update=curve))


def _measure(threshold: BufferLimit) -> int:
    """Bytes, or microseconds."""
    if threshold.time is not None:
        return threshold.time // 1000
    assert threshold.size is not None
    return threshold.size


MODEL: Final = Lred


def _curve(low: str, high: str, **others: object) -> Lred:
    """001's curve between two thresholds: 1% from the first, and 5% from the second on."""
    return Lred.model_validate(
        {
            "min_threshold": low,
            "max_threshold": high,
            "min_probability": 0.01,
            "max_probability": 0.05,
            **others,
        }
    )


PRESETS: Final[Mapping[Preset, Described]] = {
    # 001, figure 11; by depth, the same wait at the 5 Mbps of its service flow.
    Preset.LRED: Described(
        _curve("200 ms", "400 ms"),
        label="LRED, 200/400 ms",
        colour="orange",
        line="-",
        what="RED of the time that a frame waited",
        parameters="1% from 200 ms, 5% from 400 ms",
        source="Cloonan 2013, figure 11",
    ),
    Preset.LRED_DEPTH: Described(
        _curve("125 KB", "250 KB"),
        label="LRED by depth, 125/250 KB",
        colour="orange",
        line="--",
        what="RED of the bytes that wait",
        parameters="1% from 125 KB, 5% from 250 KB: the same at 5 Mbps",
        source="Cloonan 2013, figure 10",
    ),
    # 001, figure 14.
    Preset.SFQ_LRED: Described(
        _curve("700 ms", "1400 ms", flow_queues={"queues": 256, "search": True}),
        label="SFQ-LRED, 700/1400 ms, 256 queues",
        colour="orange",
        line=":",
        what="LRED on each of the queues",
        parameters="1% from 700 ms, 5% from 1400 ms; 256 queues, search",
        source="Cloonan 2013, figure 14",
    ),
}
"""The presets by name."""
