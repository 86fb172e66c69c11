# SPDX-License-Identifier: Apache-2.0
"""The requirements of docs/test-plan.md: which tests hold a target to each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.project_files import ROOT

PLAN: Final = ROOT / "docs" / "test-plan.md"
_CELLS: Final = 4
_ID: Final = re.compile(r"[A-Z][A-Z0-9]-\d+")
_TEST: Final = re.compile(r"[a-z_0-9]+\.[A-Za-z]+")
# "\|" is no end of a cell.
_BAR: Final = re.compile(r"(?<!\\)\|")


class PlanError(ValueError):
    """The plan cannot be read; the message names the file and the row."""


@dataclass(frozen=True)
class Requirement:
    """A row of the plan.

    Attributes:
        key: Its id, such as "CF-1".
        section: The heading above its table.
        text: The requirement and its source, in Markdown.
        tests: Tests that check it, as module.Class.
        expected: Their expectation, in Markdown.
    """

    key: str
    section: str
    text: str
    tests: tuple[str, ...]
    expected: str

    @property
    def group(self) -> str:
        """The letters of its id, which it has in common with the rest of its table."""
        return self.key.partition("-")[0]


def load(path: Path = PLAN) -> tuple[Requirement, ...]:
    """All requirements in the plan's order. PlanError: there is no plan, or a row is malformed."""
    try:
        text = path.read_text()
    except OSError as error:
        raise PlanError(
            f"{path}: {error.strerror}; the requirements are in the project's docs/test-plan.md"
        ) from None
    found: dict[str, Requirement] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
            continue
        cells = tuple(cell.strip() for cell in _BAR.split(line)[1:-1])
        if not cells or not _ID.fullmatch(cells[0]):
            continue
        key = cells[0]
        if len(cells) != _CELLS or not all(cells):
            raise PlanError(f"{path}: {key}: a row has {_CELLS} cells, none of them empty")
        if key in found:
            raise PlanError(f"{path}: {key} is there twice")
        tests = tuple(re.findall(r"`([^`]+)`", cells[2]))
        if not tests or not all(_TEST.fullmatch(test) for test in tests):
            raise PlanError(f"{path}: {key}: the third cell names tests as `module.Class`")
        found[key] = Requirement(key, section, cells[1], tests, cells[3])
    return tuple(found.values())
