# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 bench`: every switch in one run, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from docsis_testbed import p4build, preflight
from docsis_testbed.bench import forwarding
from docsis_testbed.bench.forwarding import FRAME_BYTES, KINDS, Result
from docsis_testbed.paths import RESULTS, switch_binary
from docsis_testbed.runstate import recorded_run

_LABELS = {
    "forwarder": "bare forwarder",
    "docsis-switch": "docsis-switch, cm.p4",
    "simple_switch_grpc": "simple_switch_grpc, cm.p4",
}


def run(seconds: float, output: Path | None, console: Console) -> dict[str, Any]:
    """Measure, print the tables, write the JSON.

    Args:
        seconds: Length of each measurement between veth pairs.
        output: File for the JSON; results/bench-<time>.json unless given.
        console: Where progress and tables go.

    Returns:
        What was written.

    Raises:
        TestbedError: something is missing or did not work; nothing is left behind.
    """
    preflight.check_root()
    preflight.check_tools()
    preflight.check_kernel()
    switch_binary()
    p4build.require_current()
    results: dict[str, Result] = {}
    with recorded_run("bench") as state, tempfile.TemporaryDirectory() as scratch:
        preflight.check_interfaces_free(forwarding.interfaces())
        preflight.check_port_free(forwarding.address(), "P4Runtime server of the bench")
        with console.status("the pipeline, in-process"):
            pipeline = forwarding.pipeline()
        for kind in KINDS:
            if kind == "simple_switch_grpc" and shutil.which(kind) is None:
                continue
            with console.status(_LABELS[kind]) as status:
                results[kind] = forwarding.measure(
                    kind,
                    state,
                    Path(scratch),
                    seconds,
                    lambda what, kind=kind: status.update(f"{_LABELS[kind]}: {what}"),  # type: ignore[misc]
                )
    report = {
        "time": datetime.now().isoformat(timespec="seconds"),
        "machine": {
            "cpus": os.cpu_count(),
            "processor": _processor(),
            "kernel": platform.release(),
            "load_average": os.getloadavg()[0],
        },
        "seconds": seconds,
        "pipeline": pipeline,
        "forwarding": {kind: asdict(result) for kind, result in results.items()},
        "ratio_to_forwarder": _ratios(results),
    }
    if output is None:
        RESULTS.mkdir(exist_ok=True)
        output = RESULTS / f"bench-{datetime.now().strftime('%Y%m%d-%H%M%S')}.json"
    output.write_text(json.dumps(report, indent=2) + "\n")
    console.print(pipeline_table(pipeline))
    console.print(forwarding_table(results))
    if "simple_switch_grpc" not in results:
        console.print("BMv2's simple_switch_grpc is not on PATH, so it was not measured.")
    console.print(f"Written to {output}", soft_wrap=True, highlight=False)
    return report


def _ratios(results: dict[str, Result]) -> dict[str, dict[str, float]]:
    base = results["forwarder"]
    return {
        kind: {
            "tcp": result.tcp_mbps / base.tcp_mbps,
            **{f"udp_{size}": result.udp_kpps[size] / base.udp_kpps[size] for size in FRAME_BYTES},
        }
        for kind, result in results.items()
    }


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


def forwarding_table(results: dict[str, Result]) -> Table:
    """What each switch carried, and its share of the bare forwarder's."""
    table = Table(title="One switch between two veth pairs (and its ratio to the bare forwarder)")
    table.add_column("switch", no_wrap=True)
    for heading in ("TCP, Mbit/s", *(f"UDP {size} B, kpps" for size in FRAME_BYTES)):
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
        )
    return table


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
