# SPDX-License-Identifier: Apache-2.0
"""summary.json of the queue managers beside each other, in the shape of summary.schema.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from docsis_testbed.experiment import Measurement
from docsis_testbed.measure import statistics, voice
from docsis_testbed.results import document


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
            "mos": voice.mos(loaded.delays, loaded.sent_ns.size),
        },
        "aqm_drops": measurement.counters["sf_drop_aqm"],
        "tail_drops": measurement.counters["sf_drop_buffer_full"],
        "controller": document.controller_figures(measurement.folder / "controller"),
    }


def summarise(
    measurements: list[Measurement],
    *,
    target: str,
    topology: str,
    tier: str,
    versions: dict[str, str],
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        measurements: In the order in which they ran.
        target: Name of the switch target.
        topology: Name of the topology.
        tier: Name of the service tier.
        versions: Version by program.
    """
    summary = {
        "experiment": "latency",
        "target": target,
        "topology": topology,
        "tier": tier,
        "versions": versions,
        "runs": [run_figures(measurement) for measurement in measurements],
    }
    figures: dict[str, Any] = document.rounded(summary)
    document.validate(figures)
    return figures
