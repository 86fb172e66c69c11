# SPDX-License-Identifier: Apache-2.0
"""Third rung for classification: rules, and which service flow a frame went to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from docsis_ptf.docsis_test import MODEM, NETWORK_MAC, DocsisTest
from docsis_ptf.entities import Counts, Entry, Group
from docsis_ptf.frames import mac_bytes

# Group ids begin above those of DocsisTest, which are port numbers.
MODEM_GROUP: Final = 600
CLASSIFIER: Final = "FrameIngress.classifier.classifier"

FULL: Final[Mapping[str, int]] = {
    "dst_mac": (1 << 48) - 1,
    "src_mac": (1 << 48) - 1,
    "ether_type": 0xFFFF,
    "is_llc": 1,
    "llc_dsap": 0xFF,
    "tagged": 1,
    "vlan_id": 0xFFF,
    "is_ipv4": 1,
    "ipv4_src": 0xFFFFFFFF,
    "ipv4_dst": 0xFFFFFFFF,
    "is_ipv6": 1,
    "ipv6_src": (1 << 128) - 1,
    "ipv6_dst": (1 << 128) - 1,
    "ipv6_flow_label": 0xFFFFF,
    "ip_tos": 0xFF,
    "ip_protocol": 0xFF,
    "has_ports": 1,
}
"""The full mask of each ternary field."""


class ClassifierTest(DocsisTest):
    """Frames from the near station to the network, classified upstream."""

    def rule(
        self, index: int, match: Mapping[str, Any], priority: int = 10, modem: int = MODEM
    ) -> Entry:
        """A classifier of the modem: frames that match belong to service flow `index`.

        An int for a ternary field stands for exactly this value.
        """
        keys: dict[str, Any] = {
            name: (value, FULL[name]) if isinstance(value, int) else value
            for name, value in match.items()
        }
        keys["modem"] = modem
        entry = Entry(CLASSIFIER, "set_service_flow", {"service_flow": index}, keys, priority)
        self.insert(entry)
        return entry

    def make_modem(self, port: int, modem: int) -> None:
        """Gives the port to a modem of its own, whose floods go up the cable only."""
        group = MODEM_GROUP + modem
        self.insert_group(Group(group, (self.rf,)))
        self.modify(self.interface(port, group, to_rf=True, modem=modem))

    def expect_service_flow(
        self,
        frame: Any,
        index: int,
        *others: int,
        port: int | None = None,
        to: Iterable[int] | None = None,
    ) -> None:
        """The frame leaves unchanged, and is counted under `index` and none of the others.

        It comes in at the near port and leaves at the RF port alone unless others are given.
        """
        before = {flow: self.fates(flow) for flow in (index, *others)}
        self.send(self.near if port is None else port, frame)
        self.expect_frames(dict.fromkeys((self.rf,) if to is None else to, frame))
        self.expect_fates(index, before[index], forwarded=1)
        for other in others:
            self.expect_fates(other, before[other])

    def expect_split(
        self, match: Mapping[str, Any], matching: Iterable[Any], others: Iterable[Any]
    ) -> None:
        """A rule of this match, alone, takes the ones and leaves the others."""
        before = len(self._undo)
        index = self.service_flow()
        self.rule(index, match)
        for frame in matching:
            self.expect_service_flow(frame, index, self.primary, to=self.ports_of(frame))
        for frame in others:
            self.expect_service_flow(frame, self.primary, index, to=self.ports_of(frame))
        self.undo(before)

    def ports_of(self, frame: Any) -> tuple[int, ...]:
        """The ports at which a frame from the near port leaves: to the network, or to everybody."""
        known = bytes(frame)[:6] == mac_bytes(NETWORK_MAC)
        return (self.rf,) if known else (self.rf, self.far)

    def direct_rise(
        self, entries: Iterable[Entry], frames: Iterable[tuple[int, Any]]
    ) -> list[Counts]:
        """Sends the frames, each into its port; returns by how much direct counters rose."""
        entries = list(entries)
        before = [self.client.direct_counts(entry) for entry in entries]
        for port, frame in frames:
            self.send(port, frame)
            self.expect_frame(self.rf, frame)
        after = [self.client.direct_counts(entry) for entry in entries]
        return [now - then for now, then in zip(after, before, strict=True)]
