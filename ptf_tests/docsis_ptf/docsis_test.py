# SPDX-License-Identifier: Apache-2.0
"""Second rung: a provisioned modem (or CMTS), and what becomes of a frame."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from typing import Any, ClassVar, Final

import ptf
from ptf import testutils

from docsis_ptf.egress import Egress
from docsis_ptf.entities import Entry, Group
from docsis_ptf.frames import mac_bytes
from docsis_ptf.p4runtime_test import P4RuntimeTest

NETWORK_MAC: Final = "02:00:00:00:01:01"  # behind the RF port
NEAR_MAC: Final = "02:00:00:00:02:02"  # at the first CPE port
FAR_MAC: Final = "02:00:00:00:03:03"  # at the second
UNKNOWN_MAC: Final = "02:00:00:00:0f:0f"  # at no station
BROADCAST_MAC: Final = "ff:ff:ff:ff:ff:ff"

NO_MODEM: Final = 0
MODEM: Final = 1  # of the tests that have one
NO_SERVICE_FLOW: Final = 0
# How long no frame leaves before a test believes that none will.
QUIET_SECONDS: Final = 0.1
MAX_FRAME: Final = 1522  # bytes with FCS
# 71 minutes: no test's controller is silent for so long unless it wants to be.
NEVER_US: Final = (1 << 32) - 1
# The end of the switch's clock, microseconds.
LAST_US: Final = (1 << 48) - 1
ORDER: Final = "FrameEgress.resynchronize.order"
PATIENCE: Final = "FrameIngress.standstill.patience"
SERVICE_FLOWS: Final = 4096
UNMARKED: Final = (0xFF, 0)
"""The ToS overwrite's two masks that change nothing."""


def mac_value(address: str) -> int:
    """A MAC address as P4 sees it."""
    return int.from_bytes(mac_bytes(address))


