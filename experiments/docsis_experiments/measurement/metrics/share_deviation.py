# SPDX-License-Identifier: Apache-2.0
"""How far service flows are from their configured shares of a channel that all want more of.

    deviation = 100 |rate - configured| / configured

Of the channel where nothing is configured. A service flow has two rates, the receiver's and the
pipeline's, of which the one counts that is farther off.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def of_flows(scope: Scope, run: RunRecord) -> list[float]:
    """The deviation of each service flow that the groups load, percent."""
    return [flow.farthest_percent for name in scope.of for flow in run.shares[name].flows]


def share_deviation(scope: Scope, run: RunRecord) -> float:
    """The deviation of the service flow that is farthest off, percent."""
    return max(of_flows(scope, run))


METRIC: Final = Metric(
    name="share-deviation",
    title="Deviation from shares",
    description="How far the service flow is from its configured share that is farthest from it, "
    "by the receiver's count or the pipeline's.",
    unit=PERCENT,
    value=share_deviation,
    needs=Trace.SHARES,
    limits=Limits(low=0),
    form=".2f",
    flows=of_flows,
    place=80,
    whole_run=True,
)
