# SPDX-License-Identifier: Apache-2.0
"""Outcomes that are kept in a folder, each by its key, so that nothing is made twice.

    <folder>/<first two digits of the key>/<key>.parquet

One that is damaged is put aside under another name, told, and made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from docsis_experiments.runs import files
from docsis_experiments.runs.outcome import Outcome
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

KEPT: Final = RESULTS / "kept"
"""The folder of kept outcomes, unless another is given."""

ASIDE: Final = ".damaged"
"""Ends the name of a file that is not used."""

T = TypeVar("T")


class Store:
    """Outcomes by key. Several processes may keep theirs in one folder at the same time."""

    def __init__(self, folder: Path = KEPT) -> None:
        """Args: the folder; made when the first is kept."""
        self.folder = folder
        self._tidied = False

    def path(self, key: str) -> Path:
        """The path at which the outcome with that key is, or would be."""
        return self.folder / key[:2] / f"{key}.parquet"

    def get(self, key: str) -> Outcome | None:
        """The outcome with that key; None where there is none.

        Raises:
            files.Damaged: There is one that cannot be used.
            TestbedError: It cannot be read.
        """
        path = self.path(key)
        try:
            found = files.read(path)
        except files.Missing:
            return None
        if len(found) != 1 or found[0].key != key:
            raise files.Damaged(f"{path}: is of another key than its name says")
        return found[0]

    def there(self, keys: Iterable[str]) -> tuple[dict[str, Outcome], list[str]]:
        """Those of these keys that are there, and what was put aside, in words.

        Raises:
            TestbedError: One can neither be read nor put aside.
        """
        found: dict[str, Outcome] = {}
        told: list[str] = []
        for key in keys:
            outcome, why = self.read_or_put_aside(self.path(key), partial(self.get, key))
            if why:
                told.append(f"{why}; it is put aside as *{ASIDE}, and the run is made again")
            if outcome is not None:
                found[key] = outcome
        return found, told

    def keep(self, outcome: Outcome) -> None:
        """Keeps an outcome, at once or not at all.

        Before the first, what killed processes have left in the folder is removed.

        Raises:
            TestbedError: It cannot be written.
        """
        if not self._tidied:
            self._tidied = True
            self._tidy()
        files.write(self.path(outcome.key), [outcome])

    def _tidy(self) -> None:
        """Looks once into each of the folders, of which there are as many as two digits have."""
        files.remove_abandoned(self.folder)
        for within in self.folder.glob("[0-9a-f][0-9a-f]"):
            files.remove_abandoned(within)

    def release(self, key: str) -> None:
        """Is no longer to keep the outcome with that key, which may not be there.

        Raises:
            TestbedError: It cannot be removed.
        """
        path = self.path(key)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise TestbedError(f"{path}: cannot be removed ({error.strerror})") from None

    @classmethod
    def read_or_put_aside(cls, path: Path, read: Callable[[], T | None]) -> tuple[T | None, str]:
        """Reads a kept file, and puts it aside where it is damaged.

        Another sitting may meet the same file, put it aside and make it again at the same time.
        So it is read a second time before it is put aside.

        Args:
            path: Path of it.
            read: Reads it; gives None where there is none.

        Returns:
            What it has, or None; and why it was put aside, or "".

        Raises:
            TestbedError: It can neither be read nor put aside.
        """
        with suppress(files.Damaged):
            return read(), ""
        try:
            return read(), ""
        except files.Damaged as error:
            cls.put_aside(path)
            return None, str(error)

    @staticmethod
    def put_aside(path: Path) -> None:
        """Is no longer to be used, and stays for whoever wants to know what became of it.

        Where there is no such file any more, another sitting has done so.

        Raises:
            TestbedError: It cannot be renamed.
        """
        try:
            path.replace(path.with_name(path.name + ASIDE))
        except FileNotFoundError:
            return
        except OSError as error:
            raise TestbedError(f"{path}: cannot be put aside ({error.strerror})") from None
