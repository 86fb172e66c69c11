# SPDX-License-Identifier: Apache-2.0
"""Measures what a machine takes, with short runs of shipped experiments; kept with its name.

What is measured is processor time, which other programs change less than time. It is measured again
when the world has changed. A switch that cannot draw costs nobody the runs: draws are left out, and
measured as soon as there is one that can.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from docsis_experiments.experiment.canonical import digest
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.costs.features import Reader
from docsis_experiments.reproduction.costs.ledger import Cost, machine, understood
from docsis_experiments.reproduction.row import Draws, Run, Work
from docsis_experiments.runs import files, pool, sources, workers
from docsis_experiments.runs.unit import Unit
from docsis_experiments.sweeps.axes import scenario_with
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

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
    _Short("high-rate", "docsis-pie", "2 s", "20 s"),
    _Short("granted-call", "docsis-pie", "1 s", "30 s"),
    _Short("request-grant", "docsis-pie", "2 s", "20 s"),
    _Short("contention", "docsis-pie", "1 s", "20 s"),
)
"""At low and high rates, with and without a MAC, short and long, with one modem and with many: so
that what a run costs to start, a virtual second, a modem and a frame can be told apart."""

_DRAWS: Final = (
    ("drops", "--queue-manager", "docsis-pie", "--frames", "200000", "--drop-prob", "0.01"),
    ("sessions", "--queues", "256", "--trials", "10000", "--sessions", "20"),
)


def costs(folder: Path, jobs: int) -> list[Cost]:
    """The costs of the calibration on this machine; measured where they are not known yet.

    Where no draws can be made, those of draws are missing, and that is told.

    Args:
        folder: Where it is kept.
        jobs: Processes that measure.

    Raises:
        TestbedError: A run failed, or the file cannot be written.
    """
    path = folder / f"calibration-{digest(machine())[:12]}.json"
    known = _read(path)
    found = known or []
    draws, why = _draws({cost.features.condition for cost in found})
    works = [*(_runs() if known is None else ()), *draws]
    for work, ended in _ended(works, jobs):
        if ended.processor_seconds is not None:
            found.append(Cost(Reader().of(work), ended.processor_seconds))
        elif isinstance(work, Draws):
            why = ended.failure
        else:
            raise TestbedError(
                f"the calibration failed: {ended.words}: {ended.failure}; without it no cost "
                "can be told"
            )
    if works:
        _write(path, found)
    if why:
        _tell(f"The costs of draws from the pipeline are guesses: {why}")
    return found


def _write(path: Path, costs: list[Cost]) -> None:
    content = {
        "machine": machine(),
        "world": sources.parts("virtual")["world"],
        "runs": _asked(),
        "costs": [
            {
                "condition": cost.features.condition,
                "family": cost.features.family,
                "features": dict(cost.features.values),
                "seconds": cost.seconds,
            }
            for cost in costs
        ],
    }
    files.write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def _read(path: Path) -> list[Cost] | None:
    """None where there is none of this machine, this world and these runs, or it is damaged."""
    try:
        with path.open("rb") as file:
            content: dict[str, Any] = json.loads(file.read(_MOST_BYTES))
        if content["world"] != sources.parts("virtual")["world"] or content["runs"] != _asked():
            return None
        return [understood(one) for one in content["costs"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _asked() -> list[list[str]]:
    return [list(astuple(short)) for short in _RUNS]


def _ended(works: list[Work], jobs: int) -> Iterator[tuple[Work, workers.Ended[Any]]]:
    asked = [(work, _job(work)) for work in works]
    with closing(workers.do_all([job for _, job in asked], jobs)) as each:
        for ended in each:
            [work] = [work for work, job in asked if job.what is ended.what]
            yield work, ended


def _job(work: Work) -> workers.Job[Any]:
    return pool.job(work.unit) if isinstance(work, Run) else small_works.job(work)


def _runs() -> Iterator[Run]:
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


def _draws(known: set[str]) -> tuple[list[Draws], str]:
    """The draws whose conditions are not known, and why none of them can be made, or ""."""
    works = [Draws("calibration", (*words, "--seed", str(_SEED)), _SEED) for words in _DRAWS]
    missing = [work for work in works if small_works.condition(work) not in known]
    try:
        if missing:
            small_works.check_draws()
    except TestbedError as error:
        return [], str(error)
    return missing, ""


@functools.cache
def _tell(words: str) -> None:
    """Tells something once, however often a sitting asks what works cost."""
    print(words, file=sys.stderr)
