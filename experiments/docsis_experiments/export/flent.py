# SPDX-License-Identifier: Apache-2.0
"""Results as flent's data files (https://flent.org), version 4 of its format: NAME.flent.gz.

A file has one run: a queue manager under its traffic, as flent's test tcp_nup (or tcp_ndown) would
have measured it, so that flent's own plots of that test draw it:

    TCP upload::1 ...   goodput of each flow, Mbit/s, in steps of 0.2 s
    TCP upload sum      of all flows together; avg: their mean; fairness: Jain's index
    Ping (ms) ICMP      latency, milliseconds

Time 0 is the start of the run, ramp-up included. flent's ping is a round trip; here it is one-way
latency less propagation, what queues add, unless the run has round trips. The file's note says so.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from docsis_experiments.comparison.reading import checked_summary
from docsis_experiments.experiment.models import slug
from docsis_experiments.export.run_files import Floats, Samples, delays, received
from docsis_testbed.errors import TestbedError
from docsis_testbed.versions import package

SUFFIX: Final = ".flent.gz"

STEP_S: Final = 0.2
"""Seconds between two values: flent's own default."""

_FORMAT: Final = 4
_LONGEST_S: Final = 24 * 3600.0
_TESTS: Final = {"upstream": ("tcp_nup", "TCP upload"), "downstream": ("tcp_ndown", "TCP download")}
_STREAMS: Final = {"upstream": "upload_streams", "downstream": "download_streams"}
_PING: Final = "Ping (ms) ICMP"
_MOST_DETAILS: Final = 256 << 20


@dataclass(frozen=True)
class _Ping:
    """The traffic that stands for flent's ping.

    Attributes:
        samples: Milliseconds.
        words: What they are.
    """

    samples: Samples
    words: str


