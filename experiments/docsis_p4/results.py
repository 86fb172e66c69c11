# SPDX-License-Identifier: Apache-2.0
"""Reads what runs measured: values with intervals, and distributions of latency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from docsis_control.queue_managers.names import Preset
from docsis_experiments.comparison import reading
from docsis_experiments.experiment.managers import name_of_run
from docsis_experiments.export import flent
from docsis_experiments.measurement.distribution import distribution
from docsis_experiments.measurement.intervals import Estimate, estimate
from docsis_experiments.measurement.metrics import limits_of
from docsis_experiments.runs.outcome import PROBABILITIES, Group
from docsis_testbed.errors import TestbedError

Floats = npt.NDArray[np.float64]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Latency:
    """The distribution of one-way latency less propagation, which is what queues add.

    With several seeds or repetitions each quantile is the median over them; packets of different
    runs are never put together.

    Attributes:
        runs: Number of seeds or repetitions.
        probabilities: The quantiles' probabilities, from 0 to 1; shape (quantiles,).
        quantiles: Latency in milliseconds; shape (quantiles,).
        low: Lower end of a band around the quantiles, milliseconds; shape (quantiles,). The band is
            the median's 95% interval from ten runs on, and the range of fewer runs.
        high: Upper end of the band, milliseconds; shape (quantiles,).
    """

    runs: int
    probabilities: Floats
    quantiles: Floats
    low: Floats
    high: Floats

    def quantile(self, probability: float) -> float:
        """Returns the latency that such a share of packets stays below, milliseconds.

        Raises:
            TestbedError: The probability is not from 0 to 1.
        """
        if not 0 <= probability <= 1:
            raise TestbedError(f"a quantile's probability is from 0 to 1, not {probability:g}")
        return float(np.interp(probability, self.probabilities, self.quantiles))

    @property
    def median(self) -> float:
        """Half of the packets stay below it, milliseconds."""
        return self.quantile(0.5)

    @property
    def p90(self) -> float:
        """90% of the packets stay below it, milliseconds."""
        return self.quantile(0.9)

    @property
    def p99(self) -> float:
        """99% of the packets stay below it, milliseconds."""
        return self.quantile(0.99)


@dataclass(frozen=True)
class Traffic:
    """A group of traffic in the runs of one queue manager.

    Attributes:
        name: The name that `add_traffic` was given.
        by_run: Values of metrics, such as "goodput" or "latency p99", by seed or repetition.
    """

    name: str
    by_run: Mapping[int, Mapping[str, float]] = field(repr=False)
    _tables: tuple[Sequence[float], ...] = field(repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were measured of it."""
        return tuple(dict.fromkeys(name for values in self.by_run.values() for name in values))

    def __getitem__(self, metric: str) -> float:
        """Returns a metric's value, or its median over seeds or repetitions; NaN where none is.

        Units are those of the report: Mbit/s of goodput, ms of latency, % of loss.

        Raises:
            TestbedError: The traffic has no such metric; the message names those that it has.
        """
        return self.estimate(metric).median

    def estimate(self, metric: str) -> Estimate:
        """Returns a metric's median over seeds or repetitions, with its 95% interval.

        Raises:
            TestbedError: The traffic has no such metric.
        """
        if metric not in self.metrics:
            raise TestbedError(
                f'{self.name} has no metric "{metric}"; it has {", ".join(self.metrics)}'
            )
        values = [values.get(metric, math.nan) for values in self.by_run.values()]
        return estimate([one for one in values if not math.isnan(one)], limits_of(metric))

    @property
    def latency(self) -> Latency:
        """The distribution of its packets' latency.

        Raises:
            TestbedError: Nothing looks at its packets, or none arrived.
        """
        found = distribution(self._tables)
        if found is None:
            raise TestbedError(
                f"{self.name} has no distribution of latency: nothing looks at its packets, or "
                "none arrived; ask traffic of the kind voip, cbr or game"
            )
        return Latency(found.runs, np.array(PROBABILITIES), found.median, found.low, found.high)


@dataclass(frozen=True)
class Run:
    """A queue manager under the network's traffic.

    Attributes:
        name: The queue manager's name for people.
        traffic: Groups of traffic, by their names.
    """

    name: str
    traffic: Mapping[str, Traffic]

    def __getitem__(self, name: str) -> Traffic:
        """Returns a group of traffic.

        Raises:
            TestbedError: There is none of the name.
        """
        return _named(self.traffic, name, f"{self.name} has no traffic")


@dataclass(frozen=True)
class Results:
    """The results of running a network.

    Attributes:
        folder: Folder with all that the report is made of: summary.json, raw samples, inputs.
        title: The experiment's title.
        conditions: Circumstances in words, by their kind, such as "topology" and "tier".
        runs: Each queue manager's run, by the queue manager's name for people.
    """

    folder: Path
    title: str
    conditions: Mapping[str, str]
    runs: Mapping[str, Run]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs.values())

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, name: str) -> Run:
        """Returns the run of a queue manager.

        Args:
            name: A preset's, such as "docsis-pie", or the run's for people.

        Raises:
            TestbedError: There is none of the name.
        """
        if name not in self.runs and name in list(Preset):
            shown = name_of_run(name, Preset(name))
            if shown in self.runs:
                return self.runs[shown]
        return _named(self.runs, name, "there is no run")

    @property
    def report(self) -> Path:
        """The page for people, which opens without a network."""
        return self.folder / "report.html"

    def export_flent(self, folder: Path | str) -> tuple[Path, ...]:
        """Writes a data file of flent for each run, and returns the files.

        Args:
            folder: Gets the files; made if it is missing.

        Raises:
            TestbedError: The results have several seeds or repetitions, a file exists already or
                cannot be written; nothing is left in the folder then.
        """
        return flent.export(self.folder, Path(folder)).files


def read(folder: Path | str) -> Results:
    """Reads a folder of results of `Network.run`, or of docsis-p4 run, demo or sweep.

    Nothing in the folder is trusted; see `docsis_experiments.comparison.reading`.

    Raises:
        TestbedError: It is none, is damaged, or has no run that can be used.
    """
    folder = Path(folder)
    found = reading.read(folder)
    runs = {
        name: Run(name, _traffic(list(series.runs.items())))
        for name, series in found.series.items()
    }
    return Results(folder.resolve(), found.title, found.conditions, runs)


def _traffic(runs: Sequence[tuple[int, Mapping[str, Group]]]) -> Mapping[str, Traffic]:
    names = dict.fromkeys(name for _, groups in runs for name in groups)
    return {
        name: Traffic(
            name,
            {number: groups[name].values for number, groups in runs if name in groups},
            tuple(groups[name].latency for _, groups in runs if name in groups),
        )
        for name in names
    }


def _named(there: Mapping[str, _T], name: str, otherwise: str) -> _T:
    if name not in there:
        raise TestbedError(f'{otherwise} "{name}"; there are {", ".join(there)}')
    return there[name]
