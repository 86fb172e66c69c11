# SPDX-License-Identifier: Apache-2.0
"""A sweep from its file to its folder: kept, resumed, told, and nothing mixed."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from outcome_files import QUICK
from pictures import without_pictures
from rich.console import Console
from scenario_files import write as write_scenario

from docsis_experiments.reports import report
from docsis_experiments.runs import files, pool, sources
from docsis_experiments.runs.collecting import Player
from docsis_experiments.runs.play import play
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.store import ASIDE, Store
from docsis_experiments.runs.unit import Unit
from docsis_experiments.sweeps import job
from docsis_experiments.sweeps.loader import LoadedSweep, load
from docsis_testbed.errors import TestbedError

FILE = """
name: mine
title: Two managers at two round-trip times
experiment: {experiment}
axes:
  managers: [drop-tail, docsis-pie]
  round_trip_times: [10 ms, 40 ms]
seeds: 1
"""

Sweep = Callable[..., Path]


class Counting:
    """Plays units in this process, and knows which."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.played: list[Unit] = []
        self._stop_after = stop_after

    def __call__(self, units: Sequence[Unit]) -> Generator[Played, None, None]:
        for unit in units:
            if len(self.played) == self._stop_after:
                raise KeyboardInterrupt
            self.played.append(unit)
            yield Played(unit, play(unit))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedSweep:
    folder = tmp_path_factory.mktemp("sweep")
    path = folder / "mine.yaml"
    path.write_text(FILE.format(experiment=write_scenario(folder, *QUICK)))
    return load(path)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, loaded: LoadedSweep) -> Store:
    """All runs of the sweep, as a pool of processes makes them."""
    store = Store(tmp_path_factory.mktemp("kept"))
    results = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patched:
        without_pictures(patched)
        job.run(
            loaded,
            play=lambda units: pool.play_all(units, 2),
            console=Console(quiet=True),
            results=results,
            store=store,
        )
    return store


def paths(store: Store) -> list[Path]:
    return sorted(store.folder.glob("*/*.parquet"))


def copied(store: Store, folder: Path) -> Store:
    for path in store.folder.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(store.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return Store(folder)


@pytest.fixture
def sweep(tmp_path: Path, loaded: LoadedSweep, console: Console) -> Callable[..., Path]:
    def run(player: Player, store: Store) -> Path:
        return job.run(
            loaded, play=player, console=console, results=tmp_path / "results", store=store
        )

    return run


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, force_terminal=False)


def test_what_a_sweep_leaves(sweep: Sweep, kept: Store, loaded: LoadedSweep) -> None:
    folder = sweep(Counting(), kept)
    assert {path.name for path in folder.iterdir()} == {
        *("inputs", "plots", "summary.json", "details.json", "report.html"),
        *("outcomes.parquet", "table.parquet"),
    }
    table = pq.read_table(folder / "table.parquet")
    groups = len(loaded.base.scenario.traffic)
    assert table.num_rows == loaded.runs * groups
    assert set(table["round_trip_ms"].to_pylist()) == {10.0, 40.0}
    assert set(table["manager"].to_pylist()) == {"Drop tail", "DOCSIS-PIE"}
    assert all(value > 0 for value in table["latency_p90_ms"].to_pylist())
    summary = json.loads((folder / "summary.json").read_text())
    assert [point["keys"] for point in summary["points"]] == [
        [outcome.key] for outcome in files.read(folder / "outcomes.parquet")
    ]
    page = report.write(folder).read_text()
    assert page.count("data:image/png") == len(list((folder / "plots").iterdir())) > 0
    # It can be repeated from its own folder.
    assert [point.words for point in load(folder / "inputs" / "sweep.yaml").points] == [
        point.words for point in loaded.points
    ]


def test_what_is_there_is_not_played_again(
    sweep: Sweep, kept: Store, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    player = Counting()
    sweep(player, kept)
    assert player.played == []
    assert "4 of 4 runs are there already." in console.export_text()


def test_the_same_bits_as_in_one_process(
    sweep: Sweep, kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    here = Store(tmp_path / "here")
    sweep(Counting(), here)
    assert [path.name for path in paths(here)] == [path.name for path in paths(kept)]
    assert [path.read_bytes() for path in paths(here)] == [p.read_bytes() for p in paths(kept)]


def test_a_stopped_sweep_goes_on_where_it_was(
    sweep: Sweep,
    loaded: LoadedSweep,
    tmp_path: Path,
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_pictures(monkeypatch)
    store = Store(tmp_path / "kept")
    first, second = Counting(stop_after=1), Counting()
    with pytest.raises(KeyboardInterrupt):
        sweep(first, store)
    assert len(paths(store)) == 1
    assert "1 of 4 runs have been played and are kept" in console.export_text(clear=False)
    sweep(second, store)
    assert len(second.played) == loaded.runs - 1
    assert not set(first.played) & set(second.played)


def test_a_damaged_result_is_told_put_aside_and_made_again(
    sweep: Sweep, kept: Store, tmp_path: Path, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    store = copied(kept, tmp_path / "kept")
    broken = paths(store)[0]
    before = broken.read_bytes()
    broken.write_bytes(before[:-20])
    player = Counting()
    sweep(player, store)
    assert len(player.played) == 1
    assert f"{broken}: is damaged" in console.export_text()
    assert broken.with_name(broken.name + ASIDE).read_bytes() == before[:-20]
    assert broken.read_bytes() == before


def test_results_of_another_version_are_told_and_not_mixed(
    sweep: Sweep, kept: Store, tmp_path: Path, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    store = copied(kept, tmp_path / "kept")
    monkeypatch.setattr(sources, "package", lambda name: "another")
    monkeypatch.setattr(sources, "parts", sources.parts_now)
    player = Counting()
    sweep(player, store)
    words = console.export_text()
    assert "Results of this sweep by another version, whose numpy is not the same" in words
    assert len(player.played) == 4
    assert set(paths(kept)) == {kept.folder / p.relative_to(store.folder) for p in paths(store)} & {
        *paths(kept)
    }
    assert len(paths(store)) == 8


def test_a_run_that_fails_is_told_and_hides_no_other(sweep: Sweep, tmp_path: Path) -> None:
    def player(units: Sequence[Unit]) -> Generator[Played, None, None]:
        yield Played(units[0], None, "its world cannot go on")
        for unit in units[1:]:
            yield Played(unit, play(unit))

    store = Store(tmp_path / "kept")
    with pytest.raises(TestbedError) as failed:
        sweep(player, store)
    assert str(failed.value) == (
        "1 of 4 runs failed, the first: Drop tail, 10 ms, seed 1: its world cannot go on"
    )
    [folder] = (tmp_path / "results").iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    assert len(summary["failed"]) == 1
    assert [len(point["seeds"]) for point in summary["points"]] == [0, 1, 1, 1]
    assert "its world cannot go on" in (folder / "report.html").read_text()
