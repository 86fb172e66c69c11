# SPDX-License-Identifier: Apache-2.0
"""Room in every table: as many entries as the P4Info promises, in all tables at once.

P4Runtime 1.5, 9.1: the size is what a table should hold; a server answers RESOURCE_EXHAUSTED to
what is too much, and may take more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import grpc
from finsy.proto import p4i, p4r

from docsis_ptf import protocol_test
from docsis_ptf.messages import DELETE, INSERT, Do, Exact, octets, update
from docsis_ptf.rpc import OK

BATCH: Final = 1000
"""Entries a write."""
TOGETHER: Final = 64
"""Entries of one modem's classifiers."""


class EveryTable(protocol_test.ProtocolTest):
    """Every table of the modem's program takes its size in entries, and tells them all."""

    program: ClassVar[str] = "cm"

    def setUp(self) -> None:
        """Sets up as the base class does; no table has entries yet."""
        super().setUp()
        self._filled: dict[str, set[bytes]] = {}
        # Tables that took more than their size.
        self._beyond: set[str] = set()

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"table": table.preamble.name} for table in self.p4info.tables]

    def doRunTest(self, table: str) -> None:
        known = self.pipeline.schema.tables[table]
        # Those that were filled before stay full.
        filled: set[bytes] = set()
        batch: list[Any] = []
        one_more: Any = None
        for number, entity in enumerate(self.entries(known, known.size + 1)):
            if number == known.size:
                one_more = update(INSERT, entity)
                break
            filled.add(entity.SerializeToString(deterministic=True))
            batch.append(update(INSERT, entity))
            if len(batch) == BATCH:
                self.do(*batch)
                batch = []
        self.do(*batch)
        self.assertEqual(len(filled), known.size)
        self._filled[table] = filled
        if one_more is None:
            return
        answer = self.write(one_more)
        self.assertIn(answer.code, (OK, grpc.StatusCode.UNKNOWN), "an entry more than its size")
        if answer.code is OK:
            self._beyond.add(table)

    def endTest(self) -> None:
        """All of them are full at once, and have what they were given."""
        super().endTest()
        for table, filled in self._filled.items():
            found = {self.told(entity, filled) for entity in self.read(self.names.entry(table))}
            self.assertEqual(len(filled - found), 0, f"entries of {table} that are not told")
            beyond = int(table in self._beyond)
            self.assertEqual(len(found - filled), beyond, f"entries of {table} that nobody wrote")

    def told(self, entity: Any, filled: set[bytes]) -> bytes:
        """An entry as it compares; most are told just as they were written."""
        octets = bytes(entity.SerializeToString(deterministic=True))
        if octets in filled:
            return octets
        return bytes(self.names.plain(entity).SerializeToString(deterministic=True))

    def entries(self, table: Any, count: int) -> Iterator[Any]:
        """Entries that differ in their keys; fewer than `count` where the key has no more."""
        (info,) = (one for one in self.p4info.tables if one.preamble.id == table.id)
        allowed = {ref.id for ref in info.action_refs if ref.scope != p4i.ActionRef.DEFAULT_ONLY}
        action = next(one for one in table.actions if one.id in allowed)
        message = p4r.TableEntry(table_id=table.id)
        message.action.action.action_id = action.id
        for param in action.params:
            message.action.action.params.add(param_id=param.id, value=b"\1")
        fields = [(field.id, field.bitwidth, field.match_type.name) for field in table.match_fields]
        kinds = {kind for _, _, kind in fields}
        distinct = 1 << sum(width for _, width, _ in fields)
        for number in range(min(count, distinct)):
            if kinds == {"EXACT"}:
                self.key(message, fields, number)
            else:
                # Of each exact key so many, each with a priority of its own.
                self.key(message, fields, number // TOGETHER)
                self.ordered(message, fields, number)
                message.priority = 1 + number % TOGETHER
            yield p4r.Entity(table_entry=message)

    def ordered(self, message: Any, fields: list[tuple[int, int, str]], number: int) -> None:
        """Adds the first field of a key that is not exact, with this very number."""
        field_id, width, kind = next(field for field in fields if field[2] != "EXACT")
        match = message.match.add(field_id=field_id)
        if kind == "RANGE":
            match.range.low = match.range.high = octets(number)
        else:
            match.ternary.value, match.ternary.mask = octets(number), octets((1 << width) - 1)

    def key(self, message: Any, fields: list[tuple[int, int, str]], number: int) -> None:
        """Writes a number into the fields of a key, from the first one on.

        Exact fields have a bit each of it in turn, so that all of them differ among entries.
        """
        del message.match[:]
        exact = [(field_id, width) for field_id, width, kind in fields if kind == "EXACT"]
        values = dict.fromkeys((field_id for field_id, _ in exact), 0)
        filled = dict(values)
        rest = number
        while rest:
            room = [(field_id, width) for field_id, width in exact if filled[field_id] < width]
            if not room:
                break
            for field_id, _ in room:
                values[field_id] |= (rest & 1) << filled[field_id]
                filled[field_id] += 1
                rest >>= 1
        for field_id, _ in exact:
            message.match.add(field_id=field_id).exact.value = octets(values[field_id])


class FullTable(protocol_test.ProtocolTest):
    """An entry for which a table has no room is answered RESOURCE_EXHAUSTED."""

    TABLE: ClassVar[str] = "FrameIngress.classifier.primary"

    def doRunTest(self) -> None:
        size = self.pipeline.schema.tables[self.TABLE].size
        do = Do("set_primary", {"service_flow": 1})
        entries = [
            self.names.entry(self.TABLE, {"modem": Exact(modem)}, do) for modem in range(size + 1)
        ]
        self.do(*(update(INSERT, entity) for entity in entries[:size]))
        answer = self.write(update(INSERT, entries[size]))
        if answer.code is OK:
            self.skipTest(f"{self.params.target}: {self.TABLE} takes more than {size} entries")
        self.assert_details(answer, [grpc.StatusCode.RESOURCE_EXHAUSTED], "one entry more")
        # The place of one that goes is free.
        self.do(update(DELETE, entries[0]))
        self.do(update(INSERT, entries[size]))


class EveryTableOfTheCmts(EveryTable):
    """Every table of the CMTS's program takes its size in entries, and tells them all."""

    program: ClassVar[str] = "cmts"
