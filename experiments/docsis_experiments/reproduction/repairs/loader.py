# SPDX-License-Identifier: Apache-2.0
"""Reads the repairs, and tells which of them a reading lacks.

A repair changes what is played, and not how it is judged: that is an amendment. A row that was
played before keeps its outcome until it is played again (catalogue, section 1), and the page says
that it stands from before. Whether it does follows from when it was made. A sitting may be of an
older commit than the day's, such as one of a frozen clone; a repair names these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BeforeValidator, Field

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import Model
from docsis_control.config.yaml_file import plain, read, validate
from docsis_experiments.experiment.tagged import as_tuple
from docsis_experiments.reproduction.deciding import deciding

FILE: Final = Path(__file__).with_name("repairs.yaml")

Row = Annotated[str, Field(pattern=r"^[0-9]{3}-[A-Za-z0-9-]{1,20}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]


class Repair(Model):
    """A defect of ours that was mended after rows had run."""

    at: AwareDatetime = Field(description="When the mend was committed.")
    commit: Commit
    lacking: Annotated[tuple[Commit, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Commits that rows were played from later, and that lack it."
    )
    defect: str = Field(min_length=1, description="What was wrong, in a sentence.")
    effect: str = Field(min_length=1, description="What it changes, as far as it was measured.")
    rows: Annotated[tuple[Row, ...], BeforeValidator(as_tuple)] = Field(
        description="The rows whose runs in virtual time it may change."
    )


class Written(Model):
    """The file."""

    repairs: Annotated[tuple[Repair, ...], BeforeValidator(as_tuple)]


def load_repairs(known: Collection[str], file: Path = FILE) -> Sequence[Repair]:
    """All repairs, oldest first.

    Args:
        known: The ids of all rows.
        file: Where they are.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    written = validate(document, Written, plain(document.root))
    problems = [
        document.problem(("repairs", index, "rows", place), f"there is no row {row}")
        for index, one in enumerate(written.repairs)
        for place, row in enumerate(one.rows)
        if row not in known
    ]
    if problems:
        raise ConfigError(problems)
    return sorted(written.repairs, key=lambda one: one.at)


def lacks(
    row: Mapping[str, Any], reading: Mapping[str, Any], repairs: Iterable[Repair]
) -> list[Repair]:
    """The repairs that a reading was played without.

    Args:
        row: The row, as results.json has it.
        reading: One of its readings.
        repairs: All there are.
    """
    if reading["stage"] != "virtual":
        return []
    # A reading that has no date of its own is of the runs of the one that decides.
    decides = deciding(row["readings"])
    made = reading["made"] or (None if decides is None else decides["made"]) or row["made"]
    if made is None:
        return []
    at, commit = datetime.fromisoformat(made["date"]), made["commit"]
    return [
        one
        for one in repairs
        if row["id"] in one.rows
        and (at < one.at or any(commit.startswith(early[:7]) for early in one.lacking))
    ]
