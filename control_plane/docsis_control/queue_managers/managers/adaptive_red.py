# SPDX-License-Identifier: Apache-2.0
"""Adaptive RED (002)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import MAX_FRAME, KeyedError
from docsis_control.config.units import Duration
from docsis_control.queue_managers.bounds import SMALLEST_WEIGHT, between, update_interval
from docsis_control.queue_managers.management import Described, MeasuredAs, QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.table_entries import WEIGHT_ONE, entry, fixed, reciprocal

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

PARAMETERS: Final = "FrameIngress.adaptive_red.parameters"
"""Its table."""


class AdaptiveRed(QueueManagement):
    """Adaptive RED (002, appendix; Floyd, Gummadi and Shenker 2001)."""

    title: ClassVar[str] = "Adaptive RED (Martin 2014)"
    decides: ClassVar[str] = "at the tail (`adaptive_red.p4`), where frames wait"
    state: ClassVar[str] = (
        "table `FrameIngress.adaptive_red`, `red_*`, `aqm_drop_prob`, `controller_timeout`; "
        "the controller adapts maxp"
    )

    without_flow_queues: ClassVar[str] = (
        "its average is of the service flow's whole backlog, so that it would drop frames of short "
        "queues for what long ones hold"
    )

    controlled: ClassVar[bool] = True

    algorithm: Literal["adaptive-red"] = "adaptive-red"
    min_threshold: float = Field(default=0.05, description="minth, a share of the buffer.")
    max_threshold: float = Field(default=0.5, description="maxth, a share of the buffer.")
    target_queue: float | None = Field(
        default=None,
        description="Average queue that maxp aims at, a share of the buffer; halfway between the "
        "thresholds unless given.",
    )
    weight: float = Field(
        default=0.002, description="Wq, the weight of a new sample in the average."
    )
    initial_max_probability: float = Field(
        default=0.1, description="maxp at the start, 0.01 to 0.5; it adapts itself."
    )
    update_interval: Duration = Field(
        default=500_000_000, description="Time between two adaptations of maxp; at least 16 ms."
    )
    decrease: float = Field(default=0.9, description="beta: the factor that makes maxp smaller.")

    @field_validator("min_threshold", "max_threshold", "target_queue")
    @classmethod
    def _share(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"a share of the buffer must be above 0 and at most 1, not {value:g}")
        return value

    @field_validator("weight")
    @classmethod
    def _weight(cls, value: float) -> float:
        return between(value, SMALLEST_WEIGHT, 1 - SMALLEST_WEIGHT, "a weight")

    @field_validator("initial_max_probability")
    @classmethod
    def _max_probability(cls, value: float) -> float:
        return between(value, 0.01, 0.5, "Adaptive RED keeps maxp within its bounds; it")

    @field_validator("update_interval")
    @classmethod
    def _interval(cls, value: int) -> int:
        return update_interval(value)

    @field_validator("decrease")
    @classmethod
    def _decrease(cls, value: float) -> float:
        if not 0 < value < 1:
            raise ValueError(f"decrease must be a factor between 0 and 1, not {value:g}")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_threshold >= self.max_threshold:
            raise KeyedError(
                "min_threshold",
                f"{self.min_threshold:g} is not below the max_threshold of {self.max_threshold:g}",
            )
        target = self.target_queue
        if target is not None and not self.min_threshold <= target <= self.max_threshold:
            raise KeyedError(
                "target_queue",
                f"{target:g} is not within the thresholds, {self.min_threshold:g} and "
                f"{self.max_threshold:g}",
            )
        return self

    def target_of(self, buffer_size: int) -> float:
        """Bytes of such a buffer that the average is to have."""
        if self.target_queue is not None:
            return float(Fraction(repr(self.target_queue)) * buffer_size)
        low, high = self.thresholds(buffer_size)
        return low + (high - low) / 2

    def thresholds(self, buffer_size: int) -> tuple[int, int]:
        """minth and maxth in bytes of such a buffer; at least one frame apart."""
        low = int(Fraction(repr(self.min_threshold)) * buffer_size)
        high = int(Fraction(repr(self.max_threshold)) * buffer_size)
        return low, max(high, low + MAX_FRAME)

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """See `QueueManagement`."""
        low, high = self.thresholds(flow.buffer_size)
        yield entry(
            flow,
            PARAMETERS,
            "set_red",
            min_threshold=low,
            max_threshold=high,
            weight=fixed(self.weight, WEIGHT_ONE),
            threshold_reciprocal=reciprocal(low, high),
        )

    def measured_as(self, buffer_size: int) -> MeasuredAs:
        """See `QueueManagement`; the average begins between thresholds that a few frames reach."""
        low, high = 1_000, 1_000_000
        shares = {"min_threshold": low / buffer_size, "max_threshold": high / buffer_size}
        # red_avg has 16 binary places.
        return MeasuredAs(self.model_copy(update=shares), {"red_avg": 2 * low << 16})

    def law(self, granted: bool) -> "type[Law] | None":
        """See `QueueManagement`."""
        from docsis_control.law.adaptive_red import AdaptiveRedLaw

        del granted
        return AdaptiveRedLaw


MODEL: Final = AdaptiveRed

PRESETS: Final[Mapping[Preset, Described]] = {
    # 002, appendix.
    Preset.ADAPTIVE_RED: Described(
        AdaptiveRed.model_validate(
            {
                "min_threshold": 0.05,
                "max_threshold": 0.5,
                "weight": 0.002,
                "initial_max_probability": 0.1,
                "update_interval": "500 ms",
                "decrease": 0.9,
            }
        ),
        label="Adaptive RED, 5-50%",
        colour="orange",
        line="-.",
        what="Adaptive RED",
        parameters="5% and 50% of the buffer, Wq 0.002, maxp 0.1 at first, every 500 ms, beta 0.9",
        source="Martin 2014, appendix",
    ),
}
"""The presets by name."""
