# SPDX-License-Identifier: Apache-2.0
"""P4Runtime's Read: everything, all of one kind, one entity, and the errors of a batch.

P4Runtime 1.5, sections 9 (each entity's wildcards) and 13, and the same in 1.3 and 1.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Final

import grpc
from finsy.proto import p4r

from docsis_ptf import batch_test, protocol_test
from docsis_ptf.batch_test import BUCKET, CLASSIFIER, PRIMARY, STATION
from docsis_ptf.messages import INSERT, MODIFY, Do, Exact, group, update
from docsis_ptf.programs import ENTITIES
from docsis_ptf.rpc import OK

CODE: Final = grpc.StatusCode
EVERYTHING: Final = p4r.Entity(table_entry=p4r.TableEntry())


class TableEntries(batch_test.BatchTest):
    """All entries of all tables, of one table, and one by its key."""

    def doRunTest(self) -> None:
        self.assertEqual(self.read(EVERYTHING), [])
        everything = self.some_of_each()
        rules, primaries, stations, buckets = everything
        every = [entity for entities in everything for entity in entities]
        by_key = self.names.entry(CLASSIFIER, priority=10)
        by_key.table_entry.match.extend(rules[0].table_entry.match)
        for asked, wanted, said in (
            (EVERYTHING, every, "all tables"),
            (self.names.entry(CLASSIFIER), rules, "one table"),
            (self.names.entry(STATION), stations, "one table"),
            (self.names.entry(BUCKET), buckets, "a table of egress"),
            (self.names.entry(PRIMARY, {"modem": Exact(2)}), primaries[1:2], "a key"),
            (by_key, rules[:1], "a key and a priority"),
        ):
            found = sorted(self.text(entity) for entity in self.read(asked))
            self.assertEqual(found, sorted(self.text(entity) for entity in wanted), said)
        # One call with several requests finds what each of them does.
        found = self.read(self.names.entry(PRIMARY), self.names.entry(BUCKET), EVERYTHING)
        twice = Counter(map(self.text, [*primaries, *buckets, *every]))
        # A server may put two requests together, and then tells an entity once.
        self.assertEqual(set(map(self.text, found)), set(twice))
        self.assertLessEqual(Counter(map(self.text, found)), twice)


class Filters(batch_test.BatchTest):
    """Entries of a table by their priority, by their metadata, and by their action."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"by": by} for by in ("priority", "metadata", "action")]

    def doRunTest(self, by: str) -> None:
        rules, _, stations, _ = self.some_of_each()
        flood = self.names.entry(STATION, {"modem": Exact(1), "address": Exact(99)}, Do("flood"))
        self.do(update(INSERT, flood))
        self.undone([flood])
        asked, wanted = {
            "priority": (self.names.entry(CLASSIFIER, priority=10), rules[:2]),
            "metadata": (self.names.entry(STATION, metadata=b"mine"), stations[:1]),
            "action": (self.names.entry(STATION, do=Do("flood")), [flood]),
        }[by]
        found = sorted(self.text(entity) for entity in self.read(asked))
        self.assertEqual(found, sorted(self.text(entity) for entity in wanted))


class DefaultEntries(batch_test.BatchTest):
    """A table's default entry is read by its flag, with the program's action and no key."""

    def doRunTest(self) -> None:
        for table in self.p4info.tables:
            name = table.preamble.name
            found = self.read(self.names.entry(name, is_default_action=True))
            self.assertEqual(len(found), 1, name)
            entry = found[0].table_entry
            self.assertEqual((entry.table_id, entry.is_default_action), (table.preamble.id, True))
            self.assertEqual((len(entry.match), entry.priority), (0, 0), name)
            allowed = {ref.id for ref in table.action_refs}
            self.assertIn(entry.action.action.action_id, allowed, name)
            self.assertEqual(self.read(self.names.entry(name)), [], name)


class ConstantEntries(protocol_test.ProtocolTest):
    """Constant entries are among those of all tables, and of their own."""

    program = ENTITIES

    def doRunTest(self) -> None:
        own = self.read(self.names.entry("TestIngress.fixed"))
        self.assertEqual(len(own), 2)
        found = self.read(EVERYTHING)
        self.assertEqual(sorted(map(self.text, found)), sorted(map(self.text, own)))


