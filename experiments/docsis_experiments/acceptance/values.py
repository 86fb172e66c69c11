# SPDX-License-Identifier: Apache-2.0
"""The compared quantities, read from what a run left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docsis_experiments.measurement.metrics import jain
from docsis_testbed.errors import TestbedError

Values = Mapping[str, float | None]
"""By the quantity's name; None where a run has no value."""


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


def of_demo(folder: Path, manager: str) -> Values:
    """Those of a queue manager of the demo: the game's latency and loss, and the uploads.

    Args:
        folder: Of the run.
        manager: The queue manager's name.
    """
    runs = {run["aqm"]: run["upstream"] for run in document(folder, "summary.json")["runs"]}
    upstream = runs[manager]
    uploads = document(folder, "details.json")["runs"][manager]["uploads"].values()
    return {
        "goodput_mbps": upstream["goodput_mbps"],
        **_quantiles(upstream["latency_ms"]),
        "jain": jain([upload["mbps"] for upload in uploads]),
        "loss_percent": 100 * upstream["loss_ratio"],
        "retransmissions": float(sum(upload["retransmits"] for upload in uploads)),
    }


def of_scenario(folder: Path, label: str, *, probe: str, transfers: tuple[str, ...]) -> Values:
    """Those of a run of a scenario.

    Args:
        folder: Of the scenario's runs.
        label: Of the run.
        probe: The group whose latency and loss it is about.
        transfers: The groups whose goodput it is about.
    """
    runs = {run["label"]: run["groups"] for run in document(folder, "summary.json")["runs"]}
    groups = runs[label]
    rates = [rate for name in transfers for rate in groups[name]["flow_goodput_mbps"]]
    return {
        "goodput_mbps": sum(rates),
        **_quantiles(groups[probe]["latency_ms"]),
        "jain": jain(rates),
        "loss_percent": groups[probe]["loss_percent"],
        # Mininet's programs that send a scenario's traffic do not count them.
        "retransmissions": None,
    }


def _quantiles(latency: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{name}_ms": latency[name] for name in ("p50", "p90", "p99")}
