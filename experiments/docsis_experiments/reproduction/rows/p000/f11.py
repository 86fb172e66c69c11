# SPDX-License-Identifier: Apache-2.0
"""Figures 11 to 14 and appendix A: who tracks the rate of a congested channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from docsis_control.law import rate_tracking
from docsis_control.law.docsis_pie import Parameters
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_experiments.experiment.channel import Channel
from docsis_experiments.reproduction.figure import Figure, Made
from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings import p000_rates as rates
from docsis_experiments.reproduction.settings.p000_loads import PAUSE, Files, uploads
from docsis_experiments.reproduction.settings.p000_managers import (
    Manager,
    PieOf2014,
    managed,
)
from docsis_experiments.reproduction.settings.p000_network import LINE_OF_TENTH, TENTH, Mac, home
from docsis_experiments.reproduction.settings.p000_readings import FIRST, Reading, chosen
from docsis_experiments.reproduction.settings.p000_rf import STEP
from docsis_experiments.reproduction.settings.p000_told import ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

CAPACITIES: Final = ["10 Mbps", "12 Mbps", "18 Mbps", "20 Mbps"]
CHANNEL: Final = {"levels": CAPACITIES, "step": STEP}
READINGS: Final = ("own-mac", "cubic")

PIE: Final = "pie"
TRACKING: Final = "docsis-pie-rate-tracking"
OF: Final = ["near", "distant"]

_EACH: Final = 3


def _case(reading: Reading, label: str, management: QueueManagement) -> alone.Case:
    line_rate = LINE_OF_TENTH if reading.mac is Mac.PAPER else None
    return alone.Case(
        label,
        management,
        home(reading.mac, TENTH, populated=False, line_rate=line_rate),
        list(uploads(_EACH, None, Files.ENDLESS, reading.congestion, PAUSE)),
        [
            quantity("rate-error", OF, "p50"),
            quantity("rate-error", OF, "p90"),
            quantity("rate-error-at-once", OF, "p90"),
            # Figures are of the reading that decides.
            *(rates.quantities(OF) if reading == FIRST else ()),
        ],
        10,
        120,
        # Four steps of the channel, the detail's among them.
        smoke=40.0,
        congestion=reading.congestion,
        keys={"channel": CHANNEL},
    )


def _works(asked: Asked) -> Iterable[Run]:
    reading = chosen(READINGS, asked)
    return alone.works(
        asked,
        [
            # Our estimator is RFC 8033's whichever PIE has it; the figures are of the default.
            _case(reading, PIE, managed(Manager.PIE, 0, PieOf2014.RFC_8033)),
            _case(reading, TRACKING, PRESETS[Preset.DOCSIS_PIE_RATE_TRACKING]),
        ],
    )


def _errors(
    asked: Asked, results: Results, label: str, metric: str, statistic: str
) -> dict[int, float]:
    return alone.values(asked, results, label, metric, OF, statistic)


def _compared(asked: Asked, results: Results) -> Mapping[str, Measured]:
    pie, tracking = (
        _errors(asked, results, label, "rate-error-at-once", "p90") for label in (PIE, TRACKING)
    )
    return {"p90 error pie over appendix a": ratio(pie, tracking)} if pie and tracking else {}


def _tracked(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found = {
        f"{name} error{of}": _errors(asked, results, label, "rate-error", statistic)
        for name, statistic in (("median", "p50"), ("p90", "p90"))
        for of, label in (("", TRACKING), (" pie", PIE))
    }
    return {name: Seeds(values) for name, values in found.items() if values}


_DRAWN: Final = (
    (
        "000-F11-12", PIE, "11", "12", "Default PIE's estimate of the departure rate",
        "The text says that it is not well suited to a channel that grants in bursts. Its figures "
        'also have an early version of the "new algorithm", which was never published.',
    ),
    (
        "000-F13-14", TRACKING, "13", "14", "Appendix A's estimate of the departure rate",
        "The text says that it tracks the rate.",
    ),
)  # fmt: skip


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 11 to 14."""
    for row, label, whole, detail, title, said in _DRAWN:
        if row not in made:
            continue
        runs = made[row].results.runs(label)
        if not runs:
            continue
        for number, series, words in (
            (whole, rates.WHOLE, ""),
            (detail, rates.DETAIL, ", detail"),
        ):
            step = f"{series.step / 1e3:g} s"
            lines = [
                rates.actual(Channel.model_validate(CHANNEL), TENTH.sustained / 1e6, series),
                rates.over_time(f"estimate, median of {step}", runs, OF, series, "p50"),
                rates.over_time(f"estimate, 90% of {step}", runs, OF, series, "p90"),
            ]
            caption = (
                "Six endless uploads on a line of 100 Mbit/s whose capacity is 10, 12, 18 or "
                "20 Mbit/s, a tenth of heavy congestion. In each step the estimates' median, and "
                f"what nine in ten are below; means over seeds. {said}"
            )
            yield rates.figure(f"000-{number}", f"{title}{words}", "", lines, caption, row)


_INTERVAL_US: Final = 16_000
_IDLE_SECONDS: Final = 5


def gone_stale(seed: int) -> Mapping[str, float]:
    """Plays appendix A's estimate for 5 s without requests; percent of what it was before.

    Half of the sustained rate is granted for a second while requests wait; then nobody asks, and
    the channel halves, which cannot be seen.
    """
    del seed
    rate = np.array([TENTH.sustained / 8.0])
    granted = rate[0] / 2
    state = rate_tracking.State.initial(Parameters(rate, rate, np.array([0.01])))
    now, so_far, met = 0, 0, 0
    for waiting in (True, False):
        for _ in range((1 if waiting else _IDLE_SECONDS) * 1_000_000 // _INTERVAL_US):
            now += _INTERVAL_US
            so_far += round(granted * _INTERVAL_US / 1e6) if waiting else 0
            counted = rate_tracking.Counted(
                np.array([so_far]), np.array([met]), np.array([waiting])
            )
            state = rate_tracking.by_grants(state, now, counted)
        if waiting:
            before = float(state.rate_estimate[0])
            met += 1
    return {"change": 100 * (float(state.rate_estimate[0]) / before - 1)}


def _stale(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    for found in results.computed("idle").values():
        return {"change of estimate": Exact(found["change"])}
    return {}


ROWS: Final = (
    Row("000-F11-12", _works, _compared, readings=len(READINGS) + 1),
    Row("000-F13-14", _works, _tracked, readings=len(READINGS) + 1),
    Row("000-A3", lambda asked: [Computation("idle", gone_stale)], _stale),
)
