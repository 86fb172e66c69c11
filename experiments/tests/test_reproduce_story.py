# SPDX-License-Identifier: Apache-2.0
"""The story of the papers is true of the published results, or it is refused."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pictures import without_figures

from docsis_experiments.reproduction import earlier
from docsis_experiments.reproduction.catalogue.loader import PAPERS
from docsis_experiments.reproduction.story import telling
from docsis_experiments.reproduction.story.__main__ import STORY_FILE, main
from docsis_experiments.reproduction.story.counts import Counts
from docsis_experiments.reproduction.story.telling import told
from docsis_experiments.reproduction.writing import RESULTS_FILE
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

PUBLISHED = ROOT / "docs" / "results"

TEMPLATES: Final = Path(telling.__file__).parent

HOLDS: Final = re.compile(r"\{% call holds\((?P<rests>.*?)\) %\}(?P<says>.*?)\{% endcall %\}", re.S)

VALUE: Final = re.compile(r'value\("(?P<row>[^"]+)", "(?P<part>[^"]+)"\)')


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return earlier.read(PUBLISHED / RESULTS_FILE)


def with_outcome(results: dict[str, Any], row: str, state: str) -> dict[str, Any]:
    """The results with another outcome of one row."""
    changed = [{**one, "state": state} if one["id"] == row else one for one in results["rows"]]
    return {**results, "rows": changed}


def with_part(results: dict[str, Any], row: str, part: str, verdict: str) -> dict[str, Any]:
    """The results with another verdict of one part, in all readings of its row."""
    rows = [copy.deepcopy(one) if one["id"] == row else one for one in results["rows"]]
    parts = [
        one
        for found in rows
        if found["id"] == row
        for reading in found["readings"]
        for one in reading["parts"]
        if one["name"] == part
    ]
    assert parts, (row, part)
    for one in parts:
        one["verdict"], one["role"] = verdict, "judged"
    return {**results, "rows": rows}


def what_holds(paper: str) -> str:
    """What a paper's template has under "What holds"."""
    text = (TEMPLATES / f"{paper}.md.j2").read_text()
    [found] = re.findall(r"\*\*What holds\.\*\*(.*?)\*\*What does not", text, re.S)
    return str(found)


def grounds(text: str) -> Iterator[tuple[str, str]]:
    """The rows, and the parts of rows, that sentences under "What holds" rest on."""
    for sentence in HOLDS.finditer(text):
        for rest in re.findall(r'"([^"]+)"', sentence["rests"]):
            row, _, part = rest.partition(": ")
            yield row, part
        for value in VALUE.finditer(sentence["says"]):
            yield value["row"], value["part"]


def test_the_published_story_is_that_of_the_published_results(results: dict[str, Any]) -> None:
    story = told(results)
    assert (PUBLISHED / STORY_FILE).read_text() == story.text, (
        "make it anew: python -m docsis_experiments.reproduction.story docs/results"
    )
    assert {path.name for path in PUBLISHED.glob("story-*.png")} == set(story.pictures)


@pytest.mark.usefixtures("undrawn")
def test_a_story_that_results_have_overtaken_is_refused(results: dict[str, Any]) -> None:
    with pytest.raises(TestbedError, match="001-F2b is reproduced, and the story needs it"):
        told(with_outcome(results, "001-F2b", "reproduced"))


@pytest.mark.parametrize("paper", PAPERS)
def test_each_sentence_of_what_holds_names_what_it_rests_on(paper: str) -> None:
    text = what_holds(paper)
    sentences = list(HOLDS.finditer(text))
    assert len(sentences) > 2
    # Nothing stands between the sentences that are guarded.
    assert not HOLDS.sub("", text).strip()
    for sentence in sentences:
        says = re.sub(r"\{\{.*?\}\}", "0", sentence["says"], flags=re.S).strip()
        assert len(re.findall(r"[.!?](?=\s|$)", says)) == 1, says
        assert list(grounds(sentence[0])), f"nothing carries: {says}"
        # A point of a figure has no verdict.
        assert "quantile(" not in sentence["says"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("paper", [*PAPERS, "story"])
def test_what_holds_rests_on_what_is_reproduced(results: dict[str, Any], paper: str) -> None:
    """A story is refused if anything that carries a sentence of "What holds" is not reproduced."""
    text = (TEMPLATES / f"{paper}.md.j2").read_text()
    verdict = "undecided"
    for row, part in sorted(set(grounds(text))):
        if part:
            changed = with_part(results, row, part, verdict)
            said = f"{part!r} of {row} is {verdict}, and stands under what holds"
        else:
            changed = with_outcome(results, row, verdict)
            said = f"{row} is {verdict}, and stands under what holds"
        with pytest.raises(TestbedError, match=re.escape(said)):
            told(changed)


@pytest.mark.usefixtures("undrawn")
def test_a_part_that_is_only_shown_rests_on_its_row(results: dict[str, Any]) -> None:
    changed = with_outcome(results, "000-F10", "undecided")
    with pytest.raises(TestbedError, match="000-F10 is undecided, and stands under what holds"):
        told(changed)


@pytest.mark.usefixtures("undrawn")
def test_counts_add_up(results: dict[str, Any]) -> None:
    counts = Counts({row["id"]: row for row in results["rows"]})
    assert counts.registered == counts.definitions + counts.impossible + counts.judged
    assert counts.judged == counts.verdicts + counts.provisional + counts.without
    table = re.findall(r"^\| .* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", told(results).text, re.M)
    assert len(table) == len(PAPERS)
    assert sum(int(number) for row in table for number in row) == counts.judged


def test_a_row_that_is_missing_has_no_outcome(results: dict[str, Any]) -> None:
    rows = {row["id"]: row for row in results["rows"]}
    before = Counts(rows)
    fewer = Counts({name: row for name, row in rows.items() if name not in ("000-F5", "000-F7")})
    # 000-F7 is a definition and has none in any case.
    assert fewer.without == before.without + 1
    assert fewer.without_of("000") == before.without_of("000") + 1
    assert set(fewer.absent) == {*before.absent, "000-F5", "000-F7"}


@pytest.mark.usefixtures("undrawn")
def test_the_game_shares_its_queue_more_seldom_than_some_two_flows(
    results: dict[str, Any],
) -> None:
    assert f"{100 * (1 - (255 / 256) ** 19):.1f}" == "7.2"
    assert "shares its queue in 7.2%" in told(results).text


@pytest.mark.usefixtures("undrawn")
def test_a_curve_that_a_figure_lacks_is_told(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    [figure] = (one for one in changed["figures"] if one["id"] == "000-1")
    for panel in figure["panels"]:
        panel["lines"] = [one for one in panel["lines"] if one["name"] != "DOCSIS-PIE, 10 ms"]
    with pytest.raises(TestbedError, match="'DOCSIS-PIE, 10 ms' of figure 000-1"):
        told(changed)


@pytest.mark.usefixtures("undrawn")
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