@dataclass(frozen=True)
class Fates:
    """A service flow's counters in packets, and the one that is no fate (`silent`)."""

    received: int = 0
    forwarded: int = 0
    flooded: int = 0
    buffer_full: int = 0
    aqm: int = 0
    policed: int = 0
    no_classifier: int = 0
    malformed: int = 0
    unroutable: int = 0
    silent: int = 0

    def __sub__(self, other: Fates) -> Fates:
        return Fates(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def finished(self) -> int:
        """Frames of which it is known what became of them."""
        total: int = sum(astuple(self))
        return total - self.received - self.silent

    @staticmethod
    def counter_of(field: str) -> str:
        """The P4 counter behind a field."""
        if field in ("received", "forwarded", "flooded"):
            return f"sf_{field}"
        return "sf_controller_silent" if field == "silent" else f"sf_drop_{field}"


FATE_COUNTERS: Final = tuple(Fates.counter_of(field.name) for field in fields(Fates))


class DocsisTest(P4RuntimeTest):
    """The program freshly pushed, three interfaces and their stations provisioned.

    The near and the far port are one modem's; on a CMTS they are the network's, and the
    modem is that of the station behind the RF port.

    Attributes:
        program: "cm" or "cmts".
        rf, near, far: The RF port and two ports on the other side.
        primary: The modem's primary service flow; on a CMTS of modem 0, too.
    """

    program: ClassVar[str] = "cm"

    @property
    def near_modem(self) -> int:
        """The modem whose frames come in at the near and the far port."""
        return MODEM if self.program == "cm" else NO_MODEM

    def setUp(self) -> None:
        super().setUp()
        # PTF's own helpers look for it here.
        self.dataplane = ptf.dataplane_instance
        self.egress = Egress(self.dataplane, timeout=self.params.timeout, quiet=QUIET_SECONDS)
        self.rf = self.params.rf_port
        self.near, self.far = self.params.cpe_ports
        self.client.push(self.program)
        self._indexes = itertools.count(1)
        ports = (self.rf, self.near, self.far)
        for port in ports:
            self.insert_group(Group(port, tuple(other for other in ports if other != port)))
            self.insert(self.interface(port, port, to_rf=port != self.rf))
        addresses = {NETWORK_MAC: self.rf, NEAR_MAC: self.near, FAR_MAC: self.far}
        for modem in sorted({NO_MODEM, self.near_modem}):
            for address, port in addresses.items():
                if port != self.rf or modem == self.near_modem:
                    self.insert(self.station(address, port, modem))
        self.primary = self.service_flow()
        for modem in sorted({MODEM, self.near_modem}):
            self.insert(self.primary_entry(self.primary, modem))
        self.dataplane.flush()

    def endFailedCase(self) -> None:
        """Frames on their way are not the next case's."""
        self.egress.drain()

    def endTest(self) -> None:
        """Fails the test where a frame left the switch behind the last expectation."""
        self.egress.finish()

    def interface(
        self, port: int, flood_group: int, *, to_rf: bool, modem: int | None = None
    ) -> Entry:
        """An entry of table interface; the port's modem unless another is given."""
        if modem is None:
            modem = NO_MODEM if port == self.rf else self.near_modem
        params = {"flood_group": flood_group, "to_rf": int(to_rf), "modem": modem}
        return Entry("FrameIngress.bridge.interface", "provision", params, {"port": port})

    def station(self, address: str, port: int, modem: int, of: int = MODEM) -> Entry:
        """An entry of table station, for frames from `modem`'s ports.

        `of` is the modem whose frames they are towards the RF port.
        """
        to_rf = port == self.rf
        params = {"port": port, "to_rf": int(to_rf), "modem": of if to_rf else modem}
        match = {"modem": modem, "address": mac_value(address)}
        return Entry("FrameIngress.bridge.station", "forward", params, match)

    def primary_entry(self, index: int, modem: int = MODEM) -> Entry:
        """An entry of table primary."""
        table = "FrameIngress.classifier.primary"
        return Entry(table, "set_primary", {"service_flow": index}, {"modem": modem})

    def queue(
        self,
        index: int,
        *,
        buffer_size: int = 1_000_000,
        max_frame: int = MAX_FRAME,
        aqm: bool = False,
        queue_manager: int | None = None,
        generation: int = 0,
        flow_queuing: bool = False,
        latency_target: int = 10_000,
        controller_timeout: int = NEVER_US,
        queue_id: int = 0,
        traffic_priority: int = 0,
        tos: tuple[int, int] = UNMARKED,
    ) -> Entry:
        """An entry of table service_flow; bytes and microseconds, `tos` as and-mask, or-mask.

        `aqm` is DOCSIS-PIE; `queue_manager`, the table's number, says more than it.
        Queue 0 is the port's own: nothing waits in it that the wire could carry.
        """
        params = {
            "port": self.rf,
            "queue_id": queue_id,
            "traffic_priority": traffic_priority,
            "buffer_size": buffer_size,
            "max_frame": max_frame,
            "queue_manager": int(aqm) if queue_manager is None else queue_manager,
            "generation": generation,
            "flow_queuing": int(flow_queuing),
            "latency_target": latency_target,
            "controller_timeout": controller_timeout,
            "tos_and": tos[0],
            "tos_or": tos[1],
        }
        table = "FrameIngress.service_flow_queue.service_flow"
        return Entry(table, "set_queue", params, {"service_flow": index})

    def believe_nothing(self, index: int) -> None:
        """Keeps frames in the books that never leave the service flow's queue, however long."""
        match = {"service_flow": index}
        self.insert(Entry(ORDER, "set_settling_time", {"settling_time": LAST_US}, match))
        self.insert(Entry(PATIENCE, "set_standstill", {"standstill": LAST_US}, match))

    def new_index(self) -> int:
        """A service flow whose registers nothing has touched since the push."""
        index = next(self._indexes)
        if index >= SERVICE_FLOWS:
            self.fail(f"{self.program} has no more than {index - 1} service flows")
        return index

    def service_flow(self, index: int | None = None, **config: Any) -> int:
        """Provisions a fresh service flow; `config` as for `queue`."""
        index = self.new_index() if index is None else index
        self.insert(self.queue(index, **config))
        return index

    def make_primary(self, index: int) -> None:
        """Frames without a classifier, and floods, belong to this service flow."""
        for modem in sorted({MODEM, self.near_modem}):
            self.modify(self.primary_entry(index, modem))

    def fates(self, index: int) -> Fates:
        """A service flow's counters."""
        counts = self.client.counters([(name, index) for name in FATE_COUNTERS])
        return Fates(*(count.packets for count in counts))

    def expect_fates(self, index: int, before: Fates, **expected: int) -> None:
        """Waits until these counters, and no others, have risen by so much."""
        wanted = Fates(**expected)
        wanted = Fates(**{**expected, "received": expected.get("received", wanted.finished)})
        seen = Fates()

        def reached() -> bool:
            nonlocal seen
            seen = self.fates(index) - before
            return seen == wanted or seen.finished > wanted.finished

        with suppress(AssertionError):  # the comparison says it better
            self.poll("the fates", reached)
        self.assertEqual(seen, wanted, f"what became of service flow {index}'s frames")

    def send(self, port: int, frame: Any) -> None:
        """One frame into a port."""
        testutils.send_packet(self, port, frame)

    def expect_frame(self, port: int, frame: Any) -> None:
        """The next frame that leaves the switch is this one, out of this port, byte for byte.

        No other is there when it has come; one that comes later fails what is expected next,
        or the test at its end.
        """
        self.expect_frames({port: frame})

    def expect_frames(self, frames: Mapping[int, Any]) -> None:
        """One frame leaves each of these ports, byte for byte, and nothing leaves any other."""
        self.egress.expect({port: [bytes(frame)] for port, frame in frames.items()})

    def expect_silence(self) -> None:
        """Nothing else leaves any port."""
        self.egress.expect_silence()
