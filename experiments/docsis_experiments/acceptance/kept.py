# SPDX-License-Identifier: Apache-2.0
"""The runs of one case on one stage, which are kept: they may be collected over many sittings.

    <results>/<case>/<stage>/<key>/<unit>/run.json      that it is whole, and whether it counts
                                         /said.txt      what the command said
                                         /<time>-.../   the run's own folder

A unit is `seed-7` in virtual time and `run-003` on Mininet. One without run.json was interrupted.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from docsis_experiments.acceptance.values import SUMMARY, damaged, document
from docsis_experiments.reports.folder import PARTIAL
from docsis_experiments.runs.sources import StageName
from docsis_testbed.errors import TestbedError

_RECORD: Final = "run.json"


@dataclass(frozen=True)
class Kept:
    """A run that is whole.

    Attributes:
        unit: Name of the folder that it has for itself.
        folder: Name of the run's own folder in that.
        counts: Whether it may be compared.
        why: Why it does not count, in words; "" where it does.
    """

    unit: str
    folder: str
    counts: bool
    why: str


class Shelf:
    """The runs of one case on one stage that have the same key.

    Attributes:
        stage: Where they are played.
    """

    def __init__(self, results: Path, case: str, stage: StageName, key: str) -> None:
        """Args: the folder of all, and what the runs have in common."""
        self.stage = stage
        self._all = results / case / stage
        self._folder = self._all / key

    def runs(self) -> list[Kept]:
        """Those that are whole, in the order of their units.

        Raises:
            TestbedError: A record cannot be read.
        """
        found = []
        for path in self._folder.glob(f"*/{_RECORD}"):
            found.append(_kept(path))
        return sorted(found, key=lambda kept: (len(kept.unit), kept.unit))

    def others(self) -> int:
        """Runs that are there with another key, and so are not compared."""
        there = sum(1 for _ in self._all.glob(f"*/*/{_RECORD}"))
        return there - sum(1 for _ in self._folder.glob(f"*/{_RECORD}"))

    def place(self, unit: str) -> Path:
        """Makes the folder of a unit, or finds what an interruption left of it.

        Raises:
            TestbedError: It cannot be made.
        """
        folder = self._folder / unit
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TestbedError(f"{folder}: cannot be made ({error.strerror})") from None
        return folder

    def next_unit(self) -> str:
        """The first number behind all that were ever begun, as a unit's name."""
        begun = [path.name.removeprefix("run-") for path in self._folder.glob("run-*")]
        numbers = [int(number) for number in begun if number.isdecimal()]
        return f"run-{max(numbers, default=0) + 1:03d}"

    def whole(self, unit: str) -> Path | None:
        """The run's own folder in a unit, where the run came to its end."""
        ended = [
            path.parent
            for path in (self._folder / unit).glob(f"*/{SUMMARY}")
            if not path.parent.name.endswith(PARTIAL)
        ]
        return max(ended, default=None)

    def keep(self, kept: Kept) -> None:
        """Records a run, once everything else is there."""
        path = self._folder / kept.unit / _RECORD
        record = asdict(kept)
        del record["unit"]
        begun = path.with_suffix(".tmp")
        begun.write_text(json.dumps(record, indent=2) + "\n")
        begun.rename(path)

    def path(self, kept: Kept) -> Path:
        """The run's own folder."""
        return self._folder / kept.unit / kept.folder


def _kept(path: Path) -> Kept:
    """Reads a record.

    Raises:
        TestbedError: It is damaged.
    """
    record = document(path.parent, _RECORD)
    for key, kind in (("folder", str), ("counts", bool), ("why", str)):
        if key not in record:
            raise damaged(path, f'has no "{key}"')
        if not isinstance(record[key], kind):
            raise damaged(path, f"{key}: {record[key]!r} is not what a record has")
    if record["folder"] not in {there.parent.name for there in path.parent.glob(f"*/{SUMMARY}")}:
        raise damaged(path, f"folder: {record['folder']!r} is no folder of a run beside it")
    return Kept(path.parent.name, record["folder"], record["counts"], record["why"])
