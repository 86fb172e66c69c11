# SPDX-License-Identifier: Apache-2.0
"""PIE as Martin and others (002) have it, counted in packets."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import Duration
from docsis_control.queue_managers.bounds import MOST_DQ_PACKETS
from docsis_control.queue_managers.management import Described, MeasuredAs
from docsis_control.queue_managers.managers.pie import AnyPie
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.table_entries import entry

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

PARAMETERS: Final = "FrameEgress.pie_002.parameters"
"""Its table."""


class Pie002(AnyPie):
    """PIE as 002's appendix has it: without a scaling table, and all of it in packets."""

    title: ClassVar[str] = "Martin's PIE"
    decides: ClassVar[str] = "at the tail (`pie_002.p4`), each frame for itself"
    state: ClassVar[str] = (
        "`aqm_drop_prob`, `controller_timeout`; table `FrameEgress.pie_002`, `pie_002_*`; the "
        "controller runs its law"
    )

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

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """See `QueueManagement`."""
        yield entry(
            flow,
            PARAMETERS,
            "set_pie_002",
            dq_threshold=self.dq_threshold,
            max_burst=self.max_burst // 1000,
        )

    def measured_as(self, buffer_size: int) -> MeasuredAs:
        """See `QueueManagement`; a few frames make a measurement, and no burst is spared."""
        del buffer_size
        return MeasuredAs(self.model_copy(update={"dq_threshold": 2, "max_burst": 0}))

    def law(self, granted: bool) -> "type[Law] | None":
        """See `QueueManagement`."""
        from docsis_control.law.pie_002 import Pie002Law

        del granted
        return Pie002Law


MODEL: Final = Pie002

PRESETS: Final[Mapping[Preset, Described]] = {
    # 002, appendix. It does not say how many packets a measurement of the departure rate has.
    Preset.PIE_002: Described(
        Pie002.model_validate(
            {
                "target": "15 ms",
                "update_interval": "16 ms",
                "max_burst": "142 ms",
                "alpha": 0.25,
                "beta": 2.5,
                "dq_threshold": 16,
            }
        ),
        label="Martin's PIE, 15 ms",
        colour="sky",
        line=":",
        what="PIE as Martin 2014 has it, counted in packets",
        parameters="target 15 ms, update 16 ms, burst 142 ms, alpha 0.25, beta 2.5; "
        "16 packets a measurement",
        source="Martin 2014, appendix",
    ),
}
"""The presets by name."""
