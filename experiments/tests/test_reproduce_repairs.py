# SPDX-License-Identifier: Apache-2.0
"""Rows that were played before a defect of ours was mended are shown as such."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from docsis_control.config.errors import ConfigError
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.page.values import before, stale
from docsis_experiments.reproduction.repairs.loader import Repair, lacks, load_repairs

AT = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
REPAIR = Repair(
    at=AT,
    commit="1234567",
    lacking=("abcdef0",),
    defect="It was wrong.",
    effect="It is right.",
    rows=("000-F1a",),
)


def reading(
    hours: float, commit: str = "fedcba9876", stage: str = "virtual", number: int = 1
) -> dict[str, Any]:
    made = {"date": (AT + timedelta(hours=hours)).isoformat(), "commit": commit}
    return {
        "stage": stage,
        "reading": number,
        "made": made,
        "there": 1,
        "works": 1,
        "standing": "verdict",
        "verdict": "undecided",
        "parts": [{"verdict": "undecided"}],
    }


def row(*readings: dict[str, Any], name: str = "000-F1a") -> dict[str, Any]:
    return {"id": name, "readings": list(readings), "made": None}


@pytest.mark.parametrize(
    ("one", "lacking"),
    [
        (reading(-1), True),
        (reading(1), False),
        (reading(0), False),
        # A frozen clone was played later.
        (reading(1, "abcdef0123"), True),
        (reading(1, "abcdef0123+changes"), True),
        # Mininet has the kernel's TCP.
        (reading(-1, stage="mininet"), False),
    ],
)
def test_a_reading_lacks_what_was_mended_after_it_was_played(
    one: dict[str, Any], lacking: bool
) -> None:
    assert lacks(row(one), one, [REPAIR]) == ([REPAIR] if lacking else [])


def test_what_is_in_both_stages_is_lacked_in_both() -> None:
    """The switch has the MAC of virtual time."""
    repair = Repair.model_validate({**REPAIR.model_dump(), "mininet": ("000-F1a",)})
    old, new = reading(-1, stage="mininet"), reading(1, stage="mininet")
    assert lacks(row(old, new), old, [repair]) == [repair]
    assert lacks(row(old, new), new, [repair]) == []
    # The row's own date is that of the stage that decides.
    undated = {**old, "made": None}
    assert lacks({**row(undated), "made": old["made"]}, undated, [repair]) == []


def test_rows_that_it_does_not_concern_lack_nothing() -> None:
    one = reading(-1)
    assert lacks(row(one, name="000-F7"), one, [REPAIR]) == []


def test_a_reading_without_a_date_came_with_the_one_that_decides() -> None:
    first, other = reading(-1), {**reading(0, number=3), "made": None}
    both = {**row(first, other), "made": first["made"]}
    assert lacks(both, other, [REPAIR]) == [REPAIR]


def test_the_page_has_the_rows_that_stand_from_before() -> None:
    old, new = row(reading(-1)), row(reading(1), name="000-F1b")
    both = Repair.model_validate({**REPAIR.model_dump(), "rows": ("000-F1a", "000-F1b")})
    assert stale([old, new], [both]) == [(both, ["000-F1a"])]
    assert stale([new], [both]) == []
    assert before([]) == ""
    assert before([REPAIR]) == "played before we corrected a defect of ours on 26 November 2026"
    assert before([REPAIR, both]) == (
        "played before we corrected 2 defects of ours, the last on 26 November 2026"
    )


def test_the_repairs_are_of_rows_that_there_are_and_in_order() -> None:
    repairs = load_repairs()
    rules = registered_rules()
    assert {row for one in repairs for row in one.rows} <= set(rules)
    assert all(rules[row].mininet for one in repairs for row in one.mininet)
    assert [one.at for one in repairs] == sorted(one.at for one in repairs)
    assert len({one.commit for one in repairs}) == len(repairs)


def test_a_fault_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "repairs.yaml"
    file.write_text(
        "repairs:\n"
        "  - at: 2026-11-26T12:00:00+00:00\n"
        "    commit: '1234567'\n"
        "    defect: It was wrong.\n"
        "    effect: It is right.\n"
        "    rows: [000-F1a, nothing]\n"
    )
    with pytest.raises(ConfigError, match=r"repairs\.yaml:6.*repairs\.0\.rows"):
        load_repairs(file)
