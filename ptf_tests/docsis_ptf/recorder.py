# SPDX-License-Identifier: Apache-2.0
"""How one test went, in words, beside what PTF prints of it."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any, Final

from docsis_ptf.verdicts import Outcome, Verdict

_MOST_WORDS: Final = 300
"""Characters of a reason; more of it is in the detail."""
_MOST_DETAIL: Final = 20_000
"""Characters of what is told of one test: a target may refuse thousands of entries at once."""

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Recorder:
    """unittest's result, which hears of failures and skipped tests as well.

    Whatever it does not have is the result's own.
    """

    def __init__(self, result: Any) -> None:
        self._result = result
        self._failures: list[str] = []
        self._skipped: list[str] = []
        self._detail: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)

    def addFailure(self, test: Any, error: ErrorInfo) -> None:
        """A comparison failed."""
        self._note(test, error)
        self._result.addFailure(test, error)

    def addError(self, test: Any, error: ErrorInfo) -> None:
        """The test could not go on."""
        self._note(test, error)
        self._result.addError(test, error)

    def addSubTest(self, test: Any, case: Any, error: ErrorInfo | None) -> None:
        """A case went well (no error) or did not."""
        if error is not None:
            self._note(case, error)
        self._result.addSubTest(test, case, error)

    def addSkip(self, test: Any, reason: str) -> None:
        """The target cannot do what the test needs."""
        self._skipped.append(reason)
        self._result.addSkip(test, reason)

    def _note(self, case: Any, error: ErrorInfo) -> None:
        kind, raised, trace = error
        self._failures.append(_words(raised))
        self._detail.append(f"{case}\n{''.join(traceback.format_exception(kind, raised, trace))}")

    def verdict(self, test: str, seconds: float) -> Verdict:
        """The verdict of the test that ran with this result."""
        if self._failures:
            detail = _cut("\n".join(self._detail), _MOST_DETAIL)
            return Verdict(test, Outcome.FAILED, _once(self._failures), seconds, detail)
        if self._skipped:
            return Verdict(test, Outcome.SKIPPED, _once(self._skipped), seconds)
        return Verdict(test, Outcome.PASSED, seconds=seconds)


def _words(raised: BaseException | None) -> str:
    text = " ".join(str(raised).split()) or type(raised).__name__
    return _cut(text, _MOST_WORDS)


def _once(reasons: list[str]) -> str:
    """Each reason once, in order: cases of one test often fail alike."""
    return _cut("; ".join(dict.fromkeys(reasons)), _MOST_DETAIL)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."
