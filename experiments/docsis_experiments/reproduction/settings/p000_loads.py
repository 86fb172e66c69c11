# SPDX-License-Identifier: Apache-2.0
"""The nine loads of 000, table 1, as groups of a scenario's traffic (catalogue, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from docsis_experiments.reproduction.settings.p000_network import (
    DISTANT,
    FARTHEST_PEER_MS,
    GAME_SERVER,
    GAMERS,
    NEAR,
    NEAREST_PEER_MS,
    PEERS,
    TORRENTS,
    UPLOADER,
    WEB_SERVERS,
    WEB_USERS,
)

GAMES: Final = ("game-1", "game-2", "game-3", "game-4")
"""Sessions are groups of their own: what a call is told by must not mix with another's."""

PAGES: Final = ("pages-1", "pages-2", "pages-3", "pages-4")
UPLOADS: Final = ("near", "distant")

START_SPREAD: Final = "1 s"
"""Starts are uniform within it (catalogue, section 8)."""


class Files(StrEnum):
    """How files follow each other (K7)."""

    KEPT = "kept"
    """On the same connection, with slow start restarted: decides."""
    NEW = "new"
    """A connection a file."""
    ENDLESS = "endless"
    """One file without an end."""


@dataclass(frozen=True)
class Load:
    """A row of table 1.

    Attributes:
        uploads: At each of the two round trips.
        file: Size of a file; None for one without an end.
        pause: From a file to the next.
        web, games: Users, and sessions.
        cbr_mbps: Constant rate.
        torrents: Uploads of LEDBAT.
    """

    uploads: int
    file: str | None
    pause: str
    web: int
    games: int
    cbr_mbps: int = 0
    torrents: int = 0


PAUSE: Final = "300 ms"
POWERBOOST_PAUSE: Final = "2 s"
"""The pause of load 5, whose bucket is full again by then."""

LOADS: Final[Mapping[int, Load]] = {
    1: Load(0, None, PAUSE, 1, 1),
    2: Load(1, None, PAUSE, 1, 1),
    3: Load(3, "50 MB", PAUSE, 1, 1),
    4: Load(3, "50 MB", PAUSE, 1, 1, cbr_mbps=6),
    5: Load(1, "19 MB", POWERBOOST_PAUSE, 1, 1),
    6: Load(3, "50 MB", PAUSE, 4, 4),
    7: Load(3, "50 MB", PAUSE, 4, 4, cbr_mbps=6),
    8: Load(5, "2.5 MB", PAUSE, 4, 4, cbr_mbps=6),
    9: Load(3, "50 MB", PAUSE, 4, 1, torrents=100),
}

TORRENT_RATE: Final = "100 Mbps"
"""Half of the sustained rate (section 2.2.1), which all torrents share."""

TORRENT_TARGET_MS: Final = 25
"""Target of their LEDBAT (catalogue, section 8)."""


class Congestion(StrEnum):
    """TCP's congestion control (K3)."""

    RENO = "reno"
    CUBIC = "cubic"


LEAST_TIMEOUT: Final = "200 ms"
"""Least retransmission timeout of ns-2 (`minrto_`), in which the authors' public script runs."""


def tcp(congestion: Congestion) -> dict[str, Any]:
    """A scenario's TCP: initial window 4, and an acknowledgement for each segment (K3).

    K7 has each file begin in slow start 0.3 s after the last on the same connection, as the public
    script does. A connection restarts slow start only after it was idle for longer than its
    retransmission timeout (RFC 5681, 4.1), which RFC 6298 keeps at 1 s or more, so that it never
    would. The script is ns-2's, whose least timeout is 200 ms, for either congestion control. It is
    idle since it sent its last segment: for a round trip, however long the queue makes it, and the
    pause.
    """
    return {
        "tcp": {
            "profile": "rfc",
            "congestion_control": congestion.value,
            "initial_window": 4,
            "acknowledgements": "every-segment",
            "least_timeout": LEAST_TIMEOUT,
        }
    }


REAL_TCP: Final[Mapping[str, Any]] = {
    "tcp": {
        "profile": "linux",
        "congestion_control": Congestion.RENO.value,
        "initial_window": 4,
        "acknowledgements": "every-segment",
    }
}
"""As near to the same as the kernel's TCP goes, for Mininet: its least timeout is 200 ms anyway.
After a pause it halves its window once for each timeout (RFC 2861), so that a file that follows
0.3 s after the last one does not begin in slow start, as K7 reads the paper."""


