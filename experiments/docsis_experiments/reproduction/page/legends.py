# SPDX-License-Identifier: Apache-2.0
"""Explains the abbreviations in the papers' tables, as the catalogue does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Entry:
    """An abbreviation of the published column.

    Attributes:
        short: "BB".
        words: What it means.
        measured: What the measured column calls it; "" where that says nothing more.
    """

    short: str
    words: str
    measured: str = ""


LEGENDS: Final[Mapping[str, tuple[Entry, ...]]] = {
    "000": (
        Entry("BB", "drop tail with a buffer of 250 ms", "drop-tail-250ms"),
        Entry("BC", "drop tail with a buffer of 50 ms", "drop-tail-50ms"),
        Entry("CD", "CoDel", "codel"),
        Entry("CT", "CoDel-DT", "codel-dt"),
        Entry("SC", "SFQ-CoDel", "sfq-codel"),
        Entry("PIE", "PIE with a target of 15 ms", "pie"),
        Entry("SP", "SFQ-PIE", "sfq-pie"),
        Entry("AQMs", "the last five of these"),
        Entry("RF", "congestion on the cable, which lowers the channel's rate"),
    ),
    "001": (
        Entry("DT", "drop tail", "drop-tail"),
        Entry("SFQ", "flow queues", "sfq"),
        Entry("LRED", "dropping at random by the time that a packet has waited", "lred"),
        Entry("FTP", "uploads of files"),
    ),
    "002": (
        Entry("DT", "drop tail", "drop-tail"),
        Entry("ARED", "Adaptive RED", "adaptive-red"),
        Entry("CD", "CoDel", "codel"),
        Entry("PIE", "PIE", "pie"),
        Entry("DRR", "deficit round robin, a queue for each flow", "drr"),
        Entry("JFI", "Jain's fairness index", "jfi"),
        Entry("n", "the number of downloads, in names as in n11"),
    ),
    "003": (
        Entry("AQM", "DOCSIS-PIE", "aqm"),
        Entry("none", "drop tail, with 250 ms of buffer at each rate", "b1"),
        Entry("none", "drop tail, with 625 KB of buffer at every rate", "b2"),
    ),
    "004": (
        Entry("T", "the length of a map in ms, in names as in t2"),
        Entry("n", "the number of modems, in names as in n100"),
    ),
}
"""By the papers' numbers."""
