# SPDX-License-Identifier: Apache-2.0
"""The verdicts of tests and requirements.

A test's verdict is written down as soon as it is known (recorder.py, in PTF's process), so a run
that is ended in the middle keeps what it had. A requirement's follows from those of its tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from docsis_ptf.plan import Requirement

_NOT_RUN_WORDS: Final = "the run did not include it"


class Outcome(StrEnum):
    """The outcome of a test or a requirement. A test is never passed in part."""

    PASSED = "passed"
    FAILED = "failed"
    PARTLY = "passed in part"
    SKIPPED = "skipped"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Verdict:
    """The verdict of one test.

    Attributes:
        test: The test, as module.Class.
        outcome: PASSED, FAILED, SKIPPED or NOT_RUN.
        words: Why it failed or was skipped: an answer of the target, a comparison; else empty.
        seconds: How long it took.
        detail: Tracebacks, one for each case that failed.
    """

    test: str
    outcome: Outcome
    words: str = ""
    seconds: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Judged:
    """A requirement and what became of its tests."""

    requirement: Requirement
    verdicts: tuple[Verdict, ...]

    @property
    def outcome(self) -> Outcome:
        """FAILED when a test failed; PASSED only when all passed."""
        outcomes = {verdict.outcome for verdict in self.verdicts}
        if Outcome.FAILED in outcomes:
            return Outcome.FAILED
        if len(outcomes) == 1:
            return next(iter(outcomes))
        # Some passed, or some were skipped and some not run.
        return Outcome.PARTLY if Outcome.PASSED in outcomes else Outcome.SKIPPED

    @property
    def seconds(self) -> float:
        """The time that its tests took."""
        return sum(verdict.seconds for verdict in self.verdicts)

    @property
    def words(self) -> str:
        """Why it did not pass, each reason once."""
        reasons = dict.fromkeys(
            verdict.words or _NOT_RUN_WORDS
            for verdict in self.verdicts
            if verdict.outcome is not Outcome.PASSED
        )
        return "; ".join(reasons)


def judge(requirements: Iterable[Requirement], verdicts: Iterable[Verdict]) -> tuple[Judged, ...]:
    """Every requirement by the verdicts of its tests; a test without one was not run."""
    known = {verdict.test: verdict for verdict in verdicts}
    return tuple(
        Judged(
            requirement,
            tuple(known.get(test, Verdict(test, Outcome.NOT_RUN)) for test in requirement.tests),
        )
        for requirement in requirements
    )


def write(path: Path, verdict: Verdict) -> None:
    """Adds a verdict to those that a run wrote down."""
    with path.open("a") as file:
        file.write(json.dumps(asdict(verdict)) + "\n")


def read(path: Path) -> tuple[Verdict, ...]:
    """Reads the verdicts that a run wrote down; none where it did not come to that."""
    if not path.exists():
        return ()
    return tuple(_verdict(json.loads(line)) for line in path.read_text().splitlines())


def _verdict(values: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**values, "outcome": Outcome(values["outcome"])})


def complete(verdicts: Sequence[Verdict], chosen: Iterable[str], why: str) -> tuple[Verdict, ...]:
    """Adds the tests that were chosen and did not come to run, with the reason."""
    known = {verdict.test for verdict in verdicts}
    missing = (Verdict(test, Outcome.NOT_RUN, why) for test in chosen if test not in known)
    return (*verdicts, *missing)