class Counters(batch_test.BatchTest):
    """All cells of all counters, all of one, and one cell; none beside the last."""

    def doRunTest(self) -> None:
        sizes = {one.preamble.id: one.size for one in self.p4info.counters}
        everything = self.read(p4r.Entity(counter_entry=p4r.CounterEntry()))
        cells = [(e.counter_entry.counter_id, e.counter_entry.index.index) for e in everything]
        wanted = {(known, index) for known, size in sizes.items() for index in range(size)}
        self.assertEqual(len(cells), len(wanted))
        self.assertEqual(set(cells), wanted)
        name, size = "sf_received", self.pipeline.schema.counters["sf_received"].size
        found = self.read(self.names.counter(name))
        indexes = sorted(entity.counter_entry.index.index for entity in found)
        self.assertEqual(indexes, list(range(size)))
        change = self.names.counter(name, size - 1)
        change.counter_entry.data.packet_count = 7
        change.counter_entry.data.byte_count = 700
        self.do(update(MODIFY, change))
        (one,) = self.read(self.names.counter(name, size - 1))
        self.assertEqual(self.text(one), self.text(change))
        changed = {
            entity.counter_entry.index.index: entity.counter_entry.data.packet_count
            for entity in self.read(self.names.counter(name))
            if entity.counter_entry.data.packet_count
        }
        self.assertEqual(changed, {size - 1: 7})


