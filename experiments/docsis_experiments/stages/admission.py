# SPDX-License-Identifier: Apache-2.0
"""The checks by which a stage refuses what it cannot play, by name, before anything is made."""

from __future__ import annotations

from collections.abc import Collection

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.traffic.senders import Sender
from docsis_testbed.errors import TestbedError


def check_senders(scenario: Scenario, stage: str, played: Collection[type[Sender]]) -> None:
    """Refuse traffic that a stage has nothing for.

    Args:
        scenario: The traffic.
        stage: What the stage is called, for errors.
        played: What it can send.

    Raises:
        TestbedError: With the group, its kind, and what of it cannot be sent.
    """
    for index, group in enumerate(scenario.traffic):
        for sender in group.senders:
            if sender not in played:
                raise TestbedError(
                    f"{scenario.name}: traffic.{index}: {group.name} is of the kind {group.kind}, "
                    f"whose {sender.__name__} {stage} cannot send; run it on another stage"
                )
