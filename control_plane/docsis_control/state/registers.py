# SPDX-License-Identifier: Apache-2.0
"""State access by P4Runtime RegisterEntry: one Read and one Write an interval."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import grpc
import numpy as np
import numpy.typing as npt
from finsy.proto import p4r

from docsis_control.http2 import Broken
from docsis_control.law.arrays import Ints
from docsis_control.law.readings import Readings, Settings
from docsis_control.numbers import SERVICE_FLOWS
from docsis_control.p4rt.device import READ, RPC_TIMEOUT, WRITE, CellEntrance, Entrance, P4Device
from docsis_control.p4rt.entities import register_entity, register_id
from docsis_control.p4rt.errors import ConnectionLost, explain, understanding
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.p4rt.register_cells import Block, RegisterCells
from docsis_control.p4rt.register_updates import Updates
from docsis_control.plan import ServiceFlow
from docsis_control.state.access import BucketState, Clock, needs, owns

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
    "granted_bytes": "sf_granted_bytes",
    "acked_req_bytes": "sf_acked_req_bytes",
}
"""The register of each field of `Readings`."""

_ALWAYS: Final = (
    # In this order (see `readings.backlog`), and with as little as possible in between.
    "sf_dequeued_bytes",
    "sf_enqueued_bytes",
    "msr_tokens",
    "msr_updated",
    "aqm_data_state",
)
"""Read for every service flow; the others where a law needs them."""

_READ: Final = tuple(_FIELDS.values())

# The fields of `Settings`, in their order. The pipeline counts on burst_allowance being written
# before control_state, on a target whose batches are not atomic, too.
_WRITTEN: Final = ("aqm_drop_prob", "aqm_qdelay_old", "aqm_burst_allowance", "aqm_control_state")
_CALMED: Final = _WRITTEN[:3]
# The data path's: of a service flow that has an index which another had before it. What the
# managers in the pipeline keep besides, they start afresh by themselves (meta.generation).
_DATA_PATH: Final = (
    "sf_enqueued_bytes",
    "sf_dequeued_bytes",
    "sf_lost_bytes",
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
_SUB_QUEUE: Final = (
    "queue_enqueued_bytes",
    "queue_dequeued_bytes",
    "queue_owner",
    # They hold while what was shared is queued, by the count of bytes, which starts anew.
    "queue_shared_until",
    "queue_sharers",
)
_HEARTBEAT: Final = "controller_heartbeat"

TICK_TIMEOUT: Final = 1.0
"""Seconds that a Read or Write of the control loop may take before the switch counts as gone."""


class _Known:
    """The state that all accesses to one device share.

    Attributes:
        heartbeat: The register of the controller's heartbeat, to be written.
        written: The device's values of `_WRITTEN`, by index; -1 is unknown.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._cells = RegisterCells(pipeline)
        self.heartbeat = self._cells.updates([(_HEARTBEAT, 0)])
        self.written: Ints = np.full((len(_WRITTEN), SERVICE_FLOWS + 1), -1)
        # Made once: a change of one service flow may not take as long as it takes to make those of
        # hundreds.
        self._blocks: dict[tuple[int, tuple[str, ...]], Block] = {}
        self._updates: dict[int, Updates] = {}

    def block(self, flow: ServiceFlow) -> Block:
        """The registers that are read of a service flow, in the order of `_registers`."""
        names = _registers(needs(flow), owns(flow))
        key = flow.index, names
        found = self._blocks.get(key)
        if found is None:
            found = self._cells.block([(name, flow.index) for name in names])
            self._blocks[key] = found
        return found

    def updates(self, flow: ServiceFlow) -> Updates:
        """The updates that write a service flow's registers, in the order of `_WRITTEN`."""
        found = self._updates.get(flow.index)
        if found is None:
            found = self._cells.updates([(name, flow.index) for name in _WRITTEN])
            self._updates[flow.index] = found
        return found


