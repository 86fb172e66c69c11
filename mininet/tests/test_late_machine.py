# SPDX-License-Identifier: Apache-2.0
"""A run without a verdict is the machine's fault only where the machine is late by itself."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import late_machine
import pytest
from time_samples import TIMERS

from docsis_testbed.errors import NoVerdict
from docsis_testbed.measure import timers


def late(p99_ms: float) -> dict[str, Any]:
    machine = copy.deepcopy(TIMERS)
    machine["realtime"]["lateness_ms"]["p99"] = p99_ms
    return machine


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (0.3, 0.3, pytest.fail.Exception),
        (1.0, 1.0, pytest.fail.Exception),
        (1.2, 0.3, pytest.skip.Exception),
        (0.3, 1.2, pytest.skip.Exception),
    ],
)
def test_only_a_late_machine_is_an_excuse(
    before: float,
    after: float,
    outcome: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text(json.dumps({"timers": late(before)}))
    monkeypatch.setattr(timers, "measured", lambda: late(after))
    with pytest.raises(outcome), late_machine.verdict_in(tmp_path):
        raise NoVerdict("upstream: too late")
    with late_machine.verdict_in(tmp_path):
        pass
