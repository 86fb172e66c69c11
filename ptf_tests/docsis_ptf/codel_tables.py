# SPDX-License-Identifier: Apache-2.0
"""Entries of CoDel: at the head, at the tail (FrameIngress.codel_dt), and of 002."""

from __future__ import annotations

from itertools import islice
from math import isqrt

from docsis_control.law.inverse_square_root import ranges
from docsis_ptf.entities import Entry


def inverse_square_roots(control: str, counts: int) -> list[Entry]:
    """Table inv_sqrt as far as a test's counts come."""
    return [
        Entry(
            f"{control}.inv_sqrt",
            f"{control}.set_inverse",
            {"inverse_square_root": value},
            {"count": (first, last)},
            priority=1,
        )
        for first, last, value in islice(ranges(), counts)
    ]


def every_count(control: str, last: int) -> list[Entry]:
    """Table inv_sqrt with an entry for each count from 1 to `last`, each rounded to Q1.31.

    The controller's own entries have one for a range of counts where that is good enough.
    """
    return [
        Entry(
            f"{control}.inv_sqrt",
            f"{control}.set_inverse",
            {"inverse_square_root": (isqrt((1 << 64) // count) + 1) // 2},
            {"count": (count, count)},
            priority=1,
        )
        for count in range(1, last + 1)
    ]


def parameters(control: str, index: int, target: int, interval: int) -> Entry:
    """A service flow's entry; microseconds."""
    params = {"latency_target": target, "control_interval": interval}
    match = {"service_flow": index}
    return Entry(f"{control}.parameters", f"{control}.set_codel", params, match)
