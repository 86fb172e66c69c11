# SPDX-License-Identifier: Apache-2.0
"""Results into files, or a text for standard output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from docsis_labs.grading.formats import gradescope, moodle
from docsis_labs.grading.result import Result


def written(results: Sequence[Result], form: str, out: Path | None) -> str | None:
    """Writes the results.

    Args:
        results: Results of a class.
        form: "json", "gradescope" or "moodle"; of anything else, JSON goes into the file.
        out: The file; of Gradescope the folder. None writes nothing.

    Returns:
        The text, where it was not written.

    Raises:
        OSError: It cannot be written.
    """
    if form == "gradescope":
        texts = [_json(gradescope.document(result)) for result in results]
        if out is None:
            return "".join(texts)
        out.mkdir(parents=True, exist_ok=True)
        for result, text in zip(results, texts, strict=True):
            (out / f"{result.submission}.json").write_text(text)
        return None
    if form == "moodle":
        text = moodle.worksheet(results)
    else:
        text = _json([result.document() for result in results])
    if out is None:
        return text
    # Moodle's lines end with CR LF, on every system.
    out.write_text(text, encoding="utf-8", newline="")
    return None


def _json(document: object) -> str:
    return json.dumps(document, indent=2) + "\n"