def traffic(
    load: Load,
    files: Files,
    congestion: Congestion,
    pause: str,
    torrent_target_ms: int = TORRENT_TARGET_MS,
) -> list[dict[str, Any]]:
    """The groups of a load.

    Args:
        load: A load of table 1.
        files: How they follow each other.
        congestion: The congestion control of all TCP.
        pause: From a file to the next.
        torrent_target_ms: Target of the torrents' LEDBAT.
    """
    return [
        *uploads(load.uploads, load.file, files, congestion, pause),
        *({"name": name, "kind": "web", **_web(host)} for name, host in _first(PAGES, load.web)),
        *games(load.games),
        *_cbr(load.cbr_mbps),
        *_torrents(load.torrents, torrent_target_ms),
    ]


def uploads(
    count: int, file: str | None, files: Files, congestion: Congestion, pause: str
) -> Iterable[dict[str, Any]]:
    """As many at each of the two round trips."""
    for name, server in zip(UPLOADS, (NEAR, DISTANT), strict=True) if count else ():
        group = {
            "name": name,
            "kind": "transfer",
            "count": count,
            "hosts": [UPLOADER],
            "servers": [server],
            "congestion_control": congestion.value,
            "start_spread": START_SPREAD,
        }
        if file is not None and files is not Files.ENDLESS:
            group |= {"size": file, "pause": pause, "connection": files.value}
        yield group


def games(count: int) -> Iterable[dict[str, Any]]:
    """Sessions of VoIP or gaming, 50 frames of 218 bytes a second each."""
    for name in GAMES[:count]:
        yield {"name": name, "kind": "voip", "hosts": [GAMERS], "servers": [GAME_SERVER]}


def game_groups(load: Load) -> tuple[str, ...]:
    """Names of the groups of its sessions."""
    return GAMES[: load.games]


def page_groups(load: Load) -> tuple[str, ...]:
    """Names of the groups of its web users."""
    return PAGES[: load.web]


def _first(names: tuple[str, ...], count: int) -> Iterable[tuple[str, str]]:
    return zip(names[:count], WEB_USERS, strict=False)


def _web(host: str) -> dict[str, Any]:
    """A user: 70 KB of HTML, then 100 objects from four servers, and 5 s of reading."""
    return {
        "hosts": [host],
        "servers": list(WEB_SERVERS),
        "page": "7 MB",
        "html": "70 KB",
        "objects": 100,
        "variation": 2.0,
        "connections": 6,
        "pause": "5 s",
        "request": "400 B",
        "start_spread": START_SPREAD,
    }


def _cbr(mbps: int) -> Iterable[dict[str, Any]]:
    if mbps:
        yield {
            "name": "cbr",
            "kind": "cbr",
            "rate": f"{mbps} Mbps",
            "frame": "1000 B",
            "hosts": [GAMERS],
            "servers": [GAME_SERVER],
        }


def _torrents(count: int, target_ms: int) -> Iterable[dict[str, Any]]:
    if count:
        yield {
            "name": "torrents",
            "kind": "ledbat",
            "count": count,
            "rate": TORRENT_RATE,
            "target": f"{target_ms} ms",
            "hosts": [TORRENTS],
            "servers": [PEERS],
            "round_trip": {
                "at_least": f"{NEAREST_PEER_MS} ms",
                "at_most": f"{FARTHEST_PEER_MS} ms",
            },
            "start_spread": START_SPREAD,
        }


def tenth(load: Load) -> Load:
    """A load with files of a tenth, for a tenth of the rates (K11)."""
    return replace(load, file=_TENTHS.get(load.file, load.file))


_TENTHS: Final[Mapping[str | None, str]] = {
    "50 MB": "5 MB",
    "19 MB": "1.9 MB",
    "2.5 MB": "250 KB",
}


def tenth_of_pages(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Groups whose pages and torrents are a tenth, too."""
    smaller = {
        "web": {"page": "700 KB", "html": "7 KB"},
        "ledbat": {"rate": "10 Mbps"},
        "cbr": {"rate": "600 kbps"},
    }
    return [{**group, **smaller.get(group["kind"], {})} for group in groups]
