# SPDX-License-Identifier: Apache-2.0
"""The samples of receivers, ten a second, read between two times. Pure but for the file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docsis_testbed.errors import TestbedError


def read_samples(
    path: Path,
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]]]:
    """When the receiver looked, and what it had received of each stream, bytes; and `LOST`.

    Raises:
        TestbedError: The file is not there, has no sample, or is not what receivers write.
    """
    try:
        text = path.read_text()
        # The last line may have been cut when the receiver was ended.
        lines = text.rpartition("\n")[0].splitlines()
        if len(lines) < 2:
            raise TestbedError(f"{path}: the receiver has left no sample; its log may say why")
        [names] = csv.reader(lines[:1])
        table = np.array([_numbers(line, len(names)) for line in lines[1:]], np.int64)
    except (OSError, ValueError, OverflowError, csv.Error) as error:
        raise TestbedError(
            f"{path}: no samples of the receiver ({error}); its log may say why, and another try "
            "may help"
        ) from None
    return table[:, 0], {name: table[:, i] for i, name in enumerate(names[1:], 1)}


def _numbers(line: str, count: int) -> list[int]:
    """The whole numbers of a line.

    Raises:
        ValueError: They are not as many, or something else is among them.
    """
    found = [int(field) for field in line.split(",")]
    if len(found) != count:
        raise ValueError(f"{len(found)} numbers in a line, and {count} names")
    return found


def counted_between(
    times: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], first: int, last: int
) -> int:
    """Returns by how much a count rose, from the last sample before `first` to one after `last`."""
    start = max(0, int(np.searchsorted(times, first, side="right")) - 1)
    end = min(times.size - 1, int(np.searchsorted(times, last)))
    return int(counts[end] - counts[start])


def rate_between(
    times: npt.NDArray[np.int64], received: npt.NDArray[np.int64], first: int, last: int
) -> float:
    """Mean rate of a time, bit/s; the count is interpolated at its ends."""
    start, end = np.interp([first, last], times, received)
    return float(8e9 * (end - start) / (last - first))
