# SPDX-License-Identifier: Apache-2.0
"""Files that programs write while they run, and that end where these were ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_experiments.stages.mininet import run


@pytest.mark.parametrize("cut", ["g", "g,2", "g,2,4", "g,2,45.1"])
def test_a_line_that_was_cut_is_left_out(tmp_path: Path, cut: str) -> None:
    path = tmp_path / "received-messages.csv"
    path.write_text(f"flow,sent_ns,latency_ms\ng,1,45.100\n{cut}")
    assert run._rows(path) == [{"flow": "g", "sent_ns": "1", "latency_ms": "45.100"}]
