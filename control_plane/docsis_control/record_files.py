# SPDX-License-Identifier: Apache-2.0
"""The record of a control loop as CSV files."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from docsis_control.law.docsis_pie import Status
from docsis_control.own_files import created
from docsis_control.record_ring import Records

_TICK_COLUMNS: Final = ("monotonic_s", "lateness_ms", "cycle_ms", "missed")
_SAMPLE_COLUMNS: Final = (
    "monotonic_s",
    "switch_time_us",
    "service_flow",
    "backlog_bytes",
    "msr_tokens_bytes",
    "qdelay_ms",
    "drop_prob",
    "burst_allowance_ms",
    "state",
    "rate_estimate_bps",
    "msr_bucket_bytes",
)
_STATES: Final = {status.value: status.name for status in Status}
_END: Final = "\r\n"
"""A line of a CSV file ends with CR LF (RFC 4180, section 2)."""


def write_ticks(path: Path, pieces: Iterable[Records]) -> None:
    """Writes `DeviceRecord.ticks`."""
    rows = (
        f"{deadline / 1e9:.6f},{lateness / 1e6:.3f},{cycle / 1e6:.3f},{missed}"
        for piece in pieces
        for deadline, lateness, cycle, missed in piece.tolist()
    )
    _write(path, _TICK_COLUMNS, rows)


def write_samples(path: Path, pieces: Iterable[Records]) -> None:
    """Writes `DeviceRecord.samples`."""
    _write(path, _SAMPLE_COLUMNS, _samples(pieces))


def _samples(pieces: Iterable[Records]) -> Iterator[str]:
    """Yields lines of samples.

    The samples of one update have their times in common, and most service flows of a large system
    are as they were in the update before, so words from there are used again.
    """
    times, at = b"", ""
    known: dict[bytes, tuple[bytes, str]] = {}
    for piece in pieces:
        behind_times, behind_flow = (_offset(piece, name) for name in ("service_flow", "backlog"))
        for octets in piece.view(f"V{piece.dtype.itemsize}").tolist():
            if times != octets[:behind_times]:
                times = octets[:behind_times]
                monotonic_ns, switch_us, *_ = np.frombuffer(octets, piece.dtype).item()
                at = f"{monotonic_ns / 1e9:.6f},{switch_us}"
            values, flow = octets[behind_times:], octets[behind_times:behind_flow]
            before = known.get(flow)
            if before is None or before[0] != values:
                before = values, _in_words(*np.frombuffer(octets, piece.dtype).item()[2:])
                known[flow] = before
            yield f"{at},{before[1]}"


def _offset(records: Records, field: str) -> int:
    fields = records.dtype.fields
    assert fields is not None, "records have fields"
    return fields[field][1]


def _in_words(
    flow: int,
    backlog: int,
    tokens: float,
    bucket: int,
    qdelay: float,
    rate: float,
    drop_prob: float,
    burst_allowance: int,
    status: int,
) -> str:
    # Nothing where nobody measured the rate.
    measured = "" if math.isnan(rate) else f"{rate:.0f}"
    return (
        f"{flow},{backlog},{tokens:.1f},{qdelay * 1e3:.3f},{drop_prob:.9f},"
        f"{burst_allowance / 1e3:.1f},{_STATES[status]},{measured},{bucket}"
    )


def _write(path: Path, columns: Iterable[str], rows: Iterable[str]) -> None:
    with created(path, newline="") as file:
        file.write(",".join(columns) + _END)
        file.writelines(row + _END for row in rows)
