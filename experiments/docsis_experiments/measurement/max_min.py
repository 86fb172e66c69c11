# SPDX-License-Identifier: Apache-2.0
"""Max-min shares of flows, and what each flow had of its share (002, metrics). Pure.

    x = T / r

T is the flow's goodput and r its max-min share: nobody gets more than it can use, and all that want
more than their share get the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope


def shares(capacity: float, demands: Sequence[float]) -> list[float]:
    """The max-min shares of a capacity, in the order of the demands.

    Args:
        capacity: Capacity for all flows together, in any unit.
        demands: What each can use, in the same; infinite where nothing limits it.
    """
    found = [0.0] * len(demands)
    rest = capacity
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for place, index in enumerate(order):
        found[index] = min(demands[index], rest / (len(order) - place))
        rest -= found[index]
    return found


def rates_and_shares(scope: Scope, run: RunRecord) -> list[tuple[float, float]]:
    """T and r of each flow of the groups, Mbit/s; nothing where a group is not in the queue.

    The capacity, which is what the queue has for good, is shared by all flows of the run that go
    its way and got something in that time.
    """
    if not run.other_way.isdisjoint(scope.of):
        return []
    span = scope.span(run)
    flows: list[tuple[str, float, float]] = []
    for group, received in run.received.items():
        if group in run.other_way:
            continue
        for name, rate in zip(received.flow_bytes, received.mbps(*span), strict=True):
            if rate > 0 or group in scope.of:
                flows.append((group, rate, run.demands_mbps.get(name, math.inf)))
    found = shares(run.sustained_mbps, [demand for _, _, demand in flows])
    return [
        (rate, share)
        for (group, rate, _), share in zip(flows, found, strict=True)
        if group in scope.of
    ]


def no_share(scope: Scope, run: RunRecord) -> str:
    """Why flows have no share, in words."""
    if other := [name for name in scope.of if name in run.other_way]:
        return (
            f"the {run.direction} queue is shared, and traffic of {' and '.join(other)} goes "
            "downstream"
        )
    return scope.nothing_received(run)


def normalised(scope: Scope, run: RunRecord) -> list[float]:
    """x of each flow of the groups; NaN of one that is to have nothing."""
    return [rate / share if share else math.nan for rate, share in rates_and_shares(scope, run)]
