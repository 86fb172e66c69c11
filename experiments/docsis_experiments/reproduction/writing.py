# SPDX-License-Identifier: Apache-2.0
"""The folder of a sitting: results.json, the page, and what a folder of results has."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reproduction import document, earlier, merging, outcomes, tables
from docsis_experiments.reproduction.alone import alone_in
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.figure import Figures
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.judge.kept import History
from docsis_experiments.reproduction.judging import Drawn, drawn
from docsis_experiments.reproduction.outcomes import Outcomes
from docsis_experiments.reproduction.page import html
from docsis_experiments.reproduction.repairs.loader import load_repairs
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.sitting import Sitting
from docsis_experiments.runs import files
from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at

RESULTS_FILE: Final = "results.json"
PAGE_FILE: Final = "report.html"
PUBLISHED_PAGE: Final = "index.html"


def write(
    sitting: Sitting,
    done: Outcomes,
    before: tuple[str, dict[str, Any]] | None,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
    results: Path,
    console: Console,
) -> Path:
    """Writes what came of a sitting, and tells it.

    Args:
        sitting: What was asked for and made.
        done: What came of it.
        before: Earlier results with their name; None where nobody asks what changed.
        shelf: Where what was made is kept.
        figures: Functions that draw, each with the ids of its rows.
        results: Folder that gets the sitting's folder.
        console: Where the table goes.

    Returns:
        The folder.

    Raises:
        TestbedError: Something cannot be written.
    """
    folder = run_folder.create_named("reproduce", results)
    with run_folder.told_if_unfinished(folder, console):
        content, told = contents(sitting, done, shelf, figures)
        if before is not None:
            name, earlier_content = before
            content["since"] = earlier.since(earlier_content, content["rows"], name)
        for words in told:
            console.print(words, style="yellow", soft_wrap=True, highlight=False)
        earlier.validate(content, RESULTS_FILE)
        _write(content, folder, PAGE_FILE)
        (folder / "plots").rmdir()  # the page has them all
        folder = run_folder.finish(folder)
    console.print(tables.outcomes(content["rows"]))
    console.print(f"Report: {folder / PAGE_FILE}", soft_wrap=True, highlight=False)
    if sitting.request.publish is not None:
        published = publish(content, sitting.request.publish)
        console.print(f"Published: {published}", soft_wrap=True, highlight=False)
    return folder


def contents(
    sitting: Sitting,
    done: Outcomes,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
) -> tuple[dict[str, Any], list[str]]:
    """results.json, and what is missing in it, in words."""
    request, account = sitting.request, sitting.account
    history, unread = _history(shelf)
    rows = [
        document.row(one, request.chosen_level, request.stage, sitting.made, history.of(name))
        for name, one in done.rows.items()
    ]
    made = sitting.made.as_data()
    found, told = _drawn(sitting, done, shelf, figures)
    content = {
        "experiment": document.EXPERIMENT,
        "version": document.VERSION,
        "level": request.chosen_level.value,
        "stage": request.stage,
        "made": made,
        "cost": {
            "works": len(account.works),
            "kept": len(account.kept),
            "made": len(account.made),
            "failed": len(account.failures),
            "seconds": round(account.seconds, 3),
            "estimated_seconds": round(account.estimated, 3),
        },
        "counts": document.counts(rows),
        "rows": rows,
        "figures": [
            {
                **as_data(one.figure),
                "drawn_of": list(one.of),
                "lacks": list(one.lacks),
                "level": request.chosen_level.value,
                "made": made,
            }
            for one in found
        ],
        "since": None,
    }
    return content, [*unread, *told]


def _history(shelf: Shelf) -> tuple[History, list[str]]:
    """All outcomes that there ever were, or why they cannot be read, which hinders no page."""
    try:
        return outcomes.of(shelf), []
    except TestbedError as error:
        return History((), ()), [f"The page has no earlier outcomes: {error}"]


def _drawn(
    sitting: Sitting,
    done: Outcomes,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
) -> tuple[list[Drawn], list[str]]:
    """The figures of a sitting, and what hindered others."""
    # In Mininet a row has one condition of those that its figure draws.
    if sitting.request.stage == "mininet":
        return [], []
    # Of two plans of a row the extended one comes last, and is drawn: the page judges that.
    return drawn(figures, [*sitting.plan.rows, *done.extended], done.rows, shelf)


def publish(content: dict[str, Any], folder: Path) -> Path:
    """Puts a sitting together with what a folder has of earlier ones.

    Args:
        content: The content of the sitting.
        folder: Gets the page and results.json; made where it is not there.

    Returns:
        The page.

    Raises:
        TestbedError: What is there cannot be used (it is left as it is), nothing can be written,
            or others write there for more than a minute.
    """
    with alone_in(folder):
        before = _published(folder)
        if before is not None:
            name = str(folder / RESULTS_FILE)
            content = merging.together(before, content, name, registered_rules(), load_repairs())
            earlier.validate(content, RESULTS_FILE)
        _write(content, folder, PUBLISHED_PAGE)
    return folder / PUBLISHED_PAGE


def check_place(folder: Path) -> None:
    """Refuses, before a long sitting, a folder that could not be published into after it.

    The folder is made where it is not there.

    Args:
        folder: The folder.

    Raises:
        TestbedError: It cannot be made or written, or what is there cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TestbedError(
            f"--publish {folder}: nothing can be written there ({error.strerror}); give another "
            "folder"
        ) from None
    _published(folder)


def _published(folder: Path) -> dict[str, Any] | None:
    """What earlier sittings published in a folder; None where there is nothing.

    Raises:
        TestbedError: What is there cannot be used, or is not known to be ours.
    """
    file, page = folder / RESULTS_FILE, folder / PUBLISHED_PAGE
    if looked_at(file, os.path.lexists):
        return earlier.read(file)
    if looked_at(page, os.path.lexists):
        # A page of ours has results.json beside it, so this one may be anybody's.
        raise TestbedError(
            f"{page}: is there without {RESULTS_FILE}, so docsis-p4 did not publish it and leaves "
            "it as it is; move it away, or publish into another folder"
        )
    return None


def _write(content: Mapping[str, Any], folder: Path, page: str) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    files.write_atomically(folder / RESULTS_FILE, text.encode())
    html.write(content, folder / page)
