# SPDX-License-Identifier: Apache-2.0
"""The limits that values of registered parts keep to by their nature.

Student's t knows nothing of a share that is 100% at the most, so an interval may reach to where no
value can be. It is cut off there, as those of reports are (`measurement.intervals`). This belongs
to no rule: bands and hashes are as they were registered. A quantity that has no such limits, as a
ratio of two runs or a difference, is not here. Nor are parts with Wilson's interval or a bootstrap,
which never reach beyond their limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from docsis_experiments.measurement.metric import Limits

_PERCENT: Final = Limits(0, 100)
"""Limits of a share of packets, slots, requests or cases."""

_INDEX: Final = Limits(0, 1)
"""Limits of Jain's index and of min/max."""

_MOS: Final = Limits(1, 4.5)

_KEPT_TO: Final[Mapping[str, Mapping[str, Limits]]] = {
    "000-F4": {"lowest mos *": _MOS},
    "000-S6": {"best *": _PERCENT},
    "000-F10": {"off by half *": _PERCENT},
    "000-S7b": {"cycles above twice": _PERCENT},
    "001-F6": {"game 40-100": _PERCENT, "ftp 500-1000": _PERCENT},
    "001-F12": {"packets 100-210": _PERCENT},
    "001-F13": {"loss pmax *": _PERCENT},
    "001-F14": {"game loss *": _PERCENT},
    "001-F15-16": {"game 45-105 *": _PERCENT},
    "002-E1c": {"jfi drr *": _INDEX},
    "002-E1d": {"min over max drr *": _INDEX},
    "004-F7a": {"n100 *": _PERCENT, "n500 *": _PERCENT},
}
"""By rule, then by the name of its part, where * stands for anything."""


def limits_of(rule: str, parts: Iterable[str]) -> Mapping[str, Limits]:
    """The limits of those of a rule's parts that have any.

    Args:
        rule: The rule's id.
        parts: Names of its parts.
    """
    known = _KEPT_TO.get(rule, {})
    return {
        part: limits
        for part in parts
        for pattern, limits in known.items()
        if fnmatchcase(part, pattern)
    }
