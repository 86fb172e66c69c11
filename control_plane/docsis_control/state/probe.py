# SPDX-License-Identifier: Apache-2.0
"""Finds out how a device's state can be reached."""

from collections.abc import Sequence

from docsis_control.p4rt.entities import register_entity
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.p4rt.primary import Primary
from docsis_control.plan import ServiceFlow
from docsis_control.state.access import Clock, StateAccess
from docsis_control.state.control_header import ControlHeader
from docsis_control.state.packets import PacketAccess
from docsis_control.state.registers import RegisterAccess


async def probe_state_access(
    connection: Primary,
    pipeline: Pipeline,
    control: ControlHeader,
    clock: Clock,
    service_flows: Sequence[ServiceFlow],
) -> StateAccess:
    """Registers where the target's P4Runtime has them, the control header elsewhere.

    Raises:
        ConnectionLost: The device went away.
        P4RuntimeError: It refused a register for another reason than not having any.
    """
    try:
        await connection.read([register_entity(pipeline, "controller_heartbeat", 0)])
    except P4RuntimeError as error:
        if not error.unimplemented:
            raise
        return PacketAccess(control, clock, service_flows)
    return RegisterAccess(connection, pipeline, clock, service_flows)
