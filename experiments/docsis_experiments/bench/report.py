# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 bench`: every switch in one run, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from docsis_experiments.bench import control as control_plane
from docsis_experiments.bench import forwarding, inprocess, plot
from docsis_experiments.bench.forwarding import FRAME_BYTES, KINDS, Result
from docsis_experiments.bench.machine import processor
from docsis_experiments.bench.progress import step
from docsis_experiments.runs.files import write_atomically
from docsis_experiments.stages.mininet import timers
from docsis_testbed import p4build, preflight
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS, switch_binary
from docsis_testbed.runstate import recorded_run

_LABELS = {
    "forwarder": "bare forwarder",
    "docsis-switch": "docsis-switch, cm.p4",
    "simple_switch_grpc": "simple_switch_grpc, cm.p4",
}


def run(seconds: float, repetitions: int, output: Path | None, console: Console) -> dict[str, Any]:
    """Measure, print the tables, write the JSON and a picture beside it.

    Args:
        seconds: Length of each measurement between veth pairs.
        repetitions: How often every switch is measured, in turns; medians count.
        output: File for the JSON; results/bench-<time>.json unless given.
        console: Where progress and tables go.

    Returns:
        What was written.

    Raises:
        TestbedError: something is missing or did not work, or the picture would take the place of
            another file; nothing is left behind.
    """
    if output is not None:
        check_picture(output)
    preflight.check_root()
    preflight.check_tools()
    preflight.check_kernel()
    switch_binary()
    p4build.require_current()
    kinds = [k for k in KINDS if k != "simple_switch_grpc" or shutil.which(k) is not None]
    runs: dict[str, list[Result]] = {kind: [] for kind in kinds}
    with recorded_run("bench") as state, tempfile.TemporaryDirectory() as scratch:
        preflight.check_interfaces_free(forwarding.interfaces())
        preflight.check_port_free(forwarding.address(), "P4Runtime server of the bench")
        with step("the machine's own timers", console):
            late = timers.measured()
        with step("four programs, in-process", console):
            programs = inprocess.programs()
        with step("cm.p4, in-process", console):
            pipeline = inprocess.pipeline()
        with step("queue managers, in-process", console):
            managers = inprocess.managers()
        for repetition in range(repetitions):
            for kind in kinds:
                title = f"{_LABELS[kind]}, {repetition + 1} of {repetitions}"
                with step(title, console) as progress:
                    runs[kind].append(
                        forwarding.measure(kind, state, Path(scratch), seconds, progress)
                    )
        with step("control plane", console) as progress:
            control = control_plane.measure(state, progress)
    results = {kind: median(found) for kind, found in runs.items()}
    report = {
        "time": datetime.now().isoformat(timespec="seconds"),
        "machine": {
            "cpus": os.cpu_count(),
            "processor": processor(),
            "kernel": platform.release(),
            "load_average": os.getloadavg()[0],
            "timers": late,
        },
        "seconds": seconds,
        "repetitions": repetitions,
        "programs": programs,
        "pipeline": pipeline,
        "managers": managers,
        "forwarding": {kind: asdict(result) for kind, result in results.items()},
        "forwarding_runs": {k: [asdict(result) for result in found] for k, found in runs.items()},
        "ratio_to_forwarder": _ratios(results),
        "control": control,
    }
    if output is None:
        RESULTS.mkdir(exist_ok=True)
        output = RESULTS / f"bench-{datetime.now().strftime('%Y%m%d-%H%M%S')}.json"
    write_atomically(output, (json.dumps(report, indent=2) + "\n").encode())
    picture = _picture(output)
    plot.overview(programs, results, _LABELS, picture)
    for table in (
        programs_table(programs),
        pipeline_table(pipeline),
        managers_table(managers),
        forwarding_table(results),
        control_table(control),
    ):
        console.print(table)
    console.print(timers.words(late), soft_wrap=True, highlight=False)
    if "simple_switch_grpc" not in results:
        console.print("BMv2's simple_switch_grpc is not on PATH, so it was not measured.")
    console.print(f"Written to {output} and {picture.name}", soft_wrap=True, highlight=False)
    return report


def check_picture(output: Path) -> None:
    """Refuses a file for the JSON whose picture would take the place of another file.

    Args:
        output: File for the JSON; one that is there with its picture is replaced with that.

    Raises:
        TestbedError: It is a link, a device or a pipe, which would be replaced; or it would be
            replaced by its own picture, or a picture is there without it.
    """
    if output.is_symlink() or (output.exists() and not output.is_file()):
        raise TestbedError(
            f"--json {output}: is there, and is no ordinary file; name another one, which is "
            "replaced as a whole"
        )
    picture = _picture(output)
    if picture == output:
        raise TestbedError(
            f"--json {output}: the picture gets this name; give the JSON another ending than .png"
        )
    if picture.exists() and not output.exists():
        raise TestbedError(
            f"--json {output}: the picture would replace {picture}, which is there already; name "
            "another file"
        )


def _picture(output: Path) -> Path:
    return output.with_suffix(".png")


