# SPDX-License-Identifier: Apache-2.0
"""Works of rows are made once, kept, and made again only where they have to be."""

from __future__ import annotations

import functools
import itertools
import shutil
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pictures import without_figures
from rich.console import Console
from toy_rows.made import catalogue, toys
from toy_rows.numbers import doubled
from unmeasured import leave_out_measuring

from docsis_experiments.reproduction import earlier, job, making, small_works
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.making import Done, Processes
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Asked, Computation, Draws, Level, Row, Run, Work
from docsis_experiments.reproduction.shelf import Shelf, key_of
from docsis_experiments.runs import loaded_code, sources
from docsis_experiments.runs.store import ASIDE, Store
from docsis_testbed.errors import TestbedError

pytest_plugins = ["in_this_process", "unmeasured"]
pytestmark = pytest.mark.usefixtures("in_this_process", "unmeasured")

_NUMBERS = itertools.count()
"""Numbers for folders: two of one second would have the same name."""

FIRST = ("000-A1", "000-A2", "000-B1")
"""Rows that can be made."""


class Counting:
    """Makes works in processes, and knows which; stops after some."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.made: list[Work] = []
        self._stop_after = stop_after

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        for done in Processes(2)(works):
            if len(self.made) == self._stop_after:
                raise KeyboardInterrupt
            self.made.append(done.work)
            yield done

    @property
    def names(self) -> list[str]:
        return sorted(making.words(work) for work in self.made)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    without_figures(monkeypatch)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return toys(tmp_path_factory.mktemp("toys"))


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, quiet=False, file=open("/dev/null", "w"))


@pytest.fixture(scope="module")
def smoked(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, Row]) -> Path:
    """Runs the rows at `smoke`, and gives the folder of what is kept."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patched:
        leave_out_measuring(patched)
        bench = Bench(rows, catalogue(), Shelf(Store(folder)), results=folder / "results")
        request = Request(FIRST, Level.SMOKE)
        job.run(request, player=Processes(2), jobs=2, console=Console(quiet=True), bench=bench)
    return folder


@pytest.fixture
def shelf(smoked: Path, tmp_path: Path) -> Shelf:
    shutil.copytree(smoked, tmp_path / "kept")
    return Shelf(Store(tmp_path / "kept"))


def asked_again(
    rows: dict[str, Row],
    shelf: Shelf,
    console: Console,
    player: Counting,
    names: Sequence[str] = FIRST,
    level: Level = Level.SMOKE,
    seeds: int | None = None,
) -> None:
    request = Request(tuple(names), level, seeds=seeds)
    bench = Bench(
        rows, catalogue(), shelf, results=shelf.store.folder.with_name(f"results-{next(_NUMBERS)}")
    )
    job.run(request, player=player, jobs=2, console=console, bench=bench)


def test_a_run_that_two_rows_need_is_made_once(rows: dict[str, Row], tmp_path: Path) -> None:
    player = Counting()
    asked_again(rows, Shelf(Store(tmp_path)), Console(quiet=True), player, ["000-A1", "000-A2"])
    assert player.names == ["codel, seed 901", "tail, seed 901"]


def test_what_is_there_is_not_made_again(
    rows: dict[str, Row], shelf: Shelf, console: Console
) -> None:
    player = Counting()
    asked_again(rows, shelf, console, player)
    assert player.made == []
    assert "p90 tail" in console.export_text()


def test_one_that_is_stopped_goes_on(
    rows: dict[str, Row], tmp_path: Path, console: Console
) -> None:
    shelf = Shelf(Store(tmp_path / "kept"))
    stopped = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        asked_again(rows, shelf, console, stopped)
    assert "2 of 4 runs and draws have been made and are kept" in console.export_text()
    rest = Counting()
    asked_again(rows, shelf, console, rest)
    assert len(rest.made) == 2
    assert not set(rest.names) & set(stopped.names)


