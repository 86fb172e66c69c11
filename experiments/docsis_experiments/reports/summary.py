# SPDX-License-Identifier: Apache-2.0
"""summary.json of the queue managers beside each other, in the shape of summary.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from docsis_experiments.demo.plan import Measurement
from docsis_experiments.measurement import statistics
from docsis_experiments.measurement.timing import unjudged
from docsis_experiments.reports import document


def run_figures(measurement: Measurement) -> dict[str, Any]:
    """One entry of `runs`."""
    loaded = measurement.probes.between(measurement.loaded.start_ns, measurement.loaded.end_ns)
    idle = measurement.probes.between(measurement.idle.start_ns, measurement.idle.end_ns)
    return {
        "aqm": measurement.aqm.value,
        "upstream": {
            "goodput_mbps": measurement.goodput.mbps(
                measurement.loaded.start_ns, measurement.loaded.end_ns
            ),
            "latency_ms": asdict(statistics.latency(loaded.delays)),
            "induced_latency_ms": asdict(statistics.induced(loaded.delays, idle.delays)),
            "loss_ratio": loaded.loss_ratio,
            "undetermined": loaded.undetermined,
            "mos": loaded.mos,
        },
        "aqm_drops": measurement.counters["sf_drop_aqm"],
        "tail_drops": measurement.counters["sf_drop_buffer_full"],
        "controller": document.controller_figures(measurement.folder / "controller"),
        "timing": measurement.timing.document(),
        **({"digest": measurement.digest} if measurement.digest else {}),
    }


def summarise(
    measurements: list[Measurement],
    *,
    target: str,
    topology: str,
    tier: str,
    versions: dict[str, str],
    timers: dict[str, Any],
    marks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        measurements: In the order in which they ran.
        target: Name of the switch target.
        topology: Name of the topology.
        tier: Name of the service tier.
        versions: Version by program.
        timers: The machine's own lateness.
        marks: Of the stage: `stage`, and `seed` where there is one.
    """
    runs = [run_figures(measurement) for measurement in measurements]
    summary = {
        "experiment": "latency",
        "target": target,
        "topology": topology,
        "tier": tier,
        "versions": versions,
        "timers": timers,
        **(marks or {}),
        "valid": all(run["timing"]["valid"] for run in runs),
        "no_verdict": unjudged((run["aqm"], run["timing"]) for run in runs),
        "runs": runs,
    }
    figures: dict[str, Any] = document.rounded(summary)
    document.validate(figures)
    return figures