def median(runs: list[Result]) -> Result:
    """The median of every figure."""

    def middle(values: Iterable[float]) -> float:
        return float(statistics.median(values))

    return Result(
        tcp_mbps=middle(run.tcp_mbps for run in runs),
        udp_kpps={size: middle(run.udp_kpps[size] for run in runs) for size in FRAME_BYTES},
        latency_us={key: middle(run.latency_us[key] for run in runs) for key in runs[0].latency_us},
        memory_mb=middle(run.memory_mb for run in runs),
    )


def _ratios(results: dict[str, Result]) -> dict[str, dict[str, float]]:
    base = results["forwarder"]
    return {
        kind: {
            "tcp": result.tcp_mbps / base.tcp_mbps,
            **{f"udp_{size}": result.udp_kpps[size] / base.udp_kpps[size] for size in FRAME_BYTES},
        }
        for kind, result in results.items()
    }


def programs_table(report: dict[str, Any]) -> Table:
    """Nanoseconds a packet takes through each program."""
    table = Table(title="Programs in-process, nanoseconds a packet: median (least) of repetitions")
    table.add_column("program")
    lengths = sorted({row["frame_bytes"] for row in report["results"]})
    for length in lengths:
        table.add_column(f"{length} bytes", justify="right")
    what = {row["program"]: row["what"] for row in report["results"]}
    figures = {
        (row["program"], row["frame_bytes"]): f"{row['ns_per_packet']:.0f} ({row['least_ns']:.0f})"
        for row in report["results"]
    }
    for program, words in what.items():
        table.add_row(f"{program}: {words}", *(figures[program, length] for length in lengths))
    return table


def control_table(report: dict[str, Any]) -> Table:
    """Makes the table of the control plane's times, and of what packets feel of it."""
    flows = report["service_flows"]
    table = Table(title=f"Control plane, {flows} service flows, while probes pass")
    for heading in ("", "p50", "p99", "most"):
        table.add_column(heading, justify="right" if heading else "left")
    for key, label in (
        ("write", "write all registers of the control loop, ms"),
        ("read", "read all registers of the control loop, ms"),
        ("insert_one", "insert one entry, ms"),
    ):
        row = report[key]
        table.add_row(label, *(f"{row[f'{q}_ms']:.2f}" for q in ("p50", "p99", "most")))
    for key, label in (
        ("latency_idle_us", "one-way delay of probes before, us"),
        ("latency_us", "one-way delay of probes meanwhile, us"),
    ):
        table.add_row(label, *(f"{report[key][q]:.0f}" for q in ("p50", "p99", "most")))
    rate = f"{report['inserts_per_second']:.0f}"
    table.add_row(f"entries inserted a second, {report['inserts_per_request']} a request", rate)
    return table


def pipeline_table(report: dict[str, Any]) -> Table:
    """Nanoseconds a packet takes through cm.p4."""
    table = Table(title="Pipeline in-process: cm.p4, nanoseconds a packet")
    for heading in ("frame, bytes", "service flows", "ns a packet", "ingress", "egress", "p99"):
        table.add_column(heading, justify="right")
    for row in report["results"]:
        table.add_row(
            str(row["frame_bytes"]),
            str(row["service_flows"]),
            *(f"{row[key]:.0f}" for key in ("ns_per_packet", "ingress_ns", "egress_ns", "p99_ns")),
        )
    return table


def managers_table(report: dict[str, Any]) -> Table:
    """Makes the table of each queue manager's cost, beside none."""
    table = Table(title=f"Queue managers in-process: cm.p4, {report['frame_bytes']} bytes")
    table.add_column("queue manager")
    for heading in ("ns a packet", "ingress", "egress", "times none"):
        table.add_column(heading, justify="right")
    for row in report["results"]:
        table.add_row(
            row["queue_manager"],
            *(f"{row[key]:.0f}" for key in ("ns_per_packet", "ingress_ns", "egress_ns")),
            f"{row['ratio_to_none']:.2f}",
        )
    return table


def forwarding_table(results: dict[str, Result]) -> Table:
    """Makes the table of what each switch carried, and its share of the bare forwarder's."""
    table = Table(title="One switch between two veth pairs (and its ratio to the bare forwarder)")
    table.add_column("switch", no_wrap=True)
    for heading in (
        "TCP, Mbit/s",
        *(f"UDP {size} B, kpps" for size in FRAME_BYTES),
        "delay p50 / p99, us",
        "memory, MB",
    ):
        table.add_column(heading, justify="right")
    base = results["forwarder"]
    for kind, result in results.items():
        table.add_row(
            _LABELS[kind],
            f"{result.tcp_mbps:.0f} ({result.tcp_mbps / base.tcp_mbps:.2f})",
            *(
                f"{result.udp_kpps[size]:.1f} ({result.udp_kpps[size] / base.udp_kpps[size]:.2f})"
                for size in FRAME_BYTES
            ),
            f"{result.latency_us['p50']:.0f} / {result.latency_us['p99']:.0f}",
            f"{result.memory_mb:.1f}",
        )
    return table
