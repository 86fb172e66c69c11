# SPDX-License-Identifier: Apache-2.0
"""The content of one of flent's data files, version 4 of its format.

A file has one run: a queue manager under its traffic, as flent's test tcp_nup (or tcp_ndown) would
have measured it, so that all plots of that test can draw it:

    TCP upload::1 ...   goodput of each flow, Mbit/s, in steps of 0.2 s
    TCP upload sum      of all flows together; avg: their mean; fairness: Jain's index
    Ping (ms) ICMP      latency, milliseconds

flent measures for five seconds before it starts the load and after it ends it, and its
distributions and boxes leave those out. So the measured time begins at 5 s here and ends 5 s before
the end, and flent's figures are of the measured time. flent's ping is a round trip; here it is
one-way latency less propagation unless the run has round trips. The file's note says which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from docsis_experiments.experiment.models import slug
from docsis_experiments.export import run_files
from docsis_experiments.export.run_files import Details
from docsis_experiments.export.series import Floats, Samples, aggregates, means, rate
from docsis_testbed.errors import TestbedError
from docsis_testbed.versions import package

STEP_S: Final = 0.2
"""Seconds between two values: flent's own default."""

MARGIN_S: Final = 5.0
"""Seconds before and after the load that flent's plots leave out: flent's own default."""

_FORMAT: Final = 4
_LONGEST_S: Final = 24 * 3600.0
_MOST_VALUES: Final = 20_000_000
"""Bounds the flows times steps of a run, whose files may come from anywhere."""

_TESTS: Final = {"upstream": ("tcp_nup", "TCP upload"), "downstream": ("tcp_ndown", "TCP download")}
_STREAMS: Final = {"upstream": "upload_streams", "downstream": "download_streams"}
_PING: Final = "Ping (ms) ICMP"
_UNSET: Final = (
    *("BATCH_NAME", "BATCH_TIME", "BATCH_TITLE", "BATCH_UUID"),
    *("HTTP_GETTER_URLLIST", "HTTP_GETTER_DNS", "HTTP_GETTER_WORKERS"),
)
"""What flent records of a test and runs of ours do not have."""


@dataclass(frozen=True)
class _Ping:
    """The latency that stands where flent has its ping.

    Attributes:
        samples: Milliseconds.
        words: The traffic whose latency it is, and the latency's kind.
    """

    samples: Samples
    words: str


def document(
    result: Path, summary: Mapping[str, Any], run: Mapping[str, Any], details: Details, file: str
) -> dict[str, Any]:
    """Returns the content of the data file of a run, ready for JSON.

    Args:
        result: Folder of the results.
        summary: Its summary, which has been checked.
        run: The run in the summary.
        details: What the folder's details.json says.
        file: Name of the data file.

    Raises:
        TestbedError: A file of the run is missing or damaged, or has nothing that flent could
            show.
    """
    folder = result / "runs" / slug(run["label"])
    direction = run["direction"]
    test, transfers = _TESTS[direction]
    other_way = details.always_downstream if direction == "upstream" else frozenset()
    received = run_files.received(folder)
    flows = [samples for name, samples in received.items() if name not in other_way]
    ping = _ping(folder, run["groups"])
    axis = _axis(folder, summary["measured_seconds"], len(flows))
    ramp_up_s = summary["ramp_up_seconds"]
    if ramp_up_s > _LONGEST_S:
        raise TestbedError(f"{folder}: had a ramp-up of more than a day, or is damaged")
    rates = {f"{transfers}::{number}": rate(one, axis) for number, one in enumerate(flows, 1)}
    made = {f"{transfers} {name}": values for name, values in aggregates(rates).items()}
    series = {**rates, **made}
    units = {name: "Idx" if name.endswith("fairness") else "Mbits/s" for name in series}
    # flent's raw values have the clock of the machine; time 0 of the axis is T0. When each run
    # began is not kept, so all have the times of one that began with the experiment.
    began = details.started + timedelta(seconds=ramp_up_s - MARGIN_S)
    offset = began.timestamp() - float(axis[0])
    raw = {name: _raw(Samples(axis, values), offset) for name, values in rates.items()}
    if ping is not None:
        shown = (ping.samples.time_s >= axis[0]) & (ping.samples.time_s <= axis[-1])
        samples = Samples(ping.samples.time_s[shown], ping.samples.value[shown])
        series[_PING], units[_PING] = means(samples, axis), "ms"
        raw[_PING] = _raw(samples, offset)
    if not any(raw.values()):
        raise TestbedError(
            f"{folder}: has no samples over time of transfers or latency, which flent could show"
        )
    left_out = [name for name in received if name in other_way]
    began_text = f"{began.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {
        "version": _FORMAT,
        "x_values": [round(float(time - axis[0]), 6) for time in axis],
        "results": {name: _values(values) for name, values in series.items()},
        "raw_values": raw,
        "metadata": {
            "NAME": test,
            # flent's legends have it, and it tells the runs of a plot apart.
            "TITLE": str(run["name"]),
            "TIME": began_text,
            "T0": began_text,
            "DATA_FILENAME": file,
            "HOST": f"{summary['topology']} (servers)",
            "HOSTS": [f"{summary['topology']} (servers)"],
            "LOCAL_HOST": f"{summary['topology']} (hosts)",
            "LENGTH": float(summary["measured_seconds"]),
            "TOTAL_LENGTH": float(summary["measured_seconds"]) + 2 * MARGIN_S,
            "STEP_SIZE": STEP_S,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {_STREAMS[direction]: str(len(flows))},
            "FLENT_VERSION": f"docsis-p4 {package('docsis-p4')}",
            "NOTE": _note(summary, run, ping, left_out),
            "SERIES_META": {
                name: {"UNITS": units[name], **_mean(values)} for name, values in series.items()
            },
            **dict.fromkeys(_UNSET),
        },
    }


