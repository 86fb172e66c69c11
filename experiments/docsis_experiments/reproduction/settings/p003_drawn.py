# SPDX-License-Identifier: Apache-2.0
"""The lines of 003's figures: distributions over tests, a line or panel for each kind of modem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from docsis_control.queue_managers.names import Preset
from docsis_experiments.reproduction.figure import Axis, Line, Panel, Published
from docsis_experiments.reproduction.settings.p003_population import Modems
from docsis_experiments.reproduction.settings.p003_told import Tests, Value

CALLED: Final[Mapping[Modems, str]] = {
    Modems.AQM: "DOCSIS-PIE, 10 ms",
    Modems.B1: "drop tail, 250 ms",
    Modems.B2: "drop tail, 625 KB",
}

_PRESETS: Final[Mapping[Modems, str]] = {
    Modems.AQM: Preset.DOCSIS_PIE.value,
    Modems.B1: Preset.DROP_TAIL_250MS.value,
    Modems.B2: Preset.DROP_TAIL.value,
}

_BIN: Final = 15.0
"""Milliseconds, as the paper's bars."""

_MOST_BINS: Final = 80
"""The last one has all that is above as well."""

_LEAST: Final = 0.1
"""Milliseconds: a logarithmic axis has no zero."""


def distributions(
    tests: Mapping[Modems, Tests], value: Value, label: str, published: Sequence[Published]
) -> Panel:
    """Shares of tests within a value.

    Args:
        tests: The tests of each kind of modem.
        value: Gives the value of a test, ms.
        label: What it is.
        published: What the paper has.
    """
    lines = [
        line for modems, one in tests.items() if (line := _within(one, value, modems)) is not None
    ]
    return Panel(
        "",
        Axis(label, logarithmic=True),
        Axis("Share of tests", low=0, high=1),
        tuple(lines),
        tuple(published),
    )


def _within(tests: Tests, value: Value, modems: Modems) -> Line | None:
    found = sorted(max(x, _LEAST) for x in tests.values(value).values() if not math.isnan(x))
    if not found:
        return None
    return Line(
        CALLED[modems],
        (found[0], *found),
        (0.0, *((index + 1) / len(found) for index in range(len(found)))),
        shape="steps",
        preset=_PRESETS[modems],
    )


def in_bins(tests: Tests, value: Value, modems: Modems, published: tuple[float, float]) -> Panel:
    """Shares of tests by steps of a value.

    Args:
        tests: The tests of a kind of modem.
        value: Gives the value of a test, ms.
        modems: Which.
        published: Middle of a step, and the share of it in percent.
    """
    found = np.array([x for x in tests.values(value).values() if not math.isnan(x)])
    last = min(_MOST_BINS, int(found.max() // _BIN) + 1) if found.size else 1
    places = np.minimum(found // _BIN, last - 1).astype(int)
    counts = np.bincount(places, minlength=last)
    share = 100 * counts / max(found.size, 1)
    middles = tuple((number + 0.5) * _BIN for number in range(last))
    line = Line(
        CALLED[modems],
        middles,
        tuple(float(one) for one in share),
        shape="bars",
        preset=_PRESETS[modems],
    )
    x, y = published
    return Panel(
        CALLED[modems],
        Axis("Mean round trip of a test (ms)", low=0),
        Axis("Tests (%)", low=0),
        (line,),
        (Published(f"published, 15 to 30 ms: {y:g}%", (x,), (y,)),),
    )


def upright(name: str, *values: float) -> Published:
    """Published values of x, from the bottom to the top."""
    x = [place for value in values for place in (value, value)]
    y = [end for number in range(len(values)) for end in ((0.0, 1.0), (1.0, 0.0))[number % 2]]
    return Published(name, tuple(x), tuple(y), joined=True)
