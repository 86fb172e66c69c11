# SPDX-License-Identifier: Apache-2.0
"""A user's request of `docsis-p4 reproduce`, beside how it is carried out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from docsis_experiments.reproduction import asking
from docsis_experiments.reproduction.judge.kept import MOST_NOTE
from docsis_experiments.reproduction.row import Level
from docsis_experiments.runs.sources import StageName
from docsis_testbed.errors import TestbedError
from docsis_testbed.readable import readable

_SHOWN: Final = 200
"""Characters that a message shows of an option's value."""


@dataclass(frozen=True)
class Request:
    """A user's request.

    Attributes:
        names: Papers and rows; all where there are none.
        level: How much; None where a user has not said.
        stage: Where it is played.
        seeds: The seeds of a study, instead of as many as each row has.
        readings: As many of each row; as many as the level has unless given.
        since: `results.json` of what it is compared with.
        publish: A folder that gets the page, beside the results' own.
        note: What was repaired since the last outcome, for those who read its history.
    """

    names: tuple[str, ...] = ()
    level: Level | None = None
    stage: StageName = "virtual"
    seeds: int | None = None
    readings: int | None = None
    since: Path | None = None
    publish: Path | None = None
    note: str = ""

    @property
    def chosen_level(self) -> Level:
        """How much."""
        if self.level is not None:
            return self.level
        return Level.SMOKE if self.stage == "virtual" else Level.FULL

    def at(self, level: Level) -> Request:
        """The same at another level."""
        return replace(self, level=level)

    def check(self) -> None:
        """Refuses what contradicts itself.

        Raises:
            TestbedError: What, and why.
        """
        if self.stage == "mininet" and self.level not in (None, Level.FULL):
            raise TestbedError(
                f"--level {self.level} has no place beside --stage mininet: rows have one "
                "condition and a registered number of runs there; leave it out"
            )
        for option, value in (
            ("--note", self.note),
            ("--since", self.since),
            ("--publish", self.publish),
        ):
            _check_text(option, "" if value is None else str(value))
        asking.check_seeds(self.seeds, self.chosen_level)
        if self.readings is not None and self.readings < 1:
            raise TestbedError(f"--readings {self.readings}: must be 1 at least")
        if len(self.note) > MOST_NOTE:
            raise TestbedError(
                f"--note has {len(self.note)} characters, and the history of a row has room for "
                f"{MOST_NOTE}; say it in fewer words"
            )
        if self.publish is not None and self.chosen_level is Level.SMOKE:
            raise TestbedError(
                "--publish has no place at --level smoke, which judges nothing; give --level study "
                "or full"
            )


def _check_text(option: str, text: str) -> None:
    """Refuses a text that results.json could not have.

    Raises:
        TestbedError: It has bytes that are no UTF-8, which Python keeps as surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TestbedError(
            f"{option} {readable(text)[:_SHOWN]}: is not UTF-8, and results.json has "
            "no other text; write it in UTF-8"
        ) from None
