# SPDX-License-Identifier: Apache-2.0
"""Puts the results of two sittings together: of everything that there is, what stands. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.deciding import STAGES, Data, deciding, is_whole
from docsis_experiments.reproduction.document import amendments, counts
from docsis_experiments.reproduction.earlier import since
from docsis_experiments.reproduction.figure import place
from docsis_experiments.reproduction.judge.verdict import Extension, Standing, Verdict
from docsis_experiments.reproduction.repairs.loader import Repair, lacks

_WORTH: Final = {
    Standing.NONE.value: 0,
    Standing.PROVISIONAL.value: 1,
    Standing.VERDICT.value: 2,
}


@dataclass(frozen=True)
class _Read:
    """A reading of a row, and the sitting's row that has it."""

    reading: Data
    row: Data
    new: bool


def together(
    before: Mapping[str, Any],
    after: Data,
    name: str,
    registered: Mapping[str, Rule],
    repairs: Sequence[Repair],
) -> Data:
    """The last outcome of every row, of two sittings.

    Every reading of a row stands for itself, in virtual time and in Mininet. One that was run now
    takes the place of the earlier one, unless it is not whole, or of less worth by the same rule.
    Outcomes that there ever were stay, whichever stands (catalogue, section 1). A figure is taken
    over whole, where each row that it is drawn of stands as it was run now.

    Args:
        before: The earlier results.
        after: The new ones.
        name: The earlier file's name.
        registered: The rules of today, by the rows' ids.
        repairs: The defects of ours that were mended. A row that was played again after one of
            them takes the place of one that was extended before.
    """
    rows = {row["id"]: (row, False) for row in before["rows"]}
    for row in after["rows"]:
        known = rows.get(row["id"])
        rows[row["id"]] = (row, True) if known is None else _row(known[0], row, registered, repairs)
    order = {name: number for number, name in enumerate(registered)}
    # Rows that the catalogue does not have any more stand last.
    merged = sorted(
        (_as_registered(row, registered) for row, _ in rows.values()),
        key=lambda row: (order.get(row["id"], len(order)), row["id"]),
    )
    new = {name for name, (_, decided_now) in rows.items() if decided_now}
    # Virtual time decides: a sitting in Mininet does not change what the page is of.
    adds = after["stage"] == "mininet" != before["stage"]
    decides = before if adds else after
    return {
        **after,
        "level": decides["level"],
        "stage": decides["stage"],
        "rows": merged,
        "counts": counts(merged),
        "figures": _figures(before["figures"], after["figures"], new),
        "since": since(before, merged, name),
    }


def without_verdict(before: Mapping[str, Any], merged: Mapping[str, Any]) -> list[str]:
    """Ids of the rows that had a verdict before and have a provisional outcome now.

    Only today's rule takes a verdict's place so: the verdict was by an earlier one.

    Args:
        before: Results.
        merged: What came of them and later ones together.
    """
    had = {row["id"] for row in before["rows"] if row["standing"] == Standing.VERDICT.value}
    return [
        row["id"]
        for row in merged["rows"]
        if row["id"] in had and row["standing"] == Standing.PROVISIONAL.value
    ]


def _row(
    before: Data, after: Data, registered: Mapping[str, Rule], repairs: Sequence[Repair]
) -> tuple[Data, bool]:
    """A row of two sittings, and whether the new one's outcome is the row's."""
    history = _both(before["history"], after["history"])
    if after["state"] == Verdict.NOT_REPRODUCIBLE.value:
        # A row that the catalogue now calls not reproducible has no readings.
        return {**after, "history": history}, True
    rule = registered.get(after["id"])
    found: dict[tuple[int, int], _Read] = {}
    for row in (before, after):
        for reading in row["readings"]:
            where = (STAGES.index(reading["stage"]), reading["reading"])
            one = _Read(reading, row, row is after)
            if where not in found or _takes_its_place(one, found[where], rule, repairs):
                found[where] = one
    readings = [one.reading for _, one in sorted(found.items(), key=lambda entry: entry[0])]
    decides = deciding(readings)
    stands = next((one for one in found.values() if one.reading is decides), None)
    # If neither has run, the newer row stands, because it says why.
    row = after if stands is None else stands.row
    return {**row, "readings": readings, "history": history}, stands is not None and stands.new


def _takes_its_place(new: _Read, old: _Read, rule: Rule | None, repairs: Sequence[Repair]) -> bool:
    if not is_whole(new.reading):
        return not is_whole(old.reading)
    if new.reading["hash"] != old.reading["hash"]:
        # Today's rule stands, whichever was judged later.
        return rule is None or old.reading["hash"] != rule.hash
    if _WORTH[new.reading["standing"]] < _WORTH[old.reading["standing"]]:
        return False
    # An extended outcome stays if the new one still waits for its extension, or may not have it.
    waits = new.reading["extension"] in (Extension.DUE.value, Extension.REFUSED.value)
    extended = waits and old.reading["extension"] == Extension.DONE.value
    return not extended or _has_a_mend(new, old, repairs)


def _has_a_mend(new: _Read, old: _Read, repairs: Sequence[Repair]) -> bool:
    """Whether a defect of ours was mended between the two (catalogue, section 1)."""
    lacking = lacks(new.row, new.reading, repairs)
    return any(one not in lacking for one in lacks(old.row, old.reading, repairs))


def _as_registered(row: Data, registered: Mapping[str, Rule]) -> Data:
    """The row with what became of its rule since it was judged.

    What the paper did and published is told in today's words: it does not depend on the rule.
    """
    rule = registered.get(row["id"])
    if rule is None:
        return row
    words = {"done": rule.done, "published": rule.published}
    return {**row, **words, "current_hash": rule.hash, "amended": amendments(rule)}


def _both(before: Sequence[Data], after: Sequence[Data]) -> list[Data]:
    """All outcomes of two histories, oldest first; either may have been kept elsewhere.

    Where a clock is put back, or in another time zone, an earlier date may be the later text.
    """
    found = {json.dumps(one, sort_keys=True): one for one in (*before, *after)}
    return sorted(found.values(), key=lambda one: datetime.fromisoformat(one["date"]))


def _figures(before: Iterable[Data], after: Iterable[Data], new: set[str]) -> list[Data]:
    """The figures that stand.

    Args:
        before: The earlier ones.
        after: Those of the new sitting.
        new: Ids of the rows whose outcomes are the new sitting's.
    """
    found = {figure["id"]: figure for figure in before}
    for figure in after:
        of = set(figure["drawn_of"])
        known = found.get(figure["id"])
        # Rows that the figure does not have any more are not missed.
        wanted = set() if known is None else set(known["drawn_of"]) & set(figure["rows"])
        if of <= new and (known is None or known["made"] is None or of >= wanted):
            found[figure["id"]] = figure
    return [found[name] for name in sorted(found, key=place)]
