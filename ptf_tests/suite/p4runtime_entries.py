# SPDX-License-Identifier: Apache-2.0
"""P4Runtime's table entries: what may be written, in which form it is read, and what is constant.

P4Runtime 1.5, sections 8.3 (bytestrings) and 9.1 (table entries), and the same in 1.3 and 1.4
unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import grpc

from docsis_ptf import batch_test, protocol_test
from docsis_ptf.batch_test import CLASSIFIER, PRIMARY, STATION
from docsis_ptf.messages import (
    DELETE,
    INSERT,
    MODIFY,
    Do,
    Exact,
    Match,
    Range,
    Ternary,
    Value,
    text,
    update,
)
from docsis_ptf.programs import ENTITIES

CODE: Final = grpc.StatusCode
INTERFACE: Final = "FrameIngress.bridge.interface"
ORDER: Final = "FrameEgress.resynchronize.order"
FORWARD: Final = Do("forward", {"port": 2, "to_rf": 0, "modem": 1})
TO_FLOW: Final = Do("set_service_flow", {"service_flow": 1})
MODEM: Final[dict[str, Match]] = {"modem": Exact(1)}


class Refused(batch_test.BatchTest):
    """Keys, actions and parameters that the program does not have, or P4Runtime does not allow."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"what": what} for what in self.malformed()]

    def malformed(self) -> dict[str, Any]:
        """What is wrong with an entry, and the entry; all are answered INVALID_ARGUMENT."""
        names, exact = self.names, {"modem": Exact(1), "address": Exact(1)}

        def classify(match: dict[str, Match], priority: int = 1) -> Any:
            return names.entry(CLASSIFIER, {**MODEM, **match}, TO_FLOW, priority)

        unknown_field = self.station(1)
        unknown_field.table_entry.match.add(field_id=99).exact.value = b"\1"
        twice = self.station(1)
        twice.table_entry.match.append(twice.table_entry.match[1])
        other_kind = names.entry(STATION, {"modem": Exact(1), "address": Ternary(1, 1)}, FORWARD)
        another_action = names.entry(STATION, exact, Do("set_primary", {"service_flow": 1}))
        one_missing = names.entry(STATION, exact, Do("forward", {"port": 1, "to_rf": 0}))
        one_more = self.station(1)
        one_more.table_entry.action.action.params.add(param_id=99, value=b"\1")
        return {
            "an exact field is missing": names.entry(STATION, MODEM, FORWARD),
            "a field that the table has not": unknown_field,
            "a field twice": twice,
            "a mask for an exact field": other_kind,
            "no action": names.entry(STATION, exact),
            "another table's action": another_action,
            "a parameter is missing": one_missing,
            "a parameter too many": one_more,
            "no priority among ternary keys": classify({"ip_protocol": Ternary(6, 0xFF)}, 0),
            "a priority among exact keys": names.entry(STATION, exact, FORWARD, 1),
            "a mask of 0": classify({"ip_protocol": Ternary(0, 0)}),
            "a value outside of its mask": classify({"ip_protocol": Ternary(3, 1)}),
            "a range that ends before it begins": classify({"l4_dst_port": Range(9, 8)}),
            "a range over all values": classify({"l4_dst_port": Range(0, 0xFFFF)}),
            "an idle timeout, where there is none": self.station(1, idle_timeout_ns=1),
        }

    def doRunTest(self, what: str) -> None:
        before = self.state()
        entity = self.malformed()[what]
        self.assert_refused(update(INSERT, entity), CODE.INVALID_ARGUMENT, said=what)
        self.assertEqual(self.state(), before, "a refused entry had an effect")


class IsConst(batch_test.BatchTest):
    """An entry that calls itself constant is refused (P4Runtime 1.4: 1.3 has no such field)."""

    def doRunTest(self) -> None:
        version = self.rpc.version()
        if version < (1, 4):
            said = ".".join(map(str, version))
            self.skipTest(f"{self.params.target}: it says that it has P4Runtime {said}")
        entity = self.station(1, is_const=True)
        self.assert_refused(update(INSERT, entity), CODE.INVALID_ARGUMENT, said="is_const")
        self.assertEqual(self.state(), [])


class UnknownTable(batch_test.BatchTest):
    """No entry of a table that is not there, nor of table 0, is taken."""

    def doRunTest(self) -> None:
        for table_id in (0, 0x02FFFFFF):
            entity = self.station(1)
            entity.table_entry.table_id = table_id
            # The code is not given; what is common to all is a refusal of this update.
            self.assert_refused(
                update(INSERT, entity),
                CODE.INVALID_ARGUMENT,
                CODE.NOT_FOUND,
                said=f"table {table_id}",
            )


