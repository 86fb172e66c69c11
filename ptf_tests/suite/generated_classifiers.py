# SPDX-License-Identifier: Apache-2.0
"""Generated sets of classifiers on the target, against the standard's text as a plain function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Final

from docsis_control.classification import CLASSIFIER_TABLE, classifier_entries, reference_of
from docsis_control.modem_config.provisioned import Direction, PacketClassifier
from docsis_control.tables import TableEntry
from docsis_ptf import docsis_test
from docsis_ptf.classifier_reference import Frame, decide
from docsis_ptf.classifier_sets import build, classifier_set, frame_near
from docsis_ptf.docsis_test import (
    FAR_MAC,
    MODEM,
    NEAR_MAC,
    NETWORK_MAC,
    NO_MODEM,
    NO_SERVICE_FLOW,
    UNKNOWN_MAC,
    mac_value,
)
from docsis_ptf.entities import Group

OTHER_MODEM: Final = 2
FRAMES: Final = 100  # for each modem and set
TO_RF: Final = 90  # a multicast group
REFERENCES: Final = range(1, 6)
ABSENT: Final = 5
"""The service flow of REFERENCES that is not there."""


@dataclass(frozen=True)
class Modem:
    """A modem, and at which port its frames come in.

    Attributes:
        service_flows: Their indexes by reference.
        primary: Index of its primary service flow.
        station: The address of what is behind it, where that is how a CMTS finds it.
    """

    number: int
    port: int
    service_flows: dict[int, int]
    primary: int
    station: int | None = None


@dataclass(frozen=True)
class Readings:
    """Frames by service flow, frames and bytes by modem and classifier."""

    flows: Counter[int]
    frames: Counter[tuple[int, int]]
    octets: Counter[tuple[int, int]]

    def __sub__(self, other: Readings) -> Readings:
        return Readings(
            self.flows - other.flows, self.frames - other.frames, self.octets - other.octets
        )


class Upstream(docsis_test.DocsisTest):
    """Each frame leaves unchanged, counted by the service flow and classifier the standard names.

    Two modems, each with as many classifiers as the case says; then some of these are replaced,
    as by dynamic service, and the frames go again.
    """

    direction: ClassVar[Direction] = "upstream"

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"size": size, "seed": seed} for size in (1, 4, 16, 64) for seed in (1, 2)]

    def setUp(self) -> None:
        super().setUp()
        self.modems = self.two_modems()

    def two_modems(self) -> list[Modem]:
        """The modem at the near port and another one at the far port."""
        # Frames go to the RF port whatever their address, and once.
        self.insert_group(Group(TO_RF, (self.rf,)))
        for address, port in ((NEAR_MAC, self.near), (FAR_MAC, self.far)):
            self.remove(self.station(address, port, MODEM))
        for number, port in ((MODEM, self.near), (OTHER_MODEM, self.far)):
            self.modify(self.interface(port, TO_RF, to_rf=True, modem=number))
        other = self.service_flow()
        self.insert(self.primary_entry(other, OTHER_MODEM))
        return [
            Modem(MODEM, self.near, self.service_flows(), self.primary),
            Modem(OTHER_MODEM, self.far, self.service_flows(), other),
        ]

    def service_flows(self) -> dict[int, int]:
        """The index of each that a modem has, by reference."""
        return {reference: self.service_flow() for reference in REFERENCES if reference != ABSENT}

    def doRunTest(self, size: int, seed: int) -> None:
        draw = Random(f"{size} {seed}")
        sets = {
            modem.number: classifier_set(draw, size, REFERENCES, self.direction)
            for modem in self.modems
        }
        entries = self._install((), sets)
        self._check(draw, sets)
        for number, classifiers in sets.items():
            sets[number] = _changed(draw, classifiers)
        self._install(entries, sets)
        self._check(draw, sets)

    def _install(
        self, old: Sequence[TableEntry], sets: dict[int, tuple[PacketClassifier, ...]]
    ) -> tuple[TableEntry, ...]:
        new = tuple(
            entry
            for modem in self.modems
            for entry in classifier_entries(modem.number, sets[modem.number], modem.service_flows)
        )
        self.client.change(old, new)
        self._undo.append(("generated classifiers", lambda: self.client.change(new, old)))
        return new

    def _check(self, draw: Random, sets: dict[int, tuple[PacketClassifier, ...]]) -> None:
        before = self._read()
        for _ in range(FRAMES):
            for modem in self.modems:
                frame = frame_near(draw, sets[modem.number])
                if modem.station is not None:
                    frame = replace(frame, destination=modem.station)
                before = self._send(modem, sets[modem.number], frame, before)

    def _send(
        self,
        modem: Modem,
        classifiers: tuple[PacketClassifier, ...],
        frame: Frame,
        before: Readings,
    ) -> Readings:
        """One frame, which leaves at the RF port alone; returns what was counted when it had.

        All of a reading is compared, so what another modem or flow counts is seen as well.
        """
        expected = decide(classifiers, modem.service_flows, frame)
        flow = modem.service_flows[expected.service_flow] if expected else modem.primary
        packet = build(frame)
        wanted = Readings(
            Counter([flow]),
            Counter([(modem.number, expected.reference)] if expected else []),
            Counter({(modem.number, expected.reference): len(packet)} if expected else {}),
        )
        after = seen = before
        self.send(modem.port, packet)
        self.expect_frame(self.rf, packet)

        def counted() -> bool:
            nonlocal after, seen
            after = self._read()
            seen = after - before
            return seen == wanted

        with suppress(AssertionError):  # the comparison says it better
            self.poll("the frame's counters", counted)
        rules = "\n".join(map(str, sorted(classifiers, key=PacketClassifier.order)))
        if seen != wanted:
            self.fail(
                f"counted {seen}, not {wanted}, of a frame of modem {modem.number}:\n"
                f"{frame}\n{packet.hex()}\n{rules}"
            )
        return after

    def _read(self) -> Readings:
        flows = [NO_SERVICE_FLOW]
        for modem in self.modems:
            flows += [modem.primary, *modem.service_flows.values()]
        found = self.client.read_with_counts(
            CLASSIFIER_TABLE, [("sf_received", index) for index in flows]
        )
        frames: Counter[tuple[int, int]] = Counter()
        octets: Counter[tuple[int, int]] = Counter()
        for entry in found.entries:
            # The first field of the key is the modem.
            number = int.from_bytes(min(entry.match, key=lambda m: m.field_id).exact.value)
            who = number, reference_of(entry.priority)
            frames[who] += entry.counter_data.packet_count
            octets[who] += entry.counter_data.byte_count
        received = (counts.packets for counts in found.counts)
        return Readings(Counter(dict(zip(flows, received, strict=True))), frames, octets)


class Downstream(Upstream):
    """The same on a CMTS, which knows the modem by the frame's destination."""

    program = "cmts"
    direction = "downstream"

    def two_modems(self) -> list[Modem]:
        """The modem of the station behind the cable, and another one."""
        other = self.service_flow()
        self.insert(self.station(UNKNOWN_MAC, self.rf, NO_MODEM, OTHER_MODEM))
        self.insert(self.primary_entry(other, OTHER_MODEM))
        return [
            Modem(MODEM, self.near, self.service_flows(), self.primary, mac_value(NETWORK_MAC)),
            Modem(OTHER_MODEM, self.near, self.service_flows(), other, mac_value(UNKNOWN_MAC)),
        ]


def _changed(
    draw: Random, classifiers: tuple[PacketClassifier, ...]
) -> tuple[PacketClassifier, ...]:
    """Most of them, and others for the rest, some under the references of those."""
    kept = tuple(each for each in classifiers if draw.random() < 0.7)
    taken = {each.reference for each in kept}
    others = classifier_set(draw, len(classifiers), REFERENCES, classifiers[0].direction)
    fresh = [each for each in others if each.reference not in taken]
    return (*kept, *fresh[: len(classifiers) - len(kept)]) or classifiers
