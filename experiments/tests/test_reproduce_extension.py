# SPDX-License-Identifier: Apache-2.0
"""A row that is undecided at `full` is extended once; and rows that are played in Mininet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from outcome_files import quick
from pictures import without_figures
from rich.console import Console
from scenario_files import record
from toy_rows.made import catalogue, part, rule, toys, units

from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.reproduction import earlier, job, outcomes
from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.judge import kept
from docsis_experiments.reproduction.making import Done, Player, Processes
from docsis_experiments.reproduction.mininet_runs import InMininet
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Asked, Computation, Level, Work
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs import sources
from docsis_experiments.runs.in_mininet import MOST_TRIES
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError

pytest_plugins = ["in_this_process", "unmeasured"]
pytestmark = pytest.mark.usefixtures("in_this_process", "unmeasured")


TWO_PROCESSES = Processes(2)


class LastFails(Processes):
    """Makes all but the row's last seed, 60."""

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        for done in super().__call__(works):
            lost = isinstance(done.work, Computation) and done.work.seed == 60
            yield Done(done.work, None, "was killed", None) if lost else done


def undecided() -> dict[str, Rule]:
    """Twice the seeds 1 to 5 is 2 to 10, whose interval reaches below 2.5; of 60 it does not."""
    one = rule("000-B1", part("double", 2.5, 100), part("triple", 0, 1e6, interval="exact",
               role="shown", reproduced=None), seeds=5)  # fmt: skip
    return {**catalogue(), "000-B1": one}


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)


def run(
    tmp_path: Path,
    name: str,
    player: Player | None = TWO_PROCESSES,
    failure: str = "",
    works: Callable[[Asked], Iterable[Work]] | None = None,
) -> tuple[dict[str, Any], str]:
    """The row in the page that is written, and what is said; how the command fails, if it does."""
    console = Console(record=True, width=200, file=(tmp_path / "console").open("w"))
    shelf = Shelf(Store(tmp_path / "kept"))
    rows = toys(tmp_path)
    if works is not None:
        rows["000-B1"] = replace(rows["000-B1"], works=works)
    bench = Bench(rows, undecided(), shelf, {}, tmp_path / name)
    request = Request(("000-B1",), Level.FULL)
    failing = pytest.raises(TestbedError, match=failure) if failure else nullcontext()
    with failing:
        job.run(request, player=player, jobs=2, console=console, bench=bench)
    [folder] = (tmp_path / name).iterdir()
    [row] = earlier.read(folder / "results.json")["rows"]
    return row, console.export_text()


def test_an_undecided_row_is_extended_once(tmp_path: Path) -> None:
    row, words = run(tmp_path, "first")
    assert "000-B1: is undecided, and is extended to 60 seeds." in words
    assert (row["state"], row["standing"], row["extension"]) == ("reproduced", "verdict", "done")
    [reading] = row["readings"]
    assert reading["seeds"] == list(range(1, 61))
    assert reading["parts"][0]["confidence"] == 0.99
    # Both outcomes are told, and are not told twice.
    assert [one["state"] for one in row["history"]] == ["undecided", "reproduced"]
    again, _ = run(tmp_path, "second")
    assert again["history"] == row["history"]
    history = kept.read(outcomes.path(Shelf(Store(tmp_path / "kept"))))
    assert [one.extended for one in history.outcomes] == [False, True]


def test_a_row_whose_extension_fails_keeps_its_outcome(tmp_path: Path) -> None:
    row, words = run(tmp_path, "first", LastFails(2), "2 of 120 runs and draws failed.*was killed")
    assert "000-B1: keeps its outcome, because 2 runs of its extension failed" in words
    assert (row["state"], row["extension"]) == ("undecided", "due")
    assert row["readings"][0]["seeds"] == [1, 2, 3, 4, 5]
    # Given again, the command makes the two that are missing.
    row, words = run(tmp_path, "second")
    assert "118 of 120 runs and draws are there already" in words
    assert (row["state"], row["extension"]) == ("reproduced", "done")


def test_an_extension_that_costs_too_much_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "MOST_EXTENSION_SECONDS", -1.0)
    row, words = run(tmp_path, "results")
    assert "is undecided, and is not extended to 60 seeds" in words
    assert (row["state"], row["extension"]) == ("undecided", "refused")
    assert row["readings"][0]["extension"] == "refused"