class Bytestrings(batch_test.BatchTest):
    """Any padding is accepted, and values are told in the shortest form, at least a byte."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"padding": padding} for padding in (0, 1, 9)]

    def doRunTest(self, padding: int) -> None:
        def padded(value: int) -> bytes:
            short = value.to_bytes((value.bit_length() + 7) // 8 or 1)
            return b"\0" * padding + short

        match: dict[str, tuple[Match, Match]] = {
            "modem": (Exact(padded(0x105)), Exact(0x105)),
            "vlan_priority": (Range(padded(0), padded(6)), Range(0, 6)),
            "l4_dst_port": (Range(padded(80), padded(0x1F90)), Range(80, 0x1F90)),
            "ip_protocol": (Ternary(padded(0), padded(0x0F)), Ternary(0, 0x0F)),
            "ipv6_src": (
                Ternary(padded(1 << 100), padded(((1 << 64) - 1) << 64)),
                Ternary(1 << 100, ((1 << 64) - 1) << 64),
            ),
        }
        given = {name: pair[0] for name, pair in match.items()}
        shortest = {name: pair[1] for name, pair in match.items()}
        for service_flow in (0, 255, 256, 4095):
            do = Do("set_service_flow", {"service_flow": padded(service_flow)})
            written = self.names.entry(CLASSIFIER, given, do, 7)
            self.do(update(INSERT, written))
            do = Do("set_service_flow", {"service_flow": service_flow})
            wanted = self.names.entry(CLASSIFIER, shortest, do, 7)
            table = self.names.entry(CLASSIFIER)
            self.assertEqual([self.text(e) for e in self.read(table)], [self.text(wanted)])
            # Its key is the same, however it is written.
            self.assert_refused(update(INSERT, wanted), CODE.ALREADY_EXISTS, said="the same key")
            self.assertEqual([self.text(e) for e in self.read(written)], [self.text(wanted)])
            self.do(update(DELETE, wanted))
            self.assertEqual(self.read(table), [])


class OutOfRange(batch_test.BatchTest):
    """A value that its field does not hold is refused.

    P4Runtime has two codes for it: OUT_OF_RANGE where it says what a value may be (8.3), and
    INVALID_ARGUMENT where it says what a key and a parameter may be (9.1.1, 9.1.2).
    """

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"what": what} for what in self.beyond()]

    def beyond(self) -> dict[str, Any]:
        """What is out of range, and an entry."""
        names = self.names

        def classify(match: dict[str, Match]) -> Any:
            return names.entry(CLASSIFIER, {**MODEM, **match}, TO_FLOW, 1)

        def station(address: Value) -> Any:
            return names.entry(STATION, {"modem": Exact(1), "address": Exact(address)}, FORWARD)

        flow = Do("set_primary", {"service_flow": b"\1\0\0"})
        return {
            "an exact value": station(1 << 48),
            "an exact value behind zeros": station(b"\0\0\1" + bytes(6)),
            "a mask": classify({"ip_protocol": Ternary(1, 0x1FF)}),
            "the end of a range": classify({"vlan_priority": Range(0, 8)}),
            "a parameter": names.entry(PRIMARY, MODEM, flow),
        }

    def doRunTest(self, what: str) -> None:
        before = self.state()
        change = update(INSERT, self.beyond()[what])
        codes = CODE.OUT_OF_RANGE, CODE.INVALID_ARGUMENT
        self.assert_refused(change, *codes, said=f"{what} with a bit too many")
        self.assertEqual(self.state(), before, "a refused entry had an effect")


class NoBytes(batch_test.BatchTest):
    """A value of no bytes is refused, wherever it stands (8.3)."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"what": what} for what in self.empty()]

    def empty(self) -> dict[str, Any]:
        """What has no bytes, and an entry."""
        names, address = self.names, {"modem": Exact(1), "address": Exact(b"")}

        def classify(match: dict[str, Match]) -> Any:
            return names.entry(CLASSIFIER, {**MODEM, **match}, TO_FLOW, 1)

        flow = Do("set_primary", {"service_flow": b""})
        return {
            "an exact value": names.entry(STATION, address, FORWARD),
            "a value under a mask": classify({"ip_protocol": Ternary(b"", 1)}),
            "the end of a range": classify({"vlan_priority": Range(0, b"")}),
            "a parameter": names.entry(PRIMARY, MODEM, flow),
        }

    def doRunTest(self, what: str) -> None:
        before = self.state()
        change = update(INSERT, self.empty()[what])
        codes = CODE.OUT_OF_RANGE, CODE.INVALID_ARGUMENT
        self.assert_refused(change, *codes, said=f"{what} of no bytes")
        self.assertEqual(self.state(), before, "a refused entry had an effect")


class DontCare(batch_test.BatchTest):
    """Fields that match anything are left out of what is told, as they are of what is written."""

    def doRunTest(self) -> None:
        # It has masks and ranges that say nothing.
        entity = self.rule(6)
        self.do(update(INSERT, entity))
        self.undone([entity])
        (told,) = self.read(self.names.entry(CLASSIFIER))
        self.assertEqual(text(told), text(entity))


