# SPDX-License-Identifier: Apache-2.0
"""Collects the problems of rows that the user named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docsis_experiments.reproduction.catalogue.rule import FIRST
from docsis_experiments.reproduction.drawings import Undrawn
from docsis_experiments.reproduction.outcomes import Outcomes
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.request import Request


def problems_of(
    request: Request,
    plan: Plan,
    done: Outcomes,
    unextended: Mapping[str, str],
    undrawn: Sequence[Undrawn],
) -> list[str]:
    """The problems of rows that the user named, a sentence each, without its full stop.

    A row that was asked for with its whole paper has its problem beside it on the page.
    """
    found: list[str] = []
    untold = {(one.row.id, one.asked.reading) for one in plan.rows if one.problem}
    for name in (name for name in done.rows if name in request.names):
        row = done.rows[name]
        for number, one in sorted(row.readings.items()):
            made = one.there == one.works and (one.works or number == FIRST)
            if one.problem and (made or (name, number) in untold):
                found.append(f"{name}: {one.problem}")
        if row.why and row.readings:
            found.append(f"{name}: {row.why}")
        if name in unextended:
            found.append(f"{name}: {unextended[name]}")
    named = set(request.names)
    return found + [one.words.rstrip(".") for one in undrawn if named & set(one.rows)]
