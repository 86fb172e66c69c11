# SPDX-License-Identifier: Apache-2.0
"""The control plane of the running switch under load, and what packets feel of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from docsis_control.ports import FIRST_HOST_PORT, RF_PORT
from docsis_experiments.bench.forwarding import Bench, address, topology
from docsis_testbed import switch_report
from docsis_testbed.paths import P4_BUILD
from docsis_testbed.runstate import RunState

_ROUNDS: Final = 300
_ROUND_SECONDS: Final = 0.016
"""A round takes longer than this pause between two."""

_PROGRAM: Final = P4_BUILD / "cmts"


def measure(run: RunState, progress: Callable[[str], None]) -> dict[str, Any]:
    """Registers of 4,096 service flows and tables, while probes pass the switch.

    Args:
        run: Records what is made.
        progress: Told what is being measured.

    Returns:
        The report of `docsis-switch bench control`, and the probes' one-way delay in
        microseconds before ("latency_idle_us") and during it ("latency_us").

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    bench_topology = topology()
    stations = [
        f"{bench_topology.servers[0].mac}@{RF_PORT}",
        f"{bench_topology.hosts[0].mac}@{FIRST_HOST_PORT}",
    ]
    arguments = [
        *("bench", "control", "--json"),
        *("--address", address()),
        *("--device-id", str(bench_topology.cable_modem.device_id)),
        *("--program", str(_PROGRAM)),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench("docsis-switch", run, Path(scratch))
        try:
            bench.build(provision=False)
            progress("a CMTS of 4,096 service flows")
            bridged = [word for station in stations for word in ("--bridge", station)]
            switch_report.run(*arguments, "--rounds", "1", *bridged)
            seconds = _ROUNDS * _ROUND_SECONDS
            idle = bench.latency(seconds)
            progress("registers and tables")
            load = switch_report.start(*arguments, "--rounds", str(_ROUNDS), "--no-push")
            try:
                loaded = bench.latency(seconds)
            finally:
                report = switch_report.finish(load)
            return {**report, "latency_idle_us": idle, "latency_us": loaded}
        finally:
            bench.close()
