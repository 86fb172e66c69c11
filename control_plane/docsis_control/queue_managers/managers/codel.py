# SPDX-License-Identifier: Apache-2.0
"""CoDel (RFC 8289), in one queue or in each of many."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from docsis_control.config.models import KeyedError
from docsis_control.config.units import Duration, format_duration
from docsis_control.law.inverse_square_root import entries as inverse_square_roots
from docsis_control.queue_managers.bounds import time
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.table_entries import entry

if TYPE_CHECKING:
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

CONTROL: Final = "FrameEgress.codel"
"""Its control, with its tables and registers."""


class AnyCodel(QueueManagement):
    """The two parameters of RFC 8289, section 4, with the values of 000, sections 4.2 and 4.3."""

    control: ClassVar[str]
    """The P4 control that has its table of inverse square roots, and its parameters."""

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

    def latency_target_of(self, flow: "ServiceFlow") -> int | None:
        """See `QueueManagement`; its own, whatever the service flow's is."""
        del flow
        return self.target // 1000

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """See `QueueManagement`; the entry of a control that is CoDel (`codel.p4`)."""
        yield entry(
            flow,
            f"{self.control}.parameters",
            # Two controls have an action of that name.
            f"{self.control}.set_codel",
            latency_target=self.target // 1000,
            control_interval=self.interval // 1000,
        )

    @classmethod
    def lasting(cls) -> "Iterator[TableEntry]":
        """See `QueueManagement`."""
        yield from inverse_square_roots(cls.control)


class Codel(AnyCodel):
    """CoDel (RFC 8289): drops at the head, by the time that a frame has waited."""

    title: ClassVar[str] = "CoDel (RFC 8289)"
    decides: ClassVar[str] = "at the head (`codel.p4`)"
    state: ClassVar[str] = "table and registers `FrameEgress.codel`"

    control: ClassVar[str] = CONTROL

    algorithm: Literal["codel"] = "codel"


MODEL: Final = Codel

PRESETS: Final[Mapping[Preset, Described]] = {
    # 000, section 4.2.
    Preset.CODEL: Described(
        Codel.model_validate({"target": "20 ms", "interval": "150 ms"}),
        label="CoDel, 20/150 ms",
        colour="purple",
        line="-.",
        what="CoDel, at the head",
        parameters="target 20 ms, interval 150 ms",
        source="RFC 8289; White 2014, 4.2",
    ),
    # 000, section 4.4.
    Preset.SFQ_CODEL: Described(
        Codel.model_validate(
            {"target": "50 ms", "interval": "200 ms", "flow_queues": {"queues": 32}}
        ),
        label="SFQ-CoDel, 50/200 ms, 32 queues",
        colour="purple",
        line="-",
        what="CoDel on each of the queues",
        parameters="target 50 ms, interval 200 ms, 32 queues",
        source="White 2014, 4.4",
    ),
}
"""The presets by name."""
