# SPDX-License-Identifier: Apache-2.0
"""Configuration files for the tests: a complete one in YAML, and hypothesis strategies."""

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from pydantic import ValidationError

from docsis_control.modem_config import ModemConfiguration, check
from docsis_control.modem_config.ack_suppression import AckSuppression, AckSuppressionCodec
from docsis_control.modem_config.aggregate import Aggregate, Key, Places, decode, keys
from docsis_control.modem_config.rules import check_lengths
from docsis_control.modem_config.tlv import (
    CM_MIC,
    CMTS_MIC,
    MTA_DELIMITER,
    PAD,
    Image,
    Tlv,
    write_tlvs,
)
from docsis_control.modem_config.wire import (
    Address,
    Bytes,
    Choice,
    EtherType,
    Flag,
    Numbers,
    Text,
    Unsigned,
    Vlan,
)

HOME = """\
network_access: true
maximum_number_of_cpes: 4
upstream_classifiers:
  - classifier_reference: 1
    service_flow_reference: 2
    rule_priority: 64
    ip:
      tos: {low: 0xb8, high: 0xb8, mask: 0xfc}
      protocol: udp
      destination_port_start: 5060
      destination_port_end: 5061
upstream_service_flows:
  - service_flow_reference: 1
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 20 Mbps
    maximum_traffic_burst: 500 KB
    peak_traffic_rate: 25 Mbps
    buffer_control: {target_buffer: 625 KB}
    aqm: {latency_target: 10 ms}
  - service_flow_reference: 2
    qos_parameter_set_type: 7
    traffic_priority: 5
    minimum_reserved_traffic_rate: 1 Mbps
downstream_service_flows:
  - service_flow_reference: 101
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 100 Mbps
    peak_traffic_rate: 150 Mbps
    maximum_traffic_burst: 33 MB
"""
"""A home: two upstream service flows, one for telephony, and one downstream."""

_RANGES = {
    "backoff_window_multiplier": (4, 12),
    "bytes_requested_multiplier": (1, 2),
    "destination_prefix_length": (0, 128),
    "flow_label": (0, 0xFFFFF),
    "grants_per_interval": (0, 127),
    "immediate_range_exponent": (0, 25),
    "maximum_number_of_cpes": (1, 254),
    "next_header": (0, 257),
    "protocol": (0, 257),
    "qos_parameter_set_type": (1, 7),
    "source_prefix_length": (0, 128),
    "traffic_priority": (0, 7),
}
_REFERENCES = ("_reference", "_id")


def _leaf(key: Key) -> st.SearchStrategy[bytes]:
    codec = key.wire.codec
    if isinstance(codec, Unsigned):
        low, high = _RANGES.get(key.name, (0, (1 << 8 * codec.size) - 1))
        if key.name.endswith(_REFERENCES) and key.name != "upstream_channel_id":
            low = 1
        return st.integers(low, high).map(lambda number: number.to_bytes(codec.size))
    if isinstance(codec, Flag):
        return st.sampled_from((b"\0", b"\1"))
    if isinstance(codec, AckSuppressionCodec):
        return st.sampled_from(AckSuppression).map(lambda rule: codec.encode(rule, 1))
    if isinstance(codec, Choice):
        return st.sampled_from(sorted(codec.words.values())).map(lambda code: bytes((code,)))
    if isinstance(codec, Text):
        text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1)
        return text.map(lambda value: value[: codec.longest - 1].encode() + b"\0")
    if isinstance(codec, Address):
        size = 4 if codec.version == 4 else 16
        return st.binary(min_size=size, max_size=size)
    if isinstance(codec, Bytes):
        most = 255 if codec.hexadecimal else 7
        ordered = st.tuples(st.integers(0, most), st.integers(0, most)).map(sorted).map(bytes)
        if len(codec.names) == 2:
            return ordered
        return st.builds(lambda pair, mask: pair + mask, ordered, st.binary(min_size=1, max_size=1))
    if isinstance(codec, EtherType):
        value = st.binary(min_size=2, max_size=2)
        return st.builds(lambda kind, rest: bytes((kind,)) + rest, st.integers(0, 4), value)
    if isinstance(codec, Numbers):
        return st.integers(1, codec.most).flatmap(
            lambda count: st.binary(min_size=2 * count, max_size=2 * count)
        )
    size = 2 if isinstance(codec, Vlan) else int(str(codec and codec.form).split(maxsplit=1)[0])
    value = st.binary(min_size=size, max_size=size)
    # 0 ms is no latency target.
    return value.filter(any) if key.name == "latency_target" else value


