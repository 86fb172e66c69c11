# SPDX-License-Identifier: Apache-2.0
"""The story of the papers is true of the published results, or it is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from docsis_experiments.reproduction import earlier
from docsis_experiments.reproduction.story.__main__ import STORY_FILE, main
from docsis_experiments.reproduction.story.telling import told
from docsis_experiments.reproduction.writing import RESULTS_FILE
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

PUBLISHED = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return earlier.read(PUBLISHED / RESULTS_FILE)


def with_outcome(results: dict[str, Any], row: str, state: str) -> dict[str, Any]:
    """The results with another outcome of one row."""
    changed = copy.deepcopy(results)
    for one in changed["rows"]:
        if one["id"] == row:
            one["state"] = state
    return changed


def test_the_published_story_is_that_of_the_published_results(results: dict[str, Any]) -> None:
    story = told(results)
    assert (PUBLISHED / STORY_FILE).read_text() == story.text, (
        "make it anew: python -m docsis_experiments.reproduction.story docs/results"
    )
    assert {path.name for path in PUBLISHED.glob("story-*.png")} == set(story.pictures)


def test_a_story_that_results_have_overtaken_is_refused(results: dict[str, Any]) -> None:
    with pytest.raises(TestbedError, match="001-F2a is contradicted, and the story needs it"):
        told(with_outcome(results, "001-F2a", "contradicted"))


def test_nothing_is_written_of_results_that_lack_a_row(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = copy.deepcopy(results)
    fewer["rows"] = [row for row in fewer["rows"] if row["id"] != "001-F2a"]
    files = tmp_path / RESULTS_FILE
    files.write_text(json.dumps(fewer))
    assert main([str(tmp_path)]) == 1
    assert "001-F2a" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [RESULTS_FILE]
