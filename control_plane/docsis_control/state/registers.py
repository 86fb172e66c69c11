# SPDX-License-Identifier: Apache-2.0
"""State access by P4Runtime RegisterEntry: one Read and one Write an interval."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from finsy.proto import p4r

from docsis_control.http2 import Broken, Calls, Failed
from docsis_control.law.readings import Readings, Settings
from docsis_control.numbers import SERVICE_FLOWS
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import bitstring, register_entity, register_id
from docsis_control.p4rt.errors import ConnectionLost, explain
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import ServiceFlow
from docsis_control.state.access import BucketState, needs
from docsis_control.state.control_header import SwitchClock

_FIELDS: Final = {
    "dequeued_bytes": "sf_dequeued_bytes",
    "enqueued_bytes": "sf_enqueued_bytes",
    "msr_tokens": "msr_tokens",
    "msr_updated": "msr_updated",
    "data_state": "aqm_data_state",
    "avg_dq_time": "pie_avg_dq_time",
    "requests_met": "sf_requests_met",
    "red_avg": "red_avg",
    "arrivals": "pie_002_arrivals",
    "dequeued_packets": "pie_002_dequeued",
    "enqueued_packets": "pie_002_enqueued",
    "departure_rate": "pie_002_departure_rate",
}
"""The register of each field of `Readings`."""

_COUNTERS: Final = ("sf_dequeued_bytes", "sf_enqueued_bytes")
"""Read in this order: see `readings.backlog`."""

_ALWAYS: Final = (*_COUNTERS, "msr_tokens", "msr_updated", "aqm_data_state")
"""Read for every service flow; the others where a law needs them."""

_READ: Final = tuple(_FIELDS.values())

# The pipeline counts on burst_allowance being written before control_state, on
# a target whose batches are not atomic, too.
_WRITTEN: Final = ("aqm_drop_prob", "aqm_qdelay_old", "aqm_burst_allowance", "aqm_control_state")
_CALMED: Final = _WRITTEN[:3]
# The data path's: of a service flow that has an index which another had before it. What the
# managers in the pipeline keep besides, they start afresh by themselves (meta.generation).
_DATA_PATH: Final = (
    "sf_enqueued_bytes",
    "sf_dequeued_bytes",
    "aqm_accu_prob",
    "aqm_data_state",
    # A law may read them before the first frame has started them afresh.
    "pie_avg_dq_time",
    "red_avg",
    # Packets that the last one with this index lost are none of this one's.
    "pie_002_dequeued",
    "pie_002_enqueued",
)
# By sub-queue: likewise.
_SUB_QUEUE: Final = ("queue_enqueued_bytes", "queue_dequeued_bytes", "queue_owner")
_HEARTBEAT: Final = "controller_heartbeat"

TICK_TIMEOUT: Final = 1.0
"""Seconds that a Read or Write of the control loop may take before the switch counts as gone."""


class _Device:
    """What all accesses to one device share.

    Pieces of the requests by register and service flow are made once for all that follow.

    A request of thousands of cells is put together of their bytes; to make each again
    would take longer than a change of one service flow may.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._reads: dict[tuple[str, int], bytes] = {}
        self._updates: dict[tuple[str, int], Any] = {}
        # What the device has in `_WRITTEN`, by index, as far as is known; -1 is unknown.
        self.written: npt.NDArray[np.int64] = np.full((len(_WRITTEN), SERVICE_FLOWS + 1), -1)

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

    Attributes:
        read_request: A serialized ReadRequest of all registers.
    """

    name = "registers"

    def __init__(
        self,
        connection: Connection,
        pipeline: Pipeline,
        clock: SwitchClock,
        service_flows: Sequence[ServiceFlow],
        device: _Device | None = None,
    ) -> None:
        """Args: the device, and its service flows in order."""
        self._connection = connection
        self._pipeline = pipeline
        self._clock = clock
        self._flows = tuple(service_flows)
        self._order = tuple(flow.index for flow in service_flows)
        self._indexes = np.array(self._order, np.intp)
        self._device = device or _Device(pipeline)
        # Next to each other, so that as little as possible passes in between.
        cells = [(name, index) for index in self._order for name in _COUNTERS]
        cells += [(name, index) for name in _ALWAYS[len(_COUNTERS) :] for index in self._order]
        cells += [(_FIELDS[field], flow.index) for flow in self._flows for field in needs(flow)]
        head = p4r.ReadRequest(device_id=connection.device_id).SerializeToString()
        self.read_request = head + b"".join(self._device.read(*cell) for cell in cells)
        self._cells = len(cells)
        self._rows = {register_id(pipeline, name): row for row, name in enumerate(_READ)}
        self._columns = {index: column for column, index in enumerate(self._order)}
        self._head = p4r.WriteRequest(
            device_id=connection.device_id, election_id=connection.election_id
        )

    def of(self, service_flows: Sequence[ServiceFlow]) -> "RegisterAccess":
        """See `StateAccess`."""
        return RegisterAccess(
            self._connection, self._pipeline, self._clock, service_flows, self._device
        )

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """See `StateAccess`."""
        cells: list[tuple[str, int, int]] = []
        for flow, bucket in zip(self._flows, buckets, strict=True):
            cells += ((name, flow.index, 0) for name in (*_WRITTEN, *_DATA_PATH))
            for given in flow.ranges:
                cells += ((name, queue, 0) for name in _SUB_QUEUE for queue in given)
            updated = self._clock.now() if bucket.updated_us is None else bucket.updated_us
            cells.append(("msr_tokens", flow.index, bucket.tokens))
            cells.append(("msr_updated", flow.index, updated))
        self._device.written[:, self._indexes] = -1
        await self._set(cells)

    async def calm(self) -> None:
        """See `StateAccess`."""
        # The next update writes them, whatever it wrote before.
        self._device.written[: len(_CALMED), self._indexes] = -1
        await self._set([(name, flow.index, 0) for name in _CALMED for flow in self._flows])

    async def clear_queues(self, queues: Sequence[int]) -> None:
        """See `StateAccess`."""
        await self._set([(name, queue, 0) for name in _SUB_QUEUE for queue in queues])

    async def _set(self, cells: Sequence[tuple[str, int, int]]) -> None:
        """Writes registers, by name, index and value."""
        await self._connection.write(
            [
                p4r.Update(type=p4r.Update.MODIFY, entity=register_entity(self._pipeline, *cell))
                for cell in cells
            ],
            [f"{name}[{index}]" for name, index, _ in cells],
        )

    async def read(self) -> Readings:
        """See `StateAccess`."""
        before = time.monotonic_ns()
        responses = await self._connection.read_raw(self.read_request, TICK_TIMEOUT)
        return self.readings(responses, (before + time.monotonic_ns()) // 2)

    def in_thread(self, calls: Calls) -> "RegisterTicks":
        """See `StateAccess`."""
        return RegisterTicks(self, calls, self._connection.place)

    def readings(self, responses: Iterable[bytes], monotonic_ns: int) -> Readings:
        """What serialized ReadResponses to `read_request` say, which were true at that time.

        Raises:
            ConnectionLost: They leave out a register.
        """
        values = np.zeros((len(_READ), len(self._flows)), np.int64)
        missing = self._cells
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
                f"{self._connection.place} left out {missing} of {self._cells} registers"
            )
        by_name = dict(zip(_READ, values, strict=True))
        fields = {field: by_name[name] for field, name in _FIELDS.items()}
        return Readings(now_us=self._clock.at(monotonic_ns), **fields)

    def write_request(self, settings: Settings) -> bytes:
        """A serialized WriteRequest of the registers that change, and the heartbeat.

        What the device has is unknown from here on until `written` is told.
        """
        values = _values(settings)
        held = self._device.written
        changed = np.argwhere(values != held[:, self._indexes]).tolist()
        held[:, self._indexes] = -1
        request = p4r.WriteRequest()
        request.CopyFrom(self._head)
        for row, column in changed:
            update = self._device.update(_WRITTEN[row], self._order[column])
            update.entity.register_entry.data.bitstring = bitstring(int(values[row, column]))
            request.updates.append(update)
        heartbeat = self._device.update(_HEARTBEAT, 0)
        heartbeat.entity.register_entry.data.bitstring = bitstring(self._clock.now())
        request.updates.append(heartbeat)
        return bytes(request.SerializeToString())

    def written(self, settings: Settings) -> None:
        """The device has acknowledged a `write_request`."""
        self._device.written[:, self._indexes] = _values(settings)


class RegisterTicks:
    """`RegisterAccess` for the thread of a control loop: see `TickAccess`."""

    def __init__(self, access: RegisterAccess, calls: Calls, place: str) -> None:
        """Args: the access, the thread's connection, and the device in words."""
        self._access = access
        self._calls = calls
        self._place = place

    def read(self) -> Readings:
        """See `TickAccess`."""
        before = time.monotonic_ns()
        responses = self._call("Read", self._access.read_request)
        return self._access.readings(responses, (before + time.monotonic_ns()) // 2)

    def write(self, settings: Settings) -> None:
        """See `TickAccess`. Registers that keep their value are left out."""
        self._call("Write", self._access.write_request(settings))
        self._access.written(settings)

    def _call(self, name: str, request: bytes) -> list[bytes]:
        try:
            return self._calls.call(f"/p4.v1.P4Runtime/{name}", request)
        except Failed as error:
            raise explain(error, f"{name} on {self._place}") from None
        except Broken as error:
            raise ConnectionLost(f"{name} on {self._place}: {error}") from None


def _values(settings: Settings) -> npt.NDArray[np.int64]:
    """In the order of `_WRITTEN`."""
    return np.stack(
        (
            settings.drop_prob,
            settings.qdelay_old,
            settings.burst_allowance,
            settings.control_state,
        )
    )
