# SPDX-License-Identifier: Apache-2.0
"""Reads one switch: registers and counters of service flows, classifiers, its clock, its channels.

The page reads switches itself, beside the controller, so that it costs the control loop nothing but
what the switch's thread takes for an answer. It is no primary controller and changes nothing.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import grpc
import numpy as np
from finsy.proto import p4r

from docsis_control.classification import CLASSIFIER_TABLE
from docsis_control.http2 import Broken, Calls
from docsis_control.law.arrays import Ints
from docsis_control.mac import channel_state
from docsis_control.p4rt.device import READ
from docsis_control.p4rt.entities import register_id
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.p4rt.register_cells import RegisterCells
from docsis_control.state.counters import PRIMARY_TABLE, Count, counted
from docsis_control.status.model import Device
from docsis_control.tm import lateness

CELLS: Final = (
    # In this order (see `docsis_control.law.readings.backlog`).
    "sf_dequeued_bytes",
    "sf_enqueued_bytes",
    "msr_tokens",
    "msr_updated",
    "aqm_data_state",
    "aqm_control_state",
    "aqm_drop_prob",
)
"""Registers of each service flow in detail."""

BOOKS: Final = CELLS[:2]
"""Registers of every service flow, for the summary."""

DROPS: Final = (
    "sf_drop_aqm",
    "sf_drop_buffer_full",
    "sf_drop_policed",
    "sf_drop_no_classifier",
    "sf_drop_malformed",
    "sf_drop_unroutable",
)
"""Counters of a service flow's drops, by reason."""

_SECONDS: Final = 1.0
_MODEM: Final = "modem"
_LARGEST: Final = 2**63 - 1
"""The largest value that `Ints` have room for; no register of the pipeline has more bits."""

_MOST_KEPT: Final = 128
"""Requests that are kept made; a neighbourhood's summary has some ten."""


class NoAnswer(Exception):
    """A switch does not answer, or refused; the message says which and why."""


class NotThere(NoAnswer):
    """A switch does not know what it was asked."""


@dataclass(frozen=True)
class Classified:
    """Frames by classifier of a device: by the modem's number, then by the entries' priority.

    Attributes:
        classifiers: Frames by modem and P4Runtime priority.
        primary: Frames that no classifier took, by modem.
    """

    classifiers: Mapping[tuple[int, int], Count]
    primary: Mapping[int, Count]


