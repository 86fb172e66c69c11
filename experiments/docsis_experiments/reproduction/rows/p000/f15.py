# SPDX-License-Identifier: Apache-2.0
"""Figure 15: rate tracking beside the token bucket alone, without and with extreme congestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import (
    LOADS,
    UPLOADS,
    game_groups,
    traffic,
)
from docsis_experiments.reproduction.settings.p000_network import SERVICE_2018, home
from docsis_experiments.reproduction.settings.p000_readings import Reading, chosen
from docsis_experiments.reproduction.settings.p000_rf import EXTREME_MBPS, steady
from docsis_experiments.reproduction.settings.p000_told import ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

READINGS: Final = ("own-mac", "no-mac", "cubic", "connection-a-file", "endless-files")

_LOAD: Final = LOADS[7]
"""The reading of "heavy load"."""
_GAMES: Final = game_groups(_LOAD)

_CHANNELS: Final[Mapping[str, Mapping[str, Any]]] = {
    "none": {},
    "extreme": steady(EXTREME_MBPS),
}
_TRACKING: Final = "tracking"
_TOKENS: Final = "tokens"


def _cases(reading: Reading) -> Iterable[alone.Case]:
    for channel, keys in _CHANNELS.items():
        tokens = alone.Case(
            f"{_TOKENS} {channel}",
            PRESETS[Preset.DOCSIS_PIE],
            home(reading.mac, SERVICE_2018, web_ms=reading.web_ms),
            traffic(_LOAD, reading.files, reading.congestion, _LOAD.pause),
            [quantity("latency", _GAMES, "p90"), quantity("goodput", UPLOADS)],
            10,
            120,
            congestion=reading.congestion,
            keys=keys,
        )
        tracking = PRESETS[Preset.DOCSIS_PIE_RATE_TRACKING]
        yield from (tokens, tokens.managed(f"{_TRACKING} {channel}", tracking))


def _works(asked: Asked) -> Iterable[Run]:
    return alone.works(asked, _cases(chosen(READINGS, asked)))


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    path_ms = chosen(READINGS, asked).game_one_way_ms
    found: dict[str, Measured] = {}
    for channel in _CHANNELS:
        labels = [f"{which} {channel}" for which in (_TRACKING, _TOKENS)]
        latency = [alone.values(asked, results, of, "latency", _GAMES, "p90") for of in labels]
        goodput = [alone.values(asked, results, of, "goodput", UPLOADS) for of in labels]
        if all(latency):
            whole = [{seed: ms + path_ms for seed, ms in of.items()} for of in latency]
            found[f"p90 tracking over tokens {channel}"] = ratio(*whole)
            found[f"goodput tracking over tokens {channel}"] = ratio(*goodput)
    return found


ROWS: Final = (Row("000-F15", _works, _parts, readings=len(READINGS) + 1),)