def test_a_level_starts_from_what_there_is(
    rows: dict[str, Row], shelf: Shelf, console: Console
) -> None:
    first = Counting()
    asked_again(rows, shelf, console, first, ["000-A1"], Level.STUDY)
    assert first.names == ["tail, seed 1", "tail, seed 2", "tail, seed 3"]
    more = Counting()
    asked_again(rows, shelf, console, more, ["000-A1"], Level.FULL)
    assert more.names == ["tail, seed 4"]


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_a_damaged_one_is_told_and_made_again(
    rows: dict[str, Row], shelf: Shelf, console: Console, ending: str
) -> None:
    [first, *_] = sorted(
        path for path in shelf.store.folder.rglob(f"*.{ending}") if len(path.stem) == 64
    )
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 0xFF
    first.write_bytes(content)
    player = Counting()
    asked_again(rows, shelf, console, player)
    words = console.export_text()
    assert "it is put aside, and made again" in words
    assert len(player.made) == 1
    assert first.exists()
    assert first.with_name(first.name + ASIDE).read_bytes() == content


def test_another_sitting_may_make_a_damaged_one_again_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(Store(tmp_path))
    work = Computation("a", doubled, 1)
    key = key_of(work)
    shelf.keep(work, key, {"value": 2.0})
    path = shelf.store.path(key).with_suffix(".json")
    good = path.read_bytes()
    path.write_bytes(b"damaged")
    read = Shelf._read

    def slow(self: Shelf, key: str) -> Mapping[str, Any] | None:
        try:
            return read(self, key)
        finally:
            path.write_bytes(good)

    monkeypatch.setattr(Shelf, "_read", slow)
    assert shelf.look(work, key) == (True, "")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_small_one_of_another_version_is_not_mixed(
    rows: dict[str, Row], shelf: Shelf, console: Console
) -> None:
    paths = [path for path in shelf.store.folder.rglob("*.json") if len(path.stem) == 64]
    for path in paths:
        path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    player = Counting()
    asked_again(rows, shelf, console, player)
    assert len(player.made) == len(paths) == 2
    assert "is of version 7, and this program reads version 1" in console.export_text()


