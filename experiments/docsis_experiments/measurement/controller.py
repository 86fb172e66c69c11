# SPDX-License-Identifier: Apache-2.0
"""The controller's files: its own time keeping, and its samples of a queue."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from docsis_experiments.measurement.record import Control
from docsis_testbed.errors import TestbedError

_COLUMNS: Final = (
    "monotonic_s",
    "qdelay_ms",
    "drop_prob",
    "backlog_bytes",
    "msr_tokens_bytes",
    "rate_estimate_bps",
)
_BUCKET: Final = "msr_bucket_bytes"
"""A column that files from before 27 November 2026 do not have."""


def controller_figures(folder: Path) -> dict[str, Any]:
    """The controller's own record of its time keeping.

    Args:
        folder: Where it left stats.json.

    Raises:
        TestbedError: it left none.
    """
    path = folder / "stats.json"
    try:
        stats = json.loads(path.read_text())
        return {
            "updates": stats["updates"],
            "missed": stats["missed"],
            "lateness_ms": {key: stats["lateness_ms"][key] for key in ("p50", "p99", "max")},
        }
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise TestbedError(f"{path}: no statistics of the controller ({error!r})") from None


def control_samples(path: Path, service_flow: int, origin_ns: int) -> Control:
    """The controller's samples of a service flow; none when there was no control loop.

    Args:
        path: samples-DEVICE.csv.
        service_flow: Its index in the pipeline.
        origin_ns: Time 0 of the record on the clock of the samples, nanoseconds.
    """
    if not path.is_file():
        return Control()
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        there = _BUCKET in (reader.fieldnames or ())
        columns = (*_COLUMNS, _BUCKET) if there else _COLUMNS
        rows = [
            [float(row[key] or math.nan) for key in columns]
            for row in reader
            if int(row["service_flow"]) == service_flow
        ]
    time_s, qdelay_ms, drop_prob, backlog, tokens, rate, *bucket = (
        np.array(rows).reshape(-1, len(columns)).T
    )
    return Control(
        time_s=(time_s * 1e9 - origin_ns) / 1e9,
        qdelay_ms=qdelay_ms,
        drop_prob=drop_prob,
        backlog_bytes=backlog,
        tokens_bytes=tokens,
        bucket_bytes=bucket[0] if bucket else np.zeros(0),
        rate_mbps=rate / 1e6,
    )
