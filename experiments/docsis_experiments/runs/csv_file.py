# SPDX-License-Identifier: Apache-2.0
"""Reads the CSV files of a run's folder. Nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from docsis_testbed.errors import TestbedError

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.object_]
"""Texts of Python."""

_MOST_BYTES: Final = 1 << 30
"""Bounds a file."""

_MOST_WORDS: Final = 10_000
"""How many different texts a column may have: names of groups, flows and directions."""

_LONGEST_WORD: Final = 200

_MOST_COLUMNS: Final = 10_001
"""The most columns: the time, and a column for each flow."""

_LONGEST_HEAD: Final = _MOST_COLUMNS * (_LONGEST_WORD + 1)
"""Characters of the line that names the columns."""


class CsvFile:
    """A file's columns.

    Attributes:
        names: Names of its columns.
    """

    def __init__(self, path: Path, table: Any) -> None:
        """Args: where it is, and what Arrow has read of it."""
        self._path = path
        self._table = table
        self.names: Sequence[str] = table.column_names

    @classmethod
    def read(cls, path: Path, words: Sequence[str] = (), floats: Sequence[str] = ()) -> Self:
        """Reads a file.

        Args:
            path: Path of it.
            words: Columns that are text, whatever is in them.
            floats: Columns that are numbers, also where there is none in a row.

        Raises:
            TestbedError: The file cannot be read, is too long or too wide, or is damaged.
        """
        types = {name: pa.string() for name in words} | {name: pa.float64() for name in floats}
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise TestbedError(f"{path}: is longer than {_MOST_BYTES} bytes")
            _check_columns(path)
            table = csv.read_csv(
                path,
                # No threads that might still run while the program ends; see runs/files.py.
                read_options=csv.ReadOptions(use_threads=False),
                convert_options=csv.ConvertOptions(column_types=types),
            )
        except OSError as error:
            raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
        except (pa.ArrowException, ValueError) as error:
            raise _damaged(path, error) from None
        return cls(path, table)

    def floats(self, name: str) -> Floats:
        """A column's numbers; NaN where there is none.

        Raises:
            TestbedError: There is no such column, or it has something else than numbers.
        """
        try:
            column = self._column(name).cast(pa.float64())
        except pa.ArrowException as error:
            raise _damaged(self._path, error) from None
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)

    def words(self, name: str) -> Words:
        """A column's texts, of which few are different.

        Raises:
            TestbedError: There is no such column, or it has longer or more texts than names are.
        """
        column = self._column(name).combine_chunks().dictionary_encode()
        words = column.dictionary.to_pylist()
        if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
            raise TestbedError(
                f"{self._path}: is damaged (column {name} has more than {_MOST_WORDS} names, "
                f"or one of more than {_LONGEST_WORD} characters)"
            )
        # As many texts as there are different ones, however long the longest is.
        found: Words = np.asarray(words, np.object_)[column.indices.to_numpy(zero_copy_only=False)]
        return found

    def _column(self, name: str) -> Any:
        try:
            return self._table[name]
        except KeyError:
            count = self.names.count(name)
            words = f"{count} columns {name}" if count else f"no column {name}"
            raise TestbedError(f"{self._path}: is damaged (it has {words})") from None


def _check_columns(path: Path) -> None:
    """Counts columns before Arrow makes them, each of which takes kilobytes.

    Raises:
        TestbedError: There are too many, or their names are too long.
        OSError: The file cannot be read.
    """
    with path.open(errors="replace") as file:
        head = file.readline(_LONGEST_HEAD + 1)
    # A name in quotation marks may have commas; names of ours have none.
    columns = head.count(",") + 1
    if columns > _MOST_COLUMNS or len(head) > _LONGEST_HEAD:
        raise TestbedError(
            f"{path}: has more than {_MOST_COLUMNS} columns, or longer names than they have"
        )


def _damaged(path: Path, error: Exception) -> TestbedError:
    """The sentence about a file that makes no sense."""
    first, *_ = str(error).splitlines() or [""]
    return TestbedError(f"{path}: is damaged ({first[:200]})")
