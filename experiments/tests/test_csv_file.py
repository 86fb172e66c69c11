# SPDX-License-Identifier: Apache-2.0
"""A run's CSV files, of which nothing is trusted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from docsis_experiments.runs.csv_file import CsvFile
from docsis_testbed.errors import TestbedError


def test_columns_are_read_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    path.write_text("group,time_s,delay\n7,0.5,\ngame,1,2.5\n")
    file = CsvFile.read(path, words=("group",), floats=("time_s", "delay"))
    assert file.words("group").tolist() == ["7", "game"]
    assert file.floats("time_s").tolist() == [0.5, 1.0]
    lost, came = file.floats("delay")
    assert math.isnan(lost)
    assert came == 2.5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is damaged"),
        ("group\ngame\n", "it has no column time_s"),
        ("time_s,time_s\n1,2\n", "it has 2 columns time_s"),
        ("time_s\nsoon\n", "is damaged"),
        ("time_s\n1,2\n", "is damaged"),
    ],
)
def test_a_damaged_file_is_told_in_a_sentence(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "packets.csv"
    path.write_text(content)
    with pytest.raises(TestbedError, match=words) as told:
        CsvFile.read(path, floats=("time_s",)).floats("time_s")
    assert str(told.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="cannot be read"):
        CsvFile.read(tmp_path / "packets.csv")
