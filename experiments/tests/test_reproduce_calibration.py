# SPDX-License-Identifier: Apache-2.0
"""A switch that cannot draw leaves costs of draws out, and nothing else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from docsis_experiments.reproduction.costs import calibration
from docsis_experiments.reproduction.costs.ledger import Cost
from docsis_experiments.reproduction.costs.model import Model
from docsis_experiments.reproduction.row import Run, Work
from docsis_experiments.runs import workers
from docsis_testbed.errors import TestbedError

WITHOUT = "echo 'this switch was built without `sample drops`; run `make switch`' >&2; exit 1"
DRAWS = "echo '{}'"

GUESSES = "The costs of draws from the pipeline are guesses: "


def quick(patched: pytest.MonkeyPatch) -> None:
    """One run of a second is enough here, and nothing has been told yet."""
    patched.setattr(calibration, "_RUNS", calibration._RUNS[:1])
    calibration._tell.cache_clear()


@pytest.fixture(autouse=True)
def quick_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def without_draws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is kept of a calibration with a switch that cannot draw."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patched:
        quick(patched)
        patched.setenv("DOCSIS_SWITCH", str(folder / "docsis-switch"))
        build(folder / "docsis-switch", WITHOUT)
        assert measured(calibration.costs(folder, 1)) == ["start"]
    return folder


@pytest.fixture
def folder(without_draws: Path, tmp_path: Path) -> Path:
    return shutil.copytree(without_draws, tmp_path / "kept")


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "docsis-switch"
    monkeypatch.setenv("DOCSIS_SWITCH", str(place))
    return place


def build(place: Path, script: str) -> None:
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def measured(costs: list[Cost]) -> list[str]:
    """What was measured: a run by its start, draws by what they draw."""
    return [
        name
        for cost in costs
        for name in ("start", "decisions", "sessions")
        if cost.features.values.get(name)
    ]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "the switch is not built"),
        (WITHOUT, "this switch was built without `sample drops`; run `make switch`"),
        # It has the sub-command, and fails at it.
        ('[ "$3" = --help ] || { echo no such law >&2; exit 1; }', "no such law"),
    ],
)
def test_draws_are_guessed_until_there_is_a_switch_that_makes_them(
    script: str | None,
    words: str,
    switch: Path,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if script is not None:
        build(switch, script)
    first, second = calibration.costs(folder, 1), calibration.costs(folder, 1)
    assert measured(first) == ["start"]
    assert second == first
    told = capsys.readouterr().err
    # One line, however often a sitting asks.
    assert told.startswith(GUESSES)
    assert words in told
    assert told.count("\n") == 1
    assert Model(first, {}).coefficients["decisions"] > 0
    build(switch, DRAWS)
    found = calibration.costs(folder, 1)
    assert measured(found) == ["start", "decisions", "sessions"]
    # What is known of runs is not measured again.
    assert found[:1] == first
    # And draws are known now, whatever becomes of the switch.
    switch.unlink()
    assert calibration.costs(folder, 1) == found
    assert capsys.readouterr().err == ""


def test_a_run_that_fails_is_told(
    switch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without runs there is no model, so nothing is kept of it."""
    build(switch, DRAWS)
    monkeypatch.setattr(workers, "do_all", failing)
    with pytest.raises(TestbedError, match="the calibration failed: .*: it broke; without it no"):
        calibration.costs(tmp_path, 1)
    assert not list(tmp_path.glob("calibration-*"))


def failing(jobs: list[workers.Job[object]], processes: int) -> Iterator[workers.Ended[object]]:
    for job in jobs:
        yield workers.Ended(job.what, job.words, None, "it broke")


def only_asked_for(patched: pytest.MonkeyPatch) -> list[Work]:
    """Has nothing made from now on; the list gets what should have been."""
    asked: list[Work] = []

    def nothing(works: list[Work], jobs: int) -> Iterator[tuple[Work, workers.Ended[object]]]:
        del jobs
        asked.extend(works)
        yield from ()

    patched.setattr(calibration, "_ended", nothing)
    return asked


def test_other_runs_are_measured_anew(
    folder: Path, switch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(switch, WITHOUT)
    run = replace(calibration._RUNS[0], measured="1500 ms")
    monkeypatch.setattr(calibration, "_RUNS", (run,))
    asked = only_asked_for(monkeypatch)
    assert calibration.costs(folder, 1) == []
    assert [work.label for work in asked if isinstance(work, Run)] == [
        f"calibration-{run.name}-{run.run}-1500 ms"
    ]


@pytest.mark.parametrize("seconds", ["NaN", "-5", "1e999", "9" * 400, '"long"', "[" * 99_999])
def test_a_damaged_calibration_is_measured_anew(
    folder: Path, switch: Path, monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    build(switch, WITHOUT)
    [file] = folder.glob("calibration-*.json")
    text = re.sub(r'"seconds": [0-9.e-]+', f'"seconds": {seconds}', file.read_text())
    assert text != file.read_text()
    file.write_text(text)
    asked = only_asked_for(monkeypatch)
    assert calibration.costs(folder, 1) == []
    assert len(asked) == len(calibration._RUNS)
