# SPDX-License-Identifier: Apache-2.0
"""Traffic of 004 (figure 6 and section III; catalogue, section 8).

Every modem has a web user. Some have streams or downloads besides: 5% of the modems an audio
stream of 56 kbit/s, 2% a video stream of 300 kbit/s, and 5% a peer-to-peer user. These are
different modems, the last ones, so that the first has nothing but its web user and the responses
that are measured. Neighbours are on different upstream channels where there are several, so each
channel has as many of them.
"""

from __future__ import annotations

from typing import Any, Final

from docsis_experiments.reproduction.settings.p004_network import SERVER, host
from docsis_experiments.reproduction.settings.p004_readings import Reading

WEB: Final = "web"
DOWNLOADS: Final = "p2p"
RESPONSES: Final = "response"
ALONE: Final = "tcp"

_AUDIO_SHARE: Final = 0.05
_VIDEO_SHARE: Final = 0.02
_DOWNLOADS_SHARE: Final = 0.05

START_SPREAD: Final = 10
"""Seconds within which users begin: the mean pause of web users. Not given in the paper."""

Groups = tuple[dict[str, Any], ...]


def shares(modems: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Hosts with audio streams, with video streams, and with downloads; one of each at least."""
    counts = [
        max(1, round(share * modems)) for share in (_AUDIO_SHARE, _VIDEO_SHARE, _DOWNLOADS_SHARE)
    ]
    found: list[tuple[str, ...]] = []
    last = modems
    for count in counts:
        found.append(tuple(host(number) for number in range(last - count + 1, last + 1)))
        last -= count
    audio, video, downloads = found
    return audio, video, downloads


def users(modems: int, spread: int) -> Groups:
    """All of a network's traffic.

    Args:
        modems: How many there are.
        spread: Seconds within which users and streams begin.
    """
    audio, video, downloads = shares(modems)
    begin = {"start_spread": f"{spread} s"}

    def stream(name: str, hosts: tuple[str, ...], rate: str, frame: str) -> dict[str, Any]:
        return {
            "name": name,
            "kind": "cbr",
            "count": len(hosts),
            "hosts": list(hosts),
            "rate": rate,
            "frame": frame,
            **begin,
        }

    return (
        # The first of the flows, so that its ports are the same everywhere.
        {
            "name": RESPONSES,
            "kind": "game",
            "size": "20 KB",
            "interval": "5 s",
            "hosts": [host(1)],
        },
        stream("audio", audio, "56 kbps", "200 B"),
        stream("video", video, "300 kbps", "1000 B"),
        {
            "name": DOWNLOADS,
            "kind": "downloads",
            "count": len(downloads),
            "hosts": list(downloads),
            **begin,
        },
        {
            "name": WEB,
            "kind": "browsing",
            "count": modems,
            "hosts": [host(number) for number in range(1, modems + 1)],
            **begin,
        },
    )


ALONE_GROUP: Final[dict[str, Any]] = {"name": ALONE, "kind": "transfer", "servers": [SERVER]}
"""Rows U1, V1 and V2: one TCP without an end on an idle network."""


def tcp(which: Reading) -> dict[str, Any]:
    """TCP as the simulators of the time had it (K3)."""
    each = which is Reading.ACK_PER_SEGMENT
    return {
        "profile": "rfc",
        "congestion_control": "reno",
        "initial_window": 3,
        "acknowledgements": "every-segment" if each else "delayed",
        "segment": "1460 B",
    }
