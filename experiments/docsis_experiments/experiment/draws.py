# SPDX-License-Identifier: Apache-2.0
"""Draws from the seed of a run: when flows begin, and how long their ways are. Pure.

A draw depends on the seed and on the flow's own name alone, so that queue managers are compared
under the same draws, and another group changes none of them.
"""

from __future__ import annotations

import random
from dataclasses import replace

from docsis_experiments.experiment.askers import PlannedAsker
from docsis_experiments.experiment.plan import Plan, Planned, PlannedCall
from docsis_experiments.experiment.requests import PlannedRequests
from docsis_experiments.experiment.videos import PlannedVideo
from docsis_experiments.experiment.web_users import PlannedPages
from docsis_experiments.traffic.senders import CALL_INTERVAL_MS


def drawn(plan: Plan, seed: int) -> Plan:
    """The same plan with nothing left to chance.

    Args:
        plan: Plan of an experiment.
        seed: Seed of the run; in Mininet, which of the repetitions it is.
    """
    return replace(
        plan,
        flows=tuple(_flow(planned, seed) for planned in plan.flows),
        calls=tuple(_call(call, seed) for call in plan.calls),
        users=tuple(_user(planned, seed) for planned in plan.users),
        videos=tuple(_video(planned, seed) for planned in plan.videos),
        requests=tuple(_requests(planned, seed) for planned in plan.requests),
        askers=tuple(_asker(planned, seed) for planned in plan.askers),
    )


def _flow(planned: Planned, seed: int) -> Planned:
    name = planned.flow.name
    start = planned.flow.start + planned.start_spread * uniform(seed, "start", name)
    least, most = planned.reply_delay
    delay = least + (most - least) * uniform(seed, "round trip", name)
    return replace(
        planned,
        flow=replace(planned.flow, start=start),
        start_spread=0.0,
        reply_delay=(delay, delay),
    )


def _call(call: PlannedCall, seed: int) -> PlannedCall:
    """The call within its first interval.

    The interval is a whole number of MAPs, so every frame of a call meets them at the moment at
    which the first one did: that moment is a matter of chance.
    """
    return replace(call, start=CALL_INTERVAL_MS / 1e3 * uniform(seed, "start", call.name))


def _user(planned: PlannedPages, seed: int) -> PlannedPages:
    late = planned.start_spread * uniform(seed, "start", planned.name)
    return replace(planned, start=planned.start + late, start_spread=0.0, seed=seed)


def _video(planned: PlannedVideo, seed: int) -> PlannedVideo:
    late = planned.start_spread * uniform(seed, "start", planned.name)
    return replace(planned, start=planned.start + late, start_spread=0.0)


def _requests(planned: PlannedRequests, seed: int) -> PlannedRequests:
    late = planned.start_spread * uniform(seed, "start", planned.name)
    return replace(planned, start=planned.start + late, start_spread=0.0)


def _asker(planned: PlannedAsker, seed: int) -> PlannedAsker:
    late = planned.start_spread * uniform(seed, "start", planned.name)
    return replace(planned, start=planned.start + late, start_spread=0.0)


def uniform(seed: int, purpose: str, name: str) -> float:
    """From 0 up to, and without, 1; the same for the same arguments on every machine."""
    # A string seeds by its SHA-512, whatever PYTHONHASHSEED is.
    return random.Random(f"{purpose} {seed} {name}").random()
