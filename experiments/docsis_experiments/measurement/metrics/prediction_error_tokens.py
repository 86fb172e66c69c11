# SPDX-License-Identifier: Apache-2.0
"""How far the prediction by the token bucket was from the wait around changes of the rate.

The bucket's prediction is that of RFC 8034, 4.2; `measurement.predictions` says what it is compared
with.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.predictions import by_tokens, error_metric

METRIC: Final[Metric] = error_metric(
    name="prediction-error-tokens",
    title="Error of the bucket's prediction",
    description="How far the wait is that the token bucket foresees (RFC 8034, 4.2) from the "
    "latency, around changes from peak to sustained rate.",
    predicted=by_tokens,
)
