# SPDX-License-Identifier: Apache-2.0
"""State access by P4Runtime RegisterEntry: one Read and one Write an interval."""

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from finsy.proto import p4r

from docsis_control.law.service_flows import Readings, Settings
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import bitstring, register_entity, register_id
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.state.access import BucketState
from docsis_control.state.control_header import SwitchClock

_READ: Final = (
    "sf_enqueued_bytes",
    "sf_dequeued_bytes",
    "msr_tokens",
    "msr_updated",
    "aqm_data_state",
)
# The pipeline counts on burst_allowance being written before control_state, on
# a target whose batches are not atomic, too.
_WRITTEN: Final = ("aqm_drop_prob", "aqm_qdelay_old", "aqm_burst_allowance", "aqm_control_state")
_CODEL: Final[tuple[str, ...]] = ()
# The data path's: of a service flow that has an index which another had before it.
_DATA_PATH: Final = ("sf_enqueued_bytes", "sf_dequeued_bytes", "aqm_accu_prob", "aqm_data_state")
_HEARTBEAT: Final = "controller_heartbeat"

_TIMEOUT: Final = 1.0
"""Seconds that a Read or Write of the control loop may take before the switch counts as gone."""


class _Messages:
    """Pieces of the requests by register and service flow, made once for all that follow.

    A request of thousands of cells is put together of their bytes; to make each again
    would take longer than a change of one service flow may.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._reads: dict[tuple[str, int], bytes] = {}
        self._updates: dict[tuple[str, int], Any] = {}

    def read(self, name: str, flow: int) -> bytes:
        """The entity of a p4.v1.ReadRequest, as bytes of the request."""
        found = self._reads.get((name, flow))
        if found is None:
            request = p4r.ReadRequest(entities=[register_entity(self._pipeline, name, flow)])
            found = self._reads[name, flow] = bytes(request.SerializeToString())
        return found

    def update(self, name: str, flow: int) -> Any:
        """The p4.v1.Update, whose value is filled in."""
        found = self._updates.get((name, flow))
        if found is None:
            entity = register_entity(self._pipeline, name, flow, 0)
            found = p4r.Update(type=p4r.Update.MODIFY, entity=entity)
            self._updates[name, flow] = found
        return found


class RegisterAccess:
    """The state of some service flows in P4Runtime registers.

    A Read is the same bytes every time. A Write has the registers whose values
    changed, so that service flows without traffic cost nothing, and the heartbeat.
    """

    name = "registers"

    def __init__(
        self,
        connection: Connection,
        pipeline: Pipeline,
        clock: SwitchClock,
        service_flows: Sequence[int],
        messages: _Messages | None = None,
    ) -> None:
        """Args: the device, and the indexes of its service flows in order."""
        self._connection = connection
        self._pipeline = pipeline
        self._clock = clock
        self._flows = tuple(service_flows)
        self._messages = messages or _Messages(pipeline)
        head = p4r.ReadRequest(device_id=connection.device_id).SerializeToString()
        self._read_request = head + b"".join(
            self._messages.read(name, flow) for name in _READ for flow in self._flows
        )
        self._rows = {register_id(pipeline, name): row for row, name in enumerate(_READ)}
        self._columns = {flow: column for column, flow in enumerate(self._flows)}
        self._head = p4r.WriteRequest(
            device_id=connection.device_id, election_id=connection.election_id
        )
        # What the device has, as far as this controller knows; nothing is -1.
        self._written: npt.NDArray[np.int64] = np.full((len(_WRITTEN), len(self._flows)), -1)

    def of(self, service_flows: Sequence[int]) -> "RegisterAccess":
        """See `StateAccess`."""
        other = RegisterAccess(
            self._connection, self._pipeline, self._clock, service_flows, self._messages
        )
        both = [flow for flow in other._flows if flow in self._columns]
        here = [self._columns[flow] for flow in both]
        other._written[:, [other._columns[flow] for flow in both]] = self._written[:, here]
        return other

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """See `StateAccess`."""
        updates, names = [], []

        def add(name: str, index: int, value: int) -> None:
            entity = register_entity(self._pipeline, name, index, value)
            updates.append(p4r.Update(type=p4r.Update.MODIFY, entity=entity))
            names.append(f"{name}[{index}]")

        for flow, bucket in zip(self._flows, buckets, strict=True):
            for name in (*_WRITTEN, *_DATA_PATH, *_CODEL):
                add(name, flow, 0)
            updated = self._clock.now() if bucket.updated_us is None else bucket.updated_us
            add("msr_tokens", flow, bucket.tokens)
            add("msr_updated", flow, updated)
        await self._connection.write(updates, names)

    async def restart_codel(self) -> None:
        """See `StateAccess`."""
        updates = [
            p4r.Update(
                type=p4r.Update.MODIFY, entity=register_entity(self._pipeline, name, flow, 0)
            )
            for name in _CODEL
            for flow in self._flows
        ]
        await self._connection.write(updates)

    async def read(self) -> Readings:
        """See `StateAccess`."""
        before = time.monotonic_ns()
        responses = await self._connection.read_raw(self._read_request, _TIMEOUT)
        after = time.monotonic_ns()
        values = np.zeros((len(_READ), len(self._flows)), np.int64)
        missing = values.size
        for raw in responses:
            for entity in p4r.ReadResponse.FromString(raw).entities:
                entry = entity.register_entry
                row = self._rows.get(entry.register_id)
                column = self._columns.get(entry.index.index)
                if row is not None and column is not None:
                    values[row, column] = int.from_bytes(entry.data.bitstring, "big")
                    missing -= 1
        if missing:
            raise ConnectionLost(
                f"{self._connection.place} left out {missing} of {values.size} registers"
            )
        return Readings(self._clock.at((before + after) // 2), *values)

    async def write(self, settings: Settings) -> None:
        """See `StateAccess`. Registers that keep their value are left out."""
        values = np.stack(
            (
                settings.drop_prob,
                settings.qdelay_old,
                settings.burst_allowance,
                settings.control_state,
            )
        )
        changed = np.argwhere(values != self._written).tolist()
        # Unknown until the device says that it has them.
        self._written.fill(-1)
        request = p4r.WriteRequest()
        request.CopyFrom(self._head)
        for row, column in changed:
            update = self._messages.update(_WRITTEN[row], self._flows[column])
            update.entity.register_entry.data.bitstring = bitstring(int(values[row, column]))
            request.updates.append(update)
        heartbeat = self._messages.update(_HEARTBEAT, 0)
        heartbeat.entity.register_entry.data.bitstring = bitstring(self._clock.now())
        request.updates.append(heartbeat)
        await self._connection.write_raw(request.SerializeToString(), _TIMEOUT)
        self._written = values
