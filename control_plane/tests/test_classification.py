# SPDX-License-Identifier: Apache-2.0
"""Classifiers as table entries: what each is turned into, and generated ones against the
standard's text as a plain function (docsis_ptf.classifier_reference)."""

import dataclasses
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_control.classification import (
    MAX_ENTRIES,
    classifier_entries,
    entry_priority,
    reference_of,
)
from docsis_control.modem_config.provisioned import PacketClassifier
from docsis_control.p4rt.entities import table_updates
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.tables import MatchValue, Range, TableEntry, Ternary
from docsis_ptf.classifier_reference import Frame, decide
from docsis_ptf.classifier_sets import classifier_set, frame_near

IS_IPV4 = {"is_ipv4": Ternary(1, 1)}
IS_IPV6 = {"is_ipv6": Ternary(1, 1)}
PORTS = {"has_ports": Ternary(1, 1)}


def rule(**given: Any) -> PacketClassifier:
    defaults: dict[str, Any] = {
        "direction": "upstream",
        "reference": 1,
        "service_flow": 1,
        "rule_priority": 0,
        "active": True,
    }
    return PacketClassifier(**(defaults | given))


def matches(**given: Any) -> list[dict[str, MatchValue]]:
    """The conditions of its entries, the modem's number left out."""
    found = []
    for entry in classifier_entries(7, [rule(**given)], {1: 1}):
        match = dict(entry.match or {})
        assert match.pop("modem") == 7
        found.append(match)
    return found


def protocol(number: int) -> dict[str, MatchValue]:
    return {"ip_protocol": Ternary(number, 0xFF)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [{}]),
        ({"ip_version": 4}, [IS_IPV4]),
        ({"ip_version": 4, "protocol": 17}, [IS_IPV4 | protocol(17)]),
        ({"ip_version": 6, "protocol": 0}, [IS_IPV6 | protocol(0)]),
        ({"protocol": 0}, [IS_IPV4 | protocol(0), IS_IPV6 | protocol(0)]),
        ({"protocol": 17}, [protocol(17)]),
        ({"protocol": 257}, [protocol(6), protocol(17)]),
        ({"ip_version": 6, "protocol": 257}, [protocol(6) | IS_IPV6, protocol(17) | IS_IPV6]),
        (
            {"protocol": 257, "source_ports": (53, 53)},
            [PORTS | {"l4_src_port": Range(53, 53)}],
        ),
        (
            {"protocol": 6, "destination_ports": (0, 1023), "source_ports": (0, 65535)},
            [PORTS | protocol(6) | {"l4_dst_port": Range(0, 1023)}],
        ),
        ({"source_ports": (0, 65535)}, [{}]),
        (
            {"ip_version": 4, "source": (0x0A000000, 0xFF000000), "destination": (0, 0)},
            [IS_IPV4 | {"ipv4_src": Ternary(0x0A000000, 0xFF000000)}],
        ),
        ({"ip_version": 4, "source": (0x0A000001, 0xFF000000)}, []),
        (
            {"ip_version": 6, "destination": (1, (1 << 128) - 1), "flow_label": 5},
            [
                IS_IPV6
                | {
                    "ipv6_dst": Ternary(1, (1 << 128) - 1),
                    "ipv6_flow_label": Ternary(5, 0xFFFFF),
                }
            ],
        ),
        (
            {"source_mac": (0x020000000001, 0xFFFFFFFFFFFF), "destination_mac": (0, 0)},
            [{"src_mac": Ternary(0x020000000001, 0xFFFFFFFFFFFF)}],
        ),
        ({"destination_mac": (1, 0)}, []),
        ({"ethernet": ("ethertype", 0x88B5)}, [{"ether_type": Ternary(0x88B5, 0xFFFF)}]),
        ({"ethernet": ("ethertype", 0x05FF)}, []),
        (
            {"ethernet": ("dsap", 0x1242)},
            [{"is_llc": Ternary(1, 1), "llc_dsap": Ternary(0x42, 0xFF)}],
        ),
        ({"ethernet": ("dsap", 0xAA)}, []),
        ({"ethernet": ("mac-management", 0x0103)}, []),
        ({"ethernet": ("all-data", 0)}, [{}]),
        ({"vlan": 0}, [{"tagged": Ternary(1, 1), "vlan_id": Ternary(0, 0xFFF)}]),
        ({"user_priority": (0, 7)}, [{"tagged": Ternary(1, 1)}]),
        ({"user_priority": (5, 6)}, [{"tagged": Ternary(1, 1), "vlan_priority": Range(5, 6)}]),
        (
            {"ip_version": 4, "tos": (0xB8, 0xB8, 0xFC)},
            [IS_IPV4 | {"ip_tos": Ternary(0xB8, 0xFC)}],
        ),
        ({"ip_version": 4, "tos": (0, 255, 0xFF)}, [IS_IPV4]),
        ({"tos": (0, 0, 0)}, [IS_IPV4, IS_IPV6]),
        ({"ip_version": 4, "tos": (1, 3, 0xFC)}, []),
        ({"tos": (1, 255, 0x80), "protocol": 6}, [protocol(6) | {"ip_tos": Ternary(0x80, 0x80)}]),
        ({"active": False}, []),
        ({"service_flow": 2}, []),
    ],
)
def test_conditions(given: dict[str, Any], expected: list[dict[str, MatchValue]]) -> None:
    assert matches(**given) == expected


