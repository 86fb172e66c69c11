# SPDX-License-Identifier: Apache-2.0
"""A compiled program on the embedded switch, given packets one by one: no root, no waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import finsy
import grpc
from docsis_world import World, WorldError
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_experiments.stages.virtual.entrance import ELECTION_ID, WorldEntrance
from docsis_labs.errors import SubmissionError
from docsis_labs.p4.program import Program

NAME: Final = "switch"
"""Name of the device in its world."""

_DEVICE_ID: Final = 1
_CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"
_GET: Final = "/docsis.tm.v1.TrafficManager/Get"

Match = int | tuple[int, int]
"""The value that a key is compared with: a number; (value, prefix length); (value, mask); (low,
high)."""


@dataclass(frozen=True)
class Frame:
    """A frame that has left the device.

    Attributes:
        at_ns: When.
        data: Its bytes, without CRC.
    """

    at_ns: int
    data: bytes


class PacketDevice:
    """One switch in a world of its own, whose ports lead nowhere.

    All methods raise SubmissionError where the program is not as the exercise says it has to be:
    it is refused, or has no such table, action, register or counter.
    """

    def __init__(self, program: Program, ports: Sequence[int] = (1, 2), *, seed: int = 1) -> None:
        """Loads a program.

        Args:
            program: What to load.
            ports: Port numbers.
            seed: Seed of what the program draws at random.
        """
        self._program = program
        self._schema = schema_of(program)
        self._world = World(seed)
        self._world.add_device(NAME, _DEVICE_ID, ports)
        for port in ports:
            self._world.collect(NAME, port)
        self._entrance = WorldEntrance(self._world, NAME, _DEVICE_ID)
        self._device = LocalDevice(self._entrance, NAME, _DEVICE_ID, ELECTION_ID)
        pipeline = Pipeline(program.name, self._schema.p4info, program.json, self._schema, 1)
        with self._in_words("is-refused"):
            completed(self._device.set_pipeline(pipeline, 1))

    @property
    def world(self) -> World:
        """The world that it is in, in which hosts may be at its ports."""
        return self._world

    @property
    def now_ns(self) -> int:
        """The time until which everything has happened."""
        return self._world.now_ns

    # --- what a controller does ------------------------------------------------------------

    def add_entry(
        self,
        table: str,
        match: Mapping[str, Match],
        action: str,
        params: Mapping[str, int] | None = None,
        *,
        priority: int = 0,
    ) -> None:
        """Inserts an entry.

        Args:
            table: Its name, full or as short as is unique.
            match: By key: a number where it is exact; (value, prefix length) of lpm; (value, mask)
                of ternary; (low, high) of range. Keys that are left out match anything.
            action: What it does.
            params: The action's parameters.
            priority: Priority of ternary and range entries: the highest wins; from 1.
        """
        entry = finsy.P4TableEntry(
            table,
            match=finsy.P4TableMatch(match),
            action=finsy.P4TableAction(action, **(params or {})),
            priority=priority,
        )
        self._write(p4r.Update.INSERT, entry, "no-such-table")

    def set_default(self, table: str, action: str, params: Mapping[str, int] | None = None) -> None:
        """Sets what a table does with packets that match none of its entries."""
        entry = finsy.P4TableEntry(
            table,
            action=finsy.P4TableAction(action, **(params or {})),
            is_default_action=True,
        )
        self._write(p4r.Update.MODIFY, entry, "no-such-table")

    def write_register(self, name: str, index: int, value: int) -> None:
        """Writes a cell of a register."""
        entry = finsy.P4RegisterEntry(name, index=index, data=value)
        self._write(p4r.Update.MODIFY, entry, "no-such-register")

    def read_register(self, name: str, index: int) -> int:
        """A cell of a register."""
        [cell] = self._read(finsy.P4RegisterEntry(name, index=index), "no-such-register")
        return int(cell.data)

    def read_registers(self, name: str) -> list[int]:
        """All cells of a register, by index."""
        cells = self._read(finsy.P4RegisterEntry(name), "no-such-register")
        return [int(cell.data) for cell in sorted(cells, key=lambda cell: int(cell.index))]

    def counter(self, name: str, index: int) -> tuple[int, int]:
        """Reads a counter at an index: packets and bytes, as P4 counts them."""
        [cell] = self._read(finsy.P4CounterEntry(name, index=index), "no-such-counter")
        return int(cell.data.packet_count), int(cell.data.byte_count)

    def configure_port(self, port: int, **fields: int) -> None:
        """Configures a port of the traffic manager: fields of docsis.tm.v1's PortConfig.

        `rate` is bit/s, of frames to the end of their CRC. What the port does not use it saves, up
        to `burst` bytes, at least a longest frame's.
        """
        request = tm.ConfigureRequest(device_id=_DEVICE_ID)
        request.ports.add(port=port, **fields)
        self._entrance.call(_CONFIGURE, request.SerializeToString())

    def configure_queue(self, port: int, queue_id: int, **fields: int) -> None:
        """Configures a queue of the traffic manager: fields of its ServiceFlowConfig."""
        request = tm.ConfigureRequest(device_id=_DEVICE_ID)
        request.service_flows.add(queue={"port": port, "queue_id": queue_id}, **fields)
        self._entrance.call(_CONFIGURE, request.SerializeToString())

    def traffic_manager(self) -> Any:
        """All that the traffic manager tells: a docsis.tm.v1.GetResponse."""
        request = tm.GetRequest(device_id=_DEVICE_ID)
        [answer] = self._entrance.call(_GET, request.SerializeToString())
        return tm.GetResponse.FromString(answer)

    # --- packets and time ------------------------------------------------------------------

    def send(self, port: int, frame: bytes, *, at_ns: int | None = None) -> None:
        """Lets a frame arrive at a port.

        Args:
            port: Where.
            frame: Its bytes, without CRC.
            at_ns: When: now unless given; not before now, nor before the port's frame before it.
        """
        self._world.inject(NAME, port, [(self.now_ns if at_ns is None else at_ns, frame)])

    def run_until(self, time_ns: int) -> None:
        """Lets everything happen that is due by a time, which then is now."""
        with self._in_words("is-refused"):
            self._world.run_until(time_ns)

    def received(self, port: int) -> list[Frame]:
        """Takes what has left through a port since the last call."""
        return [Frame(at, data) for at, data in self._world.collected(NAME, port)]

    # --- messages --------------------------------------------------------------------------

    def _write(self, kind: int, entity: Any, mistake: str) -> None:
        update = p4r.Update(type=kind, entity=self._encoded(entity, mistake))
        with self._in_words(mistake):
            completed(self._device.write([update]))

    def _read(self, entity: Any, mistake: str) -> list[Any]:
        with self._in_words(mistake):
            found = completed(self._device.read([self._encoded(entity, mistake)]))
        return [type(entity).decode(one, self._schema) for one in found]

    def _encoded(self, entity: Any, mistake: str) -> Any:
        try:
            return entity.encode(self._schema)
        except (KeyError, ValueError, OverflowError) as error:
            raise self._missing(mistake, error) from None

    def _missing(self, mistake: str, error: Exception) -> SubmissionError:
        words = error.args[0] if error.args else error
        return SubmissionError(
            mistake, f"{self._program.name} is not what the exercise asks for: {words}."
        )

    @contextmanager
    def _in_words(self, mistake: str) -> Iterator[None]:
        try:
            yield
        except (P4RuntimeError, WorldError, grpc.RpcError) as error:
            raise SubmissionError(
                mistake, f"The switch does not take {self._program.name}: {error}"
            ) from None


def schema_of(program: Program) -> finsy.P4Schema:
    """Names of a program's tables, actions and registers.

    Raises:
        SubmissionError: Its P4Info cannot be read.
    """
    try:
        info = text_format.Parse(program.p4info.decode("utf-8"), p4i.P4Info())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise SubmissionError("is-refused", f"The P4Info of {program.name}: {error}") from None
    schema = finsy.P4Schema()
    schema.set_p4info(info)
    return schema
