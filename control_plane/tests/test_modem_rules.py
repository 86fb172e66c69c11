# SPDX-License-Identifier: Apache-2.0
"""Refusals of a modem's YAML: file, line, key, TLV and why."""

import json
from pathlib import Path

import pytest
from modem_files import HOME
from ruamel.yaml import YAML

from docsis_control.config import ConfigError
from docsis_control.modem_config import (
    Channel,
    Limits,
    ModemConfiguration,
    check_channel,
    from_yaml,
)
from docsis_control.modem_config.schema import json_schemas

DATA = Path(__file__).parent / "data"
FILE = Path("modem.yaml")

# What is replaced, by what, and the line, the key, the TLV and the words of the error.
REFUSED = {
    "reference without a flow": (
        "    service_flow_reference: 2\n    rule", "    service_flow_reference: 3\n    rule",
        5, "upstream_classifiers.0.service_flow_reference", "22.3",
        "there is no upstream service flow 3; there are 1, 2"),
    "flow of the other direction": (
        "    service_flow_reference: 2\n    rule", "    service_flow_reference: 101\n    rule",
        5, "upstream_classifiers.0.service_flow_reference", "22.3", "no upstream service flow 101"),
    "classifier without a flow": (
        "    service_flow_reference: 2\n    rule", "    rule",
        4, "upstream_classifiers.0", "22", "names no service flow"),
    "classifier without a number": (
        "  - classifier_reference: 1\n    service", "  - service",
        4, "upstream_classifiers.0", "22", "has no number"),
    "classifier's id that is a reference": (
        "port_end: 5061", "port_end: 5061\n  - classifier_id: 1\n    service_flow_reference: 2",
        12, "upstream_classifiers.1.classifier_id", "22.2",
        "1 is the reference of upstream_classifiers.0"),
    "peak below sustained": (
        "peak_traffic_rate: 25", "peak_traffic_rate: 15",
        17, "upstream_service_flows.0.peak_traffic_rate", "24.27",
        "15 Mbps is below the Maximum Sustained Traffic Rate of 20 Mbps"),
    "reserved above sustained": (
        "peak_traffic_rate: 25", "minimum_reserved_traffic_rate: 25",
        17, "upstream_service_flows.0.minimum_reserved_traffic_rate", "24.10", "25 Mbps is above"),
    "burst below 1522": (
        "500 KB", "1521 B",
        16, "upstream_service_flows.0.maximum_traffic_burst", "24.9", "at least 1522 B"),
    "flow reference twice": (
        "reference: 101", "reference: 1",
        25, "downstream_service_flows.0.service_flow_reference", "25.1",
        "1 is already taken by upstream_service_flows.0"),
    "flow id twice": (
        "reference: 101", "reference: 101\n    service_flow_id: 7\n    qos_parameter_set_type: 7"
        "\n  - service_flow_reference: 102\n    service_flow_id: 7",
        29, "downstream_service_flows.1.service_flow_id", "25.2", "7 is already taken"),
    "target above the maximum": (
        "target_buffer: 625 KB", "target_buffer: 625 KB, maximum_buffer: 600 KB",
        18, "upstream_service_flows.0.buffer_control.target_buffer", "24.35.2",
        "625 KB is above the Maximum Buffer of 600 KB"),
    "target below the minimum": (
        "target_buffer: 625 KB", "target_buffer: 625 KB, minimum_buffer: 626 KB",
        18, "upstream_service_flows.0.buffer_control.target_buffer", "24.35.2", "is below"),
    "maximum below the minimum": (
        "target_buffer: 625 KB", "maximum_buffer: 4 KB, minimum_buffer: 5 KB",
        18, "upstream_service_flows.0.buffer_control.maximum_buffer", "24.35.3", "4 KB is below"),
    "buffer below a frame": (
        "target_buffer: 625 KB", "target_buffer: 1 KB",
        18, "upstream_service_flows.0.buffer_control.target_buffer", "24.35.2", "largest frame"),
    "grants without what they are": (
        "traffic_priority: 5", "scheduling_type: ugs",
        22, "upstream_service_flows.1.scheduling_type", "24.15",
        "ugs needs unsolicited_grant_size"),
    "polls without their interval": (
        "traffic_priority: 5", "scheduling_type: rtps",
        22, "upstream_service_flows.1.scheduling_type", "24.15", "needs nominal_polling_interval"),
    "proactive grants without their rate": (
        "traffic_priority: 5", "scheduling_type: pgs",
        22, "upstream_service_flows.1.scheduling_type", "24.15", "needs guaranteed_grant_rate"),
    "a backoff window that is too small": (
        "traffic_priority: 5", "backoff_window_multiplier: 3",
        22, "upstream_service_flows.1.backoff_window_multiplier", "24.25", "greater than or equal"),
    "a proactive interval beyond its TLV": (
        "traffic_priority: 5", "guaranteed_grant_interval: 70 ms",
        22, "upstream_service_flows.1.guaranteed_grant_interval", "24.44", "at most 65535 us"),
    "a proactive rate beyond its TLV": (
        "traffic_priority: 5", "guaranteed_grant_rate: 5 Gbps",
        22, "upstream_service_flows.1.guaranteed_grant_rate", "24.45", "less than or equal"),
    "IPv4 beside IPv6": (
        "    ip:\n", "    ipv6: {flow_label: 1}\n    ip:\n",
        9, "upstream_classifiers.0.ip.tos", "22.9.1", "beside conditions for IPv6"),
    "priority 8": (
        "traffic_priority: 5", "traffic_priority: 8",
        22, "upstream_service_flows.1.traffic_priority", "24.7", "less than or equal to 7"),
    "reference 0": (
        "reference: 101", "reference: 0",
        25, "downstream_service_flows.0.service_flow_reference", "25.1", "greater than or equal"),
    "latency target too long": (
        "latency_target: 10 ms", "latency_target: 256 ms",
        19, "upstream_service_flows.0.aqm.latency_target", "24.40.2", "at most 255 ms"),
    "latency target in between": (
        "latency_target: 10 ms", "latency_target: 10.5 ms",
        19, "upstream_service_flows.0.aqm.latency_target", "24.40.2", "must be whole ms"),
    "latency target of 0": (
        "latency_target: 10 ms", "latency_target: 0 ms",
        19, "upstream_service_flows.0.aqm.latency_target", "24.40.2", "1 ms to 255 ms"),
    "rate between units": (
        "20 Mbps", "20000001 bps\n    data_rate_unit: kbps",
        15, "upstream_service_flows.0.maximum_sustained_traffic_rate", "24.8",
        "20000001 bps is no whole number of kbps"),
    "rate beyond its unit": (
        "20 Mbps", "5 Gbps\n    data_rate_unit: bps",
        15, "upstream_service_flows.0.maximum_sustained_traffic_rate", "24.8", "four bytes of bps"),
    "rate without a unit": (
        "20 Mbps", "20",
        15, "upstream_service_flows.0.maximum_sustained_traffic_rate", "24.8", "20 has no unit"),
    "burst beyond its TLV": (
        "500 KB", "5 GB",
        16, "upstream_service_flows.0.maximum_traffic_burst", "24.9", "less than or equal to"),
    "ports upside down": (
        "port_end: 5061", "port_end: 5059",
        11, "upstream_classifiers.0.ip.destination_port_end", "22.9.10", "5059 is below"),
    "port beyond 65535": (
        "port_end: 5061", "port_end: 65536",
        11, "upstream_classifiers.0.ip.destination_port_end", "22.9.10", "equal to 65535"),
    "ToS upside down": (
        "high: 0xb8", "high: 0xb7", 8, "upstream_classifiers.0.ip.tos.high", "22.9.1", "is below"),
    "protocol by a wrong name": (
        "protocol: udp", "protocol: udq",
        9, "upstream_classifiers.0.ip.protocol", "22.9.2", '"udq" is not a protocol'),
    "address of the wrong version": (
        "protocol: udp", 'source_address: "2001:db8::1"',
        9, "upstream_classifiers.0.ip.source_address", "22.9.3", "not an IPv4 address"),
    "an upstream key downstream": (
        "reference: 101", "reference: 101\n    scheduling_type: ugs",
        26, "downstream_service_flows.0.scheduling_type", "25", "unknown key"),
    "misspelt key": (
        "peak_traffic_rate: 25", "peak_rate: 25",
        17, "upstream_service_flows.0.peak_rate", "24", 'did you mean "peak_traffic_rate"'),
    "a TLV that has a key": (
        "traffic_priority: 5", 'other_tlvs: [{type: 7, value: "0x05"}]',
        22, "upstream_service_flows.1.other_tlvs.0.type", "24",
        "TLV 7 has a key of its own here, traffic_priority"),
    "a TLV of an MTA": (
        "network_access: true", 'other_tlvs: [{type: 254, value: "0x01"}]',
        1, "other_tlvs.0.type", "", "254 is what a PacketCable MTA's file begins with"),
    "hexadecimal without quotes": (
        "traffic_priority: 5", "other_tlvs: [{type: 43, value: 0x05}]",
        22, "upstream_service_flows.1.other_tlvs.0.value", "24", "YAML takes it for a number"),
    "half a byte": (
        "traffic_priority: 5", 'other_tlvs: [{type: 43, value: "0x051"}]',
        22, "upstream_service_flows.1.other_tlvs.0.value", "24", "not hexadecimal"),
    "an order of other TLVs": (
        "traffic_priority: 5", "tlv_order: [1, 6]",
        22, "upstream_service_flows.1.tlv_order", "24",
        "lists the types 1, 6, but there are 1, 6, 10"),
    "too many TLVs in one": (
        "traffic_priority: 5", f'other_tlvs: [{{type: 43, value: "0x{"00" * 250}"}}]',
        20, "upstream_service_flows.1", "24", "takes 265 bytes, and a TLV holds at most 255"),
    "name that is too long": (
        "traffic_priority: 5", "service_class_name: a-name-of-16-let",
        22, "upstream_service_flows.1.service_class_name", "24.4", "1 to 15 printable ASCII"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str) -> None:
    old, new, line, key, tlv, words = REFUSED[case]
    assert HOME.count(old) == 1
    with pytest.raises(ConfigError) as caught:
        from_yaml(HOME.replace(old, new), FILE)
    problem = caught.value.problems[0]
    assert (problem.file, problem.line, problem.key) == (FILE, line, key)
    assert words in problem.message
    assert problem.message.endswith(f" (TLV {tlv})") or not tlv
    assert "\n" not in str(problem)


def test_finds_all_that_is_wrong() -> None:
    text = HOME.replace("500 KB", "1 KB").replace("25 Mbps", "15 Mbps").replace("33 MB", "1 B")
    with pytest.raises(ConfigError) as caught:
        from_yaml(text, FILE)
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [
        (17, "upstream_service_flows.0.peak_traffic_rate"),
        (16, "upstream_service_flows.0.maximum_traffic_burst"),
        (29, "downstream_service_flows.0.maximum_traffic_burst"),
    ]


def many(flows: int, classifiers: int, more: str = "") -> str:
    lines = ["upstream_service_flows:"]
    lines += [
        f"  - {{service_flow_reference: {index + 1}, qos_parameter_set_type: 7}}"
        for index in range(flows)
    ]
    lines += ["upstream_classifiers:"] if classifiers else []
    lines += [
        f"  - {{classifier_reference: {index + 1}, service_flow_reference: 1}}"
        for index in range(classifiers)
    ]
    return "\n".join([*lines, more])


def test_the_modem_s_room() -> None:
    assert from_yaml(many(32, 64), FILE)
    with pytest.raises(ConfigError, match="there are 33 service flows, .* room for 32 .TLV 24"):
        from_yaml(many(33, 0), FILE)
    with pytest.raises(ConfigError, match=r"modem.yaml:18: .*there are 17 .* room for 16 .TLV 24"):
        from_yaml(many(17, 0), FILE, limits=Limits(service_flows=16))
    with pytest.raises(ConfigError, match="there are 65 classifiers, .* room for 64 .TLV 22"):
        from_yaml(many(1, 65), FILE)
    with pytest.raises(ConfigError, match="there are 17 classifiers, .* room for 16 .TLV 22"):
        from_yaml(many(1, 17), FILE, limits=Limits(classifiers=16))


def test_the_number_of_active_classifiers() -> None:
    assert from_yaml(many(1, 3, "maximum_number_of_classifiers: 0"), FILE)
    assert from_yaml(many(1, 3, "maximum_number_of_classifiers: 3"), FILE)
    with pytest.raises(ConfigError, match="allows 2 active upstream .* there are 3 .TLV 28"):
        from_yaml(many(1, 3, "maximum_number_of_classifiers: 2"), FILE)
    inactive = "{classifier_reference: 3, active: false,"
    text = many(1, 3, "maximum_number_of_classifiers: 2")
    assert from_yaml(text.replace("{classifier_reference: 3,", inactive), FILE)


def test_a_classifier_selects_one_flow() -> None:
    text = HOME.replace("    traffic_priority: 5", "    service_flow_id: 9")
    both = "    service_flow_reference: {}\n    service_flow_id: 9\n    rule"
    assert from_yaml(text.replace("    service_flow_reference: 2\n    rule", both.format(2)), FILE)
    with pytest.raises(ConfigError) as found:
        from_yaml(text.replace("    service_flow_reference: 2\n    rule", both.format(1)), FILE)
    assert str(found.value) == (
        "modem.yaml:6: upstream_classifiers.0.service_flow_id: 9 is the service flow with the "
        "reference 2, and service_flow_reference says 1; leave one of them out (TLV 22.4)"
    )


def reserving(rate: str, kinds: int = 7) -> ModemConfiguration:
    return from_yaml(
        "upstream_service_flows:\n  - {service_flow_reference: 1, qos_parameter_set_type: "
        f"{kinds}, minimum_reserved_traffic_rate: {rate}}}\n",
        FILE,
    )


def test_the_channel() -> None:
    channel = Channel(upstream=10_000_000, downstream=1)
    assert not list(check_channel([reserving("4 Mbps"), reserving("6 Mbps")], channel))
    found = list(check_channel([reserving("4 Mbps"), reserving("7 Mbps")], channel))
    assert len(found) == 1
    assert found[0].location == ("upstream_service_flows", 0, "minimum_reserved_traffic_rate")
    assert "the upstream minimum rates to 11 Mbps, above the channel's 10 Mbps" in found[0].message
    # What is only provisioned reserves nothing.
    assert not list(check_channel([reserving("4 Mbps"), reserving("7 Mbps", 1)], channel))
    with pytest.raises(ConfigError, match=r":23: .*minimum_reserved_traffic_rate: brings the sum"):
        from_yaml(HOME, FILE, channel=Channel(upstream=999_999, downstream=1))


def test_the_schema_describes_the_files() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = json_schemas()
    json.dumps(schemas)
    validator = jsonschema.Draft202012Validator(schemas["modem"])
    validator.check_schema(schemas["modem"])
    jsonschema.Draft202012Validator.check_schema(schemas["service-classes"])
    for name in ("modem", "modem-every-key"):
        document = YAML(typ="safe").load((DATA / f"{name}.yaml").read_text())
        validator.validate(document)
        document["surprise"] = 1
        assert not validator.is_valid(document)
