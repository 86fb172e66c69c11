# SPDX-License-Identifier: Apache-2.0
"""A sweep as the file that it can be read from again."""

from __future__ import annotations

from pathlib import Path

from docsis_experiments.experiment.document import write_yaml
from docsis_experiments.sweeps.models import Sweep


def write(sweep: Sweep, path: Path, experiment: str) -> None:
    """Write a sweep beside its experiment.

    Args:
        sweep: What was played.
        path: Path of the file.
        experiment: Name of the experiment's file in the same folder.
    """
    data = sweep.model_dump(mode="json", exclude_none=True) | {"experiment": experiment}
    data["axes"] = {key: value for key, value in data["axes"].items() if value}
    write_yaml(path, data, "sweep", "sweep")