class Keys(batch_test.BatchTest):
    """Match and priority are the key, whatever the order of the fields; nothing else is."""

    def doRunTest(self) -> None:
        first = self.rule(6, service_flow=1, priority=10)
        other_priority = self.rule(6, service_flow=2, priority=11)
        self.do(update(INSERT, first), update(INSERT, other_priority))
        turned = self.rule(6, service_flow=3, priority=10)
        fields = list(turned.table_entry.match)
        del turned.table_entry.match[:]
        turned.table_entry.match.extend(reversed(fields))
        self.assert_refused(update(INSERT, turned), CODE.ALREADY_EXISTS, said="the same key")
        self.do(update(MODIFY, turned))
        wanted = sorted(map(self.text, (self.rule(6, 3, 10), other_priority)))
        self.assertEqual(self.state(), wanted)
        # Of a deletion only the key counts.
        nonsense = self.rule(6, priority=10)
        nonsense.table_entry.action.action.action_id = 0x01FFFFFF
        nonsense.table_entry.metadata = b"nobody's"
        self.do(update(DELETE, nonsense))
        self.assertEqual(self.state(), [self.text(other_priority)])
        self.do(update(DELETE, other_priority))


class DefaultEntry(batch_test.BatchTest):
    """The default entry is always there, can be changed, and goes back to the program's own."""

    def default(self, do: Do | None, **fields: Any) -> Any:
        return self.names.entry(ORDER, do=do, is_default_action=True, **fields)

    def doRunTest(self) -> None:
        asked = self.default(None)
        (own,) = self.read(asked)
        # A table's entries are read without it.
        self.assertEqual(self.read(self.names.entry(ORDER)), [])
        settle = Do("set_settling_time", {"settling_time": 12345})
        changed = self.default(settle)
        self.assertNotEqual(self.text(own), self.text(changed))
        self.do(update(MODIFY, changed))
        self.assertEqual([self.text(e) for e in self.read(asked)], [self.text(changed)])
        for kind, name in ((INSERT, "inserted"), (DELETE, "deleted")):
            self.assert_refused(update(kind, changed), CODE.INVALID_ARGUMENT, said=f"it is {name}")
        key: dict[str, Match] = {"service_flow": Exact(1)}
        for wrong, said in (
            (self.names.entry(ORDER, key, settle, is_default_action=True), "it has a key"),
            (self.default(settle, priority=1), "it has a priority"),
        ):
            self.assert_refused(update(MODIFY, wrong), CODE.INVALID_ARGUMENT, said=said)
        self.assertEqual([self.text(e) for e in self.read(asked)], [self.text(changed)])
        self.do(update(MODIFY, asked))
        self.assertEqual([self.text(e) for e in self.read(asked)], [self.text(own)])


class Scope(protocol_test.ProtocolTest):
    """An action for the default entry alone is in no other, and the other way round."""

    program = ENTITIES

    def doRunTest(self) -> None:
        stations = "TestIngress.stations"
        default_only = self.names.entry(
            stations, {"hdr.ethernet.src": Exact(1)}, Do("TestIngress.learn")
        )
        self.assert_refused(
            update(INSERT, default_only), CODE.PERMISSION_DENIED, said="a default-only action"
        )
        table_only = self.names.entry(stations, do=Do("TestIngress.drop"), is_default_action=True)
        self.assert_refused(
            update(MODIFY, table_only), CODE.PERMISSION_DENIED, said="a table-only action"
        )
        self.do(update(MODIFY, self.names.entry(
            stations, do=Do("TestIngress.learn"), is_default_action=True)))  # fmt: skip


class ConstantTable(protocol_test.ProtocolTest):
    """Entries and a default entry that the program has as constants are read, and never written."""

    program = ENTITIES
    FIXED: Final = "TestIngress.fixed"

    def entry(self, ether_type: int, group: int) -> Any:
        match: dict[str, Match] = {"hdr.ethernet.type": Exact(ether_type)}
        return self.names.entry(self.FIXED, match, Do("TestIngress.flood", {"group": group}))

    def doRunTest(self) -> None:
        table = self.names.entry(self.FIXED)
        before = self.told(table)
        self.assertEqual(
            before, sorted(map(self.text, (self.entry(0x8100, 1), self.entry(0x88A8, 2))))
        )
        for change, said in (
            (update(INSERT, self.entry(0x0800, 1)), "an insertion"),
            (update(MODIFY, self.entry(0x8100, 2)), "a change"),
            (update(DELETE, self.entry(0x8100, 1)), "a deletion"),
        ):
            self.assert_refused(change, CODE.PERMISSION_DENIED, said=said)
        default = self.names.entry(self.FIXED, is_default_action=True)
        (own,) = self.told(default)
        other = self.names.entry(
            self.FIXED, do=Do("TestIngress.flood", {"group": 1}), is_default_action=True
        )
        self.assert_refused(
            update(MODIFY, other), CODE.PERMISSION_DENIED, said="a change of the default entry"
        )
        self.assertEqual((self.told(table), self.told(default)), (before, [own]))

    def told(self, asked: Any) -> list[str]:
        """What the target tells, but for is_const, which P4Runtime 1.3 does not have."""
        found = self.read(asked)
        for entity in found:
            entity.table_entry.is_const = False
        return sorted(self.text(entity) for entity in found)