def test_what_another_version_made_is_told_and_not_used(
    rows: dict[str, Row], shelf: Shelf, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = dict(sources.parts("virtual"))
    monkeypatch.setattr(sources, "parts", lambda stage: {**ours, "world": "another"})

    class Nothing(Counting):
        def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
            self.made += works
            return
            yield

    player = Nothing()
    asked_again(rows, shelf, console, player)
    assert "Runs by another version, whose world is not the same" in console.export_text()
    assert len(player.made) == 4


def test_a_row_whose_works_fail_hides_no_other(
    rows: dict[str, Row], shelf: Shelf, console: Console
) -> None:
    with pytest.raises(
        TestbedError, match=r"1 of 2 runs and draws failed, the first: broken, seed 901"
    ):
        asked_again(rows, shelf, console, Counting(), ["000-A1", "001"])
    words = console.export_text()
    assert "there is no workload web" in words
    assert "p90 tail: " in words


def test_what_a_computation_is_known_by() -> None:
    def local(seed: int) -> dict[str, float]:
        return {}

    keys = {
        small_works.key(Computation("a", doubled, 1)),
        small_works.key(Computation("a", doubled, 2)),
        small_works.key(Computation("a", functools.partial(doubled, factor=3), 1)),
        small_works.key(Draws("a", ("drops", "--seed", "1"), 1)),
        small_works.key(Draws("a", ("drops", "--seed", "2"), 2)),
    }
    assert len(keys) == 5
    # What a row calls it changes nothing of it.
    assert small_works.key(Computation("b", doubled, 1)) in keys
    with pytest.raises(TypeError, match="is no function of a module"):
        small_works.key(Computation("a", local, 1))


def test_what_another_version_computed_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is changed between the moment that a work is asked for and its end."""
    work = Computation("a", functools.partial(doubled, factor=3), 1)
    answer = small_works.computed(small_works.job(work).content, Path())
    assert small_works.understood(work, answer)["value"] == 3
    monkeypatch.setattr(sources, "code", lambda module: "another")
    with pytest.raises(TestbedError, match="was changed while runs went on"):
        small_works.understood(work, answer)


def test_another_python_computes_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """But the switch draws the same."""
    works: list[Computation | Draws] = [
        Computation("a", doubled, 1),
        Draws("a", ("drops", "--seed", "1"), 1),
    ]
    computation, draws = map(small_works.key, works)
    monkeypatch.setattr(sources, "python", lambda: "3.99")
    assert small_works.key(works[0]) != computation
    assert small_works.key(works[1]) == draws


def test_a_worker_loads_all_code_of_a_computation_before_its_first() -> None:
    """Code that is changed between two works of a worker is not that of the second, either."""
    loaded_code.of.cache_clear()
    sys.modules.pop("toy_rows.imported_late", None)
    small_works.computed(small_works.job(Computation("a", doubled, 1)).content, Path())
    assert "toy_rows.imported_late" in sys.modules


def test_a_computation_whose_pipeline_is_compiled_again_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = small_works.job(Computation("a", doubled, 1)).content
    small_works.computed(content, Path())
    monkeypatch.setattr(sources, "pipeline_now", lambda: "another")
    with pytest.raises(TestbedError, match="the pipeline, .* was changed while runs went on"):
        small_works.computed(content, Path())


def test_two_works_of_a_row_have_two_names(rows: dict[str, Row]) -> None:
    def twice(asked: Asked) -> list[Work]:
        return [
            Computation("a", doubled, 1),
            Computation("a", functools.partial(doubled, factor=3), 1),
        ]

    plan = Plan()
    plan.add(Row("000-A1", twice, rows["000-A1"].parts), Asked(Level.SMOKE, 1, (901,)))
    assert plan.rows[0].problem == 'two of its works are called "a" with seed 1'


def test_units_of_a_plan_hold_their_texts_once(rows: dict[str, Row]) -> None:
    plan = Plan()
    plan.add(rows["000-A1"], Asked(Level.FULL, 1, (1, 2, 3)))
    units = [work.unit for work in plan.works.values() if isinstance(work, Run)]
    assert len({id(unit.scenario) for unit in units}) == 1
    assert all("loaded" not in vars(unit) for unit in units)
    assert [key_of(Run("x", unit)) for unit in units] == list(plan.works)


def test_order_is_row_by_row_and_the_longest_first(rows: dict[str, Row]) -> None:
    plan = Plan()
    for name in ("000-A1", "000-A2"):
        plan.add(rows[name], Asked(Level.STUDY, 1, (1, 2)))
    keys = list(plan.works)
    seconds = dict(zip(keys, (1.0, 2.0, 3.0, 4.0), strict=True))
    assert making.order(plan, plan.works, seconds) == [keys[1], keys[0], keys[3], keys[2]]


def test_draws_without_a_switch_that_makes_them_are_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works: list[Work] = [Computation("a", doubled, 1), Draws("b", ("drops", "--seed", "1"), 1)]
    monkeypatch.setenv("DOCSIS_SWITCH", str(tmp_path / "none"))
    with pytest.raises(TestbedError, match="the switch is not built"):
        next(Processes(1)(works))
    built_without = tmp_path / "docsis-switch"
    built_without.write_text("#!/bin/sh\necho 'built without `sample`' >&2\nexit 1\n")
    built_without.chmod(0o755)
    monkeypatch.setenv("DOCSIS_SWITCH", str(built_without))
    with pytest.raises(TestbedError, match="^built without `sample`$"):
        next(Processes(1)(works))
    assert [done.work for done in Processes(1)(works[:1])] == works[:1]


def test_another_reading_that_costs_nothing_is_judged(
    rows: dict[str, Row], tmp_path: Path, console: Console
) -> None:
    """The second reading of 000-A2 is of two seeds that the first one has."""
    request = Request(("000-A2",), Level.FULL, readings=1)
    bench = Bench(rows, catalogue(), Shelf(Store(tmp_path / "kept")), results=tmp_path / "results")
    player = Counting()
    folder = job.run(request, player=player, jobs=2, console=console, bench=bench)
    assert len(player.made) == 6
    [row] = earlier.read(folder / "results.json")["rows"]
    found = [(one["reading"], one["seeds"], one["there"]) for one in row["readings"]]
    assert found == [(1, [1, 2, 3], 6), (2, [1, 2], 4)]
    assert row["readings"][1]["verdict"] is not None


def test_another_reading_that_costs_something_is_left_out(
    rows: dict[str, Row], tmp_path: Path, console: Console
) -> None:
    more = catalogue()["000-A2"].model_copy(update={"other_seeds": 4})
    registered = {**catalogue(), "000-A2": more}
    bench = Bench(rows, registered, Shelf(Store(tmp_path / "kept")), results=tmp_path / "results")
    request = Request(("000-A2",), Level.FULL, readings=1)
    folder = job.run(request, player=Processes(2), jobs=2, console=console, bench=bench)
    [row] = earlier.read(folder / "results.json")["rows"]
    assert [one["reading"] for one in row["readings"]] == [1]