@pytest.mark.parametrize("conditions", [{"protocol": 257}, {}, {"protocol": 0}])
def test_the_most_entries_of_a_classifier(conditions: dict[str, Any]) -> None:
    assert len(matches(tos=(0x41, 0xBE, 0xFF), **conditions)) == MAX_ENTRIES


@pytest.mark.parametrize("given", [{"source": (1, 1)}, {"destination": (0, 0)}, {"flow_label": 0}])
def test_addresses_need_a_version_of_ip(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="classifier 1 has an address or a flow label"):
        rule(**given)


def test_priorities_name_the_rule() -> None:
    assert entry_priority(rule(rule_priority=0x40, reference=2)) == 0x40FFFE
    for number in (0, 1, 255):
        for reference in (1, 255, 65535):
            priority = entry_priority(rule(rule_priority=number, reference=reference))
            assert 0 < priority < 1 << 31
            assert (priority >> 16, reference_of(priority)) == (number, reference)


def test_of_equal_rule_priorities_the_lowest_reference_goes_first() -> None:
    rules = [
        rule(reference=number, rule_priority=of_rule)
        for number, of_rule in ((3, 1), (2, 1), (9, 255), (1, 0))
    ]
    entries = classifier_entries(1, rules, {1: 5})
    assert [reference_of(entry.priority) for entry in entries] == [9, 2, 3, 1]
    assert sorted((entry.priority for entry in entries), reverse=True) == [
        entry.priority for entry in entries
    ]
    assert sorted(rules, key=PacketClassifier.order) == [rules[2], rules[1], rules[0], rules[3]]


def test_an_entry_stays_when_others_come_and_go() -> None:
    stays = rule(reference=7, protocol=257)
    alone = classifier_entries(1, [stays], {1: 1})
    others = [rule(reference=number, vlan=number) for number in (1, 8, 200)]
    assert set(map(str, alone)) <= set(map(str, classifier_entries(1, [*others, stays], {1: 1})))


def field_values(frame: Frame) -> dict[str, int]:
    """The values that the pipeline has for a frame (docs/p4-contract.md, "Tables")."""
    encapsulation, carried = frame.carries
    values = {
        "dst_mac": frame.destination,
        "src_mac": frame.source,
        "ether_type": 0 if encapsulation == "llc" else carried,
        "is_llc": int(encapsulation == "llc"),
        "llc_dsap": carried if encapsulation == "llc" else 0,
        "tagged": int(frame.tag is not None),
        "vlan_priority": frame.tag[0] if frame.tag else 0,
        "vlan_id": frame.tag[1] if frame.tag else 0,
    }
    ip = frame.ip
    for version in (4, 6):
        is_it = ip is not None and ip.version == version
        values[f"is_ipv{version}"] = int(is_it)
        values[f"ipv{version}_src"] = ip.source if ip and is_it else 0
        values[f"ipv{version}_dst"] = ip.destination if ip and is_it else 0
    source, destination = ip.ports if ip and ip.ports else (0, 0)
    return values | {
        "ipv6_flow_label": ip.flow_label if ip else 0,
        "ip_tos": ip.tos if ip else 0,
        "ip_protocol": ip.protocol if ip else 0,
        "has_ports": int(bool(ip and ip.ports)),
        "l4_src_port": source,
        "l4_dst_port": destination,
    }


