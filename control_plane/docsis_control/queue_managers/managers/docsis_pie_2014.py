# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE as it was in 2014, with the departure rate of PIE."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field

from docsis_control.config.models import LatencyTarget
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow


class DocsisPie2014(QueueManagement):
    """DOCSIS-PIE before it foresaw the wait from its token bucket (000, section 6).

    Its law, its burst allowance and its de-randomised drops, with the delay from the departure rate
    that PIE estimates (RFC 8033, section 5.2): what 000 compares in its figures 1 to 6, as far as
    its text tells.
    """

    title: ClassVar[str] = "DOCSIS-PIE of 2014"
    decides: ClassVar[str] = "at the tail (`docsis_pie.p4`), as number 1"
    state: ClassVar[str] = (
        "as numbers 1 and 3: `aqm_*`, and `pie_avg_dq_time`, which egress measures "
        "(`departure_rate.p4`); the controller runs its law"
    )

    without_flow_queues: ClassVar[str] = (
        "it accumulates one probability for the service flow, whichever session a frame is of"
    )

    controlled: ClassVar[bool] = True

    algorithm: Literal["docsis-pie-2014"] = "docsis-pie-2014"
    latency_target: LatencyTarget = Field(
        default=15_000_000, description="Whole milliseconds, 1 ms to 255 ms; 15 ms unless given."
    )

    def pipeline_target(self) -> int | None:
        """See `QueueManagement`."""
        return self.latency_target

    def latency_target_of(self, flow: "ServiceFlow") -> int | None:
        """See `QueueManagement`."""
        return flow.latency_target_us

    def law(self, granted: bool) -> "type[Law] | None":
        """See `QueueManagement`."""
        from docsis_control.law.docsis_pie_law import DocsisPie2014Law

        del granted
        return DocsisPie2014Law


MODEL: Final = DocsisPie2014

PRESETS: Final[Mapping[Preset, Described]] = {
    # 000, sections 4.5 and 6.
    Preset.DOCSIS_PIE_2014: Described(
        DocsisPie2014.model_validate({"latency_target": "15 ms"}),
        label="DOCSIS-PIE of 2014, 15 ms",
        colour="green",
        line=":",
        what="DOCSIS-PIE before it foresaw the wait from its token bucket: its law and drops, with "
        "the departure rate of `pie`",
        parameters="latency target 15 ms",
        source="White 2014, 4.5 and 6; RFC 8033, 5.2",
    ),
}
"""The presets by name."""
