# SPDX-License-Identifier: Apache-2.0
"""Generated classifiers, and frames that come close to them.

Values are drawn from few, and those of a frame from the edges of a classifier, so that many
frames match, and many miss by one. Whoever calls brings the random numbers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from docsis_control.modem_config.provisioned import Direction, PacketClassifier
from docsis_ptf.classifier_reference import Frame, Ip

Random = random.Random

PAYLOAD: Final = b"\xa5" * 60
ETHERTYPE_VLAN: Final = 0x8100
_ETHERTYPE: Final = {4: 0x0800, 6: 0x86DD}

_MACS: Final = (0x020000000101, 0x020000000202, 0x020000000277, 0x0200000F0303)
_MAC_MASKS: Final = (0xFFFFFFFFFFFF,) * 3 + (0xFFFFFFFFFF00, 0xFFFFFF000000, 0x0000000000FF, 0)
_ADDRESSES: Final = {
    4: (0x0A00000B, 0x0A000065, 0x0A0001FE, 0xC0A80001),
    6: (0x20010DB8 << 96 | 0x11, 0x20010DB8 << 96 | 0x101, 0x20010DB8 << 96 | 1 << 64 | 7),
}
_MASKS: Final = {
    4: (0xFFFFFFFF, 0xFFFFFF00, 0xFFFFFFFE, 0xFF000000, 0xFF00FF00, 0),
    6: tuple(((1 << n) - 1) << (128 - n) for n in (128, 127, 64, 48, 1, 0)),
}
_PROTOCOLS: Final = (6, 17, 257, 6, 17, 257, 1, 58, 0, 47, 255)
_TYPES: Final = (0x0800, 0x86DD, 0x0806, 0x88B5, 0x0600, ETHERTYPE_VLAN, 0xFFFF, 0x05DC)
_DSAPS: Final = (0x42, 0xFE, 0xAA, 0xE0, 0)
_PORTS: Final = (0, 1, 53, 80, 443, 1023, 1024, 5060, 5061, 65534, 65535)
_LABELS: Final = (0, 1, 0xABCDE, 0xFFFFF)
_VLANS: Final = (0, 1, 100, 101, 4095)
_BYTES: Final = (0, 0x01, 0x20, 0xB8, 0xBB, 0xFC, 0xFE, 0xFF)


def classifier_set(
    draw: Random, size: int, service_flows: Sequence[int], direction: Direction = "upstream"
) -> tuple[PacketClassifier, ...]:
    """`size` classifiers of the service flows, in no order, some inactive."""
    references = draw.sample(range(1, 256), size)
    return tuple(_classifier(draw, reference, service_flows, direction) for reference in references)


def _classifier(
    draw: Random, reference: int, service_flows: Sequence[int], direction: Direction
) -> PacketClassifier:
    version = draw.choice((None, 4, 4, 6))
    given: dict[str, Any] = {}
    # One to three kinds of conditions: more would hardly ever match.
    kinds = ["mac", "frame", "tag", "tos", "protocol", "ports"]
    if version:
        kinds += ["addresses", "addresses", "addresses"]
    for kind in draw.choices(kinds, k=draw.randint(1, 3)):
        given |= _CONDITIONS[kind](draw, version)
    return PacketClassifier(
        direction=direction,
        reference=reference,
        service_flow=draw.choice(service_flows),
        rule_priority=draw.choice((0, 1, 64, 64, 128, 255)),
        active=draw.random() < 0.95,
        ip_version=version,
        **given,
    )


def _some_mac(draw: Random, version: int | None) -> dict[str, Any]:
    field = draw.choice(("source_mac", "destination_mac"))
    return {field: _masked(draw, draw.choice(_MACS), draw.choice(_MAC_MASKS))}


def _some_frame(draw: Random, version: int | None) -> dict[str, Any]:
    kind = draw.choice(("ethertype",) * 4 + ("dsap",) * 2 + ("mac-management", "all-data"))
    value = draw.choice(_DSAPS) + draw.choice((0, 0x100)) if kind == "dsap" else draw.choice(_TYPES)
    return {"ethernet": (kind, value)}


def _some_tag(draw: Random, version: int | None) -> dict[str, Any]:
    if draw.random() < 0.5:
        return {"vlan": draw.choice(_VLANS)}
    return {"user_priority": _pair(draw, range(8))}


def _some_tos(draw: Random, version: int | None) -> dict[str, Any]:
    mask = draw.choice((0xFF, 0xFF, 0xFC, 0xE0, 0x03, 0x55, draw.randrange(256), 0))
    low, high = _pair(draw, (*_BYTES, draw.randrange(256), draw.randrange(256)))
    return {"tos": (low, high, mask)}


def _some_protocol(draw: Random, version: int | None) -> dict[str, Any]:
    return {"protocol": draw.choice(_PROTOCOLS)}


def _some_ports(draw: Random, version: int | None) -> dict[str, Any]:
    ends = draw.choice((("source_ports",), ("destination_ports",), _BOTH_PORTS))
    given: dict[str, Any] = {
        end: draw.choice((_pair(draw, _PORTS), _pair(draw, _PORTS), (0, 65535))) for end in ends
    }
    return given | (_some_protocol(draw, version) if draw.random() < 0.5 else {})


def _some_addresses(draw: Random, version: int | None) -> dict[str, Any]:
    if version == 6 and draw.random() < 0.3:
        return {"flow_label": draw.choice(_LABELS)}
    field = draw.choice(("source", "destination"))
    assert version is not None
    return {field: _masked(draw, draw.choice(_ADDRESSES[version]), draw.choice(_MASKS[version]))}


_BOTH_PORTS: Final = ("source_ports", "destination_ports")
_CONDITIONS: Final = {
    "mac": _some_mac,
    "frame": _some_frame,
    "tag": _some_tag,
    "tos": _some_tos,
    "protocol": _some_protocol,
    "ports": _some_ports,
    "addresses": _some_addresses,
}


def _masked(draw: Random, address: int, mask: int) -> tuple[int, int]:
    # Bits outside the mask, now and then: such an address is never met.
    return (address if draw.random() < 0.05 else address & mask), mask


def _pair(draw: Random, values: Sequence[int]) -> tuple[int, int]:
    low, high = sorted((draw.choice(values), draw.choice(values)))
    return low, high


def frame_near(draw: Random, classifiers: Sequence[PacketClassifier]) -> Frame:
    """A frame that one of the classifiers takes, or nearly."""
    near = draw.choice(classifiers)
    tag = None
    if draw.random() < (0.9 if near.vlan is not None or near.user_priority else 0.2):
        priority = _at_edge(draw, near.user_priority, tuple(range(8)), 7)
        vlan = near.vlan if near.vlan is not None else draw.choice(_VLANS)
        tag = (priority, vlan if draw.random() < 0.9 else draw.choice(_VLANS))
    ip = _ip_near(draw, near)
    return Frame(
        destination=_address_near(draw, near.destination_mac, _MACS, 48),
        source=_address_near(draw, near.source_mac, _MACS, 48),
        carries=("dix", _ETHERTYPE[ip.version]) if ip else _payload_near(draw, near, tag),
        tag=tag,
        ip=ip,
    )


def _ip_near(draw: Random, near: PacketClassifier) -> Ip | None:
    kind, value = near.ethernet or ("all-data", 0)
    version = near.ip_version
    if kind == "ethertype" and value in _ETHERTYPE.values():
        version = version or (4 if value == _ETHERTYPE[4] else 6)
    elif kind in ("ethertype", "dsap") and draw.random() < 0.9:
        return None
    if not (version or near.tos or near.protocol is not None or near.source_ports) and (
        draw.random() < 0.3
    ):
        return None
    version = version if version and draw.random() < 0.95 else draw.choice((4, 6))
    same = version == near.ip_version
    has_ports = near.source_ports or near.destination_ports
    protocol = near.protocol if near.protocol is not None else 17 if has_ports else None
    if protocol is None or draw.random() < 0.1:
        protocol = draw.choice(_PROTOCOLS)
    if protocol == 257:
        protocol = draw.choice((6, 17))
    # An IPv6 fragment has an extension header: its first next header is no protocol with ports.
    fragment = version == 4 and draw.random() < 0.1
    ports = None
    if protocol in (6, 17) and not fragment:
        ports = (
            _at_edge(draw, near.source_ports, _PORTS, 0xFFFF),
            _at_edge(draw, near.destination_ports, _PORTS, 0xFFFF),
        )
    label = near.flow_label if near.flow_label is not None else draw.choice(_LABELS)
    pool, width = _ADDRESSES[version], 32 if version == 4 else 128
    return Ip(
        version=version,
        tos=_tos_near(draw, near.tos),
        protocol=protocol,
        source=_address_near(draw, near.source if same else None, pool, width),
        destination=_address_near(draw, near.destination if same else None, pool, width),
        flow_label=0 if version == 4 else label if draw.random() < 0.9 else draw.choice(_LABELS),
        fragment=fragment,
        ports=ports,
    )


def _payload_near(
    draw: Random, near: PacketClassifier, tag: tuple[int, int] | None
) -> tuple[str, int]:
    """The payload of a frame without IP."""
    kind, value = near.ethernet or ("all-data", 0)
    if kind == "dsap" and draw.random() < 0.9:
        return "llc", value & 0xFF
    value = value if kind == "ethertype" and draw.random() < 0.9 else draw.choice(_TYPES)
    if value < 0x600:
        return "llc", draw.choice(_DSAPS)
    # The pipeline looks for IP in DIX frames only, and an untagged frame's 0x8100 is a tag.
    if value in _ETHERTYPE.values() or (value == ETHERTYPE_VLAN and tag is None):
        return "dix", 0x88B5
    return draw.choice(("dix", "dix", "snap")), value


def _address_near(
    draw: Random, condition: tuple[int, int] | None, pool: Sequence[int], width: int
) -> int:
    if condition is None:
        return draw.choice(pool)
    address, mask = condition
    found = address & mask | draw.choice(pool) & ~mask & ((1 << width) - 1)
    return found ^ 1 << draw.randrange(width) if draw.random() < 0.1 else found


def _at_edge(
    draw: Random, condition: tuple[int, int] | None, pool: Sequence[int], highest: int
) -> int:
    if condition is None:
        return draw.choice(pool)
    low, high = condition
    found = draw.choice((low, high, (low + high) // 2, low, high, low - 1, high + 1))
    return min(max(found, 0), highest)


def _tos_near(draw: Random, condition: tuple[int, int, int] | None) -> int:
    if condition is None:
        return draw.choice(_BYTES)
    low, high, mask = condition
    inside = [byte for byte in range(256) if low <= byte & mask <= high]
    edges = [byte for byte in range(256) if byte & mask in (low, low - 1, high, high + 1)]
    return draw.choice(draw.choice((inside, inside, edges)) or range(256))


def build(frame: Frame) -> bytes:
    """The frame's bytes."""
    encapsulation, protocol = frame.carries
    if frame.ip is not None:
        body = _ip_packet(frame.ip)
    elif encapsulation == "dix":
        body = PAYLOAD
    elif encapsulation == "snap":
        body = b"\xaa\xaa\x03\0\0\0" + protocol.to_bytes(2) + PAYLOAD
    else:
        # Where the DSAP is SNAP's, the protocol is an organization's own.
        body = bytes((protocol, protocol, 3)) + b"\x08\0\x07\x88\xb5" + PAYLOAD
    kind = protocol if encapsulation == "dix" else len(body)
    addresses = {"dst": _mac(frame.destination), "src": _mac(frame.source)}
    if frame.tag is None:
        return bytes(Ether(**addresses, type=kind) / Raw(body))
    priority, vlan = frame.tag
    tag = Dot1Q(prio=priority, vlan=vlan, type=kind)
    return bytes(Ether(**addresses, type=ETHERTYPE_VLAN) / tag / Raw(body))


def _ip_packet(ip: Ip) -> bytes:
    payload: Any = Raw(PAYLOAD)
    if ip.ports is not None:
        header = TCP if ip.protocol == 6 else UDP
        payload = header(sport=ip.ports[0], dport=ip.ports[1]) / payload
    source, destination = (_text(ip.version, address) for address in (ip.source, ip.destination))
    if ip.version == 6:
        fields = {"tc": ip.tos, "fl": ip.flow_label, "nh": ip.protocol}
        return bytes(IPv6(src=source, dst=destination, **fields) / payload)
    fields = {"tos": ip.tos, "proto": ip.protocol, "frag": 185 if ip.fragment else 0}
    return bytes(IP(src=source, dst=destination, **fields) / payload)


def _mac(address: int) -> str:
    return address.to_bytes(6).hex(":")


def _text(version: int, address: int) -> str:
    return str(IPv4Address(address) if version == 4 else IPv6Address(address))
