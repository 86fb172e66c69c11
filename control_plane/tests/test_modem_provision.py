# SPDX-License-Identifier: Apache-2.0
"""The meaning of a configuration file: defaults, service classes, matches of classifiers."""

from ipaddress import IPv6Network
from pathlib import Path

import pytest
from modem_files import HOME

from docsis_control.config import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.modem_config import Channel, Limits, from_yaml
from docsis_control.modem_config.provision import provision
from docsis_control.modem_config.provisioned import Modem
from docsis_control.modem_config.scheduling import BEST_EFFORT
from docsis_control.modem_config.service_classes import ServiceClasses, load_service_classes

FILE = Path("modem.yaml")
DATA = Path(__file__).parent / "data"
CHANNEL = Channel(upstream=100_000_000, downstream=1_000_000_000)

CLASSES = """\
upstream:
  gold:
    traffic_priority: 3
    maximum_sustained_traffic_rate: 20 Mbps
    peak_traffic_rate: 25 Mbps
    maximum_traffic_burst: 1 MB
downstream:
  gold: {maximum_sustained_traffic_rate: 100 Mbps}
"""


def modem(text: str, classes: ServiceClasses | None = None) -> Modem:
    return provision(from_yaml(text, FILE), CHANNEL, classes)


def test_defaults() -> None:
    first, second, downstream = modem(HOME).service_flows
    assert first.primary
    assert first.max_sustained_rate == 20_000_000
    assert first.peak_rate == 25_000_000
    assert first.buffer_size == 625_000
    assert first.latency_target == 10_000_000
    assert first.aqm_enabled
    assert not second.primary
    assert second.max_sustained_rate is None
    assert second.max_burst == 3044
    assert second.min_reserved_rate == 1_000_000
    assert second.traffic_priority == 5
    assert second.scheduling == BEST_EFFORT
    # 250 ms at the channel's rate.
    assert second.buffer_size == 3_125_000
    assert (second.tos_and_mask, second.tos_or_mask) == (0xFF, 0)
    assert second.latency_target == 10_000_000
    assert downstream.direction == "downstream"
    assert downstream.primary
    assert downstream.scheduling is None
    # 250 ms at the sustained rate.
    assert downstream.buffer_size == 3_125_000


@pytest.mark.parametrize(
    ("control", "more", "size"),
    [
        ("", "", 625_000),
        ("", "default_upstream_target_buffer: 100 ms\n", 250_000),
        ("    buffer_control: {target_buffer: 0 B}\n", "", 625_000),
        ("    buffer_control: {target_buffer: 125 KB}\n",
         "default_upstream_target_buffer: 100 ms\n", 125_000),
        ("    buffer_control: {maximum_buffer: 300 KB}\n", "", 300_000),
        ("    buffer_control: {minimum_buffer: 700 KB}\n", "", 700_000),
        ("", "default_upstream_target_buffer: 0 ms\n", 625_000),
    ],
)  # fmt: skip
def test_the_buffer(control: str, more: str, size: int) -> None:
    text = HOME.replace("    buffer_control: {target_buffer: 625 KB}\n", control) + more
    assert modem(text).service_flows[0].buffer_size == size


def test_aqm() -> None:
    flows = modem(HOME + "upstream_aqm_disable: true\n").service_flows
    assert [flow.aqm_enabled for flow in flows] == [False, False, True]
    text = HOME.replace("latency_target: 10 ms", "disable: true, algorithm: immediate")
    flow = modem(text).service_flows[0]
    assert not flow.aqm_enabled
    assert flow.aqm_algorithm == "immediate"


def test_classifiers() -> None:
    text = (DATA / "modem-every-key.yaml").read_text()
    classes = ServiceClasses.model_validate({"upstream": {"residential": {}}})
    found = {classifier.reference: classifier for classifier in modem(text, classes).classifiers}
    assert list(found) == [1, 3, 2], "the highest rule priority first"
    first, second, third = found[1], found[2], found[3]
    assert (first.direction, first.service_flow, first.ip_version) == ("upstream", 2, 4)
    assert first.tos == (0xB8, 0xB8, 0xFC)
    assert first.protocol == 17
    assert first.source == (0x0A000000, 0xFFFFFF00)
    assert first.destination == (0xC0000201, 0xFFFFFFFF)
    assert (first.source_ports, first.destination_ports) == ((1024, 65535), (5060, 5061))
    assert not second.active
    assert second.destination_mac == (0x01005E000000, 0xFFFFFF800000)
    assert second.source_mac == (0x020000000101, 0xFFFFFFFFFFFF)
    assert second.ethernet == ("ethertype", 0x0800)
    assert (second.user_priority, second.vlan) == ((5, 7), 100)
    assert (third.direction, third.ip_version, third.flow_label) == ("downstream", 6, 0x12345)
    prefix = IPv6Network("2001:db8::/32")
    assert third.source == (int(prefix.network_address), int(prefix.netmask))
    assert third.protocol == 257
    assert third.source_ports == (443, 443)
    assert third.destination_ports is None