class DeviceReader:
    """A switch. One thread calls it; a connection that breaks is made again by the next call."""

    def __init__(self, device: Device) -> None:
        """Args: the device, as the controller's status has it."""
        self.device = device
        self._calls: Calls | None = None
        self._pipeline: Pipeline = load_pipeline(device.role)
        self._cells = RegisterCells(self._pipeline)
        ids = {c.preamble.name: c.preamble.id for c in self._pipeline.p4info.counters}
        self._drops = {ids[name]: column for column, name in enumerate(DROPS)}
        tables = self._pipeline.schema.tables
        self._tables = {int(tables[name].id): name for name in (CLASSIFIER_TABLE, PRIMARY_TABLE)}
        self._modem_fields = {
            int(tables[name].id): next(
                int(field.id) for field in tables[name].match_fields if field.alias == _MODEM
            )
            for name in self._tables.values()
        }
        head = p4r.ReadRequest(device_id=device.device_id).SerializeToString()
        self._head = bytes(head)
        self._blocks: dict[tuple[tuple[str, ...], tuple[int, ...]], Any] = {}
        self._requests: dict[tuple[tuple[int, ...], int], bytes] = {}

    def close(self) -> None:
        """Gives up the connection."""
        if self._calls is not None:
            self._calls.close()
            self._calls = None

    def registers(self, names: tuple[str, ...], flows: tuple[int, ...]) -> tuple[Ints, float]:
        """Cells of registers, and the monotonic time (seconds) at which they were true.

        Args:
            names: Names of the registers.
            flows: Indexes of the service flows.

        Returns:
            An array of shape (registers, flows).

        Raises:
            NoAnswer: See there.
        """
        key = names, flows
        block = self._blocks.get(key)
        if block is None:
            if len(self._blocks) > _MOST_KEPT:
                self._blocks.clear()
            # All registers of a flow together: what belongs together is read together.
            block = self._cells.block([(name, flow) for flow in flows for name in names])
            self._blocks[key] = block
        before = time.monotonic()
        answers = self._call(READ, self._head + block.request)
        now = (before + time.monotonic()) / 2
        values = block.values(answers)
        if values is None:
            values = self._parsed(answers, names, flows)
        return np.asarray(values).reshape(len(flows), len(names)).T, now

    def _parsed(
        self, answers: Sequence[bytes], names: tuple[str, ...], flows: tuple[int, ...]
    ) -> Ints:
        """The values from answers in whatever order and form P4Runtime allows."""
        found: dict[tuple[int, int], int] = {}
        for raw in answers:
            for entity in p4r.ReadResponse.FromString(raw).entities:
                entry = entity.register_entry
                value = int.from_bytes(entry.data.bitstring, "big")
                if value > _LARGEST:
                    raise NoAnswer(
                        f"{self.device.name} has a register of {value.bit_length()} bits"
                    )
                found[entry.register_id, entry.index.index] = value
        ids = [register_id(self._pipeline, name) for name in names]
        asked = [(register, flow) for flow in flows for register in ids]
        missing = len(set(asked) - found.keys())
        if missing:
            raise NoAnswer(f"{self.device.name} left out {missing} of {len(asked)} registers")
        return np.array([found[cell] for cell in asked], np.int64)

    def drops(self, flows: tuple[int, ...], reasons: int = len(DROPS)) -> Ints:
        """Frames dropped, of shape (the first so many reasons of `DROPS`, flows).

        Raises:
            NoAnswer: See there.
        """
        request = self._requests.get((flows, reasons))
        if request is None:
            if len(self._requests) > _MOST_KEPT:
                self._requests.clear()
            message: Any = p4r.ReadRequest(device_id=self.device.device_id)
            for flow in flows:
                for counter, place in self._drops.items():
                    if place < reasons:
                        entry = message.entities.add().counter_entry
                        entry.counter_id = counter
                        entry.index.index = flow
            self._requests[flows, reasons] = request = bytes(message.SerializeToString())
        columns = {flow: column for column, flow in enumerate(flows)}
        found: Ints = np.zeros((reasons, len(flows)), np.int64)
        for raw in self._call(READ, request):
            for entity in p4r.ReadResponse.FromString(raw).entities:
                entry = entity.counter_entry
                column = columns.get(entry.index.index)
                row = self._drops.get(entry.counter_id)
                if column is not None and row is not None:
                    found[row, column] = entry.data.packet_count
        return found

    def classified(self) -> Classified:
        """Reads the counters of all classifiers.

        Raises:
            NoAnswer: See there.
        """
        message: Any = p4r.ReadRequest(device_id=self.device.device_id)
        for table in self._tables:
            entry = message.entities.add().table_entry
            entry.table_id = table
            entry.counter_data.SetInParent()
        classifiers: dict[tuple[int, int], Count] = {}
        primary: dict[int, Count] = {}
        for raw in self._call(READ, bytes(message.SerializeToString())):
            for entity in p4r.ReadResponse.FromString(raw).entities:
                entry = entity.table_entry
                modem = self._modem_of(entry)
                if not entry.HasField("counter_data"):
                    continue
                count = counted(entry.counter_data)
                if self._tables.get(entry.table_id) == CLASSIFIER_TABLE:
                    before = classifiers.get((modem, entry.priority), Count(0, 0))
                    classifiers[modem, entry.priority] = Count(
                        before.packets + count.packets, before.octets + count.octets
                    )
                else:
                    primary[modem] = count
        return Classified(classifiers, primary)

    def _modem_of(self, entry: Any) -> int:
        wanted = self._modem_fields.get(entry.table_id)
        for field in entry.match:
            if field.field_id == wanted:
                return int.from_bytes(field.exact.value, "big")
        return 0

    def clock_us(self) -> int:
        """The switch's clock, microseconds.

        Raises:
            NoAnswer: See there; `NotThere` where the target does not tell.
        """
        request = lateness.request(self.device.device_id)
        answer = self._answer(lateness.METHOD, request)
        return lateness.now_ns(answer) // 1000

    def channels(self, maps: int) -> bytes:
        """A docsis.mac.v1.GetResponse with so many of the last MAPs of each channel.

        Raises:
            NoAnswer: See there; also where the switch has no such channels.
        """
        return self._answer(channel_state.METHOD, channel_state.request(maps))

    def _answer(self, method: str, request: bytes) -> bytes:
        answers = self._call(method, request)
        if len(answers) != 1:
            raise NoAnswer(f"{self.device.name} gave {len(answers)} answers to one {method}")
        return answers[0]

    def _call(self, method: str, request: bytes) -> list[bytes]:
        if self._calls is None:
            self._calls = Calls(self.device.address, _SECONDS)
        try:
            return self._calls.call(method, request)
        except Broken as error:
            self.close()
            raise NoAnswer(f"{self.device.name} does not answer: {error}") from None
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise NotThere(f"{self.device.name} has no {method}") from None
            raise NoAnswer(f"{self.device.name} refused: {error}") from None
