# SPDX-License-Identifier: Apache-2.0
"""ACK suppression in the modem's configuration file, and what the traffic manager is told of it."""

from pathlib import Path

import pytest

from docsis_control.config.errors import ConfigError
from docsis_control.modem_config import Channel, ModemConfiguration, from_bytes, from_yaml, to_bytes
from docsis_control.modem_config.ack_suppression import AckSuppression
from docsis_control.modem_config.provision import provision

FILE = Path("modem.yaml")
BINARY = Path("modem.cfg")
CHANNEL = Channel(upstream=100_000_000, downstream=1_000_000_000)
PLAIN = "service_flow_reference: 1, qos_parameter_set_type: 7"
OURS = bytes.fromhex("080302d0c50101")


def configured(keys: str) -> ModemConfiguration:
    return from_yaml(
        f"upstream_service_flows:\n  - {{{PLAIN}{keys}}}\n"
        "downstream_service_flows:\n  - {service_flow_reference: 2, qos_parameter_set_type: 7}\n",
        FILE,
    )


def vendor_specific(*values: bytes) -> bytes:
    """A configuration file of one service flow with these TLVs 24.43."""
    flow = bytes((1, 2, 0, 1, 6, 1, 7))
    flow += b"".join(bytes((43, len(value))) + value for value in values)
    return bytes((24, len(flow))) + flow + b"\xff"


@pytest.mark.parametrize("rule", list(AckSuppression))
def test_it_is_a_vendor_specific_parameter(rule: AckSuppression) -> None:
    configuration = configured(f", ack_suppression: {rule}")
    binary = to_bytes(configuration, FILE)
    assert bytes((43, 8)) + OURS + bytes((rule.code,)) in binary
    again = from_bytes(binary, BINARY).configuration
    assert again.upstream_service_flows[0].ack_suppression == rule
    (flow, *_) = provision(again, CHANNEL).service_flows
    assert (flow.direction, flow.ack_suppression) == ("upstream", rule)


def test_none_unless_given() -> None:
    (flow, *_) = provision(configured(""), CHANNEL).service_flows
    assert flow.ack_suppression is AckSuppression.NONE


def test_other_vendors_parameters_stay_as_they_are() -> None:
    others = bytes.fromhex("080300001c0102ffff")
    (flow,) = from_bytes(
        vendor_specific(OURS + b"\x02", others), BINARY
    ).configuration.upstream_service_flows
    assert flow.ack_suppression == "safe"
    assert [(tlv.type, tlv.value) for tlv in flow.other_tlvs] == [(43, others)]
    assert flow.to_bytes().endswith(
        bytes((43, 8)) + OURS + b"\x02" + bytes((43, len(others))) + others
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((OURS + b"\x03",), "hold 3 in TLV 1; it must be one of 0 to 2"),
        ((OURS,), "and nothing else"),
        ((OURS + b"\x01\x01",), "and nothing else"),
        ((OURS + b"\x01", OURS + b"\x01"), "is given twice"),
        ((b"\x08\x03\x00\x00\x1c", OURS + b"\x01"), "must stand before other vendors'"),
    ],
)  # fmt: skip
def test_what_is_not_ours_to_read_is_refused(values: tuple[bytes, ...], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_bytes(vendor_specific(*values), BINARY)
    assert "TLV 24.43" in str(refused.value)
    assert words in str(refused.value)


def test_yaml_says_it_by_name() -> None:
    with pytest.raises(ConfigError) as refused:
        configured(", ack_suppression: 004")
    assert "modem.yaml:2: upstream_service_flows.0.ack_suppression" in str(refused.value)
    with pytest.raises(ConfigError, match="has a key of its own here, ack_suppression"):
        configured(', other_tlvs: [{type: 43, value: "0x080302d0c5010101"}]')
    configured(', other_tlvs: [{type: 43, value: "0x080300001c0101ff"}]')
