# SPDX-License-Identifier: Apache-2.0
"""The rates of each service flow on a channel, beside those that it is configured to get. Pure.

Rates are of Ethernet frames to the end of their CRC, as DOCSIS counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docsis_experiments.traffic.service_flow_load import Load, LoadPlan

FORWARDED: Final = "sf_forwarded"
"""The pipeline's counter, which is the second measurement."""


@dataclass(frozen=True)
class ServiceFlowShare:
    """The share that a service flow got.

    Attributes:
        load: What went into it.
        channel: bit/s that all of them share.
        received: At the receiver, bit/s.
        forwarded: By the pipeline's counter, bit/s.
    """

    load: Load
    channel: float
    received: float
    forwarded: float

    @property
    def name(self) -> str:
        """Modem and Service Flow Reference, for people."""
        return f"{self.load.flow.modem_name}, {self.load.flow.reference}"

    @property
    def received_off_percent(self) -> float:
        """How far it is from the configured share, of that; of the channel where that is 0."""
        return self._off(self.received)

    @property
    def forwarded_off_percent(self) -> float:
        """The same of the pipeline's count."""
        return self._off(self.forwarded)

    @property
    def farthest_percent(self) -> float:
        """How far the count that is farther off is from its share, without its sign."""
        return max(abs(self.received_off_percent), abs(self.forwarded_off_percent))

    def _off(self, rate: float) -> float:
        configured = self.load.configured
        return 100 * (rate - configured) / (configured or self.channel)


@dataclass(frozen=True)
class Rates:
    """The rates of a service flow in each of many runs.

    Attributes:
        configured: Its share, Mbit/s.
        received: At the receiver, Mbit/s.
        forwarded: By the pipeline's counter, Mbit/s.
    """

    configured: float
    received: float
    forwarded: float


@dataclass(frozen=True)
class MeasuredShares:
    """The shares of a direction's service flows in their channel over the measured time.

    Attributes:
        plan: What was sent.
        flows: In the plan's order.
    """

    plan: LoadPlan
    flows: tuple[ServiceFlowShare, ...]

    @staticmethod
    def of(
        plan: LoadPlan, received: Mapping[str, float], forwarded: Mapping[int, float]
    ) -> MeasuredShares:
        """From rates in bit/s: received by name of the load, forwarded by index in the pipeline."""
        return MeasuredShares(
            plan,
            tuple(
                ServiceFlowShare(
                    load, plan.channel, received[load.name], forwarded[load.flow.index]
                )
                for load in plan.loads
            ),
        )

    @property
    def rates(self) -> dict[str, Rates]:
        """By the names of the service flows."""
        return {
            flow.name: Rates(flow.load.configured / 1e6, flow.received / 1e6, flow.forwarded / 1e6)
            for flow in self.flows
        }
