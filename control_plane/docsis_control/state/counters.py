# SPDX-License-Identifier: Apache-2.0
"""The pipeline's counters: by service flow, and by classifier."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from finsy.proto import p4r

from docsis_control.classification import CLASSIFIER_TABLE
from docsis_control.lengths import counted_bytes
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import understanding
from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.priority import paced

SERVICE_FLOW_COUNTERS: Final = (
    "sf_received",
    "sf_forwarded",
    "sf_flooded",
    "sf_drop_aqm",
    "sf_drop_buffer_full",
    "sf_drop_policed",
    "sf_drop_no_classifier",
    "sf_drop_malformed",
    "sf_drop_unroutable",
    "sf_controller_silent",
)
"""Counters by service flow; docs/p4-contract.md."""

RESYNCHRONIZED: Final = "sf_resynchronized"
"""Counts how often a service flow's books were made right after frames were lost between ingress
and egress: a counter of events, not of frames."""

PRIMARY_TABLE: Final = "FrameIngress.classifier.primary"

MODEM_FIELD: Final = "modem"
"""The key field of both tables that holds the modem."""

_FLOWS_A_READ: Final = 64
"""Service flows whose counters are asked for at once: a switch that answers for thousands in one
go would forward nothing meanwhile, and let the control loop's Read wait."""

_TIMEOUT: Final = 1.0
"""Seconds, as for the control loop's reads."""


class Count(NamedTuple):
    """A counter's value, as DOCSIS counts: each frame with its FCS, and at least 64 bytes."""

    packets: int
    octets: int


def counted(data: Any) -> Count:
    """The count in a p4.v1.CounterData, with the FCS, which v1model's own counters leave out."""
    return Count(data.packet_count, counted_bytes(data.byte_count, data.packet_count))


@dataclass(frozen=True)
class CounterReadings:
    """A device's counters.

    Attributes:
        flows: Counts by the service flow's index, 0 for none, then by name of the counter. Those of
            one service flow are of one moment.
        classifiers: Frames that a classifier took, by its modem's number and the P4Runtime
            priority that its entries share; None where the target does not tell.
        primary: Frames that no classifier took, by the modem's number; None as above.
    """

    flows: Mapping[int, Mapping[str, Count]]
    classifiers: Mapping[tuple[int, int], Count | None]
    primary: Mapping[int, Count | None]


class CounterAccess:
    """Reads the counters of some service flows, and all classifiers.

    The requests are built once, they are the same bytes every time.
    """

    def __init__(self, device: P4Device, pipeline: Pipeline, service_flows: Sequence[int]) -> None:
        """Args: the device, its program, and the indexes of its service flows.

        Raises:
            PipelineError: The program lacks a counter or the table.
        """
        self._device = device
        self._flows = (0, *service_flows)
        ids = {counter.preamble.name: counter.preamble.id for counter in pipeline.p4info.counters}
        try:
            self._names = {ids[name]: name for name in (*SERVICE_FLOW_COUNTERS, RESYNCHRONIZED)}
            self._table = pipeline.schema.tables[CLASSIFIER_TABLE]
            self._primary = pipeline.schema.tables[PRIMARY_TABLE]
        except KeyError as error:
            raise PipelineError(f'the program "{pipeline.name}" has no {error.args[0]}') from None
        self._modem_of_classifier = self._modem_field(self._table)
        self._modem_of_primary = self._modem_field(self._primary)
        # Built when they are first needed: a change of one service flow does not wait for them.
        self._requests: list[bytes] | None = None

    @staticmethod
    def _modem_field(table: Any) -> int:
        """Its id in the table's keys."""
        return next(int(field.id) for field in table.match_fields if field.alias == MODEM_FIELD)

    def _build(self) -> Iterator[Any]:
        for first in range(0, len(self._flows), _FLOWS_A_READ):
            request: Any = p4r.ReadRequest(device_id=self._device.device_id)
            for counter_id in self._names:
                for flow in self._flows[first : first + _FLOWS_A_READ]:
                    entry = request.entities.add().counter_entry
                    entry.counter_id = counter_id
                    entry.index.index = flow
            yield request
        request = p4r.ReadRequest(device_id=self._device.device_id)
        for table in (self._table, self._primary):
            entry = request.entities.add().table_entry
            entry.table_id = table.id
            entry.counter_data.SetInParent()
        yield request

    async def reset(self, service_flows: Iterable[int]) -> None:
        """Sets the counters of service flows to 0, for others that take their indexes.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused.
        """
        updates = []
        for flow in service_flows:
            for counter_id in self._names:
                update = p4r.Update(type=p4r.Update.MODIFY)
                update.entity.counter_entry.counter_id = counter_id
                update.entity.counter_entry.index.index = flow
                update.entity.counter_entry.data.SetInParent()
                updates.append(update)
        await self._device.write(updates)

    async def read(self) -> CounterReadings:
        """Reads them.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused.
        """
        if self._requests is None:
            self._requests = await asyncio.to_thread(
                lambda: [bytes(request.SerializeToString()) for request in self._build()]
            )
        answers: list[bytes] = []
        for request in self._requests:
            answers += await self._device.read_raw(request, _TIMEOUT)
        # Thousands of counters take longer to look through than the control loop can wait.
        with understanding(self._device.place):
            return await asyncio.to_thread(self._parse, answers)

    def _parse(self, answers: Sequence[bytes]) -> CounterReadings:
        flows = {flow: dict.fromkeys(self._names.values(), _NOTHING) for flow in self._flows}
        classifiers: dict[tuple[int, int], Count | None] = {}
        primary: dict[int, Count | None] = {}
        for raw in answers:
            for entity in paced(p4r.ReadResponse.FromString(raw).entities):
                if entity.HasField("counter_entry"):
                    entry = entity.counter_entry
                    flows[entry.index.index][self._names[entry.counter_id]] = counted(entry.data)
                elif entity.HasField("table_entry"):
                    entry = entity.table_entry
                    matched = counted(entry.counter_data) if _tells(entry) else None
                    if entry.table_id == self._table.id:
                        key = (_exact(entry, self._modem_of_classifier), entry.priority)
                        classifiers[key] = _sum(classifiers.get(key, _NOTHING), matched)
                    else:
                        primary[_exact(entry, self._modem_of_primary)] = matched
        return CounterReadings(flows, classifiers, primary)


_NOTHING: Final = Count(0, 0)


def _exact(entry: Any, field_id: int) -> int:
    """The value of an exact field of an entry's key; 0 for one without it, as a default entry."""
    for field in entry.match:
        if field.field_id == field_id:
            return int.from_bytes(field.exact.value, "big")
    return 0


def _tells(entry: Any) -> bool:
    return bool(entry.HasField("counter_data"))


def _sum(one: Count | None, other: Count | None) -> Count | None:
    """A classifier may have several entries."""
    if one is None or other is None:
        return None
    return Count(one.packets + other.packets, one.octets + other.octets)
