# SPDX-License-Identifier: Apache-2.0
"""A service flow's queue management: who drops early, with which parameters, in how many queues.

Durations are nanoseconds and sizes bytes once parsed; in YAML both have their units. Probabilities,
shares and weights are numbers without a unit, exact as they are written: `fractions` of them.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, TypeAdapter, field_validator, model_validator

from docsis_control.config.models import (
    MAX_BUFFER,
    MAX_FRAME,
    KeyedError,
    Model,
    aqm_latency_target,
)
from docsis_control.config.units import (
    Buffer,
    BufferLimit,
    Duration,
    format_bytes,
    format_duration,
)
from docsis_control.queue_managers.bounds import (
    CONTROL_INTERVAL,
    MOST_DQ_PACKETS,
    SMALLEST_WEIGHT,
    between,
    time,
    update_interval,
)
from docsis_control.queue_managers.flow_queues import FlowQueues
from docsis_control.queue_managers.names import QueueManager


class _Management(Model):
    """The common part of all queue managements."""

    without_flow_queues: ClassVar[str] = ""
    """Why it goes without flow queues; "" where it can have them."""

    controlled: ClassVar[bool] = False
    """Whether a periodic law of the controller's sets its drop probability."""

    algorithm: str = ""
    buffer: Buffer | None = Field(
        default=None,
        description="Queue limit: a size, or a time at the sustained rate; unless given, "
        "the service flow's own.",
    )
    flow_queues: FlowQueues | None = Field(
        default=None, description="Queues for the sessions within the service flow; else one."
    )

    @field_validator("buffer")
    @classmethod
    def _holds_a_frame(cls, value: BufferLimit | None) -> BufferLimit | None:
        if value is None:
            return None
        if value.size is None:
            assert value.time is not None
            time(value.time, "a buffer in time")
        elif not MAX_FRAME <= value.size <= MAX_BUFFER:
            raise ValueError(
                f"a buffer must be from {MAX_FRAME} B, the largest frame, to {MAX_BUFFER} B, "
                f"not {format_bytes(value.size)}"
            )
        return value

    @model_validator(mode="after")
    def _goes_with_flow_queues(self) -> Self:
        if self.flow_queues is not None and self.without_flow_queues:
            raise KeyedError(
                "flow_queues", f"do not go with {self.algorithm}: {self.without_flow_queues}"
            )
        return self

    @property
    def queue_manager(self) -> QueueManager:
        """Its number in the pipeline."""
        return QueueManager[self.algorithm.upper().replace("-", "_")]

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the algorithm alone, as they are written in YAML."""
        return self.model_dump(
            mode="json", exclude={"algorithm", "buffer", "flow_queues"}, exclude_none=True
        )


class DropTail(_Management):
    """No early drops: a frame is dropped when the buffer has no room for it."""

    algorithm: Literal["drop-tail"] = "drop-tail"


class DocsisPie(_Management):
    """DOCSIS-PIE (RFC 8034)."""

    without_flow_queues: ClassVar[str] = (
        "it tells the wait from the service flow's backlog and token bucket, as if it were one "
        "queue (RFC 8034, section 4.2)"
    )

    controlled: ClassVar[bool] = True

    algorithm: Literal["docsis-pie"] = "docsis-pie"
    latency_target: Duration | None = Field(
        default=None,
        description="Whole milliseconds, 1 ms to 255 ms; unless given, the service flow's own.",
    )
    rate_tracking: bool = Field(
        default=False,
        description="Whether the rate is measured at which frames are granted, or leave where "
        "there is no request/grant MAC (000, appendix A); RFC 8034 takes the configured rates.",
    )

    @field_validator("latency_target")
    @classmethod
    def _as_configured(cls, value: int | None) -> int | None:
        return None if value is None else aqm_latency_target(value)


class DocsisPie2014(_Management):
    """DOCSIS-PIE before it foresaw the wait from its token bucket (000, section 6).

    Its law, its burst allowance and its de-randomised drops, with the delay from the departure rate
    that PIE estimates (RFC 8033, section 5.2): what 000 compares in its figures 1 to 6, as far as
    its text tells.
    """

    without_flow_queues: ClassVar[str] = (
        "it accumulates one probability for the service flow, whichever session a frame is of"
    )

    controlled: ClassVar[bool] = True

    algorithm: Literal["docsis-pie-2014"] = "docsis-pie-2014"
    latency_target: Duration = Field(
        default=15_000_000, description="Whole milliseconds, 1 ms to 255 ms; 15 ms unless given."
    )

    @field_validator("latency_target")
    @classmethod
    def _as_configured(cls, value: int) -> int:
        return aqm_latency_target(value)


class _AnyPie(_Management):
    """The common configuration of all versions of PIE."""

    controlled: ClassVar[bool] = True

    target: Duration = Field(default=15_000_000, description="QDELAY_REF, 15 ms unless given.")
    update_interval: Duration = Field(
        default=CONTROL_INTERVAL,
        description="T_UPDATE: at least 16 ms, the controller's interval.",
    )
    max_burst: Duration = Field(
        default=150_000_000, description="MAX_BURST, 150 ms unless given; 0 ms allows none."
    )
    alpha: float = Field(
        default=0.125, description="Weight of the delay's distance from the target, 1/s."
    )
    beta: float = Field(default=1.25, description="Weight of the delay's trend, 1/s.")

    @field_validator("target")
    @classmethod
    def _target(cls, value: int) -> int:
        return time(value, "the target")

    @field_validator("update_interval")
    @classmethod
    def _interval(cls, value: int) -> int:
        return update_interval(value)

    @field_validator("max_burst")
    @classmethod
    def _burst(cls, value: int) -> int:
        return time(value, "the burst allowance") if value else 0

    @field_validator("alpha", "beta")
    @classmethod
    def _weight(cls, value: float) -> float:
        if not 0 < value <= 100:
            raise ValueError(f"a weight must be above 0 and at most 100, not {value:g}")
        return value


class Pie(_AnyPie):
    """PIE (RFC 8033) with the dequeue rate estimated (section 5.2)."""

    algorithm: Literal["pie"] = "pie"


class Pie002(_AnyPie):
    """PIE as 002's appendix has it: without a scaling table, and all of it in packets."""

    without_flow_queues: ClassVar[str] = (
        "it tells the wait from the service flow's packets and the rate at which all of them "
        "leave, as if it were one queue"
    )

    algorithm: Literal["pie-002"] = "pie-002"
    max_burst: Duration = Field(
        default=142_000_000, description="max_burst, 142 ms unless given; 0 ms allows none."
    )
    alpha: float = Field(
        default=0.25, description="Weight of the delay's distance from the target, 1/s."
    )
    beta: float = Field(default=2.5, description="Weight of the delay's trend, 1/s.")
    dq_threshold: int = Field(
        default=16,
        description=f"Packets of a measurement of the departure rate, 2 to {MOST_DQ_PACKETS}.",
        json_schema_extra={"minimum": 2, "maximum": MOST_DQ_PACKETS},
    )

    @field_validator("dq_threshold")
    @classmethod
    def _packets(cls, value: int) -> int:
        if not 2 <= value <= MOST_DQ_PACKETS:
            raise ValueError(f"a measurement has 2 to {MOST_DQ_PACKETS} packets, not {value}")
        return value


