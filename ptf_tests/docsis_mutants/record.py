# SPDX-License-Identifier: Apache-2.0
"""The record of a run: a line of JSON for each mutant, written as soon as its outcome is known.

So a run that is stopped goes on where it was, and a record is never rewritten: a mutant that has
survived and is tried again with more tests has two lines, as has one that waits for a step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from docsis_mutants.areas import Area, area_of
from docsis_mutants.site import Operator, Site


class Outcome(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    WAITING = "not caught yet"
    SURVIVED = "survived"
    NOT_COMPILED = "does not compile"


@dataclass(frozen=True)
class Tried:
    """A mutant that was tried.

    Attributes:
        site: The change.
        seed: Of the draw.
        outcome: What became of it.
        step: The name of the step that caught it; empty if none did.
        passed: How many steps have not caught it.
        words: The test that failed, or what the compiler said.
        seconds: How long it took.
        commit: The commit of the tree, abbreviated.
        date: When it was done, UTC, ISO 8601.
    """

    site: Site
    seed: int
    outcome: Outcome
    step: str
    words: str
    seconds: float
    commit: str
    date: str
    passed: int = 0

    @property
    def area(self) -> Area:
        """The area that was mutated."""
        return area_of(self.site.file)


class RecordError(ValueError):
    """A record that cannot be read; the message names the file and the line."""


def add(path: Path, tried: Tried) -> None:
    """Adds a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(tried)) + "\n")


def read(path: Path) -> list[Tried]:
    """All lines, in their order; none where there is no record yet.

    A last line without its end is one that a stop cut off, and is left out.

    Raises:
        RecordError: Another line is damaged.
    """
    if not path.exists():
        return []
    text = path.read_text()
    whole, _, _ = text.rpartition("\n")
    found = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            found.append(_tried(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise RecordError(
                f"{path}:{number}: this is no line of a record ({error}); move the file away to "
                "begin anew"
            ) from None
    return found


def mend(path: Path) -> None:
    """Removes a last line that a stop cut off, so that the next one begins at its own."""
    if path.exists():
        text = path.read_text()
        if text and not text.endswith("\n"):
            path.write_text(text[: text.rfind("\n") + 1])


def _tried(values: dict[str, Any]) -> Tried:
    site = dict(values["site"])
    return Tried(
        **{
            **values,
            "site": Site(**{**site, "operator": Operator(site["operator"])}),
            "outcome": Outcome(values["outcome"]),
        }
    )


def latest(tried: Iterable[Tried], seed: int) -> dict[str, Tried]:
    """The last outcome of each mutant of a draw, by the site's key."""
    return {each.site.key: each for each in tried if each.seed == seed}
