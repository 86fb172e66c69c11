# SPDX-License-Identifier: Apache-2.0
"""The pipeline's counters by service flow, and its classifiers, in one Read."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, NamedTuple

from finsy.proto import p4r

from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.pipeline import Pipeline, PipelineError

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

CLASSIFIER_TABLE: Final = "FrameIngress.classifier.classifier"
PRIMARY_TABLE: Final = "FrameIngress.classifier.primary"

MODEM_FIELD: Final = "modem"
"""Of both tables' keys; the service flow tells it as well."""

_TIMEOUT: Final = 1.0
"""Seconds, as for the control loop's reads."""


class Count(NamedTuple):
    """A counter's value."""

    packets: int
    octets: int


@dataclass(frozen=True)
class ClassifierEntry:
    """An entry of the classifier table, or what becomes of frames that no entry takes.

    Attributes:
        service_flow: Index of the one it selects; 0 is none.
        priority: P4Runtime's; None where the service flow is the primary one.
        match: Conditions in words, by field.
        matched: Frames it took; None where the target does not tell.
    """

    service_flow: int
    priority: int | None
    match: Mapping[str, str]
    matched: Count | None


@dataclass(frozen=True)
class CounterReadings:
    """What a device counted.

    Attributes:
        flows: By index of the service flow, 0 for none, then by name of the counter.
        classifiers: From the highest priority to the primary service flows.
    """

    flows: Mapping[int, Mapping[str, Count]]
    classifiers: tuple[ClassifierEntry, ...]


class CounterAccess:
    """Reads the counters of some service flows, and all classifiers.

    The request is built once: it is the same bytes every time.
    """

    def __init__(
        self, connection: Connection, pipeline: Pipeline, service_flows: Sequence[int]
    ) -> None:
        """Args: the device, its program, and the indexes of its service flows.

        Raises:
            PipelineError: The program lacks a counter or the table.
        """
        self._connection = connection
        self._flows = (0, *service_flows)
        ids = {counter.preamble.name: counter.preamble.id for counter in pipeline.p4info.counters}
        try:
            self._names = {ids[name]: name for name in SERVICE_FLOW_COUNTERS}
            self._table = pipeline.schema.tables[CLASSIFIER_TABLE]
            self._primary = pipeline.schema.tables[PRIMARY_TABLE]
        except KeyError as error:
            raise PipelineError(f'the program "{pipeline.name}" has no {error.args[0]}') from None
        # Built when it is first needed: a change of one service flow does not wait for it.
        self._request: bytes | None = None

    def _build(self) -> bytes:
        request: Any = p4r.ReadRequest(device_id=self._connection.device_id)
        for counter_id in self._names:
            for flow in self._flows:
                entry = request.entities.add().counter_entry
                entry.counter_id = counter_id
                entry.index.index = flow
        for table in (self._table, self._primary):
            entry = request.entities.add().table_entry
            entry.table_id = table.id
            entry.counter_data.SetInParent()
        return bytes(request.SerializeToString())

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
        await self._connection.write(updates)

    async def read(self) -> CounterReadings:
        """Reads them.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused.
        """
        if self._request is None:
            self._request = await asyncio.to_thread(self._build)
        answers = await self._connection.read_raw(self._request, _TIMEOUT)
        # Thousands of counters take longer to look through than the control loop can wait.
        return await asyncio.to_thread(self._parse, answers)

    def _parse(self, answers: Sequence[bytes]) -> CounterReadings:
        flows = {flow: dict.fromkeys(SERVICE_FLOW_COUNTERS, Count(0, 0)) for flow in self._flows}
        classifiers = []
        primary: dict[int, Count | None] = {}
        for raw in answers:
            for entity in p4r.ReadResponse.FromString(raw).entities:
                if entity.HasField("counter_entry"):
                    entry = entity.counter_entry
                    flows[entry.index.index][self._names[entry.counter_id]] = _count(entry.data)
                elif entity.HasField("table_entry"):
                    entry = entity.table_entry
                    if entry.table_id == self._table.id:
                        classifiers.append(self._classifier(entry))
                    else:
                        flow, matched = _service_flow(entry), _matched(entry)
                        primary[flow] = _sum(primary.get(flow), matched)
        classifiers.sort(key=lambda entry: entry.priority or 0, reverse=True)
        rest = (ClassifierEntry(flow, None, {}, primary[flow]) for flow in sorted(primary))
        return CounterReadings(flows, (*classifiers, *rest))

    def _classifier(self, entry: Any) -> ClassifierEntry:
        conditions = (self._condition(field) for field in entry.match)
        return ClassifierEntry(
            service_flow=_service_flow(entry),
            priority=entry.priority,
            match={name: words for name, words in conditions if name != MODEM_FIELD},
            matched=_matched(entry),
        )

    def _condition(self, field: Any) -> tuple[str, str]:
        known = self._table.match_fields.get(field.field_id)
        name = known.alias if known is not None else f"field {field.field_id}"
        width = known.bitwidth if known is not None else 0
        if field.HasField("range"):
            low, high = (int.from_bytes(end, "big") for end in (field.range.low, field.range.high))
            return name, str(low) if low == high else f"{low}-{high}"
        if field.HasField("ternary"):
            value = int.from_bytes(field.ternary.value, "big")
            mask = int.from_bytes(field.ternary.mask, "big")
            if mask == (1 << width) - 1:
                return name, _number(value, width)
            if width in _NOTATIONS:
                return name, f"{_number(value, width)}&{_number(mask, width)}"
            return name, f"{value:#x}&{mask:#x}"
        return name, _number(int.from_bytes(field.exact.value, "big"), width)


_NOTATIONS: Final[Mapping[int, Callable[[int], str]]] = {
    32: lambda value: str(IPv4Address(value)),
    48: lambda value: value.to_bytes(6, "big").hex(":"),
    128: lambda value: str(IPv6Address(value)),
}
"""Addresses, by their width in bits."""


def _number(value: int, width: int) -> str:
    """As people write it: addresses by their notation, small numbers in decimal."""
    notation = _NOTATIONS.get(width)
    if notation is not None:
        return notation(value)
    return str(value) if width <= 12 else f"{value:#x}"


def _service_flow(entry: Any) -> int:
    """The one parameter that the actions of both tables' entries have."""
    params = entry.action.action.params
    return int.from_bytes(params[0].value, "big") if params else 0


def _matched(entry: Any) -> Count | None:
    return _count(entry.counter_data) if entry.HasField("counter_data") else None


def _sum(one: Count | None, other: Count | None) -> Count | None:
    """A service flow may be the primary one of more than one modem."""
    if one is None or other is None:
        return one or other
    return Count(one.packets + other.packets, one.octets + other.octets)


def _count(data: Any) -> Count:
    return Count(data.packet_count, data.byte_count)
