# SPDX-License-Identifier: Apache-2.0
"""Results that come back from a disk or from another machine: they are used, or refused.

Each case returns whether its input was used; it is refused otherwise.
"""

from __future__ import annotations

import atexit
import copy
import functools
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from outcome_files import outcome, quick
from time_samples import TIMERS

from docsis_experiments.comparison import job as comparison
from docsis_experiments.comparison.reading import read
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.reports import repeated_summary
from docsis_experiments.reproduction import earlier, merging
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.page import html
from docsis_experiments.reproduction.repairs.loader import load_repairs
from docsis_experiments.reproduction.writing import RESULTS_FILE
from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.unit import Unit, key
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT
from fuzz_cases.refusals import check_sentence

_SEEDS: Final = range(1, 4)

_PUBLISHED: Final = ROOT / "docs" / "results" / RESULTS_FILE

_MOST_ROWS: Final = 6
"""Rows of the published results to begin with; with few rows, a change hits each of them sooner."""


@functools.cache
def _folder() -> Path:
    """A folder for the files of this process; gone when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="docsis-p4-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _loaded() -> Loaded:
    scenario = _folder() / "scenario"
    scenario.mkdir()
    return quick(scenario)


@functools.cache
def _outcomes() -> list[Outcome]:
    """Outcomes of runs that nobody made."""
    return [
        outcome(_loaded(), run.label, 10.0 * number, number, digest=f"{number:016x}")
        for run in _loaded().scenario.all_runs
        for number in _SEEDS
    ]


def seeds_of_outcomes() -> Iterator[bytes]:
    """A file of outcomes."""
    yield files.encode(_outcomes())


def outcomes(data: bytes) -> bool:
    """A file of outcomes, byte by byte."""
    try:
        found = files.decode(data, "fuzzed")
    except files.Damaged as error:
        check_sentence(error)
        return False
    # Compared as files, where a value that is no number is the same as itself.
    content = files.encode(found)
    assert files.encode(files.decode(content, "again")) == content
    return True


def seeds_of_kept() -> Iterator[bytes]:
    """The content of a file of outcomes, which the case writes as a file that is not damaged."""
    yield json.dumps([files.row(_outcomes()[0])]).encode()


def kept(data: bytes) -> bool:
    """Outcomes with any content, in a file whose hash is right, as whoever makes it can have it."""
    try:
        content = files.encode_rows(json.loads(data))
    except Exception:
        return False
    return outcomes(content)


@functools.cache
def _summary() -> Mapping[str, Any]:
    loaded = _loaded()
    return repeated_summary.summarise(
        loaded.scenario,
        loaded.scenario.all_runs,
        _outcomes(),
        [],
        numbers=_SEEDS,
        words="seeds",
        target="embedded",
        topology=loaded.topology,
        versions={},
        timers=TIMERS,
        marks={"stage": "virtual", "jobs": 1},
    )


def seeds_of_summary() -> Iterator[bytes]:
    """The summary of a result."""
    yield json.dumps(_summary()).encode()


def summary(data: bytes) -> bool:
    """A folder of results with any summary: compared with one that is as it should be."""
    folder = _folder() / "result"
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_bytes(data)
    (folder / "outcomes.parquet").write_bytes(_encoded())
    try:
        result = read(folder)
        comparison.summarise([result, _sound()], ["fuzzed", "sound"])
    except TestbedError as error:
        check_sentence(error)
        return False
    return True


@functools.cache
def _encoded() -> bytes:
    return files.encode(_outcomes())


@functools.cache
def _sound() -> Any:
    folder = _folder() / "sound"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(_summary()))
    (folder / "outcomes.parquet").write_bytes(_encoded())
    return read(folder)


def seeds_of_unit() -> Iterator[bytes]:
    """A unit of work as it is sent to a worker, with its texts as trees."""
    loaded = _loaded()
    data = Unit.of(loaded, loaded.scenario.all_runs[0], 1).as_data()
    yield json.dumps(
        data | {name: json.loads(str(data[name])) for name in ("scenario", "topology")}
    ).encode()


def unit(data: bytes) -> bool:
    """A unit of work that a worker is sent."""
    try:
        tree = json.loads(data)
        for name in ("scenario", "topology"):
            tree[name] = json.dumps(tree[name])
        text = json.dumps(tree)
    except Exception:
        text = data.decode("utf-8", "replace")
    try:
        found = Unit.from_json(text)
        assert found.loaded.scenario.runs
        assert found.measured is not None
        assert key(found)
    except TestbedError as error:
        check_sentence(error)
        return False
    return True


@functools.cache
def _results() -> dict[str, Any]:
    """A few of the published results."""
    content: dict[str, Any] = json.loads(_PUBLISHED.read_text())
    judged = [row for row in content["rows"] if row["readings"]]
    figures = sorted(content["figures"], key=lambda figure: len(json.dumps(figure)))
    return {**content, "rows": judged[:_MOST_ROWS], "figures": figures[:1], "since": None}


def seeds_of_reproduction() -> Iterator[bytes]:
    """Some rows of the published results."""
    yield json.dumps(_results()).encode()


def reproduction(data: bytes) -> bool:
    """Published results: read, put together with newer ones, and drawn as a page."""
    path = _folder() / RESULTS_FILE
    path.write_bytes(data)
    try:
        found = earlier.read(path)
        new = copy.deepcopy(_results())
        together = merging.together(found, new, str(path), registered_rules(), load_repairs())
        earlier.validate(together, "together")
        html.text(together)
    except TestbedError as error:
        check_sentence(error)
        return False
    return True
