# SPDX-License-Identifier: Apache-2.0
"""The compared quantities, read from what a run left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from docsis_experiments.measurement.metrics.fairness import jain
from docsis_experiments.reports.document import finite
from docsis_testbed.errors import TestbedError

SUMMARY: Final = "summary.json"
"""The file of a run that has its values."""

Values = Mapping[str, float | None]
"""A run's values, by the quantity's name; None where it has no value."""


def document(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file of a run.

    Raises:
        TestbedError: It cannot be read, or has no mapping.
    """
    path = folder / name
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, f"cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise damaged(path, "is no mapping")
    return content


def damaged(path: Path, what: str) -> TestbedError:
    """The refusal of a file of a run, which says what to do.

    Args:
        path: The file.
        what: The rest of the sentence about it.
    """
    return TestbedError(f"{path}: {what}; remove the run's folder, and it is made again")


def of_scenario(folder: Path, label: str, *, probe: str, transfers: tuple[str, ...]) -> Values:
    """Those of a run of a scenario.

    Args:
        folder: Folder of the scenario's runs.
        label: Label of the run.
        probe: The group whose latency and loss it is about.
        transfers: The groups whose goodput it is about.

    Raises:
        TestbedError: The run's summary cannot be read, or lacks what is compared.
    """
    summary = document(folder, SUMMARY)
    try:
        runs = {run["label"]: run["groups"] for run in summary["runs"]}
        found = _values(runs[label], probe, transfers)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise damaged(folder / SUMMARY, f"lacks what is compared of {label} ({error!r})") from None
    for name, value in found.items():
        if not isinstance(value, int | float | None) or isinstance(value, bool):
            raise damaged(folder / SUMMARY, f"has {value!r} as {name} of {label}")
    return found


def _values(groups: Mapping[str, Any], probe: str, transfers: tuple[str, ...]) -> Values:
    call = groups[probe]
    rates = [rate for name in transfers for rate in groups[name]["flow_goodput_mbps"]]
    return {
        "goodput_mbps": _sum(rates),
        **_quantiles(call["latency_ms"]),
        "jain": None if None in rates else finite(jain(rates)),
        "loss_percent": call["loss_percent"],
        "retransmissions": _sum([groups[name]["retransmissions"] for name in transfers]),
        # Where there was no idle time nothing is told of it.
        "idle_p50_ms": call.get("idle_latency_ms"),
        "induced_p50_ms": call.get("induced_latency_ms", {}).get("p50"),
    }


def _sum(values: Sequence[float | None]) -> float | None:
    """None where a value is missing."""
    there = [value for value in values if value is not None]
    return None if len(there) < len(values) else float(sum(there))


def _quantiles(latency: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{name}_ms": latency[name] for name in ("p50", "p90", "p99")}
