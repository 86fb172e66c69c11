# SPDX-License-Identifier: Apache-2.0
"""A population from its file to its folder: kept, resumed, told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pictures import without_pictures
from rich.console import Console

from docsis_experiments.populations import job
from docsis_experiments.populations.job import Place
from docsis_experiments.populations.loader import load
from docsis_experiments.populations.models import Population
from docsis_experiments.reports import document, report
from docsis_experiments.runs import files
from docsis_experiments.runs.collecting import Player
from docsis_experiments.runs.play import play
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

SHORT = {"tests": 4, "idle": 200_000_000, "ramp_up": 1_000_000_000, "measured": 1_000_000_000}

Run = Callable[..., Path]


class Counting:
    """Plays units in this process, and knows which."""

    def __init__(self, stop_after: int | None = None, failing: int | None = None) -> None:
        self.played: list[Unit] = []
        self._stop_after = stop_after
        self._failing = failing

    def __call__(self, units: Sequence[Unit]) -> Generator[Played, None, None]:
        for unit in units:
            if len(self.played) == self._stop_after:
                raise KeyboardInterrupt
            self.played.append(unit)
            if len(self.played) == self._failing:
                yield Played(unit, None, "the dog ate it")
            else:
                yield Played(unit, play(unit))


@pytest.fixture(scope="module")
def population() -> Population:
    shipped = load(TOPOLOGIES / "populations" / "quick-look.yaml")
    return shipped.model_copy(update=SHORT)


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, force_terminal=False)


@pytest.fixture
def run(tmp_path: Path, population: Population, console: Console) -> Run:
    def once(player: Player, store: Store | None = None, output: Path | None = None) -> Path:
        return job.run(
            population,
            seed=5,
            place=Place("virtual", VirtualStage(), player),
            console=console,
            output=output,
            results=tmp_path / "results",
            store=store or Store(tmp_path / "kept"),
        )

    return once


def test_stopped_resumed_and_written(
    run: Run, tmp_path: Path, population: Population, console: Console
) -> None:
    first = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        run(first)
    assert "2 of " in console.export_text(clear=False)
    assert not (tmp_path / "results").exists()

    second = Counting()
    folder = run(second)
    assert not {*first.played} & {*second.played}
    words = console.export_text()
    assert "2 of " in words
    assert "tests are there already." in words
    # A subscriber who has the same modem in both arms is tested once.
    alike = len(first.played) + len(second.played)
    assert 4 <= alike <= 8
    assert {path.name for path in folder.iterdir()} == {
        *("inputs", "plots", "summary.json", "details.json", "report.html"),
        *("outcomes.parquet", "tests.parquet"),
    }
    table = pq.read_table(folder / "tests.parquet")
    assert table.num_rows == 8
    assert len(files.read(folder / "outcomes.parquet")) == alike
    assert table["test"].to_pylist() == [1, 1, 2, 2, 3, 3, 4, 4]
    for name in ("idle_round_trip_ms", "mean_ms", "max_ms", "goodput_mbps", "requests"):
        assert all(value > 0 for value in table[name].to_pylist()), name
    for drawn, idle in zip(table["drawn_round_trip_ms"], table["idle_round_trip_ms"], strict=True):
        assert idle.as_py() == pytest.approx(drawn.as_py(), abs=1.5)
    summary = json.loads((folder / "summary.json").read_text())
    document.validate(summary)
    assert [arm["all"]["tests"] for arm in summary["arms"]] == [4, 4]
    assert sum(one["tests"] for one in summary["arms"][0]["tiers"].values()) == 4
    assert {one["value"] for one in summary["ratios"]} == {"mean", "max", "goodput"}
    page = report.write(folder).read_text()
    assert page.count("data:image/png") == len(list((folder / "plots").iterdir())) == 3
    # What it says in front of everything, and nothing that a browser would have to fetch.
    assert "had a mean round trip of at most" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    # The folder has what repeats it, and then nothing is played again.
    assert load(folder / "inputs" / "population.yaml") == population


def test_nothing_is_played_twice_and_output_is_a_folder_of_its_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    store = Store(tmp_path / "kept")
    run(Counting(), store)
    again = Counting()
    output = tmp_path / "mine"
    output.mkdir()
    assert run(again, store, output) == output
    assert again.played == []
    assert (output / "report.html").is_file()
    with pytest.raises(TestbedError, match="mine: is there and not empty"):
        run(again, store, output)
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_a_test_that_fails_is_told_and_the_others_count(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    with pytest.raises(TestbedError, match=r"1 of \d tests failed, the first: .*dog"):
        run(Counting(failing=3))


def test_equal_seeds_have_equal_tables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    tables = []
    for name in ("one", "two"):
        run(Counting(), Store(tmp_path / name), tmp_path / f"{name}-results")
        tables.append(pq.read_table(tmp_path / f"{name}-results" / "tests.parquet"))
    assert tables[0].equals(tables[1])
