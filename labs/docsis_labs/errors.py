# SPDX-License-Identifier: Apache-2.0
"""The error for submissions that cannot be graded as they are."""

from __future__ import annotations

from docsis_labs.criterion import Missed


class SubmissionError(Exception):
    """A submission's file or program cannot be used.

    Attributes:
        missed: What the criterion says that met it.
        by_hand: Nobody can tell here whether it is the student's mistake: grade it by hand.
    """

    def __init__(self, mistake: str, hint: str, *, by_hand: bool = False) -> None:
        """Args: as of `Missed`, and `by_hand`."""
        super().__init__(hint)
        self.missed = Missed(mistake, hint)
        self.by_hand = by_hand
