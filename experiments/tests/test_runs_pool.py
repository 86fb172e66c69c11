# SPDX-License-Identifier: Apache-2.0
"""Units in several processes: the same outcomes, whoever is killed meanwhile."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pool_worker
import pytest
from outcome_files import quick

from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.runs import files, pool, sources, workers
from docsis_experiments.runs.play import play
from docsis_experiments.runs.unit import Unit, units
from docsis_experiments.stages.virtual import run as virtual
from docsis_testbed.errors import TestbedError


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> list[Unit]:
    found = quick(tmp_path_factory.mktemp("scenario"))
    return units(found, found.scenario.all_runs, [1, 2])


@pytest.fixture(scope="module")
def played(four: list[Unit]) -> list[bytes]:
    """Plays the units in this process."""
    return [files.encode([play(unit)]) for unit in four]


def test_a_unit_leaves_nothing_behind(four: list[Unit], tmp_path: Path) -> None:
    outcome = play(four[1], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert (outcome.run, outcome.number, outcome.withheld) == ("codel", 1, "")
    assert len(outcome.digest) == 16


def test_a_unit_whose_pipeline_is_compiled_again_meanwhile_is_refused(
    four: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its world may have either of the two."""
    play(four[0])
    measure = virtual.measure

    def compiled_meanwhile(*of: Any, **how: Any) -> RunRecord:
        record = measure(*of, **how)
        monkeypatch.setattr(sources, "pipeline_now", lambda: "another")
        return record

    monkeypatch.setattr(virtual, "measure", compiled_meanwhile)
    for _ in range(2):
        with pytest.raises(TestbedError, match="the pipeline, .* was changed while runs went on"):
            play(four[0])
    monkeypatch.undo()
    play(four[0])


def test_several_processes_make_the_same_bits(four: list[Unit], played: list[bytes]) -> None:
    found = {}
    with closing(pool.play_all(four, 2)) as each:
        for one in each:
            assert one.outcome is not None, one.failure
            assert one.processor_seconds is not None
            assert one.processor_seconds > 0
            found[one.unit] = files.encode([one.outcome])
    assert [found[unit] for unit in four] == played
    assert multiprocessing.active_children() == []


def test_a_killed_one_is_played_again(four: list[Unit], played: list[bytes]) -> None:
    found = {}
    with closing(pool.play_all(four[:3], 1)) as each:
        first = next(each)
        found[first.unit] = first
        # Nothing is asked of it now, and it plays the second.
        [worker] = multiprocessing.active_children()
        worker.kill()
        for one in each:
            found[one.unit] = one
    assert [found[unit].failure for unit in four[:3]] == ["", "", ""]
    outcomes = [found[unit].outcome for unit in four[:3]]
    assert [files.encode([one]) for one in outcomes if one is not None] == played[:3]


def _lie(connection: Connection, scratch: str) -> None:
    """A worker that answers what is no outcome, and then another unit's."""
    del scratch
    connection.recv_bytes()
    connection.send_bytes(b"+1.5\nnothing")
    _, _, text = connection.recv_bytes().partition(b"\n")
    first = Unit.from_json(text)
    connection.send_bytes(
        b"+1.5\n" + files.encode([play(Unit(first.scenario, first.topology, (), first.seed))])
    )
    connection.recv_bytes()
    connection.send_bytes(b"+nothing")


def _stall(connection: Connection, scratch: str) -> None:
    """A worker that never answers."""
    del scratch
    while True:
        connection.recv_bytes()


def test_one_that_is_always_killed_is_told(
    four: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_work", pool_worker.die)
    found = list(pool.play_all(four[:1], 2))
    assert [one.outcome for one in found] == [None]
    assert found[0].failure == "tail, seed 1: its process was killed, 3 times"


def test_a_process_is_not_believed(four: list[Unit], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_work", _lie)
    first, second, third = pool.play_all(four[:3], 1)
    assert "its process answered what is no outcome" in first.failure
    assert "the code, the pipeline, the switch or the world was changed" in second.failure
    assert "its process answered what nobody asked for" in third.failure


def test_one_that_takes_too_long_is_ended(
    four: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_SECONDS", 0.0)
    # A machine that looks late finds the answer of one that plays.
    monkeypatch.setattr(workers, "_work", _stall)
    [one] = pool.play_all(four[:1], 1)
    # Once: a run takes as long again.
    assert one.failure == "tail, seed 1: its process took more than 0 s"


def test_jobs_that_share_a_processor_have_more_time(
    four: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_SECONDS", 0.25)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(workers, "_work", _stall)
    found = list(pool.play_all(four[:2], 4))
    assert all(one.failure.endswith("took more than 1 s") for one in found)


def test_a_unit_that_cannot_be_played_is_told_and_others_go_on(four: list[Unit]) -> None:
    bad = Unit(four[0].scenario.replace('"drop-tail"', '"no-such"'), four[0].topology, (), 1)
    found = {one.unit: one for one in pool.play_all([bad, four[1]], 1)}
    assert "tail, seed 1: a unit of work cannot be used" in found[bad].failure
    assert found[four[1]].outcome is not None


def test_closing_ends_all_processes_at_once(four: list[Unit]) -> None:
    each = pool.play_all(four * 20, 2)
    next(each)
    each.close()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("jobs", [0, -1, 257])
def test_jobs_have_a_range(four: list[Unit], jobs: int) -> None:
    with pytest.raises(TestbedError, match=f"--jobs {jobs}: must be a number from 1 to 256"):
        next(pool.play_all(four, jobs))


def test_no_unit_is_no_process() -> None:
    assert list(pool.play_all([], 2)) == []
