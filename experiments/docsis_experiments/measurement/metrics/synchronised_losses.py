# SPDX-License-Identifier: Apache-2.0
"""Whether flows lose packets together (002: drop tail "has synchronization issues").

    share = 100 (episodes that hit half the flows, or more) / episodes

An episode begins with a packet that is lost after the episode before it is over, and lasts as long
as the bound, a round trip; it hits the groups, each of one flow, that lose something in it. It
needs a record of every packet: of sampled ones most losses are not seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope


def synchronised(losses: Sequence[Floats], seconds: float) -> float:
    """Percent of the episodes; NaN where nothing was lost.

    Args:
        losses: When each flow lost packets, seconds.
        seconds: Seconds of an episode.
    """
    times = np.concatenate([*losses, np.zeros(0)])
    flows = np.concatenate([np.full(of.size, flow) for flow, of in enumerate(losses)] or [times])
    order = np.argsort(times, kind="stable")
    times, flows = times[order], flows[order]
    first = episodes = hits = 0
    while first < times.size:
        last = int(np.searchsorted(times, times[first] + seconds, side="right"))
        episodes += 1
        hits += 2 * np.unique(flows[first:last]).size >= len(losses)
        first = last
    return 100 * hits / episodes if episodes else math.nan


def synchronised_losses(scope: Scope, run: RunRecord) -> float:
    """Percent of the episodes that began in that time."""
    assert scope.bound_ms is not None, "checked with the experiment"
    span = scope.span(run)
    losses = []
    for name in scope.of:
        packets = run.packets[name].between(*span)
        losses.append(np.sort(packets.sent_s[np.isnan(packets.delay_ms)]))
    return synchronised(losses, scope.bound_ms / 1e3)


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"no packet of {scope.names} was lost in that time"


METRIC: Final = Metric(
    name="synchronised-losses",
    title="Synchronised losses",
    description="Episodes of losses, each as long as the bound, in which half of the groups or "
    "more lose packets, of all episodes.",
    unit=PERCENT,
    value=synchronised_losses,
    absence=_absence,
    limits=Limits(0, 100),
    form=".0f",
    place=98,
    needs_bound=True,
)
