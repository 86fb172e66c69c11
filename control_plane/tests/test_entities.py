# SPDX-License-Identifier: Apache-2.0
"""Table entries as P4Runtime messages, and what lies between two sets of them."""

import dataclasses
from typing import Any

import pytest
from finsy.p4schema import P4Schema
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from docsis_control.p4rt.entities import table_entry, updates_between
from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.tables import MatchValue, Range, TableEntry, Ternary

P4INFO = """
tables {
  preamble { id: 1 name: "rules" alias: "rules" }
  match_fields { id: 1 name: "modem" bitwidth: 16 match_type: EXACT }
  match_fields { id: 2 name: "ipv4_src" bitwidth: 32 match_type: TERNARY }
  match_fields { id: 3 name: "ip_tos" bitwidth: 8 match_type: TERNARY }
  match_fields { id: 4 name: "tagged" bitwidth: 1 match_type: TERNARY }
  match_fields { id: 5 name: "l4_dst_port" bitwidth: 16 match_type: RANGE }
  action_refs { id: 11 }
}
tables {
  preamble { id: 2 name: "queues" alias: "queues" }
  match_fields { id: 1 name: "service_flow" bitwidth: 12 match_type: EXACT }
  action_refs { id: 12 }
}
actions {
  preamble { id: 11 name: "select" alias: "select" }
  params { id: 1 name: "service_flow" bitwidth: 12 }
}
actions {
  preamble { id: 12 name: "set_queue" alias: "set_queue" }
  params { id: 1 name: "buffer_size" bitwidth: 32 }
}
"""


def rule(priority: int, service_flow: int = 1, **match: MatchValue) -> TableEntry:
    return TableEntry(
        "rules", {"modem": 1, **match}, "select", {"service_flow": service_flow}, priority
    )


def queue(service_flow: int, buffer_size: int = 1000) -> TableEntry:
    return TableEntry(
        "queues", {"service_flow": service_flow}, "set_queue", {"buffer_size": buffer_size}
    )


def primary(service_flow: int) -> TableEntry:
    return TableEntry("rules", None, "select", {"service_flow": service_flow})


@pytest.fixture(scope="module")
def program() -> Pipeline:
    p4info = text_format.Parse(P4INFO, p4i.P4Info())
    schema = P4Schema()
    schema.set_p4info(p4info)
    return Pipeline("test", p4info, b"{}", schema, 1)


def fields(pipeline: Pipeline, entry: TableEntry) -> dict[str, Any]:
    table = pipeline.schema.tables[entry.table]
    message = table_entry(pipeline, entry).table_entry
    assert message.priority == entry.priority
    return {table.match_fields[match.field_id].alias: match for match in message.match}


def test_each_kind_of_match_is_encoded_canonically(program: Pipeline) -> None:
    found = fields(
        program,
        rule(
            7,
            ipv4_src=Ternary(0x0A0000FF, 0xFFFFFF00),
            ip_tos=Ternary(0, 0xFC),
            l4_dst_port=Range(0, 443),
        ),
    )
    assert found.keys() == {"modem", "ipv4_src", "ip_tos", "l4_dst_port"}
    assert found["modem"].exact.value == b"\1"
    assert found["ipv4_src"].ternary.value == b"\x0a\0\0\0"
    assert found["ipv4_src"].ternary.mask == b"\xff\xff\xff\0"
    assert (found["ip_tos"].ternary.value, found["ip_tos"].ternary.mask) == (b"\0", b"\xfc")
    assert (found["l4_dst_port"].range.low, found["l4_dst_port"].range.high) == (b"\0", b"\1\xbb")


def test_what_matches_anything_is_left_out(program: Pipeline) -> None:
    entry = rule(1, ip_tos=Ternary(3, 0), l4_dst_port=Range(0, 65535))
    assert fields(program, entry).keys() == {"modem"}


def test_the_order_of_the_fields_is_the_tables(program: Pipeline) -> None:
    one = rule(1, ip_tos=Ternary(8, 255), ipv4_src=Ternary(1, 1))
    other = rule(1, ipv4_src=Ternary(1, 1), ip_tos=Ternary(8, 255))
    assert table_entry(program, one) == table_entry(program, other)


