# SPDX-License-Identifier: Apache-2.0
"""Results as Gradescope's autograder writes them into /autograder/results/results.json.

Source: Gradescope's documentation, "Autograder Specifications", output format.
"""

from __future__ import annotations

from typing import Any

from docsis_labs.grading.result import Judged, Result, Status


def document(result: Result) -> dict[str, Any]:
    """A submission's results.json."""
    return {
        "score": result.points,
        "execution_time": result.processor_seconds,
        "output": _OUTPUT[result.by_hand],
        "output_format": "text",
        "visibility": "visible",
        "tests": [_test(number, one) for number, one in enumerate(result.criteria, 1)],
    }


_OUTPUT = {
    False: "Every criterion has all of its points or none; the hints name likely mistakes.",
    True: "Some criteria could not be judged by the program: somebody will look at them.",
}


def _test(number: int, judged: Judged) -> dict[str, Any]:
    return {
        "name": judged.title,
        "number": str(number),
        "score": judged.points,
        "max_score": judged.of,
        "status": "passed" if judged.status is Status.PASSED else "failed",
        "output": judged.text,
        "output_format": "text",
        "visibility": "visible",
        "tags": [judged.mistake] if judged.mistake else [],
    }
