# SPDX-License-Identifier: Apache-2.0
"""Reads a run's samples over time from its folder of results. Nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from docsis_testbed.errors import TestbedError

Floats = npt.NDArray[np.float64]

_MOST_BYTES: Final = 1 << 30
"""Of a file."""

_MOST_FLOWS: Final = 10_000
_BYTES: Final = "_bytes"
"""Ends the name of a flow's column."""


@dataclass(frozen=True)
class Samples:
    """What was measured of something over time.

    Attributes:
        time_s: When, from the start of the measured time; shape (samples,).
        value: What; shape (samples,). NaN where nothing was to be measured.
    """

    time_s: Floats
    value: Floats


def received(folder: Path) -> Mapping[str, Samples]:
    """Reads how many bytes each flow had received by when.

    Args:
        folder: Of the run.

    Returns:
        By the flow's name.

    Raises:
        TestbedError: The file cannot be read, or is damaged.
    """
    path = folder / "goodput.csv"
    table = _table(path, {})
    if table.num_columns > _MOST_FLOWS:
        raise TestbedError(f"{path}: has {table.num_columns} columns, and may have {_MOST_FLOWS}")
    return {
        name.removesuffix(_BYTES): Samples(
            _floats(table, "time_s", path), _floats(table, name, path)
        )
        for name in table.column_names
        if name.endswith(_BYTES)
    }


def delays(folder: Path, name: str = "packets.csv") -> Mapping[str, Samples]:
    """Reads how long each packet that was looked at took, milliseconds; NaN where it was lost.

    Args:
        folder: Of the run.
        name: Of the file: packets.csv, or round-trips.csv, which not every run has.

    Returns:
        By the group of the traffic, in the order of sending.

    Raises:
        TestbedError: The file cannot be read, or is damaged.
    """
    path = folder / name
    value = "round_trip_ms" if name == "round-trips.csv" else "one_way_delay_ms"
    table = _table(path, {"group": pa.string(), "time_s": pa.float64(), value: pa.float64()})
    try:
        groups = np.asarray(table["group"].to_pylist())
    except KeyError:
        raise TestbedError(f"{path}: is damaged (it has no column group)") from None
    time, delay = _floats(table, "time_s", path), _floats(table, value, path)
    found = {}
    for group in dict.fromkeys(groups.tolist()):
        chosen = (groups == group) & np.isfinite(time)
        order = np.argsort(time[chosen], kind="stable")
        found[str(group)] = Samples(time[chosen][order], delay[chosen][order])
    return found


def _table(path: Path, types: Mapping[str, Any]) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TestbedError(f"{path}: is longer than {_MOST_BYTES} bytes")
        return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=dict(types)))
    except OSError as error:
        raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
    except (pa.ArrowException, ValueError) as error:
        raise TestbedError(f"{path}: is damaged ({str(error).splitlines()[0][:200]})") from None


def _floats(table: Any, name: str, path: Path) -> Floats:
    try:
        column = table[name].cast(pa.float64())
    except KeyError:
        raise TestbedError(f"{path}: is damaged (it has no column {name})") from None
    except pa.ArrowException as error:
        raise TestbedError(f"{path}: is damaged ({str(error).splitlines()[0][:200]})") from None
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
