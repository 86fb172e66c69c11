# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 shares`: configured and measured shares of the channel beside each other."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from docsis_control.modem_config.provisioned import Direction
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Topology
from docsis_experiments.measurement.controller import controller_figures
from docsis_experiments.measurement.timing import Timing, unjudged
from docsis_experiments.reports import document, report, share_plot
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports.shares_page import SHARES
from docsis_experiments.shares import load_plan as sharing
from docsis_experiments.shares.load_plan import LoadPlan, Share
from docsis_experiments.stages.mininet import timers as measure_timers
from docsis_testbed import preflight, versions
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import RESULTS
from docsis_testbed.progress import progress_bar
from docsis_testbed.runstate import recorded_run
from docsis_testbed.session import running_session

SECONDS: Final = 10.0
TOLERANCE_PERCENT: Final = 2.0

_BUILD_SECONDS: Final = 5.0
"""What a run takes beside its traffic, about, for the progress bar."""


def run(
    topology: Topology,
    *,
    target: str,
    directions: Sequence[Direction],
    seconds: float = SECONDS,
    tolerance_percent: float = TOLERANCE_PERCENT,
    tcp: bool = False,
    frame_bytes: int = sharing.FRAME_BYTES,
    console: Console,
    results: Path = RESULTS,
) -> Path:
    """Load the directions one after the other, write the results, print the tables.

    Args:
        topology: What to build.
        target: Name of the switch target.
        directions: In the order in which they are measured.
        seconds: Length of the measured time of each.
        tolerance_percent: How far a share may be off.
        tcp: TCP wherever the classifiers allow it, instead of UDP.
        frame_bytes: Length of the frames to the end of the CRC.
        console: Where progress and tables go.
        results: Folder that gets the run's folder.

    Returns:
        The run's folder.

    Raises:
        NoVerdict: a switch was too late for one; the results are written.
        TestbedError: a share is off by more than the tolerance (the results are written), or
            something is missing or did not work; nothing is left behind but the folder.
    """
    preflight.check_root()
    started = datetime.now()
    deployment = deploy(topology, Preset.DOCSIS_PIE)
    plans = [
        sharing.plan_load(deployment, direction, tcp=tcp, frame_bytes=frame_bytes)
        for direction in directions
    ]
    with recorded_run("shares") as state:
        preflight.check_all(topology, target)
        # Before anything of ours runs: the machine's own.
        late = measure_timers.measured()
        folder = run_folder.create(topology, results)
        topology_file = folder / "inputs" / "topology.yaml"
        write_topology(topology, topology_file)
        with run_folder.told_if_unfinished(folder, console), progress_bar(console) as bar:
            total = sum(plan.settle_seconds + seconds for plan in plans)
            task = bar.add_task("starting", total=_BUILD_SECONDS + total)

            def show(phase: str, passed: float) -> None:
                built = 0 if phase == "building" else _BUILD_SECONDS
                bar.update(task, completed=built + passed, description=phase)

            (folder / "runs").mkdir()
            with running_session(
                topology,
                topology_file,
                upstream=Preset.DOCSIS_PIE,
                target=target,
                run=state,
                folder=folder / "runs",
                progress=show,
                static_arp=True,
            ) as session:
                measured = [(plan, *sharing.measure(session, plan, seconds)) for plan in plans]
                streams = [s for plan in plans for s in sharing.streams_of(session, plan)]
            bar.update(task, description="report", completed=bar.tasks[0].total)
            figures = summarise(
                measured,
                target=target,
                topology=topology.name,
                tcp=tcp,
                seconds=seconds,
                tolerance_percent=tolerance_percent,
                controller=controller_figures(folder / "runs" / "controller"),
                versions=versions.collect(target),
                timers=late,
            )
            details = {
                **run_folder.circumstances(started),
                "left_out": [words for plan in plans for words in plan.left_out],
                "streams": [asdict(stream) for stream in streams],
            }
            write_results(folder, figures, details)
            folder = run_folder.finish(folder)
    for panel in figures["directions"]:
        console.print(table(panel, tolerance_percent))
    console.print(measure_timers.words(figures["timers"]), soft_wrap=True, highlight=False)
    if details["left_out"]:
        console.print(f"Without traffic: {'; '.join(details['left_out'])}.", soft_wrap=True)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    if figures["passed"] is None:
        raise NoVerdict("; ".join(figures["no_verdict"]))
    if not figures["passed"]:
        raise TestbedError(_verdict(figures))
    return folder


