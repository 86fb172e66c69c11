# SPDX-License-Identifier: Apache-2.0
"""The readings of 000 that the catalogue registers (K1 to K10), one change each from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from docsis_experiments.reproduction.row import Asked
from docsis_experiments.reproduction.settings.p000_loads import (
    PAUSE,
    POWERBOOST_PAUSE,
    TORRENT_TARGET_MS,
    Congestion,
    Files,
)
from docsis_experiments.reproduction.settings.p000_managers import PieOf2014
from docsis_experiments.reproduction.settings.p000_network import Mac

WEB_ROUND_TRIP_MS: Final = 60
"""Round trip of the web servers, which the paper does not state; calibrated as row F5 registers,
before any run that counts: PIE's 90th percentile was 2.304 s at 40 ms, 2.843 s at 60 and 3.426 s at
80, where 2.85 s is wanted (trial seeds 901 to 903, 2026-11-23, `python -m
docsis_experiments.reproduction.calibrations.web_round_trip`). With the MAC and
TCP's timeouts mended (c3975bfd) it was 2.248, 2.834 and 3.459 s on 2026-11-27, and with all 12
transitions of RF congestion (2f992fed) 2.283, 2.829 and 3.457 s."""


@dataclass(frozen=True)
class Reading:
    """How what the paper does not say is read.

    Attributes:
        mac: K1.
        game_one_way_ms: K2: added to the latency of the game, whose path has no delay upstream.
        congestion: K3.
        pie: K4.
        files: K7.
        powerboost_pause: K7, of load 5.
        by_packets: K8: all packets are pooled; else each condition has the same weight.
        effective_latency: K9: MOS by the effective latency; else by the E-model.
        conceals: Section 9: the call's telephone conceals losses.
        game_alone: K10: the game's flow queue has no upload; else they fall as seeded.
        web_ms: F5: round trip of the web servers.
        uploads: B2: how many.
        torrent_target_ms: Section 8: target of the torrents' LEDBAT.
    """

    mac: Mac = Mac.PAPER
    game_one_way_ms: int = 3
    congestion: Congestion = Congestion.RENO
    pie: PieOf2014 = PieOf2014.FIRST
    files: Files = Files.KEPT
    powerboost_pause: str = POWERBOOST_PAUSE
    by_packets: bool = True
    effective_latency: bool = False
    conceals: bool = True
    game_alone: bool = False
    web_ms: int = WEB_ROUND_TRIP_MS
    uploads: int = 1
    torrent_target_ms: int = TORRENT_TARGET_MS


FIRST: Final = Reading()
"""Decides."""

READINGS: Final[Mapping[str, Reading]] = {
    "no-mac": replace(FIRST, mac=Mac.NONE),
    "own-mac": replace(FIRST, mac=Mac.TESTBED),
    "game-10ms": replace(FIRST, game_one_way_ms=10),
    "cubic": replace(FIRST, congestion=Congestion.CUBIC),
    "plain-pie": replace(FIRST, pie=PieOf2014.RFC_8033),
    "full-docsis-pie": replace(FIRST, pie=PieOf2014.DOCSIS),
    "connection-a-file": replace(FIRST, files=Files.NEW, powerboost_pause=PAUSE),
    "endless-files": replace(FIRST, files=Files.ENDLESS),
    "equal-weights": replace(FIRST, by_packets=False),
    "effective-latency": replace(FIRST, effective_latency=True),
    "game-alone": replace(FIRST, game_alone=True),
    "two-uploads": replace(FIRST, uploads=2),
    "web-100ms": replace(FIRST, web_ms=100),
    "no-concealment": replace(FIRST, conceals=False),
    "ledbat-100ms": replace(FIRST, torrent_target_ms=100),
}
"""All but the first, by the names that the catalogue's data has."""

_OF_RUNS: Final = (
    "own-mac",
    "no-mac",
    "game-10ms",
    "cubic",
    "plain-pie",
    "full-docsis-pie",
    "connection-a-file",
    "endless-files",
)
_TORRENTS: Final = "ledbat-100ms"
"""Registered after the others, so it is the last of all rows."""

OF_LATENCY: Final = (*_OF_RUNS, "equal-weights", "game-alone", _TORRENTS)
OF_SFQ: Final = (*_OF_RUNS, "game-alone", _TORRENTS)
OF_LOSS: Final = (*_OF_RUNS, _TORRENTS)
OF_MOS: Final = (*_OF_RUNS, "effective-latency", "game-alone", "no-concealment", _TORRENTS)
OF_PAGES: Final = ("web-100ms", *OF_SFQ)
OF_CELLS: Final = ("own-mac", "no-mac", "cubic", "plain-pie", "full-docsis-pie", _TORRENTS)
"""The readings that rows have from reading 2 on, in the order of the catalogue's data."""


def chosen(names: Sequence[str], asked: Asked) -> Reading:
    """The reading that is asked for: the first, or one of a row's others.

    Args:
        names: Names of the row's readings from 2 on.
        asked: What is asked.

    Raises:
        ValueError: The row has no such reading.
    """
    if asked.reading == 1:
        return FIRST
    if not 1 < asked.reading <= len(names) + 1:
        raise ValueError(f"there is no reading {asked.reading}; there are {len(names) + 1}")
    return READINGS[names[asked.reading - 2]]
