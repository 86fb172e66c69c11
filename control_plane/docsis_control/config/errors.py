# SPDX-License-Identifier: Apache-2.0
"""Errors in what the operator wrote."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a configuration file.

    Attributes:
        file: The file it is in.
        line: Its line, counted from 1; 0 where the whole file is meant.
        key: The dotted path of the key, or of a binary file the TLV and its byte; ""
            where the whole file is meant.
        message: A sentence that says what is wrong and what to do.
    """

    file: Path
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class ConfigError(ValueError):
    """A configuration that cannot be used. `str()` is one sentence: the first problem.

    Attributes:
        problems: All that was found, the one to mend first in front.
    """

    def __init__(self, problems: list[Problem]) -> None:
        if not problems:
            raise ValueError("a ConfigError needs a problem")
        self.problems = problems
        super().__init__(str(self.problems[0]))
