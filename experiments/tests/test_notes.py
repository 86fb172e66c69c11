# SPDX-License-Identifier: Apache-2.0
"""Notes of users: what becomes of odd characters, and how a report shows them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import scenario_files
from hypothesis import given
from hypothesis import strategies as st
from pictures import without_pictures
from time_samples import TIMERS

from docsis_control.topology.document import write_topology
from docsis_experiments.judging import judge
from docsis_experiments.reports import report, single_summary
from docsis_experiments.reports.note import LONGEST, note_from
from docsis_experiments.reports.plots.subjects import Runs
from docsis_testbed.errors import TestbedError


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("cable 7, after the storm", "cable 7, after the storm"),
        ("  two\r\nlines\n", "two\nlines"),
        ("Übertragung 20 °C, 测量, 👩\u200d🔬", "Übertragung 20 °C, 测量, 👩\u200d🔬"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("left\u202etfel", "left\\u202etfel"),
        ("line\u2028separator\x85", "line\\u2028separator\\x85"),
        (os.fsdecode(b"latin \xe9"), "latin \\xe9"),
        ("lonely \ud834", "lonely \\ud834"),
        (" \n\t", ""),
    ],
)
def test_what_would_not_show_is_written_out(given_text: str, kept: str) -> None:
    assert note_from(given_text) == kept


@given(st.text(st.characters(), max_size=200))
def test_every_note_can_be_written_and_is_kept_as_it_is_the_second_time(text: str) -> None:
    once = note_from(text)
    once.encode()
    assert len(once) > LONGEST or note_from(once) == once


def test_a_long_note_is_refused() -> None:
    assert note_from("x" * LONGEST)
    with pytest.raises(TestbedError, match=r"^--note: has 2,001 characters, and there may be 2,0"):
        note_from("x" * (LONGEST + 1))


def complete(folder: Path, note: str) -> str:
    """Returns the report of a run that was made up, with a note."""
    loaded = scenario_files.loaded(folder)
    scenario, topology = loaded.scenario, loaded.topology
    records = [scenario_files.record("tail", 50), scenario_files.record("codel", 20)]
    for name in ("inputs", "plots"):
        (folder / name).mkdir(parents=True)
    write_topology(topology, folder / "inputs" / "topology.yaml")
    figures = single_summary.summarise(
        scenario, records, judge.judge(scenario, records), [],
        target="embedded", topology=topology, versions={}, timers=TIMERS, note=note,
    )  # fmt: skip
    details = {"started": "2026-01-01 00:00:00", "plan": {"one_in": 2}}
    report.complete(folder, figures, details, Runs(scenario, records))
    return (folder / "report.html").read_text("utf-8")


def test_a_report_shows_a_note_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    note = note_from('<script>alert("1")</script>\n{{ 7 * 7 }} & more\x07')
    page = complete(tmp_path, note)
    assert "<script>alert" not in page
    shown = "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;\n{{ 7 * 7 }} &amp; more\\x07</p>"
    assert f"<strong>Note</strong>: {shown}" in page
    assert json.loads((tmp_path / "summary.json").read_text())["note"] == note


def test_without_a_note_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    assert "<strong>Note</strong>" not in complete(tmp_path, "")
    assert "note" not in json.loads((tmp_path / "summary.json").read_text())