class CounterIndexes(batch_test.BatchTest):
    """A cell beside the last is OUT_OF_RANGE, and a negative one INVALID_ARGUMENT."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"index": "size"}, {"index": -1}]

    def doRunTest(self, index: int | str) -> None:
        size = self.pipeline.schema.counters["sf_received"].size
        number, code = (
            (size, CODE.OUT_OF_RANGE) if index == "size" else (int(index), CODE.INVALID_ARGUMENT)
        )
        change = self.names.counter("sf_received", number)
        self.assert_details(self.rpc.read([change]), [code], "a Read")
        change.counter_entry.data.packet_count = 1
        self.assert_refused(update(MODIFY, change), code, said="a Write")


class DirectCounters(batch_test.BatchTest):
    """Direct counters of an entry, of a table, and as part of the entry where that is asked for."""

    def doRunTest(self) -> None:
        stations = [self.station(address) for address in (1, 2, 3)]
        self.do(*(update(INSERT, entity) for entity in stations))
        self.undone(stations)
        for number, station in enumerate(stations):
            change = p4r.DirectCounterEntry(table_entry=self.keyed(station))
            change.data.packet_count, change.data.byte_count = number, 100 * number
            self.do(update(MODIFY, p4r.Entity(direct_counter_entry=change)))
        for number, station in enumerate(stations):
            asked = p4r.DirectCounterEntry(table_entry=self.keyed(station))
            (found,) = self.read(p4r.Entity(direct_counter_entry=asked))
            self.assert_counted(found.direct_counter_entry.data, number)
            # In the entry itself only where it is asked for.
            (found,) = self.read(p4r.Entity(table_entry=self.keyed(station)))
            self.assertFalse(found.table_entry.HasField("counter_data"))
            with_data = self.keyed(station)
            with_data.counter_data.SetInParent()
            (found,) = self.read(p4r.Entity(table_entry=with_data))
            self.assert_counted(found.table_entry.counter_data, number)
        table = p4r.DirectCounterEntry(table_entry=self.names.entry(STATION).table_entry)
        found = self.read(p4r.Entity(direct_counter_entry=table))
        counted = {
            self.text(
                p4r.Entity(table_entry=self.only_key(one.direct_counter_entry.table_entry))
            ): (one.direct_counter_entry.data.packet_count)
            for one in found
        }
        wanted = {
            self.text(p4r.Entity(table_entry=self.keyed(one))): number
            for number, one in enumerate(stations)
        }
        self.assertEqual(counted, wanted)

    def keyed(self, entity: Any) -> Any:
        return self.only_key(entity.table_entry)

    def only_key(self, entry: Any) -> Any:
        return p4r.TableEntry(table_id=entry.table_id, match=entry.match, priority=entry.priority)

    def assert_counted(self, data: Any, number: int) -> None:
        self.assertEqual((data.packet_count, data.byte_count), (number, 100 * number))


class Registers(batch_test.BatchTest):
    """All cells of all registers, all of one, and one cell; written one by one or all at once."""

    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def doRunTest(self) -> None:
        sizes = {one.preamble.id: one.size for one in self.p4info.registers}
        everything = self.read(p4r.Entity(register_entry=p4r.RegisterEntry()))
        cells = Counter(entity.register_entry.register_id for entity in everything)
        self.assertEqual(dict(cells), sizes)
        name = "aqm_drop_prob"
        size = self.pipeline.schema.registers[name].size
        for index, value in ((3, b"\7"), (size - 1, b"\xff" * 4), (None, b"\0")):
            change = self.names.register(name, index)
            change.register_entry.data.bitstring = value
            self.do(update(MODIFY, change))
            asked = self.names.register(name, index)
            found = self.read(asked)
            self.assertEqual(len(found), size if index is None else 1)
            self.assertEqual({one.register_entry.data.bitstring for one in found}, {value})
        for index, code, said in (
            (size, CODE.OUT_OF_RANGE, "an index beside the last"),
            (-1, CODE.INVALID_ARGUMENT, "a negative index"),
        ):
            self.assert_details(self.rpc.read([self.names.register(name, index)]), [code], said)
            change = self.names.register(name, index)
            change.register_entry.data.bitstring = b"\1"
            self.assert_refused(update(MODIFY, change), code, said=said)


class MulticastGroups(batch_test.BatchTest):
    """All groups, and one; the copies are as they were written."""

    def doRunTest(self) -> None:
        self.assertEqual(self.read(group(0)), [])
        groups = {7: [self.near], 8: [self.near, self.far], 600: [self.far]}
        entities = {number: group(number, ports) for number, ports in groups.items()}
        self.do(*(update(INSERT, entity) for entity in entities.values()))
        self.undone(entities.values())
        self.assertEqual(self.told(self.read(group(0))), groups)
        for number, ports in groups.items():
            self.assertEqual(self.told(self.read(group(number))), {number: ports})
        self.assert_refused(
            update(INSERT, group(7, [self.far])), CODE.ALREADY_EXISTS, said="a group again"
        )
        self.assertEqual(self.told(self.read(group(7))), {7: [self.near]})

    def told(self, found: list[Any]) -> dict[int, list[int]]:
        """The ports by group; a target of P4Runtime 1.4 may tell a port in either of two fields."""
        entries = [
            one.packet_replication_engine_entry.multicast_group_entry for one in found
        ]  # fmt: skip
        return {
            entry.multicast_group_id: sorted(
                replica.egress_port or int.from_bytes(replica.port) for replica in entry.replicas
            )
            for entry in entries
        }


class ErrorDetails(batch_test.BatchTest):
    """Of a batch that fails in part each request has its error, and what is good is told."""

    def doRunTest(self) -> None:
        entity = self.primary(9)
        self.do(update(INSERT, entity))
        self.undone([entity])
        unknown = p4r.Entity(table_entry=p4r.TableEntry(table_id=0x02FFFFFF))
        for place in range(3):
            asked = [self.names.entry(PRIMARY), self.names.entry(STATION)]
            asked.insert(place, unknown)
            answer = self.rpc.read(asked)
            self.assertIs(answer.code, CODE.UNKNOWN, f"{answer}")
            self.assertEqual(len(answer.errors), 3, f"{answer}")
            good = [code is OK for code in answer.errors]
            self.assertEqual(good, [n != place for n in range(3)], f"{answer}")
            self.assertEqual([self.text(one) for one in answer.entities], [self.text(entity)])


class WithoutStream(batch_test.BatchTest):
    """Whoever asks is told: a Read wants no election id, no stream and no primary."""

    def doRunTest(self) -> None:
        entity = self.primary(9)
        self.do(update(INSERT, entity))
        self.client.close()
        answer = self.rpc.read([EVERYTHING])
        self.assertIs(answer.code, OK, f"{answer}")
        self.assertEqual([self.text(one) for one in answer.entities], [self.text(entity)])
        # An entity of no kind is none: all kinds at once cannot be asked for.
        answer = self.rpc.read([p4r.Entity()])
        self.assertIs(answer.code, CODE.UNKNOWN, f"{answer}")


class PipelineConfig(batch_test.BatchTest):
    """The target tells the program it was given, with its cookie; VERIFY changes nothing."""

    def doRunTest(self) -> None:
        kinds = p4r.GetForwardingPipelineConfigRequest
        for kind, has_info, has_config in (
            (kinds.ALL, True, True),
            (kinds.COOKIE_ONLY, False, False),
            (kinds.P4INFO_AND_COOKIE, True, False),
            (kinds.DEVICE_CONFIG_AND_COOKIE, False, True),
        ):
            answer = self.rpc.get_pipeline(kind)
            self.assertIs(answer.code, OK, f"{answer}")
            config, said = answer.responses[0].config, kinds.ResponseType.Name(kind)
            self.assertEqual(config.cookie.cookie, self.pipeline.cookie, said)
            self.assertEqual(config.HasField("p4info"), has_info, said)
            self.assertEqual(bool(config.p4_device_config), has_config, said)
            if has_info:
                self.assertEqual(config.p4info, self.p4info, said)
            if has_config:
                self.assertEqual(config.p4_device_config, self.pipeline.device_config, said)
        self.do(update(INSERT, self.primary(9)))
        answer = self.rpc.set_pipeline(
            self.p4info,
            self.pipeline.device_config,
            self.params.election_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY,
            cookie=4711,
        )
        self.assertIs(answer.code, OK, f"{answer}")
        self.assertEqual(self.state(), [self.text(self.primary(9))], "a VERIFY had an effect")
        (response,) = self.rpc.get_pipeline(kinds.COOKIE_ONLY).responses
        self.assertEqual(response.config.cookie.cookie, self.pipeline.cookie)
        # A new program begins without entries.
        self.client.push("cm")
        self.assertEqual(self.state(), [])
