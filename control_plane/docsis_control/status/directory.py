# SPDX-License-Identifier: Apache-2.0
"""Which service flows there are, whose, and where: what the views go by.

The views ask for modems and their service flows, and never how they came to be:
a deployment of one modem with a flow in each direction is one source of them.
"""

from dataclasses import dataclass

from docsis_control.provisioning import PRIMARY_SERVICE_FLOW, Deployment, Role, ServiceFlow


@dataclass(frozen=True)
class FlowPlace:
    """A service flow and the device that queues it.

    Attributes:
        sfid: Unique in the deployment, over both directions, as a CMTS gives them.
        name: For people.
        device: Name of the device.
        flow: As that device is provisioned with it.
    """

    sfid: int
    name: str
    device: str
    flow: ServiceFlow

    @property
    def primary(self) -> bool:
        """Whether it takes what no classifier takes."""
        return self.flow.index == PRIMARY_SERVICE_FLOW


@dataclass(frozen=True)
class ModemPlace:
    """A modem and its service flows, by SFID."""

    name: str
    service_flows: tuple[FlowPlace, ...]


def modems(deployment: Deployment) -> tuple[ModemPlace, ...]:
    """The modems of a deployment: its one, with the CMTS's flows downstream as its own."""
    plans = (deployment.device(Role.CABLE_MODEM), deployment.device(Role.CMTS))
    flows = [(plan.name, flow) for plan in plans for flow in plan.service_flows]
    places = (
        FlowPlace(sfid, f"primary {flow.direction}", device, flow)
        for sfid, (device, flow) in enumerate(flows, 1)
    )
    return (ModemPlace(plans[0].name, tuple(places)),)
