# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes in P4 are a few lines of the solution, and the lecturer's page names them."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from docsis_labs.exercises import exercise

_NUMBERS = (3, 6, 7, 8)
_MOST_LINES = 25
_FOLDERS = [
    pytest.param(number, folder, id=f"{number}-{folder.name}")
    for number in _NUMBERS
    for folder in sorted((exercise(number).path / "mistakes").iterdir())
]


@pytest.mark.parametrize(("number", "folder"), _FOLDERS)
def test_a_mistake_is_a_few_lines_of_the_solution(number: int, folder: Path) -> None:
    [file] = exercise(number).files
    solution, mistake = (
        path.read_text().splitlines()
        for path in (exercise(number).path / "solution" / file.name, folder / file.name)
    )
    changed = [
        line
        for line in unified_diff(solution, mistake, n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert 0 < len(changed) <= _MOST_LINES


@pytest.mark.parametrize("number", _NUMBERS)
def test_the_lecturers_page_names_each_mistake(number: int) -> None:
    page = (exercise(number).path / "lecturer.md").read_text()
    folders = (exercise(number).path / "mistakes").iterdir()
    assert [folder.name for folder in folders if f"`{folder.name}`" not in page] == []


@pytest.mark.parametrize("number", _NUMBERS)
def test_the_page_has_the_criteria_with_their_points(number: int) -> None:
    page = (exercise(number).path / "README.md").read_text()
    for criterion in exercise(number).criteria:
        assert f"| {criterion.points} | {criterion.title} |" in page
