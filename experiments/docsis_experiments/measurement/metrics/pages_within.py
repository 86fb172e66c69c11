# SPDX-License-Identifier: Apache-2.0
"""How many pages were complete within a bound: of several bounds, their distribution.

Of the pages that `page-load-time` is of. Counts of many runs can be added; percentiles cannot.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def pages_within(scope: Scope, run: RunRecord) -> float:
    """Pages that took no longer than the bound."""
    assert scope.bound_ms is not None, "checked with the experiment"
    loads = [run.pages[name].loads(*scope.span(run)) for name in scope.of]
    return float(sum(np.count_nonzero(of * 1e3 <= scope.bound_ms) for of in loads))


METRIC: Final = Metric(
    name="pages-within",
    title="Pages within a bound",
    description="How many pages were complete no later than the bound after they were begun.",
    value=pages_within,
    needs=Trace.PAGES,
    limits=Limits(low=0),
    form=".0f",
    whole=True,
    place=86,
    needs_bound=True,
)
