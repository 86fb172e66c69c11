# SPDX-License-Identifier: Apache-2.0
"""How well flows have their max-min shares: Jain's index of their normalised throughput (002).

    fairness = (sum x)^2 / (n sum x^2), x = T / r

Where all can use as much, it is `fairness`.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.max_min import no_share, normalised
from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.metrics.fairness import jain
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def normalised_fairness(scope: Scope, run: RunRecord) -> float:
    """Jain's index of the normalised rates of all groups' flows, 0 to 1."""
    return jain(normalised(scope, run))


METRIC: Final = Metric(
    name="normalised-fairness",
    title="Fairness of shares",
    description="Jain's index of the flows' goodput over their max-min shares.",
    value=normalised_fairness,
    absence=no_share,
    needs=Trace.GOODPUT,
    limits=Limits(0, 1),
    form=".3f",
    place=61,
    on_request=True,
)