def summarise(
    measured: Sequence[tuple[LoadPlan, Sequence[Share], Timing]],
    *,
    target: str,
    topology: str,
    tcp: bool,
    seconds: float,
    tolerance_percent: float,
    controller: dict[str, Any],
    versions: dict[str, str],
    timers: dict[str, Any],
) -> dict[str, Any]:
    """The whole of summary.json, validated.

    Whether it passed is null where a switch was too late for a verdict.
    """
    panels: list[dict[str, Any]] = [
        {
            "direction": plan.direction,
            "channel_mbps": plan.channel / 1e6,
            "flows": [_flow(plan, share) for share in shares],
            "timing": timing.document(),
        }
        for plan, shares, timing in measured
    ]
    withheld = unjudged((panel["direction"], panel["timing"]) for panel in panels)
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "shares",
            "target": target,
            "topology": topology,
            "transport": "tcp" if tcp else "udp",
            "frame_bytes": measured[0][0].frame_bytes,
            "seconds": float(seconds),
            "tolerance_percent": tolerance_percent,
            "passed": None
            if withheld
            else not any(
                _is_off(flow, tolerance_percent) for panel in panels for flow in panel["flows"]
            ),
            "no_verdict": withheld,
            "versions": versions,
            "timers": timers,
            "directions": panels,
            "controller": controller,
        }
    )
    document.validate(figures)
    return figures


def _flow(plan: LoadPlan, share: Share) -> dict[str, Any]:
    item, flow = share.load, share.load.flow

    def off(rate: float) -> float:
        return 100 * (rate - item.configured) / (item.configured or plan.channel)

    return {
        "modem": flow.modem_name,
        "service_flow_reference": flow.reference,
        "sfid": flow.sfid,
        "primary": flow.primary,
        "transport": item.transport,
        "traffic_priority": flow.traffic_priority,
        "maximum_sustained_traffic_rate_mbps": flow.max_sustained_rate / 1e6,
        "minimum_reserved_traffic_rate_mbps": flow.min_reserved_rate / 1e6,
        "offered_mbps": None if math.isinf(item.offered) else item.offered / 1e6,
        "configured_mbps": item.configured / 1e6,
        "received_mbps": share.received / 1e6,
        "received_off_percent": off(share.received),
        "forwarded_mbps": share.forwarded / 1e6,
        "forwarded_off_percent": off(share.forwarded),
    }


def _is_off(flow: dict[str, Any], tolerance_percent: float) -> bool:
    worst = max(abs(flow["received_off_percent"]), abs(flow["forwarded_off_percent"]))
    return bool(worst > tolerance_percent)


def _verdict(figures: dict[str, Any]) -> str:
    tolerance = figures["tolerance_percent"]
    off = [
        f"{flow['modem']}, service flow {flow['service_flow_reference']} {panel['direction']}"
        for panel in figures["directions"]
        for flow in panel["flows"]
        if _is_off(flow, tolerance)
    ]
    return (
        f"{len(off)} shares are off by more than {tolerance:g}%: {'; '.join(off[:4])}"
        f"{', ...' if len(off) > 4 else ''}; the report may say why"
    )


def write_results(folder: Path, figures: dict[str, Any], details: dict[str, Any]) -> None:
    """Write summary.json, details.json, the figure and the report."""
    (folder / "summary.json").write_text(json.dumps(figures, indent=2) + "\n")
    (folder / "details.json").write_text(json.dumps(details, indent=2) + "\n")
    share_plot.shares(figures, folder / "plots" / SHARES.file)
    report.write(folder)


def timing_words(timing: dict[str, Any]) -> Text:
    """How late the switches were, for under a table."""
    words = f"{timing['words'][:1].upper()}{timing['words'][1:]}."
    return Text(words, "" if timing["judged"] else "bold red")


def table(panel: dict[str, Any], tolerance_percent: float) -> Table:
    """A direction of summary.json for the terminal; rates in Mbit/s."""
    result = Table(
        title=f"{panel['direction']}, a channel of {panel['channel_mbps']:g} Mbit/s",
        title_justify="left",
        caption=timing_words(panel["timing"]),
        caption_justify="left",
    )
    for column in ("modem", "flow"):
        result.add_column(column, no_wrap=True)
    for column in ("offered", "configured", "received", "%", "forwarded", "%"):
        result.add_column(column, justify="right", no_wrap=True)
    for flow in panel["flows"]:
        offered = flow["offered_mbps"]
        style = "bold red" if _is_off(flow, tolerance_percent) else ""
        result.add_row(
            flow["modem"],
            str(flow["service_flow_reference"]),
            "TCP" if offered is None else f"{offered:.2f}",
            f"{flow['configured_mbps']:.3f}",
            f"{flow['received_mbps']:.3f}",
            Text(f"{flow['received_off_percent']:+.2f}", style),
            f"{flow['forwarded_mbps']:.3f}",
            Text(f"{flow['forwarded_off_percent']:+.2f}", style),
        )
    return result
