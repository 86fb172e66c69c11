# SPDX-License-Identifier: Apache-2.0
"""An experiment with another measured time than its file says."""

from __future__ import annotations

from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_duration
from docsis_experiments.experiment.models import Scenario


def measured_for(scenario: Scenario, seconds: float) -> Scenario:
    """Returns the same experiment with another measured time, and says so in its `scale`.

    What is published was measured over the file's time, so it is not judged over another one. What
    is configured has to hold however long somebody measures, so those expectations stay.

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
    stay = tuple(
        one
        for one in scenario.expectations
        if one.every_run and (one.quantity.during is None or one.quantity.during.end <= measured)
    )
    words = [
        scenario.scale,
        f"Measured for {seconds:g} s instead of {format_duration(scenario.measured)}"
        + (
            ", so that what is published is not judged."
            if len(stay) < len(scenario.expectations)
            else "."
        ),
    ]
    return scenario.model_copy(
        update={
            "measured": measured,
            "expectations": stay,
            "scale": " ".join(filter(None, words)),
        }
    )
