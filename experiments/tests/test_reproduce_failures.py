# SPDX-License-Identifier: Apache-2.0
"""Works that fail are told at once, and end a sitting in which nothing else happens."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pictures import without_figures
from rich.console import Console
from toy_rows.made import catalogue, toys
from toy_rows.pages import figure

from docsis_experiments.reproduction import earlier, job, making, showing
from docsis_experiments.reproduction.figure import Figure, Figures, Made, Published
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.making import MOST_ALIKE, Done, Player, Processes
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Work,
)
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError

pytest_plugins = ["in_this_process", "unmeasured"]
pytestmark = pytest.mark.usefixtures("in_this_process", "unmeasured")

MANY = {**catalogue(), "000-B1": catalogue()["000-B1"].model_copy(update={"seeds": 60})}
"""The row of computations has 120 works at `full`."""


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


class Failing:
    """Fails works as it is told, and makes all others."""

    def __init__(self, why: Callable[[int, Work], str]) -> None:
        self.asked = 0
        self._why = why

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        for done in Processes(1)(works):
            why = self._why(self.asked, done.work)
            self.asked += 1
            failure = f"{making.words(done.work)}: {why}"
            yield Done(done.work, None, failure, None) if why else done


def told(
    rows: dict[str, Row],
    folder: Path,
    player: Player,
    words: str,
    level: Level = Level.FULL,
    names: tuple[str, ...] = ("000-B1",),
) -> str:
    """What a sitting says before it fails with some words."""
    bench = Bench(rows, MANY, Shelf(Store(folder / "kept")), results=folder / "results")
    console = Console(record=True, width=200, file=(folder / "console").open("w"))
    with pytest.raises(TestbedError, match=words):
        job.run(Request(names, level), player=player, jobs=1, console=console, bench=bench)
    return console.export_text()


def test_a_sitting_in_which_everything_fails_ends_soon(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    """The scratch folder of each work is another one."""
    player = Failing(lambda number, work: f"no space left on /tmp/scratch-{number}/x")
    said = told(
        rows, tmp_path, player,
        "^20 runs and draws in a row failed for the same reason, .* the last: .*no space left",
    )  # fmt: skip
    assert player.asked == MOST_ALIKE == 20
    assert said.count("Failed: ") == said.count("no space left") == 3
    assert "0 of 120 runs and draws have been made and are kept" in said
    assert not (tmp_path / "results").exists()


def test_one_that_is_made_in_between_or_another_reason_is_no_end(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    def why(number: int, work: Work) -> str:
        if number % MOST_ALIKE == MOST_ALIKE - 1:
            return "" if number < 60 else "was killed"
        return "no space left"

    player = Failing(why)
    told(rows, tmp_path, player, r"^117 of 120 runs and draws failed, the first: .*no space left")
    assert player.asked == 120


def test_a_reason_that_one_row_alone_has_hinders_no_other(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    player = Failing(lambda number, work: "no" if isinstance(work, Computation) else "")
    words = "^120 of [0-9]+ runs and draws failed, the first: .*no$"
    told(rows, tmp_path, player, words, names=("000-A1", "000-B1"))
    assert player.asked > 120


def test_a_reason_that_two_rows_have_ends_it(rows: dict[str, Row], tmp_path: Path) -> None:
    player = Failing(lambda number, work: "no space left")
    told(rows, tmp_path, player, "^20 runs and draws in a row", names=("000-A1", "000-B1"))
    assert player.asked == MOST_ALIKE


def test_the_progress_counts_failures(
    rows: dict[str, Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Bar:
        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *ended: object) -> None:
            pass

        def add_task(self, words: str, total: float) -> int:
            return 0

        def update(self, task: int, completed: float, description: str = "") -> None:
            seen.append(description.partition(":")[0])

    monkeypatch.setattr(showing, "progress_bar", lambda console: Bar())
    player = Failing(lambda number, work: "was killed" if number in (1, 2) else "")
    told(rows, tmp_path, player, "^2 of 6 runs and draws failed", Level.STUDY)
    assert [one for one in seen if one] == [
        "1/6", "2/6, 1 failed", "3/6, 2 failed", "4/6, 2 failed", "5/6, 2 failed", "6/6, 2 failed",
    ]  # fmt: skip


def sit(
    rows: dict[str, Row], folder: Path, names: Sequence[str], figures: Mapping[Figures, Any]
) -> list[str]:
    """The states of rows in the page of a sitting at `smoke`."""
    bench = Bench(rows, MANY, Shelf(Store(folder / "kept")), figures, folder / "results")
    try:
        job.run(
            Request(tuple(names)), player=Processes(1), jobs=1, console=Console(quiet=True),
            bench=bench,
        )  # fmt: skip
    finally:
        [written] = bench.results.iterdir()
        found = [row["state"] for row in earlier.read(written / "results.json")["rows"]]
    return found


def endless(made: Mapping[str, Made]) -> list[Figure]:
    """A figure with a number that JSON has not."""
    [panel, *more] = figure().panels
    band = Published("band", low=1.0, high=float("inf"))
    panels = (replace(panel, published=(band,)), *more)
    return [replace(figure(), panels=panels, rows=("000-B1",))]


def test_a_row_with_a_problem_that_was_asked_for_by_name_fails_the_command(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    """And the page has what came of the others."""

    def no_parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
        raise KeyError("no such call")

    def another(asked: Asked, results: Results) -> Mapping[str, Measured]:
        return {"another": Exact(1.0)}

    computed = rows["000-B1"]
    cases: list[tuple[dict[str, Row], list[str], Mapping[Figures, Any], str]] = [
        (rows, ["000-B1", "001-C2"], {}, "^001-C2: its works cannot be told: there is no workloa"),
        (
            {**rows, "000-B1": replace(computed, parts=no_parts)}, ["000-B1"], {},
            "^000-B1: its parts cannot be made .KeyError: 'no such call'.$",
        ),
        ({**rows, "000-B1": replace(computed, parts=another)}, ["000-B1"], {},
         '^000-B1: it cannot be judged: 000-B1: reading 1 has no part "another"'),
        (rows, ["000-B1"], {endless: ("000-B1",)}, "^Figure 000-1 cannot be drawn: .* JSON"),
    ]  # fmt: skip
    for number, (of, names, figures, words) in enumerate(cases):
        with pytest.raises(TestbedError, match=words):
            sit(of, tmp_path / str(number), names, figures)
    assert sit(rows, tmp_path / "whole", ["000-B1"], {}) == ["run"]


def test_a_row_of_a_paper_with_a_problem_is_told_alone(
    rows: dict[str, Row], tmp_path: Path
) -> None:
    others = {name: row for name, row in rows.items() if name != "001-C1"}
    assert sit(others, tmp_path, ["000-B1", "001"], {}) == ["run", *["not run"] * 3]


@pytest.mark.parametrize("level", [None, Level.STUDY])
def test_an_estimate_says_why_a_row_is_not_run_and_what_no_number_has(
    rows: dict[str, Row], tmp_path: Path, level: Level | None
) -> None:
    bench = Bench(rows, catalogue(), Shelf(Store(tmp_path / "kept")), results=tmp_path / "results")
    console = Console(record=True, width=300, file=(tmp_path / "console").open("w"))
    job.estimate(Request(("000-B1", "001-C2"), level), jobs=1, console=console, bench=bench)
    words = " ".join(console.export_text().split())
    why = "001-C2 is not run, because its works cannot be told: there is no workload web"
    assert words.count(why) == 1
    # A study has no extensions.
    assert ("so no number has extensions." in words) == (level is None)
