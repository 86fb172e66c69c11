# SPDX-License-Identifier: Apache-2.0
"""Outcomes are kept, the damaged ones are told, and nothing that was kept is lost."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules_made import around, made_part, made_rule, seeds

from docsis_experiments.reproduction.judge import kept as kept_module
from docsis_experiments.reproduction.judge.kept import MOST_LINE, Kept, append, kept, read
from docsis_experiments.reproduction.judge.row import Asking, judge
from docsis_experiments.reproduction.judge.verdict import Standing, Verdict
from docsis_experiments.reproduction.row import Level
from docsis_testbed.errors import TestbedError

COMMIT = "3c46bc4"
DATE = "2026-11-23T12:00:00+00:00"


def outcome(value: float = 15.0, note: str = "") -> Kept:
    rule = made_rule(made_part(), made_part("b"))
    measured = {"a": around(value), "b": seeds([math.inf] * 8)}
    judged = judge(rule, {1: measured}, Asking(Level.FULL))
    return kept(judged, 1, commit=COMMIT, date=DATE, note=note)


def test_an_outcome_before_a_repair_stays_beside_that_after_it(tmp_path: Path) -> None:
    file = tmp_path / "history" / "outcomes.jsonl"
    assert read(file).outcomes == ()
    first, second = outcome(), outcome(16.0, "the queue counted its frames twice")
    append(file, first)
    append(file, second)
    found = read(file)
    assert found.outcomes == (first, second)
    assert found.told == ()
    assert found.of("001-A") == (first, second)
    assert found.of("001-B") == ()
    assert (first.outcome, first.standing) == (Verdict.CONTRADICTED, Standing.VERDICT)
    assert first.rule == made_rule(made_part(), made_part("b")).hash
    assert (first.parts[0].verdict, first.parts[1].value) == (Verdict.REPRODUCED, None)


def test_a_torn_end_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    append(file, outcome())
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    append(file, outcome(16.0))
    found = read(file)
    assert [one.parts[0].value for one in found.outcomes] == pytest.approx([15, 16])
    (told,) = found.told
    assert told.startswith(f"{file}:2: is damaged and left out: ")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("row", "../../x"),
        ("row", 7),
        ("rule", "xyz"),
        ("commit", "main; rm"),
        ("date", "yesterday"),
        ("date", "2026-11-23T12:00:00"),
        ("level", "quick"),
        ("standing", "good"),
        ("outcome", "splendid"),
        ("outcome", 1),
        ("reading", 0),
        ("parts", [{"name": "a"}] * 1001),
        ("parts", [{"name": "a", "value": "15"}]),
        ("parts", 3),
        ("why", "x" * 2001),
        ("other", 1),
    ],
)
def test_what_no_outcome_has_is_told(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / "outcomes.jsonl"
    append(file, outcome())
    written = json.loads(file.read_bytes())
    with file.open("a") as stream:
        stream.write(json.dumps({**written, key: value}) + "\n")
    found = read(file)
    assert len(found.outcomes) == len(found.told) == 1
    assert f":2: is damaged and left out: {key}" in found.told[0]


@pytest.mark.parametrize("line", ['{"value": NaN}', "[" * 10_000, '"x"', "null", ""])
def test_what_is_no_outcome_at_all_is_told(tmp_path: Path, line: str) -> None:
    file = tmp_path / "outcomes.jsonl"
    append(file, outcome())
    with file.open("a") as stream:
        stream.write(line + "\n")
    assert len(read(file).told) == 1


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    append(file, outcome())
    text = file.read_text()
    at = text.index('"value":') + len('"value":')
    file.write_text(text[:at] + "NaN" + text[text.index(",", at) :])
    assert read(file).outcomes == ()
    assert "damaged" in read(file).told[0]


def test_lines_and_files_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "outcomes.jsonl"
    append(file, outcome())
    with file.open("a") as stream:
        stream.write("x" * (3 * MOST_LINE) + "\n")
    append(file, outcome(16.0))
    found = read(file)
    assert len(found.outcomes) == 2
    (told,) = found.told
    assert "has more than" in told
    monkeypatch.setattr(kept_module, "MOST_BYTES", 100)
    with pytest.raises(TestbedError, match="is full at 100 bytes"):
        append(file, outcome())
    with pytest.raises(TestbedError, match="has more than 100 bytes"):
        read(file)


def test_many_damaged_lines_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    file.write_text("x\n" * 50)
    told = read(file).told
    assert len(told) == 21
    assert told[-1].endswith("30 more lines are damaged")


@settings(max_examples=50)
@given(data=st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("kept") / "outcomes.jsonl"
    file.write_bytes(data)
    assert read(file).outcomes == ()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TestbedError, match="cannot be written"):
        append(tmp_path / "file" / "outcomes.jsonl", outcome())
