# SPDX-License-Identifier: Apache-2.0
"""Reads sweeps, and the experiment that a sweep names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.config.yaml_file import plain, read, validate
from docsis_experiments.experiment import loader as experiments
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.sweeps import expand
from docsis_experiments.sweeps.expand import Point
from docsis_experiments.sweeps.models import MOST_RUNS, Sweep

RECORDED: Final = "sweep"
"""Stem of the file in a sweep's record, which has any name."""


@dataclass(frozen=True)
class LoadedSweep:
    """A sweep with its experiment.

    Attributes:
        sweep: As the file says.
        base: The experiment that it varies.
        points: Its points, in the order of playing.
    """

    sweep: Sweep
    base: Loaded
    points: tuple[Point, ...]

    @property
    def runs(self) -> int:
        """How many there are: every point from every seed."""
        return len(self.points) * len(self.sweep.seeds)


def load(file: Path) -> LoadedSweep:
    """Read a sweep, and make its points.

    Raises:
        ConfigError: With the file, the line and the key; also where there are more runs than the
            sweep's limit.
    """
    document = read(file)
    sweep = validate(document, Sweep, plain(document.root))
    if file.stem not in (sweep.name, RECORDED):
        raise ConfigError(
            [document.problem(("name",), f'"{sweep.name}" must be the file\'s name, "{file.stem}"')]
        )
    named = file.parent / sweep.experiment
    if not named.is_file():
        raise ConfigError([document.problem(("experiment",), f"{named}: there is no such file")])
    base = experiments.load(named)
    if (runs := expand.count(sweep, base)) > sweep.limit:
        raise ConfigError(
            [
                document.problem(
                    ("limit",),
                    f"the sweep has {runs} runs, and its limit is {sweep.limit}; take values or "
                    f"seeds out, or set a limit of up to {MOST_RUNS}",
                )
            ]
        )
    try:
        points = expand.points(sweep, base)
    except KeyedError as error:
        location = tuple(int(part) if part.isdigit() else part for part in error.key.split("."))
        raise ConfigError([document.problem(location, str(error))]) from None
    return LoadedSweep(sweep, base, tuple(points))
