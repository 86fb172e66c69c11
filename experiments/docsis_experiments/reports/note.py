# SPDX-License-Identifier: Apache-2.0
"""A note that the user gives with a run, as text that is safe to keep and to show."""

from __future__ import annotations

from typing import Final

from docsis_testbed.errors import TestbedError
from docsis_testbed.readable import readable

LONGEST: Final = 2_000
"""Characters of a note."""


def note_from(text: str) -> str:
    """Returns a note as it is kept: see `readable`.

    Args:
        text: What the user gave; blank text is no note.

    Raises:
        TestbedError: It is too long.
    """
    if len(text) > LONGEST:
        raise TestbedError(
            f"--note: has {len(text):,} characters, and there may be {LONGEST:,}; keep longer "
            "texts in a file beside the results"
        )
    return readable(text.replace("\r\n", "\n")).strip()
