# SPDX-License-Identifier: Apache-2.0
"""Exercise 5: the closed loop gives a student's law what the controller's own has."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from docsis_control.law.readings import Readings, Settings
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_labs import home
from docsis_labs.errors import SubmissionError
from docsis_labs.exercises import exercise
from docsis_labs.exercises.docsis_pie import loop, reference
from docsis_labs.student.client import Student

_SOLUTION = exercise(5).path / "solution" / "law.py"


class Here:
    """A student's function in this process."""

    def __init__(self, update: Callable[..., Any]) -> None:
        self.update = update
        self.bursts: list[bool] = []

    def call(self, function: str, *arguments: Any) -> Any:
        """Calls it."""
        assert function == "update"
        self.bursts.append(arguments[3])
        return self.update(*arguments)


@pytest.mark.parametrize("law", ["solution", "the reference that functions are compared with"])
def test_a_right_law_is_the_controller_s_own(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of each update of the upstream's law: what the controller's own has, and what was written.
    own: list[Settings] = []
    written: list[Settings] = []

    class Watched(loop.StudentLaw):
        def update(self, readings: Readings, tick: int) -> tuple[Settings, Observation]:
            settings, seen = super().update(readings, tick)
            written.append(settings)
            return settings, seen

    def update(self: DeviceLaw, readings: Readings, tick: int) -> tuple[Settings, Observation]:
        settings, seen = original(self, readings, tick)
        if isinstance(self, Watched):
            own.append(settings)
        return settings, seen

    original = DeviceLaw.update
    monkeypatch.setattr(DeviceLaw, "update", update)
    monkeypatch.setattr(loop, "StudentLaw", Watched)
    right = runpy.run_path(str(_SOLUTION))["update"] if law == "solution" else reference.update
    student = Here(right)
    seen = loop.play(cast(Student, student))
    assert len(own) == len(written) > 1000
    for ours, theirs in zip(own, written, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    # The upload began with a burst, of nine intervals of 16 ms, and then packets were dropped.
    assert student.bursts.count(True) == 9
    assert max(int(one.drop_prob[0]) for one in written) > 0
    assert seen.run == loop.play(None).run


def test_a_run_in_which_no_packet_comes_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = home.Measured([9_000_000_000, 9_020_000_000], [-1, -1], 0.0)
    monkeypatch.setattr(home, "play", lambda *arguments: lost)
    with pytest.raises(SubmissionError, match="^From 8 s on no packet of the call came back"):
        loop.play(None)
