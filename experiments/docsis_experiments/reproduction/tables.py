# SPDX-License-Identifier: Apache-2.0
"""Tables of rows for the terminal: what they cost, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.table import Table

from docsis_experiments.reproduction.costs.estimate import Estimate, core_time
from docsis_experiments.reproduction.evaluation import Evaluated
from docsis_experiments.reproduction.row import Exact, Level, Measured, Seeds, Share

Show = Callable[[str, float], None]
"""Called with a sentence and the core-seconds, as estimated, of all that has ended."""

_MOST_PARTS = 4


def costs(found: Mapping[Level, Estimate]) -> Table:
    """What each row costs, at each level."""
    table = Table(
        title="What rows cost, in the time of one processor",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption="alone: all that the row needs; shared: what other rows of this table need, too, "
        "and is made once; missing: what is not kept yet.",
        caption_justify="left",
    )
    table.add_column("row", no_wrap=True)
    for level in found:
        for heading in (f"{level}\nworks", "\nalone", "\nshared", "\nmissing"):
            table.add_column(heading, justify="right", no_wrap=True)
    ids = dict.fromkeys(row.id for one in found.values() for row in one.rows)
    for name in ids:
        cells = [name]
        for one in found.values():
            row = next(row for row in one.rows if row.id == name)
            if row.problem:
                cells += ["", "not run", "", ""]
            else:
                cells += [str(row.works), *map(core_time, (row.alone, row.shared, row.missing))]
        table.add_row(*cells)
    total = ["all together"]
    for one in found.values():
        total += [str(len(one.seconds)), core_time(one.total), "", core_time(one.missing)]
    table.add_section()
    table.add_row(*total)
    return table


def measured(found: Sequence[Evaluated]) -> Table:
    """What rows measured."""
    table = Table(title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("row", "reading", "seeds", "works", "measured"):
        table.add_column(heading, no_wrap=heading != "measured")
    for one in found:
        parts = [f"{name}: {words(part)}" for name, part in one.parts.items()]
        more = [f"and {len(parts) - _MOST_PARTS} more"] if len(parts) > _MOST_PARTS else []
        said = [*parts[:_MOST_PARTS], *more, *([f"not run: {one.problem}"] if one.problem else [])]
        table.add_row(
            one.row.id,
            str(one.asked.reading),
            str(len(one.asked.seeds)),
            f"{one.there}/{one.works}",
            "\n".join(said),
        )
    return table


def words(part: Measured) -> str:
    """A part's numbers, short."""
    if isinstance(part, Seeds):
        values = list(part.values.values())
        return " ".join(f"{value:.4g}" for value in values[:3]) + (" …" if len(values) > 3 else "")
    if isinstance(part, Share):
        return f"{part.hits} of {part.of}"
    assert isinstance(part, Exact)
    return f"{part.value:.6g}"
