# SPDX-License-Identifier: Apache-2.0
"""Sets up the switch as a controller would: the program, its entries, registers, queues."""

from __future__ import annotations

from typing import Any, Final

import finsy
from finsy.proto import p4r

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.law import inverse_square_root
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_labs.errors import SubmissionError
from docsis_labs.p4.program import Program
from docsis_labs.switch_network.model import SwitchNetwork

_CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"
_FRAME: Final = 1522
"""Bytes that a queue may save up at its rate: a longest frame."""


async def provision(
    device: P4Device, schema: finsy.P4Schema, program: Program, network: SwitchNetwork
) -> None:
    """Makes a switch ready for the exercise's hosts.

    Args:
        device: The switch, without a program.
        schema: Schema of the program.
        program: What it is to run.
        network: The exercise's.

    Raises:
        SubmissionError: The program has no such table, action or register, or is refused.
        P4RuntimeError, ConnectionLost: The switch does not take the rest.
    """
    pipeline = Pipeline(program.name, schema.p4info, program.json, schema, 1)
    try:
        await device.set_pipeline(pipeline, 1)
    except P4RuntimeError as error:
        raise SubmissionError(
            "is-refused", f"The switch does not take {program.name}: {error}"
        ) from None
    updates = [
        p4r.Update(type=kind, entity=_encoded(entity, schema, program.name))
        for kind, entity in _entities(network)
    ]
    if updates:
        await device.write(updates)
    request = configuration(network)
    await device.call("configuring queues", _CONFIGURE, request.SerializeToString())


def _entities(network: SwitchNetwork) -> list[tuple[int, Any]]:
    """Kinds of updates, and what they write."""
    insert, modify = p4r.Update.INSERT, p4r.Update.MODIFY
    found: list[tuple[int, Any]] = [
        (
            insert,
            finsy.P4TableEntry(
                entry.table,
                match=finsy.P4TableMatch(entry.match),
                action=finsy.P4TableAction(entry.action, **entry.params),
            ),
        )
        for entry in network.entries
    ]
    found += [
        (modify, finsy.P4RegisterEntry(one.name, index=one.index, data=one.value))
        for one in network.registers
    ]
    if network.inverse_square_roots is not None:
        control = network.inverse_square_roots
        found += [
            (
                insert,
                finsy.P4TableEntry(
                    f"{control}.inv_sqrt",
                    match=finsy.P4TableMatch(count=f"{first}...{last}"),
                    action=finsy.P4TableAction(f"{control}.set_inverse", inverse_square_root=value),
                    priority=1,
                ),
            )
            for first, last, value in inverse_square_root.ranges()
        ]
    return found


def _encoded(entity: Any, schema: finsy.P4Schema, name: str) -> Any:
    try:
        return entity.encode(schema)
    except (KeyError, ValueError, OverflowError) as error:
        words = error.args[0] if error.args else error
        raise SubmissionError(
            "not-as-asked", f"{name} is not what the exercise asks for: {words}."
        ) from None


def configuration(network: SwitchNetwork) -> Any:
    """Queues, and the delays of hosts' links, as docsis.tm.v1 has them."""
    request = tm.ConfigureRequest(device_id=network.switch.device_id)
    for host in network.hosts:
        half = host.round_trip_time // 2
        request.ports.add(port=host.port, receive_delay_ns=half, transmit_delay_ns=half)
    for queue in network.queues:
        request.service_flows.add(
            queue={"port": queue.port, "queue_id": queue.queue_id},
            max_sustained_rate=queue.rate,
            max_burst=_FRAME,
            queue_limit=queue.limit,
            sub_queues=queue.sub_queues,
        )
    return request
