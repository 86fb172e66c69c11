# SPDX-License-Identifier: Apache-2.0
"""Laws: pytest of the nearest tests, of all tests that run a law, and of runs in virtual time."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final

from docsis_mutants import near
from docsis_mutants.site import Site
from docsis_mutants.steps import Failure, last_line, limit, time_is_over
from docsis_mutants.tree import Tree

_FIRST_SECONDS: Final = 1800.0
"""Time for tests of which it is not known how long they take."""
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?", re.MULTILINE)
_INTERNAL: Final = (2, 3, 4, 5)
"""pytest's exit statuses of a run in which no test failed and which is none all the same."""


class PythonCompiler:
    """Python's own compiler."""

    def refused(self, tree: Tree, text: str) -> str | None:
        """See `Compiler`."""
        try:
            compile(text, "mutant", "exec")
        except SyntaxError as error:
            return str(error)
        return None

    def restore(self, tree: Tree) -> None:
        """See `Compiler`; nothing is compiled."""


class Pytest:
    """Files of tests, run by pytest up to the first that fails."""

    def __init__(self, name: str, files: Sequence[str]) -> None:
        """Args: what the record calls it, and paths from the root."""
        self.name = name
        self._files = list(files)
        self._took = 0.0

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`."""
        begun = time.monotonic()
        failure = self._run(tree, self._files, _FIRST_SECONDS)
        self._took = time.monotonic() - begun
        return failure

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        return self._run(tree, self._files, limit(self._took))

    def nearest(self, tree: Tree, files: Sequence[str]) -> Failure | None:
        """Runs some of its files."""
        return self._run(tree, files, limit(self._took))

    def _run(self, tree: Tree, files: Sequence[str], seconds: float) -> Failure | None:
        ended = tree.run(
            [
                *(str(tree.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
                *("--hypothesis-seed=1", "-m", "not long and not end_to_end", *files),
            ],
            seconds,
        )
        if ended.status is None:
            return time_is_over(seconds)
        if ended.status == 0:
            return None
        failed = _FAILED.search(ended.output)
        if failed is not None:
            return Failure(failed[1], (failed[2] or "")[:200])
        kind = "import" if ended.status in _INTERNAL else "pytest"
        return Failure(kind, last_line(ended.output, "Error"))


class NearestLaws:
    """Those of the laws' tests that are nearest to the file."""

    name = "nearest tests"

    def __init__(self, laws: Pytest) -> None:
        """Args: all tests of laws, which these are a part of."""
        self._laws = laws

    def baseline(self, tree: Tree) -> Failure | None:
        """See `Step`; all of them are run once."""
        return self._laws.baseline(tree)

    def failure(self, tree: Tree, site: Site) -> Failure | None:
        """See `Step`."""
        return self._laws.nearest(tree, near.law_tests(site.file))


def steps() -> tuple[NearestLaws, Pytest, Pytest]:
    """The steps, in order."""
    laws = Pytest(
        "tests of laws", [f"control_plane/tests/test_{name}.py" for name in near.ALL_OF_THE_LAWS]
    )
    virtual = Pytest(
        "virtual time", [f"experiments/tests/test_{name}.py" for name in near.VIRTUAL_TIME]
    )
    return NearestLaws(laws), laws, virtual
