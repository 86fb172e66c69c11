# SPDX-License-Identifier: Apache-2.0
"""The first paragraph of the page: how many results there are of each sort, adding up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

Data = Mapping[str, Any]

_ORDER: Final = (
    "reproduced",
    "reproduced without MAC",
    "consistent",
    "contradicted",
    "undecided",
    "run",
    "not run",
)
"""The order in which outcomes are counted."""

_WORTH: Final = {
    "verdict": ("a verdict", "from all the random seeds that the rule asks for"),
    "provisional": ("a provisional outcome", "from fewer seeds or under fewer conditions"),
    "none": ("no outcome yet", ""),
}
"""By standing: the paragraph's name for such an outcome, and what it says of its seeds."""

_MOST_NAMED: Final = 3
"""The most rows that are named as missing."""


def opening(rows: Sequence[Data], registered: Collection[str]) -> str:
    """The outcomes of all rows, each counted once, and the sum of the counts.

    Args:
        rows: The rows of results.json.
        registered: The ids of all results that the catalogue has.
    """
    definitions = [row for row in rows if row["kind"] == "D"]
    impossible = [row for row in rows if row["kind"] == "X"]
    judged = [row for row in rows if row["kind"] not in ("D", "X")]
    sentences, counts = [], []
    for standing, (name, whence) in _WORTH.items():
        own = [row for row in judged if row["standing"] == standing]
        if own:
            words = f"{name}, {whence}" if whence else name
            sentences.append(f"{_have(own)} {words}: {_states(own)}.")
            counts.append(len(own))
    if definitions:
        sentences.append(f"{_are(definitions, 'a definition', 'definitions')}{_held(definitions)}.")
        counts.append(len(definitions))
    if impossible:
        sentences.append(f"{len(impossible)} cannot be reproduced.")
        counts.append(len(impossible))
    total = " + ".join(map(str, counts))
    added = f" That is {total} = {len(rows)}" if len(counts) > 1 else ""
    missing = _missing({row["id"] for row in rows}, registered)
    if added and missing:
        missing = f"; {missing}"
    elif missing:
        missing = f" {missing[0].upper()}{missing[1:]}"
    end = "." if added or missing else ""
    ours = f"{len(rows)} {'result' if len(rows) == 1 else 'results'}"
    return f"Of {ours}, {' '.join(sentences)}{added}{missing}{end}"


def _missing(ids: Collection[str], registered: Collection[str]) -> str:
    """Which registered results are not among the rows; "" where all are."""
    lacking = sorted(set(registered) - set(ids))
    if not lacking:
        return ""
    all_of_them = f"the catalogue has {len(registered)}"
    if len(lacking) > _MOST_NAMED:
        return f"{all_of_them}, of which {len(lacking)} are not here"
    be = "is" if len(lacking) == 1 else "are"
    return f"{all_of_them}, of which {' and '.join(lacking)} {be} not here"


def _have(rows: Sequence[Data]) -> str:
    return f"{len(rows)} {'has' if len(rows) == 1 else 'have'}"


def _are(rows: Sequence[Data], one: str, several: str) -> str:
    return f"1 is {one}" if len(rows) == 1 else f"{len(rows)} are {several}"


def _states(rows: Sequence[Data]) -> str:
    counts = [(sum(row["state"] == state for row in rows), state) for state in _ORDER]
    return ", ".join(f"{count} {state}" for count, state in counts if count)


def _held(definitions: Sequence[Data]) -> str:
    """How many definitions hold, the end of a sentence; at `smoke` none is looked at."""
    looked_at = [row for row in definitions if row["state"] != "run"]
    if not looked_at:
        return ""
    held = sum(row["state"] == "held" for row in looked_at)
    return f", of which {held} {'holds' if held == 1 else 'hold'}"
