# SPDX-License-Identifier: Apache-2.0
"""CoDel-DT (000, section 4.3): CoDel at the tail, of a predicted wait."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from docsis_control.queue_managers.management import Described, MeasuredAs
from docsis_control.queue_managers.managers.codel import AnyCodel
from docsis_control.queue_managers.names import Preset

if TYPE_CHECKING:
    from docsis_control.law.law import Law

CONTROL: Final = "FrameIngress.codel_dt"
"""Its control, with its tables and registers."""


class CodelDt(AnyCodel):
    """CoDel that drops at the tail, by the time a frame is going to wait (000, section 4.3)."""

    title: ClassVar[str] = "CoDel-DT (White 2014, 4.3)"
    decides: ClassVar[str] = (
        "at the tail (`codel.p4`), of the delay that PIE's departure rate predicts"
    )
    state: ClassVar[str] = "table and registers `FrameIngress.codel_dt`; `pie_*`"

    without_flow_queues: ClassVar[str] = (
        "it tells the wait from the service flow's backlog and the rate at which all of it leaves, "
        "as if it were one queue"
    )

    control: ClassVar[str] = CONTROL

    algorithm: Literal["codel-dt"] = "codel-dt"

    def measured_as(self, buffer_size: int) -> MeasuredAs:
        """See `QueueManagement`; a few frames are too short a queue to measure the departure rate.

        DQ_THRESHOLD bytes leave in a millisecond; pie_avg_dq_time counts 1/256 us.
        """
        del buffer_size
        return MeasuredAs(self, {"pie_avg_dq_time": 1_000 * 256})

    def law(self, granted: bool) -> "type[Law] | None":
        """See `QueueManagement`."""
        from docsis_control.law.pie import Departures

        del granted
        return Departures


MODEL: Final = CodelDt

PRESETS: Final[Mapping[Preset, Described]] = {
    # 000, section 4.3.
    Preset.CODEL_DT: Described(
        CodelDt.model_validate({"target": "20 ms", "interval": "150 ms"}),
        label="CoDel-DT, 20/150 ms",
        colour="purple",
        line=":",
        what="CoDel at the tail, of a predicted wait",
        parameters="target 20 ms, interval 150 ms",
        source="White 2014, 4.3",
    ),
}
"""The presets by name."""
