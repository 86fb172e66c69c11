# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: results/<time>-<name>/, with .partial behind it until it is whole.

summary.json           the figures; each experiment's has a schema
report.html            the same for people; opens offline
details.json           times, traffic, and what the summary leaves out
inputs/topology.yaml   topology and tier as resolved: the run can be repeated from it
plots/                 the report's figures
runs/                  by run: raw samples as CSV, what every program said, the controller's record
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

PARTIAL: Final = ".partial"
"""Ends the name of a folder whose run goes on, failed or was interrupted."""


def create_named(name: str, results: Path = RESULTS) -> Path:
    """Make the folder of a new run, named by the time; :func:`finish` says that it is whole.

    Raises:
        TestbedError: it cannot be made.
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = results / f"{stamp}-{name}{PARTIAL}"
    try:
        if _whole(folder).exists():
            raise FileExistsError
        folder.mkdir(parents=True)
        (folder / "plots").mkdir()
    except FileExistsError:
        raise TestbedError(f"{_whole(folder)}: exists already; try again in a second") from None
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be made ({error.strerror})") from None
    return folder


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
    return {
        "started": started.isoformat(sep=" ", timespec="seconds"),
        "seconds": round((datetime.now() - started).total_seconds(), 1),
        "machine": {"cpus": os.cpu_count(), "load_average": os.getloadavg()[0]},
        "time_zone": time.tzname[0],
    }
