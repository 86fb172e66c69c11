# SPDX-License-Identifier: Apache-2.0
"""Measures what a machine takes, with short runs of shipped experiments; kept with its name.

What is measured is processor time, which other programs change less than time. It is measured again
when the world has changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.costs.features import Features, Reader
from docsis_experiments.reproduction.costs.ledger import Cost, machine
from docsis_experiments.reproduction.row import Draws, Run, Work
from docsis_experiments.runs import files, pool, sources, workers
from docsis_experiments.runs.unit import Unit
from docsis_experiments.sweeps.axes import scenario_with
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES, switch_binary

_SEED: Final = 901
"""A trial seed: what comes of these runs counts for nothing."""

_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class _Short:
    """A short run of a shipped experiment."""

    name: str
    run: str
    ramp_up: str
    measured: str


_RUNS: Final = (
    _Short("voip-latency", "docsis-pie", "100 ms", "1 s"),
    _Short("voip-latency", "docsis-pie", "2 s", "100 s"),
    _Short("low-rate", "docsis-pie", "2 s", "200 s"),
    _Short("high-rate", "docsis-pie", "1 s", "6 s"),
    _Short("granted-call", "docsis-pie", "1 s", "30 s"),
    _Short("request-grant", "docsis-pie", "1 s", "6 s"),
)
"""At low and high rates, with and without a MAC, short and long: so that what a run costs to start,
a virtual second and a frame can be told apart."""

_DRAWS: Final = (
    ("drops", "--queue-manager", "docsis-pie", "--frames", "200000", "--drop-prob", "0.01"),
    ("sessions", "--queues", "256", "--trials", "10000", "--sessions", "20"),
)


def costs(folder: Path, jobs: int) -> list[Cost]:
    """The costs of the calibration on this machine; measured where they are not known yet.

    Args:
        folder: Where it is kept.
        jobs: Processes that measure.

    Raises:
        TestbedError: A run failed, or the file cannot be written.
    """
    path = folder / f"calibration-{digest(machine())[:12]}.json"
    known = _read(path)
    if known is not None:
        return known
    found = list(_measured(jobs))
    content = {
        "machine": machine(),
        "world": sources.parts("virtual")["world"],
        "costs": [
            {
                "condition": cost.features.condition,
                "family": cost.features.family,
                "features": dict(cost.features.values),
                "seconds": cost.seconds,
            }
            for cost in found
        ],
    }
    files.write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
    return found


def _read(path: Path) -> list[Cost] | None:
    """None where there is none of this machine and this world, or it is damaged."""
    try:
        with path.open("rb") as file:
            content: dict[str, Any] = json.loads(file.read(_MOST_BYTES))
        if content["world"] != sources.parts("virtual")["world"]:
            return None
        return [
            Cost(
                Features(
                    str(one["condition"]),
                    str(one["family"]),
                    {str(name): float(value) for name, value in one["features"].items()},
                ),
                float(one["seconds"]),
            )
            for one in content["costs"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _measured(jobs: int) -> Iterator[Cost]:
    read = Reader()
    asked = [(work, _job(work)) for work in _works()]
    with closing(workers.do_all([job for _, job in asked], jobs)) as each:
        for ended in each:
            if ended.processor_seconds is None:
                raise TestbedError(
                    f"the calibration failed: {ended.words}: {ended.failure}; without it no cost "
                    "can be told"
                )
            [work] = [work for work, job in asked if job.what is ended.what]
            yield Cost(read.of(work), ended.processor_seconds)


def _job(work: Work) -> workers.Job[Any]:
    return pool.job(work.unit) if isinstance(work, Run) else small_works.job(work)


def _works() -> Iterator[Work]:
    for short in _RUNS:
        loaded = load(TOPOLOGIES / "scenarios" / f"{short.name}.yaml")
        [run] = [run for run in loaded.scenario.all_runs if run.label == short.run]
        alone = {
            "expectations": [], "runs": [run.model_dump(mode="json", exclude_none=True)],
            "grid": None, "ramp_up": short.ramp_up, "measured": short.measured,
        }  # fmt: skip
        scenario = scenario_with(loaded.scenario, alone)
        name = f"calibration-{short.name}-{short.run}-{short.measured}"
        yield Run(name, Unit.of(Loaded(scenario, loaded.topology), scenario.all_runs[0], _SEED))
    try:
        switch_binary()
    except TestbedError:
        return  # nothing can be drawn, and whoever asks for draws is told
    for words in _DRAWS:
        yield Draws("calibration", (*words, "--seed", str(_SEED)), _SEED)
