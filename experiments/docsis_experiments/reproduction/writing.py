# SPDX-License-Identifier: Apache-2.0
"""The folder of a sitting: results.json, the page, and what a folder of results has."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reproduction import document, earlier, merging, outcomes, tables
from docsis_experiments.reproduction.alone import alone_in
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.drawings import Undrawn, figures_of
from docsis_experiments.reproduction.figure import Figures
from docsis_experiments.reproduction.judge.kept import History
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


@dataclass(frozen=True)
class Written:
    """The result of writing a sitting.

    Attributes:
        folder: The sitting's folder.
        undrawn: The figures that its page lacks, and why.
    """

    folder: Path
    undrawn: Sequence[Undrawn]


@dataclass(frozen=True)
class Published:
    """The result of publishing a sitting.

    Attributes:
        page: Where the page is.
        without_verdict: Ids of the rows whose verdict by an earlier rule gave way to a provisional
            outcome by today's.
    """

    page: Path
    without_verdict: Sequence[str] = ()


def write(
    sitting: Sitting,
    done: Outcomes,
    before: tuple[str, dict[str, Any]] | None,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
    results: Path,
    console: Console,
) -> Written:
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
        The folder, and what is missing in it.

    Raises:
        TestbedError: Something cannot be written.
    """
    folder = run_folder.create_named("reproduce", results)
    with run_folder.told_if_unfinished(folder, console):
        content, told, undrawn = contents(sitting, done, shelf, figures)
        if before is not None:
            name, earlier_content = before
            content["since"] = earlier.since(earlier_content, content["rows"], name)
        for words in (*told, *(one.words for one in undrawn)):
            console.print(words, style="yellow", soft_wrap=True, highlight=False)
        earlier.validate(content, RESULTS_FILE)
        _write(_texts(content, PAGE_FILE), folder)
        (folder / "plots").rmdir()  # the page has them all
        folder = run_folder.finish(folder)
    console.print(tables.outcomes(content["rows"]))
    console.print(f"Report: {folder / PAGE_FILE}", soft_wrap=True, highlight=False)
    if sitting.request.publish is not None:
        published = publish(content, sitting.request.publish)
        if published.without_verdict:
            names = ", ".join(published.without_verdict)
            console.print(
                f"{names}: the page had a verdict by an earlier rule. Today's rule stands, and has "
                "only provisional outcomes: --level full gives a verdict.",
                style="yellow",
                soft_wrap=True,
                highlight=False,
            )
        console.print(f"Published: {published.page}", soft_wrap=True, highlight=False)
    return Written(folder, undrawn)


def contents(
    sitting: Sitting,
    done: Outcomes,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
) -> tuple[dict[str, Any], list[str], list[Undrawn]]:
    """results.json, why outcomes are missing in it, in words, and what could not be drawn."""
    request, account = sitting.request, sitting.account
    history, told = _history(shelf)
    rows = [
        document.row(one, request.chosen_level, request.stage, sitting.made, history.of(name))
        for name, one in done.rows.items()
    ]
    made = sitting.made.as_data()
    drawings, undrawn = figures_of(sitting, done, shelf, figures)
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
                **data,
                "drawn_of": list(one.of),
                "lacks": list(one.lacks),
                "level": request.chosen_level.value,
                "made": made,
            }
            for one, data in drawings
        ],
        "since": None,
    }
    return content, told, undrawn


def _history(shelf: Shelf) -> tuple[History, list[str]]:
    """The history of outcomes, or why it cannot be read; the page is written in either case."""
    try:
        return outcomes.of(shelf), []
    except TestbedError as error:
        return History((), ()), [f"The page has no earlier outcomes: {error}"]


def publish(content: dict[str, Any], folder: Path) -> Published:
    """Puts a sitting together with what a folder has of earlier ones.

    Args:
        content: The content of the sitting.
        folder: Gets the page and results.json; made where it is not there.

    Returns:
        The page, and what its readers should hear of it.

    Raises:
        TestbedError: What is there cannot be used (it is left as it is), nothing can be written,
            or others write there for more than a minute.
    """
    with alone_in(folder):
        before = _published(folder)
        lost: Sequence[str] = ()
        if before is None:
            texts = _texts(content, PUBLISHED_PAGE)
        else:
            name = str(folder / RESULTS_FILE)
            content = merging.together(before, content, name, registered_rules(), load_repairs())
            earlier.validate(content, RESULTS_FILE)
            lost = merging.without_verdict(before, content)
            try:
                texts = _texts(content, PUBLISHED_PAGE)
            except Exception as error:  # the shape of what is there is right, and the rest is not
                words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                raise TestbedError(f"{name}: no page can be made with it ({words})") from error
        _write(texts, folder)
    return Published(folder / PUBLISHED_PAGE, lost)


def check_appended(file: Path) -> None:
    """Makes sure, before a long sitting, that outcomes can be added to a file after it.

    Raises:
        TestbedError: It cannot be opened for that.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab"):
            pass
    except OSError as error:
        raise TestbedError(
            f"{file}: outcomes cannot be added to it ({error.strerror}); make it writable, or put "
            "it aside"
        ) from None


def check_place(folder: Path) -> None:
    """Makes sure, before a long sitting, that its page can be published into a folder after it.

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


def _texts(content: Mapping[str, Any], page: str) -> dict[str, bytes]:
    """The contents of results.json and of its page, by the files' names.

    Raises:
        ValueError: A number is not finite, or a text has no UTF-8.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    # The page's policy has hashes of bytes, so its lines end as they are written here.
    return {RESULTS_FILE: text.encode(), page: html.text(content).encode()}


def _write(texts: Mapping[str, bytes], folder: Path) -> None:
    """Writes files whose contents are all there already, so that none is without the other."""
    for name, text in texts.items():
        files.write_atomically(folder / name, text)
