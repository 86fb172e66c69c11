# SPDX-License-Identifier: Apache-2.0
"""The compared quantities, read from what a run left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docsis_experiments.measurement.metrics.fairness import jain
from docsis_testbed.errors import TestbedError

Values = Mapping[str, float | None]
"""A run's values, by the quantity's name; None where it has no value."""


def document(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file of a run.

    Raises:
        TestbedError: It cannot be read.
    """
    try:
        content: dict[str, Any] = json.loads((folder / name).read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise TestbedError(
            f"{folder / name}: cannot be read ({error}); remove the run's folder, and it is made "
            "again"
        ) from None
    return content


def of_scenario(folder: Path, label: str, *, probe: str, transfers: tuple[str, ...]) -> Values:
    """Those of a run of a scenario.

    Args:
        folder: Folder of the scenario's runs.
        label: Label of the run.
        probe: The group whose latency and loss it is about.
        transfers: The groups whose goodput it is about.
    """
    runs = {run["label"]: run["groups"] for run in document(folder, "summary.json")["runs"]}
    groups = runs[label]
    call = groups[probe]
    rates = [rate for name in transfers for rate in groups[name]["flow_goodput_mbps"]]
    return {
        "goodput_mbps": sum(rates),
        **_quantiles(call["latency_ms"]),
        "jain": jain(rates),
        "loss_percent": call["loss_percent"],
        "retransmissions": float(sum(groups[name]["retransmissions"] for name in transfers)),
        # Where there was no idle time nothing is told of it.
        "idle_p50_ms": call.get("idle_latency_ms"),
        "induced_p50_ms": call.get("induced_latency_ms", {}).get("p50"),
    }


def _quantiles(latency: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{name}_ms": latency[name] for name in ("p50", "p90", "p99")}
