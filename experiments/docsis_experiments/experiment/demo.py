# SPDX-License-Identifier: Apache-2.0
"""The experiment that `docsis-p4 demo` runs: one that is shipped, with the command's changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.models import Run
from docsis_testbed.paths import TOPOLOGIES

FILE: Final = TOPOLOGIES / "scenarios" / "latency-under-load.yaml"


def demo(
    topology: Topology | None = None,
    presets: Sequence[Preset] = (),
    measured_seconds: float | None = None,
) -> Loaded:
    """The demo, with what is given in the place of what the file says.

    Args:
        topology: What to build, with its tier in place.
        presets: Queue managers, in the order in which they run.
        measured_seconds: Length of each measured time, 1 s at least.

    Raises:
        ConfigError: The topology does not fit the traffic.
    """
    changes: dict[str, object] = {}
    if presets:
        # Whoever names one twice has it once.
        changes["runs"] = tuple(
            Run(label=preset.value, manager=PRESETS[preset]) for preset in dict.fromkeys(presets)
        )
    if measured_seconds is not None:
        changes["measured"] = round(measured_seconds * 1e9)
    return load(FILE, topology, lambda scenario: scenario.model_copy(update=changes))