def export(result: Path, folder: Path) -> list[Path]:
    """Writes a file for each run of a folder of results.

    Args:
        result: Folder of `docsis-p4 run` or `demo`, of single runs.
        folder: Gets the files; made where it is missing.

    Returns:
        The files, in the order of the runs.

    Raises:
        TestbedError: The folder cannot be used, a file is there already, or cannot be written; then
            no file of it has been written.
    """
    experiment, summary = checked_summary(result)
    if experiment != "scenario":
        raise TestbedError(
            f"{result}: is of many runs, of which no course over time is kept; give a folder of "
            "run or demo without --seeds and --repeat"
        )
    started = _started(result)
    made: dict[Path, dict[str, Any]] = {}
    for run in summary["runs"]:
        path = folder / f"{slug(summary['name'])}-{slug(run['label'])}{SUFFIX}"
        if path.exists():
            raise TestbedError(f"{path}: is there already; name another folder with --output")
        made[path] = _document(result, summary, run, started, path.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in made.items():
            text = json.dumps(content, allow_nan=False, sort_keys=True)
            with path.open("xb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                packed.write(text.encode())
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be written ({error.strerror})") from None
    return list(made)


def _document(
    result: Path, summary: Mapping[str, Any], run: Mapping[str, Any], started: datetime, file: str
) -> dict[str, Any]:
    samples = result / "runs" / slug(run["label"])
    direction = run["direction"]
    test, transfers = _TESTS[direction]
    flows = received(samples)
    ping = _ping(samples, run["groups"])
    times = [one.time_s for one in (*flows.values(), *([ping.samples] if ping else []))]
    times = [time[np.isfinite(time)] for time in times if time.size]
    if not any(time.size for time in times):
        raise TestbedError(
            f"{samples}: nothing was measured over time, so flent could show nothing"
        )
    first = min(float(time.min()) for time in times if time.size)
    last = max(float(time.max()) for time in times if time.size)
    if last - first > _LONGEST_S:
        raise TestbedError(f"{samples}: is longer than a day, or damaged")
    axis = first + STEP_S * np.arange(math.floor((last - first) / STEP_S) + 1)
    series = _transfers(flows, axis, transfers)
    units = {name: "Idx" if "fairness" in name else "Mbits/s" for name in series}
    if ping is not None:
        series[_PING], units[_PING] = _means(ping.samples, axis), "ms"
    epoch = started.timestamp()
    raw = {
        name: _raw(Samples(axis, values), epoch - first)
        for name, values in series.items()
        if name.startswith(f"{transfers}::")
    }
    if ping is not None:
        raw[_PING] = _raw(ping.samples, epoch - first)
    total = float(last - first)
    began = f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {
        "version": _FORMAT,
        "x_values": [round(float(time - first), 6) for time in axis],
        "results": {name: _values(values) for name, values in series.items()},
        "raw_values": raw,
        "metadata": {
            "NAME": test,
            # What a legend says: it has to tell the runs of a plot apart in few words.
            "TITLE": str(run["name"]),
            "TIME": began,
            "T0": began,
            "DATA_FILENAME": file,
            "HOST": f"{summary['topology']} (servers)",
            "HOSTS": [f"{summary['topology']} (servers)"],
            "LOCAL_HOST": f"{summary['topology']} (hosts)",
            "LENGTH": float(summary["measured_seconds"]),
            "TOTAL_LENGTH": total,
            "STEP_SIZE": STEP_S,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {_STREAMS[direction]: str(len(flows))},
            "FLENT_VERSION": f"docsis-p4 {package('docsis-p4')}",
            "NOTE": _note(summary, run, ping, -first),
            "SERIES_META": {
                name: {"UNITS": units[name], **_mean(values)} for name, values in series.items()
            },
            **dict.fromkeys(
                (
                    "BATCH_NAME",
                    "BATCH_TIME",
                    "BATCH_TITLE",
                    "BATCH_UUID",
                    "HTTP_GETTER_URLLIST",
                    "HTTP_GETTER_DNS",
                    "HTTP_GETTER_WORKERS",
                )
            ),
        },
    }


def _note(
    summary: Mapping[str, Any], run: Mapping[str, Any], ping: _Ping | None, ramp_up: float
) -> str:
    where = (
        f"virtual time, seed {summary['seed']}"
        if summary.get("stage") == "virtual"
        else f"Mininet, {summary['target']}"
    )
    words = [
        f"{summary['title']}: {run['manager']} on {summary['topology']} ({summary['tier']}), "
        f"{where}.",
        f"The measured time begins {ramp_up:.1f} s after time 0.",
    ]
    if ping is not None:
        words.append(f"Ping is {ping.words}.")
    return " ".join(words)


def _ping(samples: Path, groups: Mapping[str, Mapping[str, Any]]) -> _Ping | None:
    """The latency that flent shows: round trips, else of traffic that is no transfer, else any."""
    if (samples / "round-trips.csv").exists():
        found = delays(samples, "round-trips.csv")
        for name, one in found.items():
            return _Ping(one, f"the round trip of {name}, with propagation")
    found = delays(samples)
    probes = [name for name in found if "goodput_mbps" not in groups.get(name, {})]
    for name in (*probes, *found):
        return _Ping(found[name], f"the one-way latency of {name}, less propagation")
    return None


def _transfers(flows: Mapping[str, Samples], axis: Floats, transfers: str) -> dict[str, Floats]:
    """Goodput of flows over the step that ends at each time, Mbit/s, and what is made of it."""
    rates = {
        f"{transfers}::{number}": _rate(flow, axis) for number, flow in enumerate(flows.values(), 1)
    }
    if not rates:
        return {}
    each = np.array(list(rates.values()))
    known = np.isfinite(each)
    count = known.sum(axis=0)
    total = np.where(known, each, 0).sum(axis=0)
    squares = np.where(known, each**2, 0).sum(axis=0)
    nothing = np.full(axis.size, np.nan)
    return {
        **rates,
        f"{transfers} sum": np.where(count > 0, total, np.nan),
        f"{transfers} avg": np.divide(total, count, out=nothing.copy(), where=count > 0),
        f"{transfers} fairness": np.divide(
            total**2, count * squares, out=nothing.copy(), where=squares > 0
        ),
    }


def _rate(flow: Samples, axis: Floats) -> Floats:
    """Mbit/s over the step before each time; NaN where the flow was not looked at."""
    if flow.time_s.size == 0:
        return np.full(axis.size, np.nan)
    counts = np.interp(axis, flow.time_s, flow.value)
    rates = np.concatenate([[np.nan], np.diff(counts) * 8e-6 / STEP_S])
    slack = STEP_S / 2
    seen = (axis - STEP_S >= flow.time_s[0] - slack) & (axis <= flow.time_s[-1] + slack)
    return np.where(seen, rates, np.nan)


def _means(samples: Samples, axis: Floats) -> Floats:
    """The mean of what was measured around each time; NaN where nothing was."""
    known = np.isfinite(samples.value)
    place = np.rint((samples.time_s[known] - axis[0]) / STEP_S).astype(np.intp)
    place = np.clip(place, 0, axis.size - 1)
    count = np.bincount(place, minlength=axis.size)
    total = np.bincount(place, weights=samples.value[known], minlength=axis.size)
    return np.divide(total, count, out=np.full(axis.size, np.nan), where=count > 0)


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


def _started(result: Path) -> datetime:
    """When the experiment was started, as details.json has it.

    Raises:
        TestbedError: The file cannot be read, or is damaged.
    """
    path = result / "details.json"
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_DETAILS + 1)
        if len(text) > _MOST_DETAILS:
            raise ValueError("it is too long")
        return datetime.fromisoformat(json.loads(text)["started"]).astimezone()
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise TestbedError(f"{path}: is damaged ({str(error)[:200]})") from None