def meets(condition: MatchValue, value: int) -> bool:
    match condition:
        case Ternary():
            return value & condition.mask == condition.value
        case Range():
            return condition.low <= value <= condition.high
        case _:
            return condition == value


def look_up(entries: tuple[TableEntry, ...], modem: int, frame: Frame) -> TableEntry | None:
    """Looks a frame up in the entries as a P4 table does, in whatever order they were written."""
    values = field_values(frame) | {"modem": modem}
    found = [
        entry
        for entry in entries
        if all(meets(condition, values[field]) for field, condition in (entry.match or {}).items())
    ]
    return max(found, key=lambda entry: entry.priority, default=None)


@given(draw=st.randoms(use_true_random=False), size=st.integers(1, 64))
@settings(max_examples=60)
def test_generated_sets_against_the_reference(draw: Random, size: int) -> None:
    # Classifiers refer to 1 to 5, but there is no service flow 5.
    flows = {reference: 10 + reference for reference in range(1, 5)}
    sets = {modem: classifier_set(draw, size, range(1, 6)) for modem in (1, 2)}
    entries = tuple(
        entry
        for modem, classifiers in sets.items()
        for entry in classifier_entries(modem, classifiers, flows)
    )
    for modem, classifiers in sets.items():
        assert sum(entry.match["modem"] == modem for entry in entries if entry.match) <= (
            MAX_ENTRIES * size
        )
        for _ in range(20):
            frame = frame_near(draw, classifiers)
            expected = decide(classifiers, flows, frame)
            entry = look_up(entries, modem, frame)
            found = entry and (reference_of(entry.priority), entry.params["service_flow"])
            assert found == (expected and (expected.reference, flows[expected.service_flow])), (
                modem,
                frame,
                entry,
                expected,
            )


def test_the_generator_reaches_what_it_is_for() -> None:
    """Frames that match, and every condition deciding alone: without it another decides."""
    draw = Random(1)
    decided: dict[str, int] = {}
    taken = 0
    for _ in range(200):
        classifiers = classifier_set(draw, 8, range(1, 5))
        frames = [frame_near(draw, classifiers) for _ in range(50)]
        taken += sum(decide(classifiers, range(1, 5), frame) is not None for frame in frames)
        for field in CONDITIONS:
            nothing: dict[str, Any] = {field: None}
            without = [dataclasses.replace(each, **nothing) for each in classifiers]
            decided[field] = decided.get(field, 0) + sum(
                _reference(decide(classifiers, range(1, 5), frame))
                != _reference(decide(without, range(1, 5), frame))
                for frame in frames
            )
    assert taken > 200 * 50 / 2
    assert min(decided.values()) > 20, decided


CONDITIONS = (
    *("tos", "protocol", "source", "destination", "source_ports", "destination_ports"),
    *("flow_label", "source_mac", "destination_mac", "ethernet", "user_priority", "vlan"),
)


def _reference(classifier: PacketClassifier | None) -> int:
    return classifier.reference if classifier else 0


def test_both_programs_take_generated_entries(pipelines: dict[str, Pipeline]) -> None:
    classifiers = classifier_set(Random(2), 64, range(1, 5))
    entries = classifier_entries(64, classifiers, {number: number for number in range(1, 5)})
    for pipeline in pipelines.values():
        assert len(list(table_updates(pipeline, entries))) == len(entries) > 64
