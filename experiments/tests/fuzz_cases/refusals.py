# SPDX-License-Identifier: Apache-2.0
"""What every refusal owes its reader, whichever case it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from docsis_control.config.errors import ConfigError
from docsis_testbed.errors import TestbedError

MOST_CHARACTERS: Final = 20_000
"""Characters that an error may have at the most."""


def check_sentence(error: ConfigError | TestbedError) -> None:
    """Checks that each problem of an error is told in words, and that the words are bounded.

    Raises:
        AssertionError: A problem is told without words, or in too many.
    """
    said: Sequence[str] = (
        [str(problem) for problem in error.problems]
        if isinstance(error, ConfigError)
        else [str(error)]
    )
    for words in said:
        assert words.strip(), "an error without words"
        assert len(words) <= MOST_CHARACTERS, f"an error of {len(words)} characters"
