# SPDX-License-Identifier: Apache-2.0
"""Results as Moodle's assignments take them: the offline grading worksheet, a CSV file.

Moodle finds the columns by their titles (mod/assign/feedback/offline/importgradeslib.php): it needs
"Identifier", which is "Participant" and a number, and "Grade"; "Feedback comments" goes with it.
The titles are those of a site in English. A submission's number is in its folder's name, as Moodle
names the folders of "Download all submissions".
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final

from docsis_labs.exercise import ALL_POINTS
from docsis_labs.grading.result import Judged, Result, Status

COLUMNS: Final = ("Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments")

_FOLDER: Final = re.compile(r"(?P<name>.*)_(?P<number>\d+)_assignsubmission_file_?")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""The characters by which a spreadsheet takes a cell for a formula."""


def worksheet(results: Iterable[Result]) -> str:
    """The worksheet. A submission that is graded by hand has no grade yet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for result in results:
        identifier, name = _participant(result.submission)
        grade = "" if result.by_hand else f"{result.points:.2f}"
        writer.writerow(
            (
                _cell(identifier),
                _cell(name),
                grade,
                f"{ALL_POINTS:.2f}",
                _cell("\n".join(_line(one) for one in result.criteria)),
            )
        )
    return text.getvalue()


def _participant(folder: str) -> tuple[str, str]:
    """Identifier and full name; of a folder that Moodle has not named, its name for both."""
    match = _FOLDER.fullmatch(folder)
    if match is None:
        return folder, folder
    return f"Participant {match['number']}", match["name"]


def _line(judged: Judged) -> str:
    marks = {Status.BY_HAND: "to be graded by hand", Status.SKIPPED: "not looked at"}
    mark = marks.get(judged.status, f"{judged.points} of {judged.of}")
    return f"{judged.title}: {mark}. {judged.text}".strip()


def _cell(words: str) -> str:
    """Names and messages of others, as text and nothing else."""
    clean = "".join(c if c.isprintable() or c == "\n" else " " for c in words)
    return f"'{clean}" if clean.startswith(_FORMULA) else clean
