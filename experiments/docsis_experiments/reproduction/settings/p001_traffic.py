# SPDX-License-Identifier: Apache-2.0
"""Traffic of 001: uploads of files, a game over TCP, and what some rows have beside them.

"Each FTP session transmits a continuous stream of 90 MB FTP PUTs with 4 second spacing", and "a
session has one and only one 5-tuple associated with it": so all files of a session are on one
connection, and what shares its flow queue does so throughout.
"""

from __future__ import annotations

from typing import Any, Final

from docsis_experiments.reproduction.settings.p001_network import HOSTS
from docsis_experiments.reproduction.settings.p001_readings import Reading

GAME: Final = "game"
UPLOAD: Final = "ftp"

START_SPREAD: Final = "4 s"
"""Starts of the uploads are drawn within it (catalogue, section 4)."""

_FILE: Final[dict[str, Any]] = {"size": "90 MB", "pause": "4 s", "connection": "kept"}

Groups = tuple[dict[str, Any], ...]

GAME_GROUP: Final[dict[str, Any]] = {
    "name": GAME,
    "kind": "game",
    "size": "10 KB",
    "interval": "2 s",
    "hosts": [HOSTS[0]],
}


TRAIN: Final = "train"

TRAIN_GROUP: Final[dict[str, Any]] = {
    "name": TRAIN,
    "kind": "burst",
    "frames": 120,
    "frame": "1 KB",
    # Not in step with the game, whose messages are every 2 s.
    "interval": "10300 ms",
    "hosts": [HOSTS[1]],
}
"""Row I4: 120 frames at once."""

OVERLOAD_GROUP: Final[dict[str, Any]] = {"name": "udp", "kind": "cbr", "rate": "3 Mbps"}
"""Row P1: more than the 2 Mbps that the service flow has."""


ENDLESS_GROUP: Final[dict[str, Any]] = {
    "name": UPLOAD,
    "kind": "transfer",
    "count": 1,
    "start_spread": START_SPREAD,
}
"""Row T1: one upload without pauses."""


LEDBAT: Final = "ledbat"

LEDBAT_GROUP: Final[dict[str, Any]] = {
    "name": LEDBAT,
    "kind": "ledbat",
    "count": 1,
    "target": "25 ms",
    "start_spread": START_SPREAD,
    "hosts": [HOSTS[0]],
}
"""Row I1: one upload that yields (catalogue, section 8)."""

LEDBAT_100MS_GROUP: Final[dict[str, Any]] = {**LEDBAT_GROUP, "target": "100 ms"}
"""The same in the reading that has RFC 6817's target."""


def uploads(count: int, *, apart: bool = False) -> Groups:
    """Uploads of files.

    Args:
        count: How many.
        apart: Each is a group of its own, so that it is told of each; names of flows are the same.
    """
    shared = {"kind": "transfer", **_FILE, "start_spread": START_SPREAD}
    if not apart:
        return ({"name": UPLOAD, "count": count, **shared},)
    return tuple(
        {"name": f"{UPLOAD}-{number + 1}", "hosts": [HOSTS[number % len(HOSTS)]], **shared}
        for number in range(count)
    )


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


REAL_TCP: Final[dict[str, Any]] = {
    "profile": "linux",
    "congestion_control": "reno",
    "initial_window": 3,
}
"""As near to the same as the kernel's TCP goes, for Mininet."""
