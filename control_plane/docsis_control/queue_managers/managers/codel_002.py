# SPDX-License-Identifier: Apache-2.0
"""CoDel as Martin and others (002) have it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field

from docsis_control.config.units import Duration
from docsis_control.queue_managers.management import Described
from docsis_control.queue_managers.managers.codel import AnyCodel
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.table_entries import entry

if TYPE_CHECKING:
    from docsis_control.plan import ServiceFlow
    from docsis_control.tables import TableEntry

ARRIVAL: Final = "FrameIngress.codel_002"
"""Its control where frames arrive."""

DEPARTURE: Final = "FrameEgress.codel_002.parameters"
"""Its table where they leave."""


class Codel002(AnyCodel):
    """CoDel as 002's appendix has it: what leaves is measured, what arrives is dropped."""

    title: ClassVar[str] = "Martin's CoDel"
    decides: ClassVar[str] = (
        "at the tail, of the sojourn time that is measured at the head (`codel_002.p4`)"
    )
    state: ClassVar[str] = (
        "tables `FrameIngress.codel_002` and `FrameEgress.codel_002`; `codel_002_*`"
    )

    without_flow_queues: ClassVar[str] = (
        "what leaves decides about what arrives next, which with flow queues is of another session"
    )

    control: ClassVar[str] = ARRIVAL

    algorithm: Literal["codel-002"] = "codel-002"
    interval: Duration = Field(default=100_000_000, description="interval, 100 ms unless given.")

    def entries(self, flow: "ServiceFlow") -> "Iterator[TableEntry]":
        """See `QueueManagement`; one of the arrival and one of the departure."""
        interval = self.interval // 1000
        yield entry(flow, f"{ARRIVAL}.parameters", "set_interval", control_interval=interval)
        yield entry(
            flow,
            DEPARTURE,
            "set_codel_002",
            latency_target=self.target // 1000,
            control_interval=interval,
        )


MODEL: Final = Codel002

PRESETS: Final[Mapping[Preset, Described]] = {
    # 002, appendix.
    Preset.CODEL_002: Described(
        Codel002.model_validate({"target": "20 ms", "interval": "100 ms"}),
        label="Martin's CoDel, 20/100 ms",
        colour="purple",
        line="--",
        what="CoDel as Martin 2014 has it: measured at the head, dropped at the tail",
        parameters="target 20 ms, interval 100 ms",
        source="Martin 2014, appendix",
    ),
}
"""The presets by name."""
