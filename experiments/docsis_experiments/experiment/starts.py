# SPDX-License-Identifier: Apache-2.0
"""What a plan leaves to the seed of a run: when flows begin whose group spreads its starts. Pure.

A flow's draw depends on the seed and on its own name alone, so that queue managers are compared
under the same starts, and another group changes none of them.
"""

from __future__ import annotations

import random
from dataclasses import replace

from docsis_experiments.experiment.plan import Plan, Planned


def drawn(plan: Plan, seed: int) -> Plan:
    """The same plan with nothing left to chance.

    Args:
        plan: Of an experiment.
        seed: Of the run; in Mininet, which of the repetitions it is.
    """
    return replace(plan, flows=tuple(_drawn(planned, seed) for planned in plan.flows))


def _drawn(planned: Planned, seed: int) -> Planned:
    if not planned.start_spread:
        return planned
    late = planned.start_spread * uniform(seed, "start", planned.flow.name)
    flow = replace(planned.flow, start=planned.flow.start + late)
    return replace(planned, flow=flow, start_spread=0.0)


def uniform(seed: int, purpose: str, name: str) -> float:
    """From 0 up to, and without, 1; the same for the same arguments on every machine."""
    # A string seeds by its SHA-512, whatever PYTHONHASHSEED is.
    return random.Random(f"{purpose} {seed} {name}").random()
