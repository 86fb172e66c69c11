# SPDX-License-Identifier: Apache-2.0
"""Looks at the system ten times a second, in a thread of its own, and says what it saw.

A controller or a switch that goes away is told, and looked for again every second. The service
flows of the other switches are shown meanwhile.
"""

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import DecodeError

from docsis_control.local_socket import ControllerError
from docsis_control.mac.channel_state import channels_from
from docsis_control.p4rt.pipeline import PipelineError
from docsis_control.status import StatusError, fetch
from docsis_control.status.health import Health, fetch_health
from docsis_control.status.model import ServiceFlow
from docsis_live.channels import MAPS, channels
from docsis_live.loops import Judge
from docsis_live.readings import CELLS, Classified, DeviceReader, NoAnswer, NotThere
from docsis_live.samples import Books, limits, values
from docsis_live.summary import Summary
from docsis_live.system import System, priorities

_LOG: Final = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 0.1
_EVERY_SECOND: Final = 10
"""Updates from one look at what changes slowly to the next."""

_RETRY_SECONDS: Final = 1.0
_UNKNOWN: Final = (None,) * 7
"""Stands for the registers of a target that does not let them be read."""


@dataclass(frozen=True)
class Update:
    """The observations of one moment; texts are JSON.

    Attributes:
        number: Updates before it.
        time_ms: Unix time, milliseconds.
        system: The system; None while none answers.
        trouble: Why not, or which device does not; "" where all is well.
        rows: The row of each modem's service flows, by modem.
        parts: Slowly changing parts that were looked at, by the names that pages have for them.
    """

    number: int
    time_ms: int
    system: System | None
    trouble: str
    rows: Mapping[str, bytes] = field(default_factory=dict)
    parts: Mapping[str, bytes] = field(default_factory=dict)


def encode(value: object) -> bytes:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


class Sampler:
    """Looks, until it is ended.

    Attributes:
        watched: Names of the modems that are looked at in detail; whoever sets it replaces it.
    """

    def __init__(
        self, publish: Callable[[Update], None], pid: int | None, folder: Path | None
    ) -> None:
        """Args:
        publish: Gets each update, in the sampler's thread.
        pid: Which controller, where there are several.
        folder: Folder in which controllers are looked for.
        """
        self.watched: tuple[str, ...] = ()
        self._publish = publish
        self._pid = pid
        self._folder = folder
        self._ended = threading.Event()
        self._refresh = False
        self._number = 0
        self._sight: _Sight | None = None
        # It belongs to a controller, so it outlives the sights that changes of the plan begin.
        self._judge = Judge()
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def refresh(self) -> None:
        """Has the next update look for changes of the system."""
        self._refresh = True

    def end(self) -> None:
        """Ends it."""
        self._ended.set()
        self._thread.join(2 * _RETRY_SECONDS)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            update = self._look()
            self._number += 1
            self._publish(update)
            due += INTERVAL_SECONDS if update.system is not None else _RETRY_SECONDS
            now = time.monotonic()
            if due < now:
                # Missed updates are not made up for: a page shows the present.
                due = now + INTERVAL_SECONDS / 2
            self._ended.wait(due - now)
        self._give_up()

    def _look(self) -> Update:
        try:
            if self._sight is None or self._refresh or self._number % _EVERY_SECOND == 0:
                self._refresh = False
                self._find()
            assert self._sight is not None
            return self._sight.look(self._number, self.watched)
        except (ControllerError, StatusError, PipelineError) as error:
            trouble = str(error)
        except Exception as error:
            # Whatever it is, the page must not go on to show what was before.
            trouble = f"the page cannot look at the system: {type(error).__name__}: {error}"
            if trouble != self._failure:
                _LOG.exception("the page cannot look at the system")
            self._failure = trouble
        self._give_up()
        return Update(self._number, _now_ms(), None, trouble)

    def _give_up(self) -> None:
        if self._sight is not None:
            self._sight.close()
            self._sight = None

    def _find(self) -> None:
        """Asks the controller how it is, and for everything where that is new."""
        health = fetch_health(self._pid, self._folder)
        sight = self._sight
        if sight is None or not sight.system.is_that_of(health.pid, health.revision):
            status = fetch(health.pid if self._pid is None else self._pid, self._folder)
            if sight is not None:
                sight.close()
            self._sight = sight = _Sight(System(status), self._judge)
            # A status may have been begun before the change that it is asked for.
            if status.revision != health.revision:
                self._refresh = True
        sight.health = health