@pytest.mark.parametrize("empty", ["{}", "{other_tlvs: [{type: 99, value: '0x01'}]}"])
def test_an_ipv6_header_without_a_condition_takes_none_away(empty: str) -> None:
    text = HOME.replace("      protocol: udp\n", "      source_address: 10.0.0.11\n")
    (without,) = modem(text).classifiers
    (beside,) = modem(text.replace("    ip:\n", f"    ipv6: {empty}\n    ip:\n")).classifiers
    assert beside == without
    assert beside.source == (0x0A00000B, 0xFFFFFFFF)


def test_ports_alone_match_either_version() -> None:
    text = HOME.replace("      tos: {low: 0xb8, high: 0xb8, mask: 0xfc}\n", "")
    text = text.replace("      protocol: udp\n", "").replace(
        "      destination_port_start: 5060\n", ""
    )
    (classifier,) = modem(text).classifiers
    assert classifier.ip_version is None
    assert classifier.destination_ports == (0, 5061)


def test_every_protocol_is_none_in_particular() -> None:
    (classifier,) = modem(HOME.replace("protocol: udp", "protocol: any")).classifiers
    assert classifier.protocol is None
    assert classifier.ip_version == 4


def test_an_empty_part_is_no_condition() -> None:
    (classifier,) = modem(HOME.replace("    ip:", "    ipv6: {}\n    ip:")).classifiers
    assert classifier.ip_version == 4


def test_of_equal_priorities_the_lowest_reference_is_first() -> None:
    rules = "".join(
        f"  - classifier_reference: {reference}\n    service_flow_reference: 2\n"
        for reference in (9, 7, 8)
    )
    found = modem(HOME.replace("upstream_classifiers:\n", "upstream_classifiers:\n" + rules))
    assert [classifier.reference for classifier in found.classifiers] == [1, 7, 8, 9]


def test_a_classifier_may_name_a_flow_by_its_id() -> None:
    text = HOME.replace(
        "    service_flow_reference: 2\n    rule", "    service_flow_id: 9\n    rule"
    )
    text = text.replace("    traffic_priority: 5", "    service_flow_id: 9")
    assert modem(text).classifiers[0].service_flow == 2


@pytest.fixture
def classes(tmp_path: Path) -> ServiceClasses:
    file = tmp_path / "classes.yaml"
    file.write_text(CLASSES)
    return load_service_classes(file)


GOLD = """\
upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7, service_class_name: gold}
downstream_service_flows:
  - service_flow_reference: 2
    qos_parameter_set_type: 7
    service_class_name: gold
    maximum_sustained_traffic_rate: 200 Mbps
"""


def test_service_classes(classes: ServiceClasses) -> None:
    upstream, downstream = modem(GOLD, classes).service_flows
    assert upstream.class_name == "gold"
    assert upstream.traffic_priority == 3
    assert upstream.max_sustained_rate == 20_000_000
    assert upstream.max_burst == 1_000_000
    # What the file says wins.
    assert downstream.max_sustained_rate == 200_000_000


def test_service_classes_that_do_not_fit(classes: ServiceClasses, tmp_path: Path) -> None:
    with pytest.raises(KeyedError, match='no service class "gold"; there are none') as caught:
        modem(GOLD)
    assert caught.value.key == "upstream_service_flows.0.service_class_name"
    text = GOLD.replace("class_name: gold}", "class_name: gold, peak_traffic_rate: 10 Mbps}")
    with pytest.raises(KeyedError, match="10 Mbps is below") as caught:
        modem(text, classes)
    assert caught.value.key == "upstream_service_flows.0.peak_traffic_rate"
    bad = tmp_path / "bad.yaml"
    bad.write_text(CLASSES.replace("traffic_priority: 3", "traffic_priority: 9"))
    with pytest.raises(ConfigError, match=r"bad.yaml:3: upstream.gold.traffic_priority: 9 is not"):
        load_service_classes(bad)


def test_a_modem_needs_a_flow_each_way() -> None:
    with pytest.raises(KeyedError, match="a primary downstream flow"):
        modem(HOME.partition("downstream_service_flows")[0])


def test_the_modem_s_room_counts() -> None:
    configuration = from_yaml(HOME, FILE)
    assert provision(configuration, CHANNEL, limits=Limits(service_flows=2))
    with pytest.raises(KeyedError, match="there are 2 service flows, .* room for 1"):
        provision(configuration, CHANNEL, limits=Limits(service_flows=1))


def test_minimum_rates_of_classes_count(classes: ServiceClasses) -> None:
    silver = classes.upstream["gold"].model_copy(
        update={"minimum_reserved_traffic_rate": 200_000_000, "maximum_sustained_traffic_rate": 0}
    )
    greedy = ServiceClasses(upstream={"gold": silver}, downstream=dict(classes.downstream))
    with pytest.raises(KeyedError, match="above the channel"):
        modem(GOLD, greedy)
