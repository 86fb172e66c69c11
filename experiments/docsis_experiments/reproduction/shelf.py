# SPDX-License-Identifier: Apache-2.0
"""All that was made for rows and is kept, by key, so that nothing is made twice.

Runs are in the store that sweeps and seeds have, too. What came of other works lies beside them:

    <folder>/<first two digits of the key>/<key>.json

A file that is damaged or of another version is put aside under another name, told, and its work
is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from docsis_experiments.reproduction import small_works
from docsis_experiments.reproduction.row import Computation, Draws, Run, Work
from docsis_experiments.runs import files, unit
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.sources import StageName
from docsis_experiments.runs.store import Store
from docsis_testbed.errors import TestbedError

VERSION: Final = 1
"""Version of the shape of what is kept of works that are no runs."""

_MOST_BYTES: Final = 64 << 20


def key_of(work: Work, stage: StageName = "virtual") -> str:
    """The key under which the result of a work is kept.

    Raises:
        TestbedError: The code cannot be read.
        TypeError: It is no work.
    """
    if isinstance(work, Run):
        return unit.key(work.unit, stage)
    return small_works.key(work)


class Shelf:
    """The results of works, by key."""

    def __init__(self, store: Store | None = None) -> None:
        """Args: where outcomes are kept."""
        self.store = Store() if store is None else store

    def look(self, work: Work, key: str) -> tuple[bool, str]:
        """Whether what came of a work is there, and what was put aside, in words.

        Raises:
            TestbedError: It can neither be read nor put aside.
        """
        found: object
        if isinstance(work, Run):
            path = self.store.path(key)
            found, why = self.store.read_or_put_aside(path, lambda: self.store.get(key))
        else:
            path = self._path(key)
            found, why = self.store.read_or_put_aside(path, lambda: self._read(key))
        return found is not None, f"{why}; it is put aside, and made again" if why else ""

    def there(self, key: str) -> bool:
        """Whether something is kept under a key; whether it can be used, `look` has seen."""
        return self.store.path(key).exists() or self._path(key).exists()

    def outcome(self, key: str) -> Outcome | None:
        """The outcome of a run; None where it is not there, or cannot be used any more.

        Raises:
            TestbedError: It cannot be read.
        """
        try:
            return self.store.get(key)
        except files.Damaged:
            return None

    def report(self, key: str) -> Mapping[str, Any] | None:
        """The report of another work; None where it is not there, or cannot be used any more.

        Raises:
            TestbedError: It cannot be read.
        """
        try:
            return self._read(key)
        except files.Damaged:
            return None

    def keep(self, work: Draws | Computation, key: str, found: Mapping[str, Any]) -> None:
        """Keeps what came of a work that is no run, at once or not at all.

        Raises:
            TestbedError: It cannot be written.
        """
        text = _text(found)
        content = {
            "version": VERSION,
            "key": key,
            "label": work.label,
            "seed": work.seed,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "found": found,
        }
        files.write_atomically(self._path(key), (json.dumps(content) + "\n").encode())

    def _path(self, key: str) -> Path:
        return self.store.path(key).with_suffix(".json")

    def _read(self, key: str) -> Mapping[str, Any] | None:
        path = self._path(key)
        try:
            with path.open("rb") as file:
                text = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TestbedError(f"{path}: cannot be read ({error.strerror})") from None
        try:
            if len(text) > _MOST_BYTES:
                raise ValueError("it is too long")
            content = json.loads(text)
            if content["version"] != VERSION:
                raise files.Damaged(
                    f"{path}: is of version {content['version']}, and this program reads version "
                    f"{VERSION}"
                )
            found: Mapping[str, Any] = content["found"]
            digest = hashlib.sha256(_text(found).encode()).hexdigest()
            if content["key"] != key or content["sha256"] != digest:
                raise ValueError("its content is not what was written")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise files.Damaged(f"{path}: is damaged ({str(error)[:200]})") from None
        return found


def _text(found: Mapping[str, Any]) -> str:
    # NaN and infinity are values here, and Python's JSON has words for them.
    return json.dumps(found, sort_keys=True, separators=(",", ":"))