def test_an_extension_that_is_there_is_judged_whatever_it_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "first")
    monkeypatch.setattr(outcomes, "MOST_EXTENSION_SECONDS", -1.0)
    for name, player in (("second", TWO_PROCESSES), ("third", None)):
        row, _ = run(tmp_path, name, player)
        assert (row["state"], row["extension"]) == ("reproduced", "done")


def test_without_a_player_an_extension_that_is_not_there_stays_due(tmp_path: Path) -> None:
    run(tmp_path, "first", LastFails(2), "2 of 120 runs and draws failed.*was killed")
    row, _ = run(tmp_path, "second", None)
    assert (row["state"], row["extension"]) == ("undecided", "due")


def test_an_extension_whose_works_cannot_be_told_is_told(tmp_path: Path) -> None:
    def few(asked: Asked) -> Iterable[Work]:
        if len(asked.seeds) > 5:
            raise ValueError("there are no such seeds")
        return toys(tmp_path)["000-B1"].works(asked)

    row, words = run(
        tmp_path, "results", failure="^000-B1: is undecided, and is not extended", works=few
    )
    assert "because its works with them cannot be told: there are no such seeds" in words
    assert "its 60 seeds are there already" not in words
    assert (row["state"], row["extension"]) == ("undecided", "due")


def test_an_extension_costs_what_it_adds(tmp_path: Path) -> None:
    """Five seeds are there already, and 55 are added; each has two works."""
    row = toys(tmp_path)["000-B1"]
    plan, added = outcomes.extension(row, undecided()["000-B1"])
    assert (len(plan.works), len(added)) == (120, 110)


class FakeStage:
    """Plays in no time; its first runs are not valid."""

    target = "embedded"

    def __init__(self, invalid: int, made: Callable[..., RunRecord]) -> None:
        self.invalid = invalid
        self.made = made
        self.opened_for: list[str] = []
        self.numbers: list[int] = []

    def admit(self, *asked: object) -> None:
        pass

    def playable(self, topology: Any) -> Any:
        return topology

    @contextmanager
    def opened(self, what: str, topology: object) -> Iterator[None]:
        self.opened_for.append(what)
        yield

    def measure(self, scenario: Any, run: Any, *asked: Any, **named: Any) -> RunRecord:
        assert named["folder"].is_dir()
        self.numbers.append(named["number"])
        self.invalid -= 1
        if self.invalid >= 0:
            return self.made(run.label, 20.0, faults=("a clock stood still",))
        return self.made(run.label, 20.0)


@pytest.mark.parametrize(("invalid", "tries"), [(0, 1), (1, 2), (9, MOST_TRIES)])
def test_a_run_in_mininet_that_is_not_valid_is_made_again(
    tmp_path: Path, invalid: int, tries: int
) -> None:
    [run] = units(quick(tmp_path), "tail", (7,))
    stage = FakeStage(invalid, record)
    [done] = InMininet(stage)([run])  # type: ignore[arg-type]
    assert len(stage.opened_for) == tries
    # Each try has the number, and so the draws, of the row's other queue managers.
    assert stage.numbers == [7] * tries
    if invalid < MOST_TRIES:
        shelf = Shelf(Store(tmp_path / "kept"))
        assert done.keep is not None
        done.keep(shelf, "")
        assert len(list(shelf.store.folder.rglob("*.parquet"))) == 1
    else:
        assert done.keep is None
        assert "tail, seed 7: is not valid, 3 times: " in done.failure


def test_a_run_in_mininet_that_another_version_made_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch is built again while it runs; those that follow are not started."""
    stage = FakeStage(0, record)
    ours = sources.parts("mininet")
    monkeypatch.setattr(
        sources, "parts_now", lambda at: {**ours, **({"switch": ""} if stage.numbers else {})}
    )
    for done in InMininet(stage)(units(quick(tmp_path), "tail", (7, 8))):  # type: ignore[arg-type]
        assert done.keep is None
        assert "the switch or the world was changed while runs went on" in done.failure
    assert stage.numbers == [7]
