# SPDX-License-Identifier: Apache-2.0
"""summary.json of one run of each queue manager, in the shape of scenario.schema.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Scenario, slug
from docsis_experiments.judging.judge import Verdict
from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.metrics.induced_latency import idle_median
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import STATISTICS
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.reports import document, service_flow_shares, upstream_channels
from docsis_experiments.reports.document import finite
from docsis_experiments.reports.head import head
from docsis_testbed.captures import Capture
from docsis_testbed.own_commands import Done


def figure(metric: Metric, value: float) -> float | int | None:
    """A value of a metric for JSON; counts have no point."""
    if not math.isfinite(value):
        return None
    return round(value) if metric.whole else value


def group_figures(name: str, run: RunRecord) -> dict[str, Any]:
    """One entry of a run's `groups`: all metrics that are told of it."""
    figures: dict[str, Any] = {"packets": int(run.measured(name).sent_s.size)}
    for metric in METRICS.values():
        if not metric.told(run, name):
            continue
        if metric.statistics:
            figures[metric.key] = {
                which: figure(metric, metric.value(Scope((name,), which), run))
                for which in STATISTICS
            }
        else:
            figures[metric.key] = figure(metric, metric.value(Scope((name,)), run))
        if metric.flows is not None:
            each = metric.flows(Scope((name,)), run)
            figures[f"flow_{metric.key}"] = [figure(metric, value) for value in each]
    if Trace.CALL in run.traces(name) and run.idle is not None:
        figures["idle_latency_ms"] = finite(idle_median(run.packets[name], run))
    if shares := run.shares.get(name):
        figures["shares"] = service_flow_shares.figures(shares)
    return figures


def run_figures(scenario: Scenario, run: RunRecord) -> dict[str, Any]:
    """One entry of `runs`."""
    return {
        "label": run.label,
        "name": run.name,
        "manager": run.manager,
        "management": dict(run.management),
        "buffer_ms": run.buffer_ms,
        "direction": run.direction,
        "groups": {group.name: group_figures(group.name, run) for group in scenario.traffic},
        "aqm_drops": run.counters["sf_drop_aqm"],
        "tail_drops": run.counters["sf_drop_buffer_full"],
        "controller": dict(run.controller),
        "timing": run.timing.document(),
        "faults": list(run.faults),
        **({"digest": run.digest} if run.digest else {}),
        **({"links": [link.figures() for link in run.links]} if run.links else {}),
        **(
            {"commands": [command_figures(run, one) for one in run.commands]}
            if run.commands
            else {}
        ),
        **(
            {"captures": [capture_figures(run, one) for one in run.captures]}
            if run.captures
            else {}
        ),
        **(
            {"upstream_channels": [upstream_channels.figures(one) for one in run.channels]}
            if run.channels
            else {}
        ),
    }


def capture_figures(run: RunRecord, capture: Capture) -> dict[str, Any]:
    """One entry of a run's `captures`; its file is within the result's folder."""
    return {
        "name": capture.name,
        "file": f"runs/{slug(run.label)}/{capture.file.as_posix()}",
        "frames": capture.frames,
        "words": capture.words,
    }


def command_figures(run: RunRecord, done: Done) -> dict[str, Any]:
    """One entry of a run's `commands`; its log is within the result's folder."""
    return {
        "command": done.command.told,
        "start_s": done.command.start_s,
        "log": f"runs/{slug(run.label)}/{done.log.as_posix()}",
        "words": done.words,
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
        "hash": verdict.hash,
        "no_test": verdict.no_test,
        "every_run": verdict.every_run,
    }


def passed(records: Sequence[RunRecord], verdicts: Sequence[Verdict]) -> bool | None:
    """Whether everything holds; None where nothing fails, but something gets no verdict."""
    if any(verdict.holds is False for verdict in verdicts):
        return False
    if any(verdict.holds is None for verdict in verdicts):
        return None
    return True if all(record.timing.valid and not record.faults for record in records) else None


def summarise(
    scenario: Scenario,
    records: Sequence[RunRecord],
    verdicts: Sequence[Verdict],
    left_out: Sequence[str],
    *,
    target: str,
    topology: Topology,
    versions: Mapping[str, str],
    timers: Mapping[str, Any],
    marks: Mapping[str, Any] | None = None,
    note: str = "",
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Args:
        scenario: What was run.
        records: In the order in which they ran.
        verdicts: Verdicts of the scenario's expectations.
        left_out: Expectations whose runs were not made, in words.
        target: Name of the switch target.
        topology: What was built.
        versions: Version by program.
        timers: The machine's own lateness.
        marks: Marks of the stage: `stage`, and `seed` where there is one.
        note: The user's own note, or "".
    """
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "scenario",
            "version": document.VERSION,
            **head(scenario, topology, target=target, versions=versions, timers=timers, note=note),
            "passed": passed(records, verdicts),
            "no_verdict": [f"{run.label}: {run.withheld}" for run in records if run.withheld],
            "left_out": list(left_out),
            **(marks or {}),
            "runs": [run_figures(scenario, record) for record in records],
            "expectations": [verdict_figures(verdict) for verdict in verdicts],
        }
    )
    document.validate(figures)
    return figures
