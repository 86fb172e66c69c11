# SPDX-License-Identifier: Apache-2.0
"""Configuration files: YAML to bytes to YAML, and bytes to YAML to bytes, without loss."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from modem_files import HOME, as_model, configurations, images, tlvs

from docsis_control.modem_config import (
    ModemConfiguration,
    from_bytes,
    from_yaml,
    to_bytes,
    to_plain,
    to_yaml,
)
from docsis_control.modem_config.aggregate import Aggregate
from docsis_control.modem_config.classifiers import Classifier
from docsis_control.modem_config.service_flows import DownstreamServiceFlow, UpstreamServiceFlow
from docsis_control.modem_config.tlv import Image, Tlv, write_image, write_tlvs

FILE = Path("modem")
SLOW = settings(max_examples=30, suppress_health_check=list(HealthCheck))


def usual(node: Any) -> Any:
    """Plain data as it comes back: TLVs without a key by type, no empty lists."""
    if isinstance(node, dict):
        kept = {key: usual(value) for key, value in node.items() if value != []}
        if "other_tlvs" in kept and "tlv_order" not in kept:
            kept["other_tlvs"].sort(key=lambda other: other["type"])
        return kept
    return [usual(entry) for entry in node] if isinstance(node, list) else node


@pytest.mark.parametrize("model", [Classifier, UpstreamServiceFlow, DownstreamServiceFlow])
def test_bytes_of_any_order_come_back(model: type[Aggregate]) -> None:
    needed = ("service_flow_reference", "qos_parameter_set_type")

    @SLOW
    @given(tlvs(model, needed, most=12))
    def both_ways(found: list[Tlv]) -> None:
        assert as_model(model, found).to_bytes() == write_tlvs(found)

    both_ways()


@SLOW
@given(images())
@example(Image((Tlv(0, b""), Tlv(3, b"\1")), 0))
@example(Image((Tlv(3, b"\1"), Tlv(0, b"")), 4))
@example(Image((Tlv(7, bytes(16)), Tlv(6, bytes(16)), Tlv(3, b"\1")), 2))
def test_a_file_comes_back_from_its_yaml(image: Image) -> None:
    data = write_image(image)
    decoded = from_bytes(data, FILE).configuration
    again = from_yaml(to_yaml(decoded), FILE)
    assert again == decoded
    assert to_bytes(again, FILE) == data


@SLOW
@given(configurations(), st.none() | st.binary(min_size=1, max_size=20))
def test_yaml_comes_back_from_its_file(given_: ModemConfiguration, secret: bytes | None) -> None:
    configuration = from_yaml(to_yaml(given_), FILE)
    data = to_bytes(configuration, FILE, secret=secret)
    decoded = from_bytes(data, FILE, secret=secret)
    assert not decoded.warnings
    # Left out, the unit of rates too large for bit/s and the CMTS MIC are filled in.
    shown = to_plain(decoded.configuration)
    asked = to_plain(configuration)
    if secret is not None:
        assert shown.pop("cmts_mic") == "auto"
    for flows in ("upstream_service_flows", "downstream_service_flows"):
        for got, want in zip(shown.get(flows, []), asked.get(flows, []), strict=True):
            if "data_rate_unit" not in want:
                got.pop("data_rate_unit", None)
    assert usual(shown) == usual(asked)
    assert to_bytes(decoded.configuration, FILE, secret=secret) == data


def test_units_of_rates() -> None:
    def encoded(rate: str, more: str = "") -> bytes:
        text = HOME.replace("100 Mbps", rate).replace("150 Mbps", rate + more)
        return to_bytes(from_yaml(text, FILE), FILE)

    assert b"\x08\x04\xff\xff\xff\xff" in encoded("4294967295 bps")
    # 25.41: in kbps, the smallest unit that holds both.
    large = encoded("5 Gbps")
    assert b"\x08\x04\x00\x4c\x4b\x40" in large
    assert b"\x29\x01\x01" in large
    assert b"\x08\x04\x00\x00\x00\x05" in encoded("5 Gbps", "\n    data_rate_unit: Gbps")


def test_vlans_keep_the_bits_that_a_modem_ignores() -> None:
    def tagged(vlan: str) -> ModemConfiguration:
        tag = f"    ieee_802_1q: {{vlan_id: {vlan}}}\n    ip:"
        return from_yaml(HOME.replace("    ip:", tag), FILE)

    assert b"\x0b\x04\x02\x02\x06\x40" in to_bytes(tagged("100"), FILE)
    data = to_bytes(tagged("{id: 6, ignored_bits: 4}"), FILE)
    assert b"\x0b\x04\x02\x02\x00\x64" in data
    assert "ignored_bits: 4" in to_yaml(from_bytes(data, FILE).configuration)


def test_unknown_tlvs_stay_where_they_are() -> None:
    # 24: 1 2, an unknown 200, 6; 43 before 3, and 43 again at the end.
    flow = bytes.fromhex("0102 0001 c803 010203 0601 07".replace(" ", ""))
    parts = (
        Tlv(43, b"\x08\x03\xff\xff\xff"),
        Tlv(3, b"\1"),
        Tlv(24, flow),
        Tlv(43, b""),
    )
    data = write_image(Image(parts, 3))
    shown = to_yaml(from_bytes(data, FILE).configuration)
    assert "tlv_order" in shown
    assert to_bytes(from_yaml(shown, FILE), FILE) == data
