# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: results/<time>-<name>/, or the one that the user names with --output.

Its name has .partial behind it until it is whole.

summary.json           the figures; each experiment's has a schema
report.html            the same for people; opens offline
details.json           times, traffic, and what the summary leaves out
inputs/topology.yaml   topology and tier as resolved: the run can be repeated from it
plots/                 the report's figures
runs/                  by run: raw samples as CSV, what every program said, the controller's record
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

PARTIAL: Final = ".partial"
"""Ends the name of a folder whose run goes on, failed or was interrupted."""

_MOST_OF_A_SECOND: Final = 100
"""Folders of one name that begin within a second."""


def create_named(name: str, results: Path = RESULTS) -> Path:
    """Make the folder of a new run, named by the time; :func:`finish` says that it is whole.

    Of runs of the same second, those after the first have a number behind the name.

    Raises:
        TestbedError: it cannot be made.
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in range(1, _MOST_OF_A_SECOND + 1):
        ending = "" if number == 1 else f"-{number}"
        folder = results / f"{stamp}-{name}{ending}{PARTIAL}"
        try:
            _make(folder)
        except FileExistsError:
            continue
        if not _whole(folder).exists():
            return folder
        # The other run has ended. It is looked for only now, so that it cannot end in between.
        _unmake(folder)
    raise TestbedError(f"{results}: has {_MOST_OF_A_SECOND} runs of this second; try again")


def _make(folder: Path, named: str = "") -> None:
    """Makes a run's folder; `named` is how the user named it, where that is not its path."""
    try:
        folder.mkdir(parents=True)
        (folder / "plots").mkdir()
    except FileExistsError:
        raise
    except OSError as error:
        raise TestbedError(
            f"{named or folder}: nothing can be written there ({error.strerror}); name another "
            "folder"
        ) from None


def _unmake(folder: Path) -> None:
    """Takes away a folder that :func:`_make` has just made."""
    try:
        (folder / "plots").rmdir()
        folder.rmdir()
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be taken away ({error.strerror})") from None


@dataclass(frozen=True)
class Destination:
    """The place that a result goes to.

    Attributes:
        output: The result's folder itself, new or empty; None: one of `results`, named by the time.
        results: Folder that gets the result's folder where `output` is None.
    """

    output: Path | None = None
    results: Path = RESULTS

    def check(self) -> None:
        """Refuses an output folder that cannot become the result's; nothing is made.

        Raises:
            TestbedError: It has something in it, it cannot be renamed, or a result that is not
                complete is beside it.
        """
        if self.output is None:
            return
        place = f"--output {self.output}"
        try:
            whole = self.output.resolve()
            if whole.exists() and not whole.is_dir():
                raise TestbedError(f"{place}: is no folder; name a new or an empty folder")
            if whole.exists() and any(whole.iterdir()):
                raise TestbedError(
                    f"{place}: is there and not empty; name a new or an empty folder"
                )
            if whole.is_mount():
                raise TestbedError(f"{place}: is a file system's root; name a folder inside of it")
            if _partial(whole).exists():
                raise TestbedError(
                    f"{place}: {_partial(whole)} has what is left of a run that was not completed; "
                    "delete it, or name another folder (runs that are kept are not made again)"
                )
        except (OSError, RuntimeError) as error:
            # A loop of symbolic links is a RuntimeError before Python 3.13.
            reason = getattr(error, "strerror", None) or error
            raise TestbedError(f"{place}: cannot be used ({reason})") from None

    def create(self, name: str) -> Path:
        """Makes the folder of a new run; :func:`finish` says that it is whole.

        Args:
            name: The experiment's name.

        Raises:
            TestbedError: It cannot be made, or the output folder is in use by now.
        """
        if self.output is None:
            return create_named(name, self.results)
        self.check()
        folder = _partial(self.output.resolve())
        try:
            _make(folder, f"--output {self.output}")
        except FileExistsError:
            raise TestbedError(f"{folder}: was made just now by another run") from None
        return folder


def _partial(folder: Path) -> Path:
    return folder.with_name(folder.name + PARTIAL)


def _whole(folder: Path) -> Path:
    return folder.with_name(folder.name.removesuffix(PARTIAL))


def finish(folder: Path) -> Path:
    """Everything is in the folder of a run: it gets its name, which is returned.

    Raises:
        TestbedError: it cannot be renamed.
    """
    try:
        return folder.rename(_whole(folder))
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be renamed ({error.strerror})") from None


@contextmanager
def told_if_unfinished(folder: Path, console: Console) -> Iterator[None]:
    """Ctrl-C and failures leave the folder, with the logs that say why; its name says so."""
    try:
        yield
    except BaseException:
        console.print(
            f"The run is not complete; what there is of it: {folder}",
            soft_wrap=True,
            highlight=False,
        )
        raise


def circumstances(started: datetime) -> dict[str, Any]:
    """When and where a run was, for details.json."""
    local = started.astimezone()
    return {
        # With its offset, as reports are exported on other machines, too.
        "started": local.isoformat(sep=" ", timespec="seconds"),
        "seconds": round((datetime.now() - started).total_seconds(), 1),
        "machine": {"cpus": os.cpu_count(), "load_average": os.getloadavg()[0]},
        "time_zone": local.tzname(),
    }
