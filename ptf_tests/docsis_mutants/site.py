# SPDX-License-Identifier: Apache-2.0
"""A site: one place of a source file and one change that can be made there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Operator(StrEnum):
    """The kinds of changes; docs/explanation/mutants.md has a row for each."""

    RELATION = "relation"
    ARITHMETIC = "arithmetic"
    SHIFT = "shift"
    LOGIC = "logic"
    NEGATION = "negation"
    CONSTANT = "constant"
    TRUTH = "truth"
    EXTREME = "extreme"
    STATEMENT = "statement"


@dataclass(frozen=True)
class Change:
    """A change within a text.

    Attributes:
        start: Offset of its first character.
        before: The characters that are there.
        after: Those that take their place.
        operator: The kind of change.
    """

    start: int
    before: str
    after: str
    operator: Operator


@dataclass(frozen=True)
class Site:
    """A change with its place, as the list has it.

    Attributes:
        file: Path from the project's root, with forward slashes.
        line: From 1.
        column: From 1, in characters.
        operator: The kind of change.
        before: The text that is there.
        after: The text that takes its place.
        digest: `line_digest` of the line that it begins in.
    """

    file: str
    line: int
    column: int
    operator: Operator
    before: str
    after: str
    digest: str

    @property
    def place(self) -> tuple[str, int, int, Operator]:
        """Where it is and what kind of change it makes: several changes may share that."""
        return self.file, self.line, self.column, self.operator

    @property
    def key(self) -> str:
        """A name for it, the same wherever it is told of."""
        return f"{self.file}:{self.line}:{self.column} {self.operator} {self.after!r}"


def line_digest(line: str) -> str:
    """The first 8 hexadecimal digits of the SHA-256 of a line without its end."""
    return hashlib.sha256(line.encode()).hexdigest()[:8]


def located(file: str, text: str, change: Change) -> Site:
    """Returns the site of a change in the text of a file."""
    begin = text.rfind("\n", 0, change.start) + 1
    line = text.count("\n", 0, change.start) + 1
    whole = text[begin:].partition("\n")[0]
    return Site(
        file,
        line,
        change.start - begin + 1,
        change.operator,
        change.before,
        change.after,
        line_digest(whole),
    )


def mutated(site: Site, text: str) -> str:
    """Returns the text with the change made.

    Raises:
        ValueError: The text is not the one that the site was found in.
    """
    lines = text.splitlines(keepends=True)
    if site.line > len(lines):
        raise ValueError(f"{site.file}: line {site.line} is not there any more")
    start = sum(map(len, lines[: site.line - 1])) + site.column - 1
    same = line_digest(lines[site.line - 1].rstrip("\n")) == site.digest
    if not same or not text.startswith(site.before, start):
        raise ValueError(f"{site.file}:{site.line}: the line has changed since it was listed")
    return text[:start] + site.after + text[start + len(site.before) :]
