# SPDX-License-Identifier: Apache-2.0
"""Reads a run's samples over time from its folder of results. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

import numpy as np

from docsis_experiments.experiment.always_downstream import PARTS
from docsis_experiments.export.series import Samples
from docsis_experiments.runs.csv_file import CsvFile
from docsis_testbed.errors import TestbedError

_MOST_DETAILS: Final = 256 << 20
"""Bounds details.json, in bytes."""

_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9999

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
                _started(content["started"]),
                frozenset(
                    str(one["name"])
                    for plan in content["plans"].values()
                    for part in PARTS
                    for one in plan.get(part, ())
                ),
            )
        except OSError as error:
            raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
        except KeyError as error:
            raise TestbedError(f"{path}: is damaged (it has no {error.args[0]})") from None
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise TestbedError(f"{path}: is damaged ({str(error)[:200]})") from None


def _started(text: str) -> datetime:
    """When an experiment was started; older folders have no zone, and then it is this machine's.

    Raises:
        ValueError: It is no time, or a run's times around it could not be told.
    """
    started = datetime.fromisoformat(text).astimezone()
    if not _FIRST_YEAR <= started.year < _LAST_YEAR:
        raise ValueError(f"it was started in the year {started.year}")
    return started


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
    file = CsvFile.read(path)
    if len(file.names) > _MOST_FLOWS:
        raise TestbedError(f"{path}: has {len(file.names)} columns, and may have {_MOST_FLOWS}")
    return {
        name.removesuffix(_BYTES): Samples(file.floats("time_s"), file.floats(name))
        for name in file.names
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
    file = CsvFile.read(path, words=("group",), floats=("time_s", value))
    groups, time, delay = file.words("group"), file.floats("time_s"), file.floats(value)
    found = {}
    for group in dict.fromkeys(groups.tolist()):
        chosen = (groups == group) & np.isfinite(time)
        order = np.argsort(time[chosen], kind="stable")
        found[str(group)] = Samples(time[chosen][order], delay[chosen][order])
    return found
