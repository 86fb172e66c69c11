# SPDX-License-Identifier: Apache-2.0
"""The word about results of another version, which each stage has for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from docsis_experiments.runs import sources
from docsis_experiments.runs.other_version import told


def test_each_stage_has_its_own_parts_and_its_own_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"mininet": {"switch": "one"}, "virtual": {"world": "one"}}
    monkeypatch.setattr(sources, "parts", lambda stage: parts[stage])
    assert told(tmp_path, "a", "Results", "virtual") == ""
    assert told(tmp_path, "a", "Results", "mininet") == ""
    parts["mininet"] = {"switch": "another"}
    assert told(tmp_path, "a", "Results", "virtual") == ""
    assert told(tmp_path, "a", "Results", "mininet") == (
        "Results by another version, whose switch is not the same, stay where they are and are "
        "not used."
    )
    assert told(tmp_path, "a", "Results", "mininet") == ""


def test_the_record_of_before_there_were_two_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was about virtual time, whatever the stage."""
    monkeypatch.setattr(sources, "parts", lambda stage: {"code": "new"})
    (tmp_path / "a.json").write_text('{"code": "old"}')
    assert told(tmp_path, "a", "Results", "mininet") == ""
    assert "whose code is not the same" in told(tmp_path, "a", "Results", "virtual")
    assert told(tmp_path, "a", "Results", "virtual") == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-mininet.json", "a-virtual.json"]
