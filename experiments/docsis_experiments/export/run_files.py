# SPDX-License-Identifier: Apache-2.0
"""Reads a run's samples over time from its folder of results. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from pyarrow import csv

from docsis_experiments.export.series import Floats, Samples
from docsis_testbed.errors import TestbedError

_MOST_BYTES: Final = 1 << 30
"""Bounds a file of samples."""

_MOST_DETAILS: Final = 256 << 20
"""Bounds details.json, in bytes."""

_MOST_FLOWS: Final = 10_000
_BYTES: Final = "_bytes"
"""Ends the name of a flow's column."""


@dataclass(frozen=True)
class Details:
    """What details.json says about an experiment.

    Attributes:
        started: When the experiment was started.
        always_downstream: Names of the flows that go downstream in any run: what users of the web,
            players of videos and those who ask for something receive.
    """

    started: datetime
    always_downstream: frozenset[str]

    @classmethod
    def read(cls, result: Path) -> Self:
        """Reads a folder's details.json.

        Raises:
            TestbedError: The file cannot be read, or is damaged.
        """
        path = result / "details.json"
        try:
            with path.open("rb") as file:
                text = file.read(_MOST_DETAILS + 1)
            if len(text) > _MOST_DETAILS:
                raise ValueError("it is too long")
            content = json.loads(text)
            return cls(
                datetime.fromisoformat(content["started"]).astimezone(),
                frozenset(
                    str(one["name"])
                    for plan in content["plans"].values()
                    for kind in ("users", "videos", "askers")
                    for one in plan.get(kind, ())
                ),
            )
        except OSError as error:
            raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
        except KeyError as error:
            raise TestbedError(f"{path}: is damaged (it has no {error.args[0]})") from None
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise TestbedError(f"{path}: is damaged ({str(error)[:200]})") from None


def received(folder: Path) -> Mapping[str, Samples]:
    """Reads how many bytes each flow had received by when.

    Args:
        folder: The run's.

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


def delays(folder: Path) -> Mapping[str, Samples]:
    """Reads the one-way latency less propagation of each sampled packet, milliseconds.

    Args:
        folder: The run's.

    Returns:
        By the group of the traffic, in the order of sending; NaN where a packet was lost.

    Raises:
        TestbedError: The file cannot be read, or is damaged.
    """
    return _by_group(folder / "packets.csv", "one_way_delay_ms")


def round_trips(folder: Path) -> Mapping[str, Samples]:
    """Reads round trips with their propagation, milliseconds; not every run has any.

    Args:
        folder: The run's.

    Returns:
        By the group of the traffic, in the order of sending; NaN where nothing came back.

    Raises:
        TestbedError: The file cannot be read, or is damaged.
    """
    path = folder / "round-trips.csv"
    return _by_group(path, "round_trip_ms") if path.exists() else {}


def _by_group(path: Path, value: str) -> Mapping[str, Samples]:
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
        return csv.read_csv(
            path,
            # No threads that might still run while the program ends; see runs/files.py.
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=csv.ConvertOptions(column_types=dict(types)),
        )
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