def _axis(folder: Path, measured_s: float, flows: int) -> Floats:
    """Returns the times of a series' values, seconds from the start of the measured time."""
    if not 0 < measured_s <= _LONGEST_S:
        raise TestbedError(f"{folder}: was measured for more than a day, or is damaged")
    steps = math.ceil((measured_s + 2 * MARGIN_S) / STEP_S - 1e-6) + 1
    if flows * steps > _MOST_VALUES:
        raise TestbedError(
            f"{folder}: has {flows} flows for {measured_s:g} s, which are more than "
            f"{_MOST_VALUES} values for flent"
        )
    return np.asarray(STEP_S * np.arange(steps) - MARGIN_S, np.float64)


def _ping(folder: Path, groups: Mapping[str, Mapping[str, Any]]) -> _Ping | None:
    """Chooses round trips, else latency of traffic that is no transfer, else any latency."""
    trips = run_files.round_trips(folder)
    if trips:
        name, samples = next(iter(trips.items()))
        return _Ping(samples, f"the round trip of {name}, with propagation")
    found = run_files.delays(folder)
    probes = [name for name in found if "goodput_mbps" not in groups.get(name, {})]
    chosen = next(iter((*probes, *found)), None)
    if chosen is None:
        return None
    return _Ping(found[chosen], f"the one-way latency of {chosen}, less propagation")


def _note(
    summary: Mapping[str, Any], run: Mapping[str, Any], ping: _Ping | None, left_out: list[str]
) -> str:
    where = (
        f"virtual time, seed {summary.get('seed', 'unknown')}"
        if summary.get("stage") == "virtual"
        else f"Mininet, {summary['target']}"
    )
    tier = f" ({summary['tier']})" if "tier" in summary else ""
    sentences = [
        f"{summary['title']}: {run['manager']} on {summary['topology']}{tier}, {where}.",
        f"The measured time is from {MARGIN_S:g} s to {MARGIN_S + summary['measured_seconds']:g} "
        "s; traffic runs before and after it.",
    ]
    if ping is not None:
        sentences.append(f"Ping is {ping.words}.")
    if left_out:
        sentences.append(f"Downstream flows are left out: {', '.join(left_out)}.")
    if run["faults"]:
        sentences.append(f"The run gets no verdict: {'; '.join(run['faults'])}.")
    if not run["timing"]["valid"]:
        sentences.append(f"The run gets no verdict: {run['timing']['words']}.")
    return " ".join(sentences)


def _values(values: Floats) -> list[float | None]:
    return [round(float(value), 6) if math.isfinite(value) else None for value in values]


def _raw(samples: Samples, offset: float) -> list[dict[str, float]]:
    known = np.isfinite(samples.value) & np.isfinite(samples.time_s)
    return [
        {"t": round(float(time) + offset, 6), "val": round(float(value), 6)}
        for time, value in zip(samples.time_s[known], samples.value[known], strict=True)
    ]


def _mean(values: Floats) -> dict[str, float]:
    known = values[np.isfinite(values)]
    return {"MEAN_VALUE": round(float(known.mean()), 6)} if known.size else {}
