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


def test_the_game_shares_its_queue_more_seldom_than_some_two_flows(
    results: dict[str, Any],
) -> None:
    assert f"{100 * (1 - (255 / 256) ** 19):.1f}" == "7.2"
    assert "shares its queue in 7.2%" in told(results).text


def test_a_curve_that_a_figure_lacks_is_told(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    [figure] = (one for one in changed["figures"] if one["id"] == "000-1")
    for panel in figure["panels"]:
        panel["lines"] = [one for one in panel["lines"] if one["name"] != "DOCSIS-PIE, 10 ms"]
    with pytest.raises(TestbedError, match="'DOCSIS-PIE, 10 ms' of figure 000-1"):
        told(changed)


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