class _Sight:
    """One state of one system, as long as nothing is added to it or taken away.

    Attributes:
        system: The system.
        health: Its controller's, of the last second.
    """

    def __init__(self, system: System, judge: Judge) -> None:
        self.system = system
        self.health: Health | None = None
        self._judge = judge
        self._readers = {name: DeviceReader(one) for name, one in system.devices.items()}
        self._summary = Summary(system)
        # From the machine's monotonic clock to a switch's, microseconds.
        self._offset_us: dict[str, int] = {}
        self._clockless: set[str] = set()
        # Devices that do not answer, and why not. One that waits for its time limit would take it
        # from the others at every update, so it is asked again in the next second.
        self._silent: dict[str, str] = {}
        # Devices that do not have what they were asked for. They answer at once, and are asked on.
        self._lacking: dict[str, str] = {}
        self._looked = False
        self._books: dict[str, dict[int, Books]] = {}
        self._has_channels = bool(system.status.upstream_channels)

    def close(self) -> None:
        """Gives up the connections."""
        for reader in self._readers.values():
            reader.close()

    def look(self, number: int, watched: Sequence[str]) -> Update:
        """Looks at the system as it is now."""
        rows: dict[str, bytes] = {}
        parts: dict[str, bytes] = {}
        at_second = number % _EVERY_SECOND == 0
        if at_second:
            self._silent.clear()
            self._lacking.clear()
        if at_second or not self._looked:
            self._looked = True
            self._learn_clocks()
        now_ms = _now_ms()
        known = [name for name in watched if name in self.system.modems]
        for name in list(self._books):
            if name not in known:
                del self._books[name]
        for name in known:
            rows[name] = self._row(name, number, now_ms)
        for name, reader in self._readers.items():
            with self._asking(name) as answers:
                if answers:
                    self._summary.step(name, reader, time.monotonic())
        if at_second:
            parts["summary"] = encode(self._summary.lines())
            if known:
                parts["classifiers"] = encode(self._classifiers(known))
        if self._has_channels and number % (_EVERY_SECOND // 2) == 0:
            shown = self._channels()
            if shown is not None:
                parts["channels"] = encode(shown)
        trouble = "; ".join((self._lacking | self._silent).values())
        if at_second and self.health is not None:
            parts["health"] = encode(self._judge.judged(self.health, trouble))
        return Update(number, now_ms, self.system, trouble, rows, parts)

    @contextlib.contextmanager
    def _asking(self, device: str) -> Iterator[bool]:
        """A block that asks a device if it has answered so far, which it is told."""
        try:
            yield device not in self._silent
        except NotThere as error:
            self._lacking[device] = str(error)
        except (NoAnswer, DecodeError) as error:
            answered = isinstance(error, NoAnswer)
            why = str(error) if answered else f"{device} answers with something else: {error}"
            self._silent[device] = why
            self._offset_us.pop(device, None)
            self._summary.forget(device)

    def _learn_clocks(self) -> None:
        for name, reader in self._readers.items():
            if name in self._clockless:
                continue
            with self._asking(name) as answers:
                if not answers:
                    continue
                before = time.monotonic()
                try:
                    now_us = reader.clock_us()
                except NotThere:
                    self._clockless.add(name)
                    continue
                self._offset_us[name] = now_us - round((before + time.monotonic()) / 2 * 1e6)

    def _row(self, modem: str, number: int, now_ms: int) -> bytes:
        flows: dict[str, list[Any]] = {}
        for device, shown in _by_device(self.system.flows(modem)):
            with self._asking(device) as answers:
                if answers:
                    flows |= self._values(modem, self._readers[device], shown)
        return encode({"n": number, "t": now_ms, "f": flows})

    def _values(
        self, modem: str, reader: DeviceReader, flows: Sequence[ServiceFlow]
    ) -> Iterator[tuple[str, list[Any]]]:
        indexes = tuple(flow.index for flow in flows)
        drops = reader.drops(indexes).T.tolist()
        known = self._books.setdefault(modem, {})
        if reader.device.state_access != "registers":
            for flow, dropped in zip(flows, drops, strict=True):
                yield str(flow.sfid), [*_UNKNOWN, *dropped[:3], sum(dropped[3:]), *limits(flow)]
            return
        cells, at = reader.registers(CELLS, indexes)
        offset = self._offset_us.get(reader.device.name)
        for flow, column, dropped in zip(flows, cells.T.tolist(), drops, strict=True):
            dequeued, enqueued, *others = column
            books = Books(at, enqueued, dequeued)
            tokens, updated, data_state, control_state, probability = others
            yield (
                str(flow.sfid),
                values(
                    flow,
                    books,
                    known.get(flow.sfid),
                    (tokens, updated, data_state, control_state, probability),
                    dropped,
                    now_us=None if offset is None else round(at * 1e6) + offset,
                    channel_bps=self.system.channel_bps(flow),
                ),
            )
            known[flow.sfid] = books

    def _classifiers(self, modems: Sequence[str]) -> dict[str, dict[str, list[int | None]]]:
        """Frames that each classifier took, by modem and SFID, in the order of the detail.

        Service flows of a device that does not answer are left out.
        """
        read: dict[str, Classified] = {}
        found: dict[str, dict[str, list[int | None]]] = {}
        for name in modems:
            modem = self.system.modems[name]
            found[name] = {}
            for flow in self.system.flows(name):
                with self._asking(flow.device) as answers:
                    if answers and flow.device not in read:
                        read[flow.device] = self._readers[flow.device].classified()
                counts = read.get(flow.device)
                if counts is None:
                    continue
                found[name][str(flow.sfid)] = [
                    _packets(counts, modem.number, priority) for _, priority in priorities(flow)
                ]
        return found

    def _channels(self) -> list[dict[str, Any]] | None:
        """The channels, as the modems' device tells them; None where it does not answer."""
        for device in self.system.status.devices:
            if device.role == "cm":
                with self._asking(device.name) as answers:
                    if answers:
                        answer = self._readers[device.name].channels(MAPS)
                        try:
                            return channels(channels_from(answer, self.system.flow_name))
                        except ValueError as error:
                            why = f"{device.name} describes channels that cannot exist: {error}"
                            self._lacking[device.name] = why
                return None
        return []


def _packets(counts: Classified, modem: int, priority: int | None) -> int | None:
    if priority is None:
        count = counts.primary.get(modem)
    else:
        count = counts.classifiers.get((modem, priority))
    return None if count is None else count.packets


def _by_device(flows: Sequence[ServiceFlow]) -> Iterator[tuple[str, list[ServiceFlow]]]:
    for device in dict.fromkeys(flow.device for flow in flows):
        yield device, [flow for flow in flows if flow.device == device]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
