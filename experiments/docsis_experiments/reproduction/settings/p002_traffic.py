# SPDX-License-Identifier: Apache-2.0
"""Traffic of 002: endless FTP downloads, a call, and what comes and goes beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from docsis_experiments.reproduction.settings.p002_network import Subscriber
from docsis_experiments.reproduction.settings.p002_readings import Reading

CALL: Final = "call"
TIER2: Final = "tier2"
UDP: Final = "udp"

START_SPREAD: Final = "1 s"
"""Starts of the downloads are drawn within it (catalogue, section 5)."""

FIRST_ROUND_TRIP_US: Final = 20_000
"""Round trip of the first flow; that of the call and of UDP, which the paper does not state, is the
same."""

_STEP_US: Final = 10_000
_LAST_US: Final = 120_000

TIER1_CAP: Final = 6_000_000
TIER2_CAP: Final = 12_000_000
"""bit/s of EXP3's service rates."""

UDP_MBPS: Final = 12

UDP_FRAME: Final = 1000
"""Bytes of a frame of UDP to the end of its CRC (catalogue, section 8)."""

UDP_PAYLOAD: Final = UDP_FRAME - 46
"""Without the headers of Ethernet, IPv4 and UDP, and the CRC."""

VIDEO: Final = "video"
VIDEOS: Final = 5
"""Those who watch in EXP2."""

LADDER: Final = ("0.3 Mbps", "0.6 Mbps", "1 Mbps", "1.5 Mbps", "2.1 Mbps", "3 Mbps", "4.2 Mbps")
"""Rates of the video (catalogue, section 8; the paper has the highest one alone)."""

VIDEO_BPS: Final = 4_200_000
"""bit/s: "HAS flows have a demand of 4.2 Mbps"."""

Group = dict[str, Any]


def ftp(number: int) -> str:
    """Name of a download, from 1."""
    return f"ftp-{number}"


def round_trips_us(flows: int, which: Reading) -> list[int]:
    """The round trips of so many downloads or viewers, microseconds."""
    if which is not Reading.EVEN_ROUND_TRIPS:
        return [FIRST_ROUND_TRIP_US + _STEP_US * number for number in range(flows)]
    span = _LAST_US - FIRST_ROUND_TRIP_US
    return [FIRST_ROUND_TRIP_US + span * number // max(1, flows - 1) for number in range(flows)]


def download(of: Subscriber, active: tuple[int, int] | None = None) -> Group:
    """An endless one, or one that comes and goes: `active` is in seconds of the measured time."""
    group = {"name": of.name, "kind": "transfer", **_ends(of)}
    if active is None:
        return {**group, "start_spread": START_SPREAD}
    return {**group, **_span(active)}


def call(of: Subscriber) -> Group:
    """G.711, always on."""
    return {"name": of.name, "kind": "voip", **_ends(of)}


def constant(of: Subscriber, active: tuple[int, int]) -> Group:
    """EXP4's UDP."""
    rate = {"rate": f"{UDP_MBPS} Mbps", "frame": f"{UDP_FRAME} B"}
    return {"name": of.name, "kind": "cbr", **rate, **_ends(of), **_span(active)}


def player(number: int) -> str:
    """Name of somebody who watches, from 1."""
    return f"{VIDEO}-{number}"


def watched(by: Sequence[Subscriber]) -> Group:
    """An adaptive video from each one's own server, as section 8 of the catalogue has it."""
    return {
        "name": VIDEO,
        "kind": "adaptive-video",
        "count": len(by),
        "hosts": [one.host for one in by],
        "servers": [one.server for one in by],
        "ladder": list(LADDER),
        "segment": "4 s",
        "buffer": "30 s",
        "safety": 0.8,
        "samples": 3,
        "start_spread": START_SPREAD,
    }


def _ends(of: Subscriber) -> Group:
    return {"hosts": [of.host], "servers": [of.server]}


def _span(active: tuple[int, int]) -> Group:
    return {"start": f"{active[0]} s", "end": f"{active[1]} s"}


def tcp(which: Reading) -> Group:
    """TCP as the simulators of the time had it (K3)."""
    each = which is Reading.ACK_PER_SEGMENT
    return {
        "profile": "rfc",
        "congestion_control": "cubic" if which is Reading.CUBIC else "reno",
        "initial_window": 3,
        "acknowledgements": "every-segment" if each else "delayed",
        "segment": "1460 B",
    }


REAL_TCP: Final[Group] = {"profile": "linux", "congestion_control": "reno", "initial_window": 3}
"""As near to the same as the kernel's TCP goes, for Mininet."""