@functools.cache
def _registers(needed: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """The registers that are read of a service flow whose law needs these fields and registers."""
    return (*_ALWAYS, *(_FIELDS[field] for field in needed), *own)


@functools.cache
def _rows(registers: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    """The places of registers among these names."""
    return tuple(names.index(name) for name in registers)


def _indexes(flows: Sequence[ServiceFlow]) -> npt.NDArray[np.intp] | slice:
    """The flows' indexes; as a slice, which costs less, where one follows the other."""
    indexes = np.array([flow.index for flow in flows], np.intp)
    if len(indexes) and (np.diff(indexes) == 1).all():
        return slice(int(indexes[0]), int(indexes[-1]) + 1)
    return indexes


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
        device: P4Device,
        pipeline: Pipeline,
        clock: Clock,
        service_flows: Sequence[ServiceFlow],
        known: _Known | None = None,
    ) -> None:
        """Args: the device, its program and clock, and its service flows in order."""
        self._device = device
        self._pipeline = pipeline
        self._clock = clock
        self._flows = tuple(service_flows)
        self._indexes = _indexes(self._flows)
        self._known = known or _Known(pipeline)
        self._block = Block.joined([self._known.block(flow) for flow in self._flows])
        updates = [*(self._known.updates(flow) for flow in self._flows), self._known.heartbeat]
        # All flows of one register, and then those of the next; at last the heartbeat.
        by_flow = np.arange(len(_WRITTEN) * len(self._flows)).reshape(-1, len(_WRITTEN))
        self._updates = Updates.joined(updates).of(np.append(by_flow.T, by_flow.size))
        head = p4r.ReadRequest(device_id=device.device_id).SerializeToString()
        self.read_request = bytes(head) + self._block.request
        self._own = tuple(sorted({name for flow in self._flows for name in owns(flow)}))
        self._names = (*_READ, *self._own)
        # The place of each cell's value in an array of these names by service flow.
        rows = [_rows(_registers(needs(flow), owns(flow)), self._names) for flow in self._flows]
        columns = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        all_rows = np.fromiter(itertools.chain.from_iterable(rows), np.intp)
        self._places = all_rows * len(rows) + columns
        self._head = bytes(
            p4r.WriteRequest(
                device_id=device.device_id, election_id=device.election_id
            ).SerializeToString()
        )

    def of(self, service_flows: Sequence[ServiceFlow]) -> "RegisterAccess":
        """See `StateAccess`."""
        return RegisterAccess(self._device, self._pipeline, self._clock, service_flows, self._known)

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """See `StateAccess`."""
        cells: list[tuple[str, int, int]] = []
        for flow, bucket in zip(self._flows, buckets, strict=True):
            cells += ((name, flow.index, 0) for name in (*_WRITTEN, *_DATA_PATH, *owns(flow)))
            for given in flow.ranges:
                cells += ((name, queue, 0) for name in _SUB_QUEUE for queue in given)
            updated = self._clock.now() if bucket.updated_us is None else bucket.updated_us
            cells.append(("msr_tokens", flow.index, bucket.tokens))
            cells.append(("msr_updated", flow.index, updated))
        self._known.written[:, self._indexes] = -1
        await self._set(cells)
        self._known.written[:, self._indexes] = 0

    async def calm(self) -> None:
        """See `StateAccess`."""
        # The next update writes them, whatever it wrote before.
        self._known.written[: len(_CALMED), self._indexes] = -1
        await self._set([(name, flow.index, 0) for name in _CALMED for flow in self._flows])

    async def clear_queues(self, queues: Sequence[int]) -> None:
        """See `StateAccess`."""
        await self._set([(name, queue, 0) for name in _SUB_QUEUE for queue in queues])

    def bucket_updates(self, buckets: Sequence[BucketState]) -> list[tuple[Any, str]]:
        """See `StateAccess`."""
        now = self._clock.now()
        cells: list[tuple[str, int, int]] = []
        for flow, bucket in zip(self._flows, buckets, strict=True):
            # Never later than the switch's own time, before which no bucket can earn.
            updated = now if bucket.updated_us is None else bucket.updated_us
            spent = max(0, now - updated) * flow.burst_rate
            cells.append(("msr_tokens", flow.index, max(0, bucket.tokens - spent)))
            cells.append(("msr_updated", flow.index, updated))
        return self._updates_of(cells)

    async def _set(self, cells: Sequence[tuple[str, int, int]]) -> None:
        """Writes registers, by name, index and value."""
        named = self._updates_of(cells)
        await self._device.write_raw(
            self._head
            + p4r.WriteRequest(updates=[update for update, _ in named]).SerializeToString(),
            RPC_TIMEOUT,
            [name for _, name in named],
        )

    def _updates_of(self, cells: Sequence[tuple[str, int, int]]) -> list[tuple[Any, str]]:
        """The updates that write registers, by name, index and value; each with its name."""
        return [
            (
                p4r.Update(type=p4r.Update.MODIFY, entity=register_entity(self._pipeline, *cell)),
                f"{cell[0]}[{cell[1]}]",
            )
            for cell in cells
        ]

    async def read(self) -> Readings:
        """See `StateAccess`."""
        before = self._clock.now()
        responses = await self._device.read_raw(self.read_request, TICK_TIMEOUT)
        return self.readings(responses, (before + self._clock.now()) // 2)

    def ticks(self, entrance: Entrance) -> "RegisterTicks":
        """See `StateAccess`."""
        return RegisterTicks(self, entrance, self._clock, self._device.place)

    def readings(self, responses: Iterable[bytes], now_us: int) -> Readings:
        """Makes readings of serialized ReadResponses to `read_request`, true at that time.

        Args:
            responses: The answers, in any order and form that P4Runtime allows.
            now_us: On the switch's clock, microseconds.

        Raises:
            ConnectionLost: They are no answers, or leave out a register.
        """
        responses = list(responses)
        cells = self._block.values(responses)
        if cells is None:
            cells = self._parsed(responses)
        return self.readings_of(cells, now_us)

    def readings_of(self, cells: Ints, now_us: int) -> Readings:
        """The same from the values of the cells that `read_request` asks for, in its order."""
        values = np.zeros((len(self._names), len(self._flows)), np.int64)
        values.reshape(-1)[self._places] = cells
        by_name = dict(zip(self._names, values, strict=True))
        fields = {field: by_name[name] for field, name in _FIELDS.items()}
        own = {name: by_name[name] for name in self._own}
        return Readings(now_us=now_us, **fields, own=own)

    def _parsed(self, responses: Iterable[bytes]) -> Ints:
        """The values of the cells, from answers in whatever order and form.

        Raises:
            ConnectionLost: They are no answers, or leave out a register.
        """
        found: dict[tuple[int, int], int] = {}
        with understanding(self._device.place):
            for raw in responses:
                for entity in p4r.ReadResponse.FromString(raw).entities:
                    entry = entity.register_entry
                    value = int.from_bytes(entry.data.bitstring, "big")
                    found[entry.register_id, entry.index.index] = value
        ids = [register_id(self._pipeline, name) for name in self._names]
        asked = [
            (ids[row], self._flows[column].index)
            for row, column in (divmod(place, len(self._flows)) for place in self._places.tolist())
        ]
        missing = len(set(asked) - found.keys())
        if missing:
            raise ConnectionLost(
                f"{self._device.place} left out {missing} of {len(asked)} registers"
            )
        with understanding(self._device.place):
            return np.array([found[cell] for cell in asked], np.int64)

    def write_request(self, settings: Settings, now_us: int) -> bytes:
        """A serialized WriteRequest of the registers that change, and the heartbeat.

        What the device has is unknown from here on until `written` is told.

        Args:
            settings: All of them.
            now_us: The heartbeat: the switch's clock, microseconds.
        """
        values = np.array(settings)
        held = self._known.written[:, self._indexes]
        changed = np.flatnonzero(values != held)
        self._known.written[:, self._indexes] = -1
        return self._head + self._updates.encode(
            np.append(changed, values.size), np.append(values.reshape(-1)[changed], now_us)
        )

    def written(self, settings: Settings) -> None:
        """The device has acknowledged a `write_request`."""
        self._known.written[:, self._indexes] = np.array(settings)


class RegisterTicks:
    """`RegisterAccess` for whoever waits for each answer himself: see `TickAccess`."""

    def __init__(
        self, access: RegisterAccess, entrance: Entrance, clock: Clock, place: str
    ) -> None:
        """Args: the access, the way to the device, its clock, and the device in words."""
        self._access = access
        self._entrance = entrance
        # The values as they are where the device is in this process, else messages.
        self._cells = entrance.cells if isinstance(entrance, CellEntrance) else None
        self._clock = clock
        self._place = place

    def read(self) -> Readings:
        """See `TickAccess`."""
        access, before = self._access, self._clock.now()
        if self._cells is None:
            responses = self._call(READ, access.read_request)
            return access.readings(responses, self._now_since(before))
        with self._in_words(READ):
            column = self._cells(access.read_request)
        return access.readings_of(np.frombuffer(column, np.int64), self._now_since(before))

    def write(self, settings: Settings) -> None:
        """See `TickAccess`. Registers that keep their value are left out."""
        self._call(WRITE, self._access.write_request(settings, self._clock.now()))
        self._access.written(settings)

    def _now_since(self, before: int) -> int:
        """Returns the time of a device's answer to a question that was asked then."""
        return (before + self._clock.now()) // 2

    def _call(self, method: str, request: bytes) -> list[bytes]:
        with self._in_words(method):
            return self._entrance.call(method, request)

    @contextmanager
    def _in_words(self, method: str) -> Iterator[None]:
        try:
            yield
        except (grpc.RpcError, Broken) as error:
            doing = f"{method.rpartition('/')[2]} on {self._place}"
            if isinstance(error, Broken):
                raise ConnectionLost(f"{doing}: {error}") from None
            raise explain(error, doing) from None
