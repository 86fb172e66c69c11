# SPDX-License-Identifier: Apache-2.0
"""A picture of a benchmark: programs, throughput and delay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.bench.forwarding import FRAME_BYTES, Result
from docsis_experiments.reports.plots.look import COLOURS, GREY, RC

_COLOURS: Final = {
    "forwarder": GREY,
    "docsis-switch": COLOURS[2],
    "simple_switch_grpc": COLOURS[1],
}

_LENGTH_COLOURS: Final = (COLOURS[0], COLOURS[4])


def overview(
    programs: Mapping[str, Any],
    results: Mapping[str, Result],
    labels: Mapping[str, str],
    path: Path,
) -> None:
    """Nanoseconds a packet by program; shares of the bare forwarder; delays.

    Args:
        programs: Report of `docsis-switch bench programs`.
        results: What each switch carried, by name.
        labels: Names for people.
        path: PNG file to write.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11, 3.9), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.3, 1))
        _programs(left, programs)
        _shares(middle, results)
        _delays(right, results)
        handles = [mpl.patches.Patch(color=_COLOURS[kind], label=labels[kind]) for kind in results]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        figure.savefig(path)


def _programs(axes: Any, report: Mapping[str, Any]) -> None:
    rows = report["results"]
    names = list(dict.fromkeys(row["program"] for row in rows))
    lengths = sorted({row["frame_bytes"] for row in rows})
    width = 0.8 / len(lengths)
    for n, length in enumerate(lengths):
        heights = [
            next(
                row["ns_per_packet"]
                for row in rows
                if row["program"] == name and row["frame_bytes"] == length
            )
            for name in names
        ]
        places = np.arange(len(names)) + (n - (len(lengths) - 1) / 2) * width
        colour = _LENGTH_COLOURS[n % len(_LENGTH_COLOURS)]
        bars = axes.bar(places, heights, 0.92 * width, color=colour, label=f"{length} bytes")
        axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=1)
    axes.set_xticks(np.arange(len(names)), [f"{name}.p4" for name in names])
    axes.set_ylabel("ns a packet")
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.15)
    axes.legend(loc="upper left")
    axes.set_title("Programs, in-process")


def _shares(axes: Any, results: Mapping[str, Result]) -> None:
    base = results["forwarder"]
    tests = ["TCP", *(f"UDP {size} B" for size in FRAME_BYTES)]
    width = 0.8 / len(results)
    for n, (kind, result) in enumerate(results.items()):
        heights = [
            result.tcp_mbps / base.tcp_mbps,
            *(result.udp_kpps[size] / base.udp_kpps[size] for size in FRAME_BYTES),
        ]
        places = np.arange(len(tests)) + (n - (len(results) - 1) / 2) * width
        bars = axes.bar(places, heights, 0.92 * width, color=_COLOURS[kind])
        axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=1)
    axes.set_xticks(np.arange(len(tests)), tests)
    axes.set_ylabel("share of the bare forwarder")
    axes.grid(visible=False, axis="x")
    axes.set_title("Throughput")


def _delays(axes: Any, results: Mapping[str, Result]) -> None:
    quantiles = ("p50", "p99")
    width = 0.8 / len(results)
    for n, (kind, result) in enumerate(results.items()):
        heights = [result.latency_us[q] for q in quantiles]
        places = np.arange(len(quantiles)) + (n - (len(results) - 1) / 2) * width
        bars = axes.bar(places, heights, 0.92 * width, color=_COLOURS[kind])
        axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=1)
    axes.set_xticks(np.arange(len(quantiles)), ["median", "99th percentile"])
    axes.set_ylabel("one-way delay, us")
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.15)
    axes.set_title("Delay under light load")
