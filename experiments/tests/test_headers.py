# SPDX-License-Identifier: Apache-2.0
"""Headers that go into a given service flow, of the topologies and of awkward classifiers."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.modem_config.provisioned import PacketClassifier
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.traffic.headers import TCP, UDP, Header, header_for
from docsis_experiments.traffic.service_flow_load import plan_load
from docsis_ptf.classifier_reference import Frame, Ip, decide
from docsis_testbed.paths import TOPOLOGIES

USUAL = Header(UDP, 0, IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2"), 20000, 30000)


def rule(
    reference: int, service_flow: int, priority: int = 0, **conditions: Any
) -> PacketClassifier:
    return PacketClassifier("upstream", reference, service_flow, priority, True, **conditions)


def taken(classifiers: list[PacketClassifier], header: Header) -> int | None:
    """The service flow, by the plain reading of the standard that the PTF suite has."""
    ip = Ip(
        4, header.tos, header.protocol, int(header.source), int(header.destination),
        ports=(header.source_port, header.destination_port),
    )  # fmt: skip
    flows = {classifier.service_flow for classifier in classifiers}
    found = decide(classifiers, flows, Frame(0, 0, ("dix", 0x0800), ip=ip))
    return found.service_flow if found else None


def test_the_usual_header_stays_where_it_fits() -> None:
    assert header_for(1, True, [], USUAL) == USUAL
    assert header_for(2, False, [rule(1, 2, protocol=UDP)], USUAL) == USUAL


def test_a_rule_of_higher_priority_is_avoided() -> None:
    rules = [
        rule(1, 3, 10, destination_ports=(5060, 5060)),
        rule(2, 2, 5, destination_ports=(5060, 5061)),
    ]
    header = header_for(2, False, rules, USUAL)
    assert header is not None
    assert header.destination_port == 5061
    assert taken(rules, header) == 2


def test_the_primary_flow_takes_what_no_rule_takes() -> None:
    rules = [rule(1, 2, destination_ports=(30000, 30000))]
    header = header_for(1, True, rules, USUAL)
    assert header is not None
    assert taken(rules, header) is None
    rules = [rule(1, 2, protocol=UDP)]
    header = header_for(1, True, rules, USUAL)
    assert header is not None
    assert header.protocol == TCP


def test_a_port_between_those_of_higher_priority_is_found() -> None:
    rules = [
        rule(1, 3, 10, destination_ports=(5060, 5060)),
        rule(2, 3, 10, destination_ports=(5062, 5062)),
        rule(3, 2, 5, destination_ports=(5060, 5062)),
    ]
    header = header_for(2, False, rules, USUAL)
    assert header is not None
    assert (header.destination_port, taken(rules, header)) == (5061, 2)


_PORTS = st.none() | st.lists(st.integers(0, 6), min_size=2, max_size=2).map(sorted).map(tuple)
_RULES = st.lists(
    st.tuples(
        st.integers(1, 3), st.integers(0, 3), st.sampled_from((None, UDP, TCP)), _PORTS, _PORTS,
        st.none() | st.tuples(st.integers(0, 4), st.integers(4, 7), st.just(7)),
    ),
    max_size=8,
)  # fmt: skip


@given(_RULES)
def test_a_header_is_found_where_there_is_one(rules: list[tuple[Any, ...]]) -> None:
    classifiers = [
        rule(number, flow, priority, protocol=protocol, source_ports=source,
             destination_ports=destination, tos=tos)
        for number, (flow, priority, protocol, source, destination, tos) in enumerate(rules, 1)
    ]  # fmt: skip
    usual = replace(USUAL, source_port=1, destination_port=1)
    reached = {
        taken(classifiers, replace(usual, protocol=protocol, tos=tos, source_port=source,
                                   destination_port=destination))
        for protocol in (UDP, TCP)
        for tos in range(8)
        for source in range(1, 8)
        for destination in range(1, 8)
    }  # fmt: skip
    for flow in (1, 2, 3):
        header = header_for(flow, False, classifiers, usual)
        assert (header is not None) == (flow in reached)
        assert header is None or taken(classifiers, header) == flow
    assert (header_for(4, True, classifiers, usual) is not None) == (None in reached)


def test_as_many_classifiers_as_a_modem_may_have_take_no_minutes() -> None:
    rules = [
        rule(n, 2, 2, source_ports=(n * 100, n * 150), destination_ports=(n * 90, n * 170))
        for n in range(1, 64)
    ]
    hidden = rule(64, 3, 1, source_ports=(100, 150), destination_ports=(90, 170))
    assert header_for(3, False, [*rules, hidden], USUAL) is None


def test_tos_and_protocol_are_those_of_the_rule() -> None:
    rules = [rule(1, 2, tos=(0xB8, 0xB8, 0xFC)), rule(2, 3, protocol=TCP, source_ports=(80, 80))]
    voice, web = (header_for(flow, False, rules, USUAL) for flow in (2, 3))
    assert voice is not None
    assert (voice.protocol, voice.tos & 0xFC) == (UDP, 0xB8)
    assert web is not None
    assert (web.protocol, web.source_port) == (TCP, 80)


@pytest.mark.parametrize(
    "conditions",
    [
        {"ip_version": 6},
        {"vlan": 5},
        {"user_priority": (1, 7)},
        {"destination_mac": (1, 0xFF)},
        {"ethernet": ("ethertype", 0x86DD)},
        {"ip_version": 4, "source": (0x0A000005, 0xFFFFFFFF)},
        {"protocol": 1},
    ],
)
def test_what_these_hosts_cannot_send_reaches_nothing(conditions: dict[str, Any]) -> None:
    assert header_for(2, False, [rule(1, 2, **conditions)], USUAL) is None


@pytest.mark.parametrize("topology", ["two-tiers", "neighbourhood", "residential"])
@pytest.mark.parametrize("tcp", [False, True])
def test_every_flow_of_the_topologies_is_reached_alone(topology: str, tcp: bool) -> None:
    deployment = deploy(load_topology(TOPOLOGIES / f"{topology}.yaml"), Preset.DOCSIS_PIE)
    for direction in ("upstream", "downstream"):
        plan = plan_load(deployment, direction, tcp=tcp)
        assert plan.left_out == ()
        ends = [
            (h.protocol, h.source, h.source_port, h.destination, h.destination_port)
            for h in (item.header for item in plan.loads)
        ]
        # The receiver tells streams apart by their addresses and ports.
        assert len(set(ends)) == len(ends)
        for item in plan.loads:
            classifiers = deployment.modems[item.flow.modem - 1].service.classifiers
            own = [c for c in classifiers if c.direction == direction]
            reference = taken(own, item.header)
            assert reference == item.flow.reference if reference else item.flow.primary
            assert item.offered > item.configured


def test_primary_flows_are_tcp_where_it_is_asked_for() -> None:
    deployment = deploy(load_topology(TOPOLOGIES / "two-tiers.yaml"), Preset.DOCSIS_PIE)
    plan = plan_load(deployment, "upstream", tcp=True)
    assert {item.transport for item in plan.loads if item.flow.primary} == {"tcp"}
    # Their rules take UDP alone.
    assert {item.transport for item in plan.loads if not item.flow.primary} == {"udp"}
