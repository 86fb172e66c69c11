# SPDX-License-Identifier: Apache-2.0
"""The features from which a work's cost follows, known before it is made. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.plan import TAIL_SECONDS, sustained_rate
from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.row import Computation, Draws, Run, Work
from docsis_experiments.runs.unit import Unit

_FRAME_BITS: Final = 1518 * 8
"""Bits of a full segment's frame."""

_CALL_FRAMES: Final = 50
"""A second, of a call or a game over UDP."""

_TIMES: Final = ("idle", "ramp_up", "measured")

RUN_FEATURES: Final = ("start", "virtual_seconds", "modem_seconds", "mac_seconds", "frames")
"""Features of a run: that there is one, its virtual time, that of each modem together, its virtual
time again where modems have a MAC, and about how many frames its traffic has."""

OTHER_FEATURES: Final = ("decisions", "sessions", "computations")
"""Features of draws, frames through the pipeline and sessions hashed, and of computations, their
number."""

NAMES: Final = (*RUN_FEATURES, *OTHER_FEATURES)


@dataclass(frozen=True)
class Features:
    """The features from which a cost follows.

    Attributes:
        condition: A hash: works that differ in the seed alone have the same.
        family: A hash: works that differ in seed and length alone have the same.
        values: By NAMES.
    """

    condition: str
    family: str
    values: Mapping[str, float]

    @property
    def length(self) -> float:
        """The length with which cost grows within a family: virtual seconds, or draws; or 0."""
        return sum(
            self.values.get(name, 0.0) for name in ("virtual_seconds", "decisions", "sessions")
        )


class Reader:
    """Reads features of works; of runs of one condition only once."""

    def __init__(self) -> None:
        """Has read nothing yet."""
        self._read: dict[tuple[str, str, tuple[str, ...]], Features] = {}

    def of(self, work: Work) -> Features:
        """The features of a work."""
        if not isinstance(work, Run):
            return _of_small(work)
        unit = work.unit
        place = (unit.scenario, unit.topology, unit.quantities)
        found = self._read.get(place)
        if found is None:
            found = self._read[place] = _of_run(work)
        return found


def _of_run(run: Run) -> Features:
    unit = run.unit
    scenario, topology = json.loads(unit.scenario), json.loads(unit.topology)
    condition = digest([scenario, topology, list(unit.quantities)])
    # What a run is called, when its parts begin and what is measured of it changes little.
    alike = {key: value for key, value in scenario.items() if key not in (*_TIMES, "name", "runs")}
    alike["traffic"] = [
        {key: value for key, value in group.items() if key not in ("start", "end")}
        for group in scenario["traffic"]
    ]
    alike["runs"] = [
        {key: value for key, value in one.items() if key != "label"} for one in scenario["runs"]
    ]
    # A unit holds its models; this one goes.
    loaded = Unit(unit.scenario, unit.topology, unit.quantities, unit.seed).loaded
    seconds = _seconds(loaded.scenario)
    values = {
        "start": 1.0,
        "virtual_seconds": seconds,
        "modem_seconds": seconds * len(loaded.topology.modems),
        "mac_seconds": seconds if topology.get("upstream_channels") else 0.0,
        "frames": _busy_seconds(loaded.scenario)
        * _frames_a_second(loaded.scenario, loaded.topology, scenario["traffic"]),
    }
    return Features(condition, digest([alike, topology]), values)


def _seconds(scenario: Scenario) -> float:
    return scenario.idle / 1e9 + _busy_seconds(scenario) + TAIL_SECONDS


def _busy_seconds(scenario: Scenario) -> float:
    """The time in which there is all of the traffic."""
    # The ramp-up is a number once it is resolved.
    ramp_up = scenario.ramp_up if isinstance(scenario.ramp_up, int) else 0
    return (ramp_up + scenario.measured) / 1e9


def _frames_a_second(
    scenario: Scenario, topology: Topology, traffic: list[Mapping[str, Any]]
) -> float:
    """About how many: what has no rate of its own fills what the service flow carries, as far as
    receivers' windows let it."""
    [run] = scenario.all_runs
    carried = float(sustained_rate(topology, run.direction or scenario.direction))
    if scenario.channel is not None:
        rates = scenario.channel.rates
        carried = sum(min(rate, carried) for rate in rates) / len(rates)
    steady = windows = 0.0
    for group, model in zip(traffic, scenario.traffic, strict=True):
        count = float(group.get("count", 1))
        kind = group["kind"]
        if kind == "voip":
            steady += count * _CALL_FRAMES
        elif kind == "cbr":
            steady += count * getattr(model, "rate", 0) / (8.0 * getattr(model, "frame", 1000))
        elif kind == "burst":
            steady += count * getattr(model, "frames", 0) * 1e9 / getattr(model, "interval", 1e9)
        elif kind == "game":
            messages = 1e9 / getattr(model, "interval", 1e9)
            steady += count * getattr(model, "size", 0) / 1460.0 * messages
        else:
            windows += count * _window_rate(scenario, topology)
    return steady + min(carried, windows) / _FRAME_BITS


def _window_rate(scenario: Scenario, topology: Topology) -> float:
    """bit/s of a flow that has its receiver's window on its way all the time; at the most."""
    round_trips = [server.round_trip_time for server in topology.servers if server.round_trip_time]
    if scenario.tcp.receive_window is None or not round_trips:
        return math.inf
    return scenario.tcp.receive_window * 8e9 / min(round_trips)


def _of_small(work: Draws | Computation) -> Features:
    condition = small_works.condition(work)
    if isinstance(work, Computation):
        return Features(condition, condition, {"computations": 1.0})
    words = work.arguments
    asked: dict[str, list[float]] = {}
    for before, word in pairwise(words):
        try:
            asked.setdefault(before, []).append(float(word))
        except ValueError:
            continue
    frames = sum(asked.get("--frames", [0.0])) * max(1, len(asked.get("--drop-prob", [])))
    sessions = sum(asked.get("--trials", [0.0])) * sum(asked.get("--sessions", [0.0]))
    sizes = ("--frames", "--trials", "--seed")
    alike = [word for before, word in pairwise(("", *words)) if before not in sizes]
    return Features(condition, digest(alike), {"decisions": frames, "sessions": sessions})
