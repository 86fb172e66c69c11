# SPDX-License-Identifier: Apache-2.0
"""The bench of virtual time tells what it measured; how fast that is no test can say."""

from __future__ import annotations

import pytest
from rich.console import Console

from docsis_experiments.virtual import speed
from docsis_testbed.errors import TestbedError


def test_a_case_runs_in_a_process_of_its_own_and_its_parts_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    [figures] = speed.run(["cable-20"], 2.0, Console(width=120))
    assert figures["virtual_seconds"] == 2.0
    assert figures["frames"] > 1000
    assert figures["events"] > figures["frames"]
    parts = figures["parts_seconds"]
    assert set(parts) == {"world", "calls", "law"}
    assert 0 < sum(parts.values()) <= figures["cpu_seconds"]
    assert 20 < figures["peak_mb"] < 1000
    [again] = speed.run(["cable-20"], 2.0, Console(width=120))
    assert again["digest"] == figures["digest"]
    assert "four CUBIC uploads" in capsys.readouterr().out


def test_a_case_that_fails_says_why() -> None:
    with pytest.raises(TestbedError, match="the bench of nothing failed: KeyError: 'nothing'"):
        speed.run(["nothing"], 1.0, Console())
