# SPDX-License-Identifier: Apache-2.0
"""From the first SYN for a page's HTML to the last byte of its last object.

    page load time = last byte of the last object received - first SYN for the HTML sent

Of pages that were complete within the time looked at, wherever they began: so a slow page counts
as often as a quick one, and those that nobody has seen to the end do not count.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def page_load_time(scope: Scope, run: RunRecord) -> float:
    """A statistic of the load times of pages, seconds."""
    return statistic(scope.statistic, scope.page_loads(run))


def _absence(scope: Scope, run: RunRecord) -> str:
    silent = [name for name in scope.of if not run.pages[name].loads(*scope.span(run)).size]
    return f"no page of {' and '.join(silent) or scope.names} was complete in that time"


METRIC: Final = Metric(
    name="page-load-time",
    title="Page load time",
    short="page",
    description="From the first SYN for a page's HTML to the end of its last object, of pages that "
    "were complete in the time looked at.",
    unit=SECONDS,
    value=page_load_time,
    absence=_absence,
    needs=Trace.PAGES,
    limits=Limits(low=0),
    form=".2f",
    statistics=("p50", "p90"),
    place=85,
)
