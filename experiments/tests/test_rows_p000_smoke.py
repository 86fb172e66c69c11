# SPDX-License-Identifier: Apache-2.0
"""Some rows of 000 at smoke, played in virtual time: everything between settings and parts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest
from results_given import given

from docsis_experiments.reproduction.row import Asked, Exact, Level, Measured, Row, Run, Seeds
from docsis_experiments.reproduction.rows.p000 import c1, c2, f1, f11, s7, s44
from docsis_experiments.reproduction.settings.p000_population import OF_SMOKE
from docsis_experiments.runs.play import play

pytest.importorskip("docsis_world")

SMOKE: Final = Asked(Level.SMOKE, 1, (901,))
ROWS: Final = {row.id: row for module in (c1, c2, f1, f11, s7, s44) for row in module.ROWS}


def value(measured: Measured) -> float:
    match measured:
        case Seeds(values):
            assert set(values) == {901}
            return values[901]
        case Exact(number):
            return number
    raise AssertionError("no share here")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["000-C1", "000-C2", "000-F13-14", "000-S7a", "000-S44", "000-S46"],
    ids=lambda name: name[4:],
)
def test_row_is_measured_in_virtual_time(name: str) -> None:
    row = ROWS[name]
    found = row.parts(SMOKE, given(row, SMOKE, lambda run: play(run.unit)))
    assert found
    assert all(math.isfinite(value(measured)) for measured in found.values())
    if name == "000-C1":
        assert found["violations"] == Exact(0.0)
    if name == "000-S46":
        assert found["decisions unlike pie"] == Exact(0.0)
        assert found["drops at an empty queue"] == Exact(0.0)


@pytest.mark.long
def test_figure_1_is_measured_in_virtual_time() -> None:
    row = ROWS["000-F1a"]

    def some(asked: Asked) -> Iterable[Run]:
        for work in row.works(asked):
            assert isinstance(work, Run)
            if work.unit.label in ("codel", "pie", "drop-tail-250ms"):
                yield work

    there: Row = replace(row, works=some)
    found = there.parts(SMOKE, given(there, SMOKE, lambda run: play(run.unit)))
    assert set(found) == {"p90 codel", "p90 pie", "p90 drop-tail-250ms"}
    for manager in ("codel", "pie"):
        assert 3 < value(found[f"p90 {manager}"]) < value(found["p90 drop-tail-250ms"])
    assert len(OF_SMOKE) == 2
