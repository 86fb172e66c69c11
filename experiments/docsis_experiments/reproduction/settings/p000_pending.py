# SPDX-License-Identifier: Apache-2.0
"""What this version cannot play yet, left out."""

from __future__ import annotations

from typing import Any

from docsis_control.queue_managers.models import ALGORITHMS
from docsis_experiments.experiment.models import Scenario
from docsis_experiments.reproduction.settings.p000_managers import Manager, PieOf2014
from docsis_experiments.reproduction.settings.p000_readings import Reading
from docsis_experiments.traffic.kinds import KINDS


def there(manager: Manager, reading: Reading) -> bool:
    """Whether its queue manager is there."""
    first = reading.pie is PieOf2014.FIRST
    return manager is not Manager.PIE or not first or PieOf2014.FIRST.value in ALGORITHMS


def playable(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario without kinds and keys that are to come."""
    found = dict(scenario)
    if "tcp" not in Scenario.model_fields and found.pop("tcp", None) is not None:
        found["initial_window"] = 4
    groups = []
    for group in found["traffic"]:
        if (kind := KINDS.get(group["kind"])) is None:
            continue
        groups.append({key: value for key, value in group.items() if key in kind.model_fields})
    found["traffic"] = groups
    return found
