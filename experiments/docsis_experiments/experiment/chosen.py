# SPDX-License-Identifier: Apache-2.0
"""Chooses the runs of an experiment that are made."""

from __future__ import annotations

from collections.abc import Sequence

from docsis_experiments.experiment.models import Run, Scenario
from docsis_testbed.errors import TestbedError


def chosen_runs(scenario: Scenario, only: Sequence[str]) -> list[Run]:
    """The runs of these labels, or all.

    Raises:
        TestbedError: there is no such run.
    """
    labels: set[str] = set()
    for name in only:
        found = scenario.labels(name)
        if not found:
            raise TestbedError(
                f'{scenario.name} has no run "{name}"; it has {", ".join(scenario.groups_of_runs)}'
            )
        labels.update(found)
    return [one for one in scenario.all_runs if not only or one.label in labels]
