# SPDX-License-Identifier: Apache-2.0
"""The controller's status as Prometheus metrics."""

from docsis_control.metrics.server import serving_metrics

__all__ = ["serving_metrics"]
