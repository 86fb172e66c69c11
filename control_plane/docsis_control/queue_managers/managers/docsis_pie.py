# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE (RFC 8034), with rate tracking or without."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field

from docsis_control.config.models import LatencyTarget
from docsis_control.queue_managers.management import Described, QueueManagement
from docsis_control.queue_managers.names import Preset

if TYPE_CHECKING:
    from docsis_control.law.law import Law
    from docsis_control.plan import ServiceFlow


class DocsisPie(QueueManagement):
    """DOCSIS-PIE (RFC 8034)."""

    title: ClassVar[str] = "DOCSIS-PIE (RFC 8034)"
    decides: ClassVar[str] = "at the tail (`docsis_pie.p4`), de-randomised"
    state: ClassVar[str] = (
        "`aqm_*`, `latency_target`, `controller_timeout`; the controller runs its law, with "
        "rate tracking (White 2014, appendix A; `sf_requests_met` and what follows it above) "
        "if told to"
    )

    without_flow_queues: ClassVar[str] = (
        "it tells the wait from the service flow's backlog and token bucket, as if it were one "
        "queue (RFC 8034, section 4.2)"
    )

    controlled: ClassVar[bool] = True

    algorithm: Literal["docsis-pie"] = "docsis-pie"
    latency_target: LatencyTarget | None = Field(
        default=None,
        description="Whole milliseconds, 1 ms to 255 ms; unless given, the service flow's own.",
    )
    rate_tracking: bool = Field(
        default=False,
        description="Whether the law measures the rate of grants, or of departures where there is "
        "no request/grant MAC (000, appendix A); RFC 8034 takes the configured rates.",
    )

    def pipeline_target(self) -> int | None:
        """See `QueueManagement`."""
        return self.latency_target

    def latency_target_of(self, flow: "ServiceFlow") -> int | None:
        """See `QueueManagement`."""
        return flow.latency_target_us

    def law(self, granted: bool) -> "type[Law]":
        """See `QueueManagement`."""
        from docsis_control.law import docsis_pie_law

        if not self.rate_tracking:
            return docsis_pie_law.DocsisPieLaw
        if granted:
            return docsis_pie_law.GrantTrackedDocsisPieLaw
        return docsis_pie_law.TrackedDocsisPieLaw


MODEL: Final = DocsisPie

PRESETS: Final[Mapping[Preset, Described]] = {
    # RFC 8034.
    Preset.DOCSIS_PIE: Described(
        DocsisPie(),
        label="DOCSIS-PIE",
        colour="green",
        line="-",
        what="DOCSIS-PIE",
        parameters="the flow's own latency target, 10 ms unless configured",
        source="RFC 8034; White 2014, 7 and 8",
    ),
    # 000, appendix A.
    Preset.DOCSIS_PIE_RATE_TRACKING: Described(
        DocsisPie.model_validate({"rate_tracking": True}),
        label="DOCSIS-PIE, rate tracking",
        colour="green",
        line="--",
        what="DOCSIS-PIE that measures the rate at which frames are granted, or leave where there "
        "is no request/grant MAC",
        parameters="the same",
        source="White 2014, appendix A",
    ),
}
"""The presets by name."""
