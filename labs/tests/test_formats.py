# SPDX-License-Identifier: Apache-2.0
"""Results as Gradescope and Moodle read them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from docsis_labs.grading import writing
from docsis_labs.grading.formats import gradescope, moodle
from docsis_labs.grading.result import Judged, Result, Status

CRITERIA: Final = (
    Judged("first", "The first", 60, 60, Status.PASSED, "", "Seen."),
    Judged("second", "The second", 0, 30, Status.MISSED, "sign", 'It is "turned", really.\n=1+1'),
    Judged("third", "The third", 0, 10, Status.SKIPPED, "", "First: The second."),
)


def result(name: str, *more: Judged) -> Result:
    return Result(5, name, CRITERIA + more, True, 1.25, 120)


BY_HAND: Final = result("hand", Judged("x", "X", 0, 5, Status.BY_HAND, "no-compiler", "No p4c."))

# Gradescope's documentation, "Autograder Specifications": the keys of results.json used here.
GRADESCOPE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["tests"],
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": {"enum": ["text", "html", "simple_format", "md", "ansi"]},
        "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["score", "max_score", "name"],
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": {"enum": ["text", "html", "simple_format", "md", "ansi"]},
                    "visibility": {
                        "enum": ["hidden", "after_due_date", "after_published", "visible"]
                    },
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}


@pytest.mark.parametrize("one", [result("anna"), BY_HAND], ids=["graded", "by-hand"])
def test_gradescope_s_document(one: Result) -> None:
    document = json.loads(json.dumps(gradescope.document(one)))
    jsonschema.validate(document, GRADESCOPE)
    assert document["score"] == sum(test["score"] for test in document["tests"]) == 60


def test_moodle_s_worksheet_has_its_columns_and_no_formula() -> None:
    text = moodle.worksheet(
        [result("Anna Ångström_12345_assignsubmission_file_"), result("=cmd()"), BY_HAND]
    )
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == moodle.COLUMNS
    assert rows[1][:4] == ["Participant 12345", "Anna Ångström", "60.00", "100.00"]
    assert 'It is "turned", really.' in rows[1][4]
    assert rows[2][0] == "'=cmd()"
    assert rows[3][2] == "", "somebody has to look at it first"


def test_files_of_a_class(tmp_path: Path) -> None:
    results = [result("anna"), result("bert")]
    assert writing.written(results, "gradescope", tmp_path / "all") is None
    assert sorted(file.name for file in (tmp_path / "all").iterdir()) == ["anna.json", "bert.json"]
    assert writing.written(results, "json", tmp_path / "class.json") is None
    documents = json.loads((tmp_path / "class.json").read_text())
    assert [document["points"] for document in documents] == [60, 60]
    assert documents[0]["status"] == "graded"
    assert BY_HAND.document()["status"] == "by-hand"
    assert writing.written(results, "moodle", None) == moodle.worksheet(results)
