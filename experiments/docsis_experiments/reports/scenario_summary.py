# SPDX-License-Identifier: Apache-2.0
"""summary.json of a scenario, in the shape of scenario.schema.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.expectations import STATISTICS
from docsis_experiments.judging.judge import Verdict
from docsis_experiments.measurement import metrics
from docsis_experiments.measurement.record import Floats, Packets, RunRecord
from docsis_experiments.reports import document


def finite(value: float) -> float | None:
    """A value for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def latency(samples: Floats) -> dict[str, float | None]:
    """Every statistic of a sample, milliseconds; null where it is empty."""
    return {name: finite(metrics.statistic(name, samples)) for name in STATISTICS}


def run_figures(run: RunRecord) -> dict[str, Any]:
    """One entry of `runs`."""

    def measured(packets: Packets) -> Packets:
        return packets.between(0.0, run.seconds)

    groups: dict[str, dict[str, Any]] = {}
    for name, packets in run.packets.items():
        chosen = measured(packets)
        groups[name] = {
            "packets": int(chosen.delay_ms.size),
            "latency_ms": latency(chosen.delays),
            "loss_percent": finite(metrics.loss_percent(chosen)),
        }
    for name, received in run.received.items():
        rates = received.mbps(0.0, run.seconds)
        groups[name] |= {"goodput_mbps": sum(rates), "flow_goodput_mbps": rates}
    for name, messages in run.messages.items():
        groups[name]["message_latency_ms"] = latency(measured(messages).delays)
    return {
        "label": run.label,
        "manager": run.manager,
        "management": dict(run.management),
        "buffer_ms": run.buffer_ms,
        "groups": groups,
        "aqm_drops": run.counters["sf_drop_aqm"],
        "tail_drops": run.counters["sf_drop_buffer_full"],
        "controller": dict(run.controller),
        "timing": run.timing.document(),
        "faults": list(run.faults),
        **({"digest": run.digest} if run.digest else {}),
    }


def verdict_figures(verdict: Verdict) -> dict[str, Any]:
    """One entry of `expectations`."""
    return {
        "what": verdict.what,
        "run": verdict.run,
        "unit": verdict.unit,
        "published": list(verdict.published),
        "allowed": list(verdict.allowed),
        "measured": finite(verdict.measured),
        "never": math.isinf(verdict.measured),
        "holds": verdict.holds,
        "absent": verdict.absent,
        "withheld": verdict.withheld,
        "source": verdict.source,
        "reason": verdict.reason,
    }


def passed(records: Sequence[RunRecord], verdicts: Sequence[Verdict]) -> bool | None:
    """Whether everything holds; None where nothing fails, but something gets no verdict."""
    if any(verdict.holds is False for verdict in verdicts):
        return False
    if any(verdict.holds is None for verdict in verdicts):
        return None
    return True if all(record.timing.valid for record in records) else None


def summarise(
    scenario: Scenario,
    records: Sequence[RunRecord],
    verdicts: Sequence[Verdict],
    left_out: Sequence[str],
    *,
    target: str,
    topology: str,
    versions: Mapping[str, str],
    timers: Mapping[str, Any],
    marks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        scenario: What was run.
        records: In the order in which they ran.
        verdicts: Of the scenario's expectations.
        left_out: Expectations whose runs were not made, in words.
        target: Name of the switch target.
        topology: Name of the topology.
        versions: Version by program.
        timers: The machine's own lateness.
        marks: Of the stage: `stage`, and `seed` where there is one.
    """
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "scenario",
            "name": scenario.name,
            "title": scenario.title,
            "source": scenario.source.model_dump(),
            "scale": scenario.scale,
            "target": target,
            "topology": topology,
            "direction": scenario.direction,
            "ramp_up_seconds": scenario.ramp_up / 1e9,
            "measured_seconds": scenario.measured / 1e9,
            "passed": passed(records, verdicts),
            "no_verdict": [f"{run.label}: {run.withheld}" for run in records if run.withheld],
            "left_out": list(left_out),
            "versions": dict(versions),
            "timers": dict(timers),
            **(marks or {}),
            "runs": [run_figures(record) for record in records],
            "expectations": [verdict_figures(verdict) for verdict in verdicts],
        }
    )
    document.validate(figures)
    return figures
