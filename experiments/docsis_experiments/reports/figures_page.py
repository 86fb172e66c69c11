# SPDX-License-Identifier: Apache-2.0
"""The report of the figures that are made of the pipeline in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import decisions
from docsis_experiments.reports.words import begun


def _sentence(checks: Sequence[Mapping[str, Any]]) -> str:
    """Tells which of the values are not within their bounds, if any."""
    failed = [check for check in checks if not check["passed"]]
    if not failed:
        return f"All {len(checks)} values are within their bounds."
    which = "; ".join(f"{check['figure']}, {check['what']}" for check in failed)
    return f"Of {len(checks)} values, {len(failed)} are not within their bounds: {which}."


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": "Figures of the papers, made of the pipeline",
        "subtitle": f"{begun(details)}, {summary['frames']:,} frames and "
        f"{summary['trials']:,} trials in virtual time, seed {summary['seed']}",
        "opening": [_sentence(summary["checks"])],
        "bad_news": not all(check["passed"] for check in summary["checks"]),
    }


PAGE: Final = Page("figures.html.j2", _values, decisions, has_topology=False)