def test_an_entry_without_its_action_is_a_key(program: Pipeline) -> None:
    entry = rule(3, ip_tos=Ternary(8, 255))
    key = table_entry(program, entry, with_action=False)
    assert not key.table_entry.HasField("action")
    whole = table_entry(program, entry)
    whole.table_entry.ClearField("action")
    assert key == whole


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (rule(0, ip_tos=Ternary(1, 1)), "priority is from 1 to 2147483647, not 0"),
        (rule(1 << 31, ip_tos=Ternary(1, 1)), "not 2147483648"),
        (dataclasses.replace(primary(1), priority=1), "it has no priority, which 1 is"),
        (rule(1, ip_tos=8), "'ip_tos' is ternary, which 8 is not"),
        (rule(1, l4_dst_port=Ternary(8, 8)), "'l4_dst_port' is range"),
        (rule(1, ip_tos=Ternary(256, 256)), "'ip_tos' has 8 bits, into which 256"),
        (rule(1, l4_dst_port=Range(1, 65536)), "'l4_dst_port' has 16 bits"),
        (rule(1, colour=Ternary(1, 1)), "no match field 'colour'"),
        (rule(1, modem=Ternary(1, 1)), "'modem' is exact"),
        (rule(1, modem=-1), "-1"),
        (TableEntry("queues", {}, "set_queue", {}), "'service_flow' is missing"),
        (dataclasses.replace(queue(1), priority=4), "it has no priority, which 4 is"),
    ],
)
def test_what_does_not_fit_is_refused(program: Pipeline, entry: TableEntry, words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        table_entry(program, entry)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match="5-4 is empty"):
        Range(5, 4)


def names(updates: list[tuple[Any, str]]) -> list[tuple[str, str]]:
    return [(p4r.Update.Type.Name(update.type), name) for update, name in updates]


def test_nothing_is_written_where_nothing_changed(program: Pipeline) -> None:
    entries = [queue(1), rule(2, ip_tos=Ternary(8, 255)), primary(1)]
    again = [
        queue(1),
        rule(2, ip_tos=Ternary(8, 255), tagged=Ternary(0, 0), l4_dst_port=Range(0, 65535)),
        primary(1),
    ]
    assert updates_between(program, entries, entries) == []
    assert updates_between(program, entries, again) == []
    assert updates_between(program, [], []) == []


def test_what_is_new_comes_before_what_names_it_and_goes_after(program: Pipeline) -> None:
    old = [queue(1), queue(2), rule(9, 1, ip_tos=Ternary(8, 255)), rule(8, 2, tagged=Ternary(1, 1))]
    new = [
        queue(1, 2000),
        queue(3),
        rule(9, 3, ip_tos=Ternary(8, 255)),
        rule(7, 3, tagged=Ternary(1, 1)),
        primary(3),
    ]
    updates = updates_between(program, old, new)
    assert names(updates) == [
        ("INSERT", str(queue(3))),
        ("INSERT", str(rule(7, tagged=Ternary(1, 1)))),
        ("MODIFY", str(queue(1))),
        ("MODIFY", str(rule(9, ip_tos=Ternary(8, 255)))),
        ("MODIFY", str(primary(3))),
        ("DELETE", str(rule(8, tagged=Ternary(1, 1)))),
        ("DELETE", str(queue(2))),
    ]
    for update, _ in updates:
        deletes = update.type == p4r.Update.DELETE
        assert update.entity.table_entry.HasField("action") != deletes


def test_a_default_entry_that_goes_becomes_the_programs(program: Pipeline) -> None:
    ((update, name),) = updates_between(program, [primary(2)], [])
    assert (update.type, name) == (p4r.Update.MODIFY, "default entry of rules")
    assert update.entity.table_entry.is_default_action
    assert not update.entity.table_entry.HasField("action")


def test_updates_undo_each_other(program: Pipeline) -> None:
    old = [queue(1), rule(9, 1, ip_tos=Ternary(8, 255)), primary(1)]
    new = [queue(1, 5), queue(2), rule(9, 2, ip_tos=Ternary(8, 255)), primary(2)]
    state = apply({}, updates_between(program, [], old))
    there = apply(dict(state), updates_between(program, old, new))
    assert there == apply({}, updates_between(program, [], new))
    assert apply(there, updates_between(program, new, old)) == state


def apply(state: dict[bytes, bytes], updates: list[tuple[Any, str]]) -> dict[bytes, bytes]:
    """Applies updates as a strict target does."""
    for update, _ in updates:
        message = p4r.TableEntry()
        message.CopyFrom(update.entity.table_entry)
        action = message.action.SerializeToString()
        message.ClearField("action")
        key = message.SerializeToString()
        assert (key in state) == (update.type != p4r.Update.INSERT) or message.is_default_action
        if update.type == p4r.Update.DELETE:
            del state[key]
        else:
            state[key] = action
    return state