class AdaptiveRed(_Management):
    """Adaptive RED (002, appendix; Floyd, Gummadi and Shenker 2001)."""

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
        description="Where maxp is to keep the average, a share of the buffer; halfway between the "
        "thresholds unless given.",
    )
    weight: float = Field(default=0.002, description="Wq, of a new sample in the average.")
    initial_max_probability: float = Field(
        default=0.1, description="maxp at the start, 0.01 to 0.5; it adapts itself."
    )
    update_interval: Duration = Field(
        default=500_000_000, description="Between two adaptations of maxp; at least 16 ms."
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
            raise ValueError(f"what makes maxp smaller is a factor between 0 and 1, not {value:g}")
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


class _AnyCodel(_Management):
    """The two parameters of RFC 8289, section 4, with the values of 000, sections 4.2 and 4.3."""

    target: Duration = Field(default=20_000_000, description="TARGET, 20 ms unless given.")
    interval: Duration = Field(default=150_000_000, description="INTERVAL, 150 ms unless given.")

    @field_validator("target")
    @classmethod
    def _target(cls, value: int) -> int:
        return time(value, "the target")

    @field_validator("interval")
    @classmethod
    def _interval(cls, value: int) -> int:
        return time(value, "the interval")

    @model_validator(mode="after")
    def _in_proportion(self) -> Self:
        if self.target > self.interval:
            raise KeyedError(
                "target",
                f"{format_duration(self.target)} is above the interval of "
                f"{format_duration(self.interval)}, which it is a part of (RFC 8289, section 4.3)",
            )
        return self


class Codel(_AnyCodel):
    """CoDel (RFC 8289): drops at the head, by the time that a frame has waited."""

    algorithm: Literal["codel"] = "codel"


class CodelDt(_AnyCodel):
    """CoDel that drops at the tail, by the time a frame is going to wait (000, section 4.3)."""

    without_flow_queues: ClassVar[str] = (
        "it tells the wait from the service flow's backlog and the rate at which all of it leaves, "
        "as if it were one queue"
    )

    algorithm: Literal["codel-dt"] = "codel-dt"


class Codel002(_AnyCodel):
    """CoDel as 002's appendix has it: what leaves is measured, what arrives is dropped."""

    without_flow_queues: ClassVar[str] = (
        "what leaves decides about what arrives next, which with flow queues is of another session"
    )

    algorithm: Literal["codel-002"] = "codel-002"
    interval: Duration = Field(default=100_000_000, description="interval, 100 ms unless given.")


class Lred(_Management):
    """Latency-based RED (001, figure 10c): thresholds of the wait, or of the queue's depth.

    From min_probability at the first threshold it grows to max_probability at the second, and
    stays there.
    """

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


QueueManagement = Annotated[
    DropTail
    | DocsisPie
    | DocsisPie2014
    | Pie
    | Pie002
    | AdaptiveRed
    | Codel
    | CodelDt
    | Codel002
    | Lred,
    Field(discriminator="algorithm"),
]
"""A queue manager with its parameters; hashable, and equal to another that does the same."""

ALGORITHMS: Final[Mapping[str, type[_Management]]] = {
    model.model_fields["algorithm"].default: model
    for model in (
        DropTail,
        DocsisPie,
        DocsisPie2014,
        Pie,
        Pie002,
        AdaptiveRed,
        Codel,
        CodelDt,
        Codel002,
        Lred,
    )
}
"""Models by what a file says in `algorithm`."""

ADAPTER: Final[TypeAdapter[QueueManagement]] = TypeAdapter(QueueManagement)


def as_written(management: QueueManagement) -> dict[str, Any]:
    """The mapping that a YAML file holds: plain values, with their units."""
    return management.model_dump(mode="json", exclude_none=True)
