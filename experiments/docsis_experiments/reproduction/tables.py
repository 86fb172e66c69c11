# SPDX-License-Identifier: Apache-2.0
"""Tables of rows for the terminal: what they cost, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich import box
from rich.table import Table

from docsis_experiments.reproduction.costs.estimate import Estimate, core_time
from docsis_experiments.reproduction.making import Account
from docsis_experiments.reproduction.page import values
from docsis_experiments.reproduction.row import Level

_EXTENSIONS: Final = (
    " Whether a row is extended to 60 seeds follows from its outcome, so no number has extensions."
)


def costs(found: Mapping[Level, Estimate]) -> Table:
    """Makes the table of each row's costs; several levels have the most important columns alone."""
    table = Table(
        title="What rows cost, in the time of one processor",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption="alone: all that the row needs; shared: what other rows need, too, and is made "
        f"once; missing: what is not kept yet.{_EXTENSIONS if Level.FULL in found else ''}",
        caption_justify="left",
    )
    headings = ("works", "alone", "shared", "missing") if len(found) == 1 else ("alone", "missing")
    table.add_column("row", no_wrap=True)
    for level in found:
        for place, heading in enumerate(headings):
            above = "" if place else level.value
            table.add_column(f"{above}\n{heading}", justify="right", no_wrap=True)
    for name in dict.fromkeys(row.id for one in found.values() for row in one.rows):
        cells = [name]
        for one in found.values():
            row = next(row for row in one.rows if row.id == name)
            said = {
                "works": str(row.works),
                "alone": core_time(row.alone),
                "shared": core_time(row.shared),
                "missing": core_time(row.missing),
            }
            if row.problem:
                said = {"alone": "not run"}
            cells += [said.get(heading, "") for heading in headings]
        table.add_row(*cells)
    total = ["all together"]
    for one in found.values():
        said = {
            "works": str(len(one.seconds)),
            "alone": core_time(one.total),
            "missing": core_time(one.missing),
        }
        total += [said.get(heading, "") for heading in headings]
    table.add_section()
    table.add_row(*total)
    return table


def not_run(found: Mapping[Level, Estimate]) -> list[str]:
    """Why rows of that table are not run, in a sentence each."""
    problems = {row.id: row.problem for one in found.values() for row in one.rows if row.problem}
    return [
        f"{name} is not run, because its works cannot be told: {problem}"
        for name, problem in sorted(problems.items())
    ]


def accuracy(account: Account) -> str:
    """How long works took, beside what was estimated."""
    if not account.seconds:
        return f"{len(account.made)} runs and draws were made."
    more = 100 * (account.estimated / account.seconds - 1)
    than = "more" if more >= 0 else "less"
    return (
        f"{len(account.made)} runs and draws took {core_time(account.seconds)} of a processor; the "
        f"estimate was {core_time(account.estimated)}, {abs(more):.0f}% {than}."
    )


def outcomes(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Makes the table of rows' outcomes, as results.json has them."""
    table = Table(title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("seeds", no_wrap=True, justify="right")
    table.add_column("works", no_wrap=True, justify="right")
    table.add_column("measured")
    for row in rows:
        reading = values.first(row)
        said: list[str] = []
        if reading is not None:
            parts, more = values.shown(reading)
            said = [_words(part) for part in parts] + ([f"and {more} more"] if more else [])
        if row["why"]:
            said.append(row["why"])
        table.add_row(
            row["id"],
            values.verdict(row["state"], row["standing"]),
            "" if reading is None else str(len(reading["seeds"])),
            "" if reading is None else f"{reading['there']}/{reading['works']}",
            "\n".join(said),
        )
    return table


def _words(part: Mapping[str, Any]) -> str:
    interval = values.interval(part)
    ends = f" [{interval}]" if interval else ""
    band = f" ({part['reproduced']})" if part["reproduced"] else ""
    return f"{part['name']}: {values.number(part['value'], part['unit'])}{ends}{band}"
