# SPDX-License-Identifier: Apache-2.0
"""A population as the file that it can be read from again."""

from __future__ import annotations

from pathlib import Path

from docsis_experiments.experiment.document import write_yaml
from docsis_experiments.populations.models import Population


def write(population: Population, seed: int, path: Path) -> None:
    """Write a population with its tiers in place.

    Args:
        population: What was drawn from.
        seed: With which it is repeated.
        path: Path of the file.
    """
    data = population.model_dump(mode="json", exclude_none=True)
    if not data["upstream_channels"]:
        del data["upstream_channels"]
    write_yaml(path, data, "population", f"population --seed {seed}")
