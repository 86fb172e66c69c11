# SPDX-License-Identifier: Apache-2.0
"""Reads the repairs, and tells which of them a reading lacks.

A repair changes what is played, and not how it is judged: that is an amendment. A row that was
played before keeps its outcome until it is played again (catalogue, section 1), and the page says
so. A reading lacks the repairs that were committed after it was played. A clone that was not
updated can play rows later without a repair; the repair names such commits.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BeforeValidator, Field

from docsis_control.config.models import Model
from docsis_control.config.yaml_file import plain, read, validate
from docsis_experiments.experiment.tagged import as_tuple

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
    mininet: Annotated[tuple[Row, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="The rows whose runs in Mininet it may change."
    )


class Written(Model):
    """The file."""

    repairs: Annotated[tuple[Repair, ...], BeforeValidator(as_tuple)]


@functools.cache
def load_repairs(file: Path = FILE) -> Sequence[Repair]:
    """All repairs, oldest first; a process reads them once.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    written = validate(document, Written, plain(document.root))
    return tuple(sorted(written.repairs, key=lambda one: one.at))


def lacks(
    row: Mapping[str, Any], reading: Mapping[str, Any], repairs: Iterable[Repair]
) -> list[Repair]:
    """The repairs that a reading was played without.

    Args:
        row: The row, as results.json has it.
        reading: One of its readings.
        repairs: All there are.
    """
    virtual = reading["stage"] == "virtual"
    # A reading in virtual time that has no date of its own came with the one that decides.
    made = reading["made"] or (row["made"] if virtual else None)
    if made is None:
        return []
    at, commit = datetime.fromisoformat(made["date"]), made["commit"]
    return [
        one
        for one in repairs
        if row["id"] in (one.rows if virtual else one.mininet)
        and (at < one.at or any(commit.startswith(early[:7]) for early in one.lacking))
    ]
