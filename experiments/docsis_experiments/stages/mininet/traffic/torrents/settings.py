# SPDX-License-Identifier: Apache-2.0
"""The settings of libtorrent's sessions: uTP alone, LEDBAT as described, no one else asked. Pure.

Names and units are those of libtorrent's reference of `settings_pack`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.stages.mininet.traffic.torrents import Endpoint

SEGMENT: Final = 1452
"""Payload of a full uTP packet in an Ethernet frame, bytes: 1500 less the headers of IPv4 (20),
UDP (8) and uTP (20)."""

Settings = dict[str, str | int | bool]

_DISABLED: Final = 2
"""`pe_disabled` of `enc_policy`."""
_NO_LIMIT: Final = -1
_TICKS: Final = 20
"""How often a limited upload that wants to send is passed over, while it gathers its share."""
_LONGEST_TICK: Final = 50
_LONG: Final = 3600
"""Seconds, in place of time limits of a slow peer: a block of 16 KiB may take long."""


def tick_ms(rate: int, uploads: int) -> int:
    """Milliseconds between two times that a session hands out what its uploads may send.

    It divides what it has among those that want to send. An upload waits for up to 20 such times,
    and then sends what it got. With libtorrent's own 500 ms each would send seconds of its part at
    once, and all of a session together. In the times of this function it gets about a full packet
    where all of them want to send: as an application that sends a segment at a time.

    Args:
        rate: bit/s of all uploads; 0 for no limit.
        uploads: How many share it.
    """
    if not rate:
        return _LONGEST_TICK
    return max(1, min(_LONGEST_TICK, SEGMENT * 8000 * uploads // (_TICKS * rate)))


def session_settings(
    target_ms: int, listen: Iterable[Endpoint], uploads: int, rate: int = 0
) -> Settings:
    """The settings of a session.

    Args:
        target_ms: Queueing delay that uTP keeps to, milliseconds.
        listen: Addresses and ports that it binds, and no others.
        uploads: How many it has, and so connections.
        rate: bit/s of all of them together at the most; 0 for no limit.
    """
    return {
        "listen_interfaces": ",".join(f"{address}:{port}" for address, port in listen),
        "max_retry_port_bind": 0,
        "listen_system_port_fallback": False,
        **_CONGESTION_CONTROL,
        "utp_target_delay": target_ms,
        **_UTP_ALONE,
        **_NOBODY_ELSE,
        **_UNHINDERED,
        "tick_interval": tick_ms(rate, uploads),
        # Bytes a second; 0 is no limit, too.
        "upload_rate_limit": rate // 8,
        "connections_limit": 2 * uploads,
        "active_limit": 2 * uploads,
        "alert_queue_size": 100 * (uploads + 10),
    }


_CONGESTION_CONTROL: Final[Settings] = {
    # Bytes that the window grows by in a round trip without queueing delay: with a segment, the
    # GAIN of RFC 6817 is 1. libtorrent's own value is 3000.
    "utp_gain_factor": SEGMENT,
    # Per cent that are left of the window at a loss, as of NewReno's, once in a round trip.
    "utp_loss_multiplier": 50,
    "utp_cwnd_reduce_timer": 0,
    # A connection is given up later than after libtorrent's three: queues drop here.
    "utp_num_resends": 10,
    "utp_syn_resends": 5,
}

_UTP_ALONE: Final[Settings] = {
    "enable_incoming_utp": True,
    "enable_outgoing_utp": True,
    "enable_incoming_tcp": False,
    "enable_outgoing_tcp": False,
    "in_enc_policy": _DISABLED,
    "out_enc_policy": _DISABLED,
    # As all other traffic: libtorrent's own is the class of what gives way.
    "peer_dscp": 0,
}

_NOBODY_ELSE: Final[Settings] = {
    "enable_dht": False,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "enable_ip_notifier": False,
    "max_pex_peers": 0,
    "max_metadata_size": 0,
}

_UNHINDERED: Final[Settings] = {
    # Limits are of payload, as the description's are.
    "rate_limit_ip_overhead": False,
    "unchoke_slots_limit": _NO_LIMIT,
    "allow_multiple_connections_per_ip": True,
    "connection_speed": 1000,
    "min_reconnect_time": 1,
    "max_failcount": 1000,
    "seed_choking_algorithm": 0,
    "close_redundant_connections": False,
    "request_timeout": _LONG,
    "piece_timeout": _LONG,
    "inactivity_timeout": _LONG,
    "peer_timeout": _LONG,
}
