# SPDX-License-Identifier: Apache-2.0
"""Reads a folder of results: of `run` and `demo`, of several seeds, or of a sweep.

Nothing in it is trusted: sizes are bounded, the summary is validated against its schema, and
outcomes against their own hash. What cannot be used is told in one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from docsis_experiments.experiment.models import slug
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.statistics import STATISTICS
from docsis_experiments.reports import document
from docsis_experiments.reports.folder import PARTIAL
from docsis_experiments.runs import files
from docsis_experiments.runs.csv_file import CsvFile, Floats
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome
from docsis_testbed.errors import TestbedError

_MOST_SUMMARY: Final = 256 << 20
"""Bytes of a file."""

_READABLE: Final = ("scenario", "repeated", "sweep")


@dataclass(frozen=True)
class Series:
    """A series that is compared: a queue manager under the same conditions.

    Attributes:
        name: Name of the manager, and of the conditions where they are varied.
        runs: By seed or repetition: the groups of the traffic.
        seeded: Whether its numbers are seeds of virtual time, so that runs can be paired.
    """

    name: str
    runs: Mapping[int, Mapping[str, Group]]
    seeded: bool


@dataclass(frozen=True)
class Result:
    """A folder of results.

    Attributes:
        name: Name of the folder.
        title: Title of the experiment.
        experiment: Which kind of summary it has.
        series: By their names.
        conditions: What it was made under, in words, by what they are: the topology, the stage ...
    """

    name: str
    title: str
    experiment: str
    series: Mapping[str, Series]
    conditions: Mapping[str, str] = field(default_factory=dict)


def read(folder: Path) -> Result:
    """Reads the result in a folder.

    Raises:
        TestbedError: It is none, is damaged, or of another version.
    """
    experiment, summary = checked_summary(folder)
    series = (
        _of_runs(folder, summary)
        if experiment == "scenario"
        else _of_outcomes(summary, files.read(folder / files.OUTCOMES))
    )
    if not series:
        raise TestbedError(f"{folder}: has no run that can be compared")
    return Result(
        folder.resolve().name, str(summary["title"]), experiment, series, _conditions(summary)
    )


def checked_summary(folder: Path) -> tuple[str, dict[str, Any]]:
    """Returns which experiment a folder is of, and its summary, held against its schema.

    Raises:
        TestbedError: It is no folder of runs, is damaged, or of another version.
    """
    summary = _summary(folder)
    try:
        experiment = document.experiment_of(summary)
    except TestbedError as error:
        raise TestbedError(f"{folder}: {error}") from None
    if experiment not in _READABLE:
        raise TestbedError(
            f"{folder}: is of {experiment}, which has no distributions to compare; give folders of "
            "run, demo or sweep"
        )
    try:
        document.validate(summary)
    except TestbedError as error:
        raise TestbedError(
            f"{folder}: is of another version, or damaged: {_first_line(error)}"
        ) from None
    return experiment, _filled(summary) if experiment == "scenario" else summary


def _filled(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to a summary of single runs what older ones do not say of each run."""
    runs = [
        {
            "name": run["label"],
            "direction": summary["direction"],
            "faults": [],
            # Nothing was known of time that was not right.
            "timing": {"valid": True, "words": ""},
            **run,
        }
        for run in summary["runs"]
    ]
    return {**summary, "runs": runs}


def _conditions(summary: Mapping[str, Any]) -> dict[str, str]:
    words = {
        "topology": summary["topology"],
        "tier": summary.get("tier"),
        "direction": summary["direction"],
        "target": summary.get("target"),
        "stage": "virtual time" if summary.get("stage") == "virtual" else "Mininet",
        "measured": f"{summary['measured_seconds']:g} s",
    }
    return {name: str(said) for name, said in words.items() if said is not None}


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]


def _summary(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise TestbedError(f"{folder}: there is no such folder")
    if folder.resolve().name.endswith(PARTIAL):
        raise TestbedError(f"{folder}: is of a run that did not end; run it again")
    path = folder / "summary.json"
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_SUMMARY + 1)
    except OSError as error:
        raise TestbedError(
            f"{folder}: is no folder of results: summary.json cannot be read ({error.strerror})"
        ) from None
    try:
        if len(content) > _MOST_SUMMARY:
            raise ValueError("it is too long")
        summary = document.untrusted(content)
        if not isinstance(summary, dict):
            raise ValueError("it is no mapping")
    except (ValueError, RecursionError) as error:
        raise TestbedError(f"{path}: is damaged ({_first_line(error)})") from None
    return summary


def _of_outcomes(summary: Mapping[str, Any], outcomes: list[Outcome]) -> dict[str, Series]:
    if "points" in summary:
        names = {
            key: ", ".join([point["manager"], *point["written"].values()])
            for point in summary["points"]
            for key in point["keys"]
        }
        named = [(names.get(one.key, ""), one) for one in outcomes]
    else:
        labels = {run["label"]: run.get("name", run["label"]) for run in summary["runs"]}
        named = [(labels.get(one.run, ""), one) for one in outcomes]
    found: dict[str, dict[int, Mapping[str, Group]]] = {}
    seeded: dict[str, bool] = {}
    for name, one in named:
        # What is of no run of the summary, or gets no verdict, has no part in a comparison.
        if name and not one.withheld:
            found.setdefault(name, {})[one.number] = one.groups
            seeded[name] = seeded.get(name, True) and bool(one.digest)
    return {name: Series(name, runs, seeded[name]) for name, runs in found.items()}


def _of_runs(folder: Path, summary: Mapping[str, Any]) -> dict[str, Series]:
    """Reads a single run of each queue manager, whose packets are in a file."""
    found = {}
    for run in summary["runs"]:
        if run["faults"] or not run["timing"]["valid"]:
            continue
        delays = _delays(
            folder / "runs" / slug(run["label"]) / "packets.csv", summary["measured_seconds"]
        )
        groups = {
            name: Group(
                _values(figures),
                tuple(np.quantile(delays[name], PROBABILITIES)) if name in delays else (),
            )
            for name, figures in run["groups"].items()
        }
        name = str(run["name"])
        found[name] = Series(name, {int(summary.get("seed", 0)): groups}, "seed" in summary)
    return found


def _values(figures: Mapping[str, Any]) -> dict[str, float]:
    """A group's figures under the names that outcomes have."""
    values: dict[str, float | None] = {}
    for metric in METRICS.values():
        if metric.key not in figures:
            continue
        found = figures[metric.key]
        if metric.statistics:
            values |= {metric.named(which): found[which] for which in STATISTICS}
        else:
            values[metric.name] = found
    return {key: math.nan if value is None else float(value) for key, value in values.items()}


def _delays(path: Path, seconds: float) -> dict[str, Floats]:
    """Milliseconds of the packets that were sent in the measured time and arrived, by group."""
    file = CsvFile.read(path, words=("group",), floats=("time_s", "one_way_delay_ms"))
    sent, delay = file.floats("time_s"), file.floats("one_way_delay_ms")
    group = file.words("group")
    chosen = (sent >= 0) & (sent < seconds) & np.isfinite(delay)
    return {name: delay[chosen & (group == name)] for name in np.unique(group[chosen])}
