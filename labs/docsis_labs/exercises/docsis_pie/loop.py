# SPDX-License-Identifier: Apache-2.0
"""A student's law in the place of the controller's, over a modem in virtual time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from docsis_control.law.fixed_point import to_prob
from docsis_control.law.readings import Readings, Settings
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.names import Preset
from docsis_labs import home
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import LABS
from docsis_labs.student.client import Student

MSR: Final = 20_000_000
"""Maximum Sustained Traffic Rate of the exercise's modem, bit/s."""

ROUND_TRIP_MS: Final = 20.0
"""Round trip to the server and back, without a queue."""

TOPOLOGY: Final = LABS / "5-docsis-pie-control-law" / "topology.yaml"

LOAD: Final = home.Load(seconds=18, uploads=3, start=2, end=18, seed=5)
_SETTLED: Final = 8.0
"""Seconds: then the modem's token bucket is empty and the law has found its probability."""


@dataclass(frozen=True)
class Seen:
    """The results of a law.

    Attributes:
        median_ms, p99_ms: Median and p99 of the queueing delay.
        goodput: bit/s.
        run: All that was measured.
    """

    median_ms: float
    p99_ms: float
    goodput: float
    run: home.Measured


def play(student: Student | None, preset: Preset = Preset.DOCSIS_PIE) -> Seen:
    """Plays the exercise's run.

    Args:
        student: Has the law; None is the controller's own.
        preset: Queue management.

    Raises:
        SubmissionError: The law is not usable, or no packet of the call comes back.
    """

    def law_of(flows: Sequence[ServiceFlow]) -> DeviceLaw:
        if student is None or flows[0].direction != "upstream":
            return DeviceLaw(flows)
        return StudentLaw(flows, student)

    run = home.play(TOPOLOGY, preset, LOAD, law_of)
    delays = run.round_trips_ms(_SETTLED, LOAD.end) - ROUND_TRIP_MS
    if not delays.size:
        raise SubmissionError(
            "drops-every-packet",
            f"From {_SETTLED:.0f} s on no packet of the call came back, so there is no delay to be "
            "measured: does the probability ever fall again?",
        )
    median, p99 = np.percentile(delays, [50, 99])
    return Seen(float(median), float(p99), run.goodput, run)


class StudentLaw(DeviceLaw):
    """Takes the probability from a student's law; bursts and states stay the controller's."""

    def __init__(self, flows: Sequence[ServiceFlow], student: Student) -> None:
        """Args: the upstream service flow, the only one, and who has the law."""
        super().__init__(flows)
        [flow] = flows
        self._target = flow.latency_target_us / 1e6
        self._student = student
        self._state: dict[str, Any] = {"drop_prob": 0.0, "qdelay_old": 0.0}

    def update(self, readings: Readings, tick: int) -> tuple[Settings, Observation]:
        """See `DeviceLaw`."""
        # RFC 8034 asks for the burst allowance before it takes an interval from it (A.2).
        bursting = bool(self.observe(readings).state.burst_allowance[0] > 0)
        settings, seen = super().update(readings, tick)
        # Predicted by the controller: the student's prediction has been compared with it.
        qdelay = float(seen.qdelay[0])
        state = self._student.call("update", self._state, qdelay, self._target, bursting)
        self._state, drop_prob = _checked(state)
        prob = to_prob(np.array([drop_prob]))
        return settings._replace(drop_prob=prob), seen


def _checked(state: Any) -> tuple[dict[str, Any], float]:
    """A state that the next interval can go on from, and its probability."""
    if isinstance(state, dict):
        prob = state.get("drop_prob")
        if isinstance(prob, int | float) and not isinstance(prob, bool):
            with suppress(OverflowError):
                if math.isfinite(prob):
                    return state, float(prob)
    raise SubmissionError(
        "no-state",
        'law.py: update() has to return {"drop_prob": ..., "qdelay_old": ...} with numbers.',
    )