@st.composite
def tlvs(
    draw: st.DrawFn, model: type[Aggregate], needed: tuple[str, ...] = (), most: int = 6
) -> list[Tlv]:
    """TLVs of a model in any order, among them such as it does not know."""
    own = keys(model)
    chosen = draw(st.lists(st.sampled_from(own), max_size=most, unique_by=lambda key: key.name))
    chosen += [key for key in own if key.name in needed and key not in chosen]
    found = []
    for key in chosen:
        for _ in range(draw(st.integers(1, 3)) if key.repeated else 1):
            if key.inner:
                value = write_tlvs(draw(tlvs(key.inner, REQUIRED, most)))
            else:
                value = draw(_leaf(key))
            found.append(Tlv(key.wire.type, value))
    known = {key.wire.type for key in own} | set(model.own_types())
    if model is ModemConfiguration:
        known.add(MTA_DELIMITER)
    strange = st.integers(0, 255).filter(lambda kind: kind not in known)
    found += draw(
        st.lists(st.builds(Tlv, strange, st.binary(max_size=12)), max_size=2, unique=True)
    )
    return draw(st.permutations(found))


REQUIRED = ("service_flow_reference", "qos_parameter_set_type")


def as_model(model: type[Aggregate], given: list[Tlv]) -> Aggregate:
    """The model of TLVs, where its own rules let it be."""
    try:
        return model.model_validate(decode(model, given, Places()))
    except ValidationError:
        assume(False)
        raise


def _remove(data: Any, location: tuple[int | str, ...]) -> None:
    for part in location[:-1]:
        data = data[part]
    del data[location[-1]]


@st.composite
def configurations(draw: st.DrawFn) -> ModemConfiguration:
    """Configurations that keep all rules."""
    data = decode(ModemConfiguration, draw(tlvs(ModemConfiguration)), Places())
    data.pop("tlv_order", None)
    numbers = iter(range(1, 255))
    flows: dict[str, list[int]] = {}
    for direction in ("upstream", "downstream"):
        for flow in data.get(f"{direction}_service_flows", []):
            flow["service_flow_reference"] = next(numbers)
            flow.pop("service_flow_id", None)
            flows.setdefault(direction, []).append(flow["service_flow_reference"])
        classifiers = data.get(f"{direction}_classifiers", [])
        if classifiers and direction not in flows:
            del data[f"{direction}_classifiers"]
            continue
        for classifier in classifiers:
            classifier["classifier_reference"] = next(numbers)
            classifier["service_flow_reference"] = draw(st.sampled_from(flows[direction]))
            for key in ("classifier_id", "service_flow_id", "tlv_order"):
                classifier.pop(key, None)
    for flow in data.get("upstream_service_flows", []) + data.get("downstream_service_flows", []):
        flow.pop("tlv_order", None)
    for _ in range(40):
        try:
            configuration = ModemConfiguration.model_validate(data)
        except ValidationError:
            assume(False)
        broken = [*check(configuration), *check_lengths(configuration)]
        if not broken:
            return configuration
        location = broken[0].location
        if len(location) > 2 and location[-2] == "buffer_control":
            location = location[:-1]
        _remove(data, location)
    assume(False)
    raise AssertionError("unreachable")


@st.composite
def images(draw: st.DrawFn) -> Image:
    """Files in any order, with pads between their TLVs and any MICs."""
    parts = list(draw(configurations()).to_tlvs())
    parts = [tlv for tlv in parts if tlv.type not in (CM_MIC, CMTS_MIC)]
    digest = st.binary(min_size=16, max_size=16)
    for kind in (CM_MIC, CMTS_MIC):
        if draw(st.booleans()):
            parts.append(Tlv(kind, draw(digest)))
    parts += [Tlv(PAD, b"")] * draw(st.integers(0, 2))
    return Image(tuple(draw(st.permutations(parts))), draw(st.integers(0, 9)))
