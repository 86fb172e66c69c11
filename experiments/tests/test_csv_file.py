# SPDX-License-Identifier: Apache-2.0
"""A run's CSV files, of which nothing is trusted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pyarrow import csv

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


@pytest.mark.parametrize(
    "rows", [["x" * 201], [str(number) for number in range(10_001)]], ids=["long", "many"]
)
def test_texts_that_are_no_names_are_refused(tmp_path: Path, rows: list[str]) -> None:
    path = tmp_path / "packets.csv"
    path.write_text("\n".join(["group", *rows, ""]))
    with pytest.raises(TestbedError, match="column group has more than 10000 names, or one of"):
        CsvFile.read(path, words=("group",)).words("group")


def test_rows_have_no_room_of_the_longest_text_each(tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    path.write_text("\n".join(["group", "x" * 200, *"ab" * 50_000, ""]))
    words = CsvFile.read(path, words=("group",)).words("group")
    assert words.nbytes < 1 << 20
    assert (words == "a").sum() == 50_000
    assert sorted(set(words.tolist())) == ["a", "b", "x" * 200]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="cannot be read"):
        CsvFile.read(tmp_path / "packets.csv")


@pytest.mark.parametrize(
    "head",
    [",".join(f"flow{number}" for number in range(10_002)), "x" * 3_000_000],
    ids=["many", "long"],
)
def test_columns_are_counted_before_they_are_made(
    tmp_path: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "packets.csv"
    path.write_text(head + "\n")
    monkeypatch.setattr(csv, "read_csv", lambda *of, **how: pytest.fail("it was read"))
    with pytest.raises(TestbedError, match="has more than 10001 columns, or longer names"):
        CsvFile.read(path)


def test_as_many_columns_as_flows_can_have_are_read(tmp_path: Path) -> None:
    path = tmp_path / "goodput.csv"
    path.write_text(",".join(f"flow{number}" for number in range(10_001)) + "\n")
    assert len(CsvFile.read(path).names) == 10_001
