# SPDX-License-Identifier: Apache-2.0
"""Writes results as data files of flent (https://flent.org), one for each run: NAME.flent.gz.

flent's data files are a public format. This package writes them without flent, which is under the
GPL; `flent_program` starts flent as a program of its own where a user asks for a plot.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docsis_experiments.comparison.reading import checked_summary
from docsis_experiments.experiment.models import slug
from docsis_experiments.export import flent_program
from docsis_experiments.export.flent_document import document
from docsis_experiments.export.run_files import Details
from docsis_testbed.errors import TestbedError

SUFFIX: Final = ".flent.gz"


@dataclass(frozen=True)
class Written:
    """The files that an export made.

    Attributes:
        files: flent's data files, in the order of the runs.
        picture: The plot that flent drew of them; None where none was asked for.
    """

    files: tuple[Path, ...]
    picture: Path | None


def export(result: Path, folder: Path, *, plot: str | None = None) -> Written:
    """Writes a data file for each run of a folder of results.

    Args:
        result: Folder of `docsis-p4 run` or `demo`, of single runs.
        folder: Gets the files; made if it is missing.
        plot: Name of a plot of flent's, such as "ping_cdf", to be drawn of the files.

    Raises:
        TestbedError: The results cannot be used, a file exists already or cannot be written, or
            flent is missing or does not draw the plot. Nothing is left in the folder then.
    """
    program = None if plot is None else flent_program.find(plot)
    documents = {folder / name: content for name, content in _documents(result)}
    picture = None if plot is None else folder / f"{plot}.png"
    for path in (*documents, *((picture,) if picture else ())):
        if path.exists():
            raise TestbedError(f"{path}: exists already; name another folder with --output")
    with _all_or_nothing(folder) as made:
        for path, content in documents.items():
            text = json.dumps(content, allow_nan=False, sort_keys=True)
            with path.open("xb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                made.append(path)
                packed.write(text.encode())
        if program is not None and plot is not None and picture is not None:
            # flent makes the file, so it is ours from before it starts.
            made.append(picture)
            flent_program.draw(program, plot, tuple(documents), picture)
    return Written(tuple(documents), picture)


def _documents(result: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the name and the content of each file."""
    experiment, summary = checked_summary(result)
    if experiment != "scenario":
        raise TestbedError(
            f"{result}: has many runs, of which no samples over time are kept; give a folder of "
            "run or demo without --seeds and --repeat"
        )
    details = Details.read(result)
    names: set[str] = set()
    for run in summary["runs"]:
        name = f"{slug(summary['name'])}-{slug(run['label'])}{SUFFIX}"
        if name in names:
            raise TestbedError(f'{result}: is damaged (two runs have the label "{run["label"]}")')
        names.add(name)
        yield name, document(result, summary, run, details, name)


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[list[Path]]:
    """Removes the files that the caller has noted, and a new folder, when something fails."""
    made: list[Path] = []
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield made
    except BaseException as error:
        for path in made:
            path.unlink(missing_ok=True)
        if new:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise TestbedError(f"{folder}: cannot be written ({error.strerror})") from None
        raise
