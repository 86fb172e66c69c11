# SPDX-License-Identifier: Apache-2.0
"""Selects tests by name, module, need and requirement, and leaves others out.

What is left out is left out whatever else was said, and leaving out alone leaves all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from docsis_ptf.catalogue import Test
from docsis_ptf.plan import Requirement

WITHOUT: Final = "^"
ALL: Final = frozenset({"all", "standard"})
"""Every test; the second is PTF's own word for it."""
LONG: Final = "long"
"""Tests that take long; a suite that has none of them is asked to leave them out all the same."""


class SelectionError(ValueError):
    """A selection that names nothing, or leaves nothing; the message says which word does."""


def select(
    words: Sequence[str], tests: Sequence[Test], requirements: Iterable[Requirement]
) -> tuple[Test, ...]:
    """The tests that the words ask for, in the suite's order.

    Args:
        words: Tests (module.Class), modules, needs, ids of requirements ("CF-1") or their letters
            ("CF"), "all"; each with "^" before it leaves out. No word, or only such as leave out,
            begins with all tests.
        tests: The suite's.
        requirements: The plan's.

    Raises:
        SelectionError: A word names nothing, or no test is left.
    """
    known = _names(tests, requirements)
    wanted = [word for word in words if not word.startswith(WITHOUT)]
    without = [word.removeprefix(WITHOUT) for word in words if word.startswith(WITHOUT)]
    for word in (*wanted, *without):
        if word not in known:
            raise SelectionError(_unknown(word, known))
    chosen = known["all"] if not wanted else frozenset[str]().union(*(known[w] for w in wanted))
    left = chosen.difference(*(known[word] for word in without))
    if not left:
        said = " ".join(words) or "nothing"
        raise SelectionError(
            f"{said!r} leaves no test: there is none of what it asks for that it does not leave out"
        )
    return tuple(test for test in tests if test.key in left)


def _names(tests: Sequence[Test], requirements: Iterable[Requirement]) -> dict[str, frozenset[str]]:
    """The tests behind each word."""
    found: dict[str, set[str]] = {word: {test.key for test in tests} for word in ALL}
    found[LONG] = set()
    for test in tests:
        for word in (test.key, *test.groups):
            found.setdefault(word, set()).add(test.key)
    for requirement in requirements:
        for word in (requirement.key, requirement.group):
            found.setdefault(word, set()).update(requirement.tests)
    return {word: frozenset(keys) for word, keys in found.items()}


def _unknown(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    # A class without its module, or something misspelt.
    near = [n for n in names if n.partition(".")[2] == word] or get_close_matches(word, names)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return (
        f"{word!r} names no test, module, group or requirement of the suite{meant}"
        " (docs/test-plan.md has them all)"
    )
