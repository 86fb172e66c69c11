# SPDX-License-Identifier: Apache-2.0
"""Which service flows there are, whose, and where: what the views go by."""

from dataclasses import dataclass

from docsis_control.plan import Deployment, ServiceFlow


@dataclass(frozen=True)
class FlowPlace:
    """A service flow and the device that queues it.

    Attributes:
        device: Name of the device.
        flow: As that device is provisioned with it.
    """

    device: str
    flow: ServiceFlow

    @property
    def name(self) -> str:
        """For people."""
        flow = self.flow
        label = flow.class_name or ("primary" if flow.primary else str(flow.reference))
        return f"{label} {flow.direction}"


@dataclass(frozen=True)
class ModemPlace:
    """A modem and its service flows, by SFID."""

    name: str
    service_flows: tuple[FlowPlace, ...]


def modems(deployment: Deployment) -> tuple[ModemPlace, ...]:
    """The modems of a deployment, with the CMTS's flows for each as its own."""
    by_modem: dict[int, list[FlowPlace]] = {modem.number: [] for modem in deployment.modems}
    for plan in deployment.devices:
        for flow in plan.service_flows:
            # What is flooded to all modems belongs to none.
            if flow.modem in by_modem:
                by_modem[flow.modem].append(FlowPlace(plan.name, flow))
    return tuple(
        ModemPlace(
            modem.name,
            tuple(sorted(by_modem[modem.number], key=lambda place: place.flow.sfid)),
        )
        for modem in deployment.modems
    )
