# SPDX-License-Identifier: Apache-2.0
"""The documentation's tables of queue managers, made from the managers' own descriptions.

A page has a table between two comments, `<!-- table: NAME -->` and `<!-- end -->`:

    python -m docsis_control.queue_managers.tables docs/queue-managers.md docs/p4-contract.md

writes them anew; `make tables` does so, and a test fails where a page has another one.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from docsis_control.queue_managers.names import QueueManager
from docsis_control.queue_managers.registry import ALGORITHMS, DESCRIBED, MODELS

_TABLE: Final = re.compile(r"(<!-- table: ([a-z-]+) -->\n\n)(.*?)(\n<!-- end -->)", re.DOTALL)


def presets() -> str:
    """The presets: what each is, its parameters and their source."""
    rows = (
        (f"`{preset}`", described.what, described.parameters, described.source)
        for preset, described in DESCRIBED.items()
    )
    return _table(("preset", "what it is", "parameters", "source"), rows)


def numbers() -> str:
    """The managers by their number in the pipeline: where each decides, and from what."""
    rows = (
        (str(manager.value), MODELS[manager].title, MODELS[manager].decides, MODELS[manager].state)
        for manager in QueueManager
    )
    return _table(("number", "name", "decides", "state and parameters"), rows)


def algorithms() -> str:
    """The algorithms by the names that files have, and whether each goes with flow queues."""
    rows = (
        (
            f"`{name}`",
            model.title,
            f"no: {model.without_flow_queues}" if model.without_flow_queues else "yes",
        )
        for name, model in ALGORITHMS.items()
    )
    return _table(("algorithm", "what it is", "goes with flow queues"), rows)


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "presets": presets,
    "algorithms": algorithms,
    "queue-managers": numbers,
}
"""The tables by their names on a page."""


def with_tables(page: str) -> str:
    """A page's text with its tables as they are now.

    Raises:
        ValueError: It names a table that there is not.
    """

    def written(match: re.Match[str]) -> str:
        if match[2] not in TABLES:
            raise ValueError(f'there is no table "{match[2]}"; there are {", ".join(TABLES)}')
        return match[1] + TABLES[match[2]]() + match[4]

    return _TABLE.sub(written, page)


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(_line(cells) for cells in lines)


def _line(cells: Sequence[str]) -> str:
    if all(cell == "---" for cell in cells):
        return "|" + "|".join(cells) + "|\n"
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|\n"


def main(files: Sequence[str]) -> None:
    """Writes the tables of these pages anew."""
    for name in files:
        page = Path(name)
        before = page.read_text("utf-8")
        after = with_tables(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"{page}: tables written")


if __name__ == "__main__":
    main(sys.argv[1:])
