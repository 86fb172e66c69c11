# SPDX-License-Identifier: Apache-2.0
"""An experiment that is played otherwise than its file says."""

from __future__ import annotations

from typing import Any

from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_duration
from docsis_experiments.experiment.models import Scenario


def altered(scenario: Scenario, how: str, **changes: Any) -> Scenario:
    """Returns the experiment with changes, and says in its `scale` that it was changed.

    What is published was measured as the file says, so it is not judged of an experiment that was
    changed. What is configured has to hold all the same, so those expectations stay.

    Args:
        scenario: As the file says.
        how: What is other than in the file, in words without a full stop.
        changes: New values by attribute.
    """
    changed = scenario.model_copy(update=changes)
    stay = tuple(
        one
        for one in scenario.expectations
        if one.every_run
        and (one.quantity.during is None or one.quantity.during.end <= changed.measured)
    )
    judged = ", so that what is published is not judged" if stay != scenario.expectations else ""
    return changed.model_copy(
        update={
            "expectations": stay,
            "scale": " ".join(filter(None, [scenario.scale, f"{how}{judged}."])),
        }
    )


def measured_for(scenario: Scenario, seconds: float) -> Scenario:
    """Returns the experiment with another measured time.

    Args:
        scenario: As the file says.
        seconds: Length of the measured time, 1 s to an hour.

    Raises:
        KeyedError: Traffic would begin after it; the key is the scenario's.
    """
    measured = round(seconds * 1e9)
    if measured == scenario.measured:
        return scenario
    for index, group in enumerate(scenario.traffic):
        if (group.start or 0) >= measured:
            raise KeyedError(
                f"traffic.{index}.start",
                f"{format_duration(group.start or 0)} is not within the {seconds:g} s of "
                "--seconds; give more",
            )
    how = f"Measured for {seconds:g} s instead of {format_duration(scenario.measured)}"
    return altered(scenario, how, measured=measured)
