# SPDX-License-Identifier: Apache-2.0
"""The experiment that `docsis-p4 shares` runs: one that is shipped, with the command's changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from docsis_control.modem_config.provisioned import Direction
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.expectations import Expectation, Tolerance
from docsis_experiments.traffic.group import Group
from docsis_testbed.paths import TOPOLOGIES

FILE: Final = TOPOLOGIES / "scenarios" / "channel-shares.yaml"


def channel_shares(
    topology: Topology | None = None,
    *,
    directions: Sequence[Direction] = (),
    measured_seconds: float | None = None,
    tolerance_percent: float | None = None,
    tcp: bool = False,
    frame_bytes: int | None = None,
) -> Loaded:
    """The experiment, with what is given in the place of what the file says.

    Args:
        topology: What to build.
        directions: Those that are loaded.
        measured_seconds: Length of each measured time, 1 s at least.
        tolerance_percent: How far a service flow may be from its share.
        tcp: TCP wherever the classifiers allow it, instead of UDP.
        frame_bytes: Length of the frames to the end of the CRC.

    Raises:
        ConfigError: The topology does not fit the traffic.
    """

    def change(scenario: Scenario) -> Scenario:
        changes: dict[str, object] = {
            "traffic": tuple(_loading(group, tcp, frame_bytes) for group in scenario.traffic)
        }
        if directions:
            changes["runs"] = tuple(run for run in scenario.runs if run.direction in directions)
        if measured_seconds is not None:
            changes["measured"] = round(measured_seconds * 1e9)
        changed = scenario.model_copy(update=changes)
        return changed.model_copy(
            update={
                "expectations": tuple(
                    _expecting(expectation, changed, tolerance_percent)
                    for expectation in scenario.expectations
                )
            }
        )

    return load(FILE, topology, change)


def _loading(group: Group, tcp: bool, frame_bytes: int | None) -> Group:
    changes: dict[str, object] = {"transport": "tcp"} if tcp else {}
    if frame_bytes is not None:
        changes["frame"] = frame_bytes
    return group.model_copy(update=changes)


def _expecting(
    expectation: Expectation, scenario: Scenario, tolerance_percent: float | None
) -> Expectation:
    """Limits an expectation to the runs that there are."""
    changes: dict[str, object] = {
        "runs": tuple(label for label in expectation.runs if scenario.labels(label))
    }
    if tolerance_percent is not None:
        changes["tolerance"] = Tolerance(above=tolerance_percent)
    return expectation.model_copy(update=changes)
