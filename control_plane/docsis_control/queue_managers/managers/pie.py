# SPDX-License-Identifier: Apache-2.0
"""PIE (RFC 8033), in one queue or scaled by the depth of many."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field, field_validator

from docsis_control.config.units import Duration
from docsis_control.queue_managers.bounds import CONTROL_INTERVAL, time, update_interval
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow


class AnyPie(QueueManagement):
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

    def pipeline_target(self) -> int | None:
        """See `QueueManagement`."""
        return self.target

    def latency_target_of(self, flow: "ServiceFlow") -> int | None:
        """See `QueueManagement`."""
        return flow.latency_target_us


class Pie(AnyPie):
    """PIE (RFC 8033) with the dequeue rate estimated (section 5.2)."""

    title: ClassVar[str] = "PIE (RFC 8033)"
    decides: ClassVar[str] = "at the tail (`pie.p4`), each frame for itself"
    state: ClassVar[str] = (
        "`aqm_drop_prob`, `aqm_qdelay_old`, `aqm_burst_allowance`, `latency_target`, "
        "`controller_timeout`; `pie_*` (`departure_rate.p4`); the controller runs its law"
    )

    algorithm: Literal["pie"] = "pie"

    def law(self, granted: bool) -> "type[Law] | None":
        """See `QueueManagement`."""
        from docsis_control.law.pie import PieLaw

        del granted
        return PieLaw


MODEL: Final = Pie

PRESETS: Final[Mapping[Preset, Described]] = {
    # RFC 8033, section 5.1; the controller's interval is 16 ms, as 002 has it.
    Preset.PIE: Described(
        Pie.model_validate(
            {
                "target": "15 ms",
                "update_interval": "16 ms",
                "max_burst": "150 ms",
                "alpha": 0.125,
                "beta": 1.25,
            }
        ),
        label="PIE, 15 ms",
        colour="sky",
        line="-",
        what="PIE",
        parameters="target 15 ms, update 16 ms, burst 150 ms, alpha 0.125, beta 1.25",
        source="RFC 8033; White 2014, 4.5",
    ),
    # 000, section 4.6.
    Preset.SFQ_PIE: Described(
        Pie.model_validate({"target": "45 ms", "flow_queues": {"queues": 32}}),
        label="SFQ-PIE, 45 ms, 32 queues",
        colour="sky",
        line="--",
        what="PIE, scaled by own queue over longest queue",
        parameters="target 45 ms, 32 queues",
        source="White 2014, 4.6",
    ),
}
"""The presets by name."""
