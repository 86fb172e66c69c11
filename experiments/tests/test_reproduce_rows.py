# SPDX-License-Identifier: Apache-2.0
"""The shipped rows: all tell their works, and some cheap ones run at `smoke`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from docsis_experiments.reproduction import collecting, earlier, job
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Kind
from docsis_experiments.reproduction.costs import calibration
from docsis_experiments.reproduction.evaluation import Evaluated, evaluate
from docsis_experiments.reproduction.job import Bench
from docsis_experiments.reproduction.judge.verdict import Verdict
from docsis_experiments.reproduction.judging import judged
from docsis_experiments.reproduction.making import Processes
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Asked, Level, Row, Seeds
from docsis_experiments.reproduction.rows import rows
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.store import Store

pytest_plugins = ["in_this_process"]
pytestmark = pytest.mark.usefixtures("in_this_process")

CHEAP = ("001-P1", "001-F10", "001-F3b", "000-S9")
"""A run each of a second or less, or none."""


def test_rows_are_of_the_catalogue() -> None:
    registered = registered_rules()
    assert rows()
    assert rows().keys() <= registered.keys()
    for name, row in rows().items():
        assert isinstance(row, Row)
        # Arithmetic needs one, where nothing is drawn.
        least = 1 if registered[name].kind is Kind.DEFINITION else 3
        # Where each seed is a short test, thousands are registered.
        most = 5 if registered[name].seeds < 1000 else registered[name].seeds // 5
        assert least <= row.study_seeds <= most, name
        # A rule may have readings that nothing runs yet; a row has none that no rule has.
        assert row.readings <= len(registered[name].reading_numbers), name
        assert row.mininet is None or registered[name].mininet, name


def test_all_rows_tell_their_works_at_smoke() -> None:
    registered = registered_rules()
    names = list(rows())
    plan = collecting.plan(Request(level=Level.SMOKE), names, rows(), registered)
    assert [(one.row.id, one.problem) for one in plan.rows if one.problem] == []
    assert {seed for one in plan.rows for seed in one.asked.seeds} == {901}
    # The defaults of S9 are looked up, not made.
    assert [one.row.id for one in plan.rows if not one.entries] == ["000-S9"]


def test_some_run_at_smoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "costs", lambda folder, jobs: [])
    bench = Bench(
        rows(), registered_rules(), Shelf(Store(tmp_path / "kept")), {}, tmp_path / "results"
    )
    folder = job.run(
        Request(CHEAP, Level.SMOKE), player=Processes(2), jobs=2, console=Console(quiet=True),
        bench=bench,
    )  # fmt: skip
    found = earlier.read(folder / "results.json")
    assert [row["state"] for row in found["rows"]] == ["run"] * len(CHEAP)
    for row in found["rows"]:
        [reading] = row["readings"]
        assert any(part["value"] is not None for part in reading["parts"]), row["id"]
        assert all(part["verdict"] is None for part in reading["parts"])


def test_what_needs_no_works_is_judged(tmp_path: Path) -> None:
    registered = registered_rules()
    plan = collecting.plan(Request(level=Level.FULL), ["000-S9"], rows(), registered)
    found = [evaluate(one, Shelf(Store(tmp_path)), {}) for one in plan.rows]
    done = judged(registered["000-S9"], found, Level.FULL, "virtual")
    assert done.judged is not None
    assert done.judged.verdict is Verdict.HELD


@pytest.mark.parametrize(("name", "without_mac"), [("000-S43", True), ("001-LF", False)])
def test_a_row_without_a_mac_is_at_best_reproduced_without_one(
    name: str, without_mac: bool
) -> None:
    registered = registered_rules()
    rule = registered[name]
    row = rows()[name]
    assert row.without_mac is without_mac
    asked = Asked(Level.FULL, 1, tuple(range(1, rule.seeds + 1)))
    middle = {
        part.name: Seeds(dict.fromkeys(asked.seeds, 1.0 if without_mac else 1.2))
        for part in rule.parts_at(1)
    }
    done = judged(rule, [Evaluated(row, asked, middle, 1, 1)], Level.FULL, "virtual")
    assert done.judged is not None
    best = Verdict.REPRODUCED_WITHOUT_MAC if without_mac else Verdict.REPRODUCED
    assert done.judged.verdict is best
