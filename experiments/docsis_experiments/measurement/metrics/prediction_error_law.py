# SPDX-License-Identifier: Apache-2.0
"""How far the prediction of the controller's law was from the wait around changes of the rate.

The law's prediction is the delay that it computes; `measurement.predictions` says what it is
compared with.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.predictions import error_metric

METRIC: Final[Metric] = error_metric(
    name="prediction-error-law",
    title="Error of the law's prediction",
    description="How far the wait is that the controller's law predicts from the latency, around "
    "changes from peak to sustained rate.",
    predicted=lambda run: run.control.qdelay_ms,
)
