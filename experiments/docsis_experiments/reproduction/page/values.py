# SPDX-License-Identifier: Apache-2.0
"""The page's words about results.json."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.deciding import deciding
from docsis_experiments.reproduction.explanations.loader import Explanation, load_explanations
from docsis_experiments.reproduction.page.drawing import picture
from docsis_experiments.reproduction.page.legends import LEGENDS
from docsis_experiments.reproduction.page.opening import opening
from docsis_experiments.reproduction.repairs.loader import Repair, lacks, load_repairs
from docsis_experiments.reproduction.row import Level

Data = Mapping[str, Any]

PAPERS: Final[Mapping[str, str]] = {
    "000": "Active Queue Management in DOCSIS 3.X Cable Modems (CableLabs, 2014)",
    "001": "Minimizing Bufferbloat and Optimizing Packet Stream Performance in DOCSIS 3.0 CMs and "
    "CMTSs (ARRIS, 2013)",
    "002": "Managing Fairness and Application Performance with Active Queue Management in "
    "DOCSIS-based Cable Networks (CSWS, 2014)",
    "003": "Improving Latency with Active Queue Management (AQM) During COVID-19 (2021)",
    "004": "The Impact of the DOCSIS 1.1/2.0 MAC Protocol on TCP",
}
"""The papers' titles, by their numbers."""

NAMES: Final[Mapping[str, str]] = {
    "000": "White 2014",
    "001": "Cloonan 2013",
    "002": "Martin 2014",
    "003": "Comcast's field study",
    "004": "Martin's MAC paper",
}
"""The papers' short names, by their numbers; docs/reference/glossary.md has the same."""

KINDS: Final[Mapping[str, str]] = {
    "N": "number",
    "S": "shape",
    "D": "definition",
    "X": "not reproducible",
    "X→S": "shape of field data",
}

_SHOWN_PARTS: Final = 4
"""The most parts of a row in the first table; the others are below."""

_WORST: Final = ("contradicted", "not held", "undecided", "not run")


def values(content: Data) -> dict[str, Any]:
    """The values for the template.

    Args:
        content: The content of results.json.
    """
    rows: Sequence[Data] = content["rows"]
    explanations = load_explanations()
    reasons = explained(rows, explanations)
    repairs = load_repairs()
    return {
        "title": "Published results, and what the testbed makes of them",
        "subtitle": subtitle(content),
        "opening": [opening(rows, registered_rules())],
        "papers": [_paper(paper, rows, content["figures"]) for paper in papers(rows)],
        "definitions": [row for row in rows if is_definition(row)],
        "impossible": [row for row in rows if row["kind"] == "X"],
        "explained": reasons,
        "whys": {row["id"] for row, _ in reasons},
        "unexplained": unexplained(rows, explanations),
        "absent": absent([row for row in rows if row["state"] == "not run"]),
        "amended": [row for row in rows if row["amended"]],
        "repaired": [row for row in rows if len(row["history"]) > 1],
        "stale": stale(rows, repairs),
        "before": lambda row, reading: before(lacks(row, reading, repairs) if reading else ()),
        "several": several(content),
        "levels": levels(rows),
        "content": content,
        "kinds": KINDS,
        "when": when,
        "day": day,
        "number": number,
        "interval": interval,
        "first": first,
        "shown": shown,
        "groups": groups,
        "came_of": came_of,
        "brief": brief,
        "unplayed": lambda row: unplayed(row, registered_rules()),
        "seeds": seeds,
        "verdict": verdict,
        "css": css,
        "outcomes": outcomes,
        "drawn": drawn,
        "core_time": core_time,
    }


def papers(rows: Iterable[Data]) -> list[str]:
    """Their numbers, in order."""
    return sorted({row["paper"] for row in rows})


def is_definition(row: Data) -> bool:
    """Whether it is shown apart: it must hold, and never counts as reproduced."""
    return bool(row["kind"] == "D")


def _paper(paper: str, rows: Iterable[Data], figures: Iterable[Data]) -> dict[str, Any]:
    own = [row for row in rows if row["paper"] == paper]
    return {
        "number": paper,
        "name": NAMES.get(paper, paper),
        "title": PAPERS.get(paper, ""),
        "legend": LEGENDS.get(paper, ()),
        "rows": [row for row in own if not is_definition(row) and row["kind"] != "X"],
        "with_parts": [row for row in own if any(one["parts"] for one in row["readings"])],
        "figures": [
            {**figure, "data": base64.b64encode(picture(figure)).decode("ascii")}
            for figure in figures
            if figure["id"].startswith(f"{paper}-")
        ],
    }


def several(content: Data) -> bool:
    """Whether what stands comes from more than the last sitting."""
    return any(
        one["made"] is not None and one["made"] != content["made"]
        for row in content["rows"]
        for one in row["readings"]
    )


def subtitle(content: Data) -> str:
    """When, where and of what the page was made."""
    made = content["made"]
    of = f"{when(made['date'])}, commit {made['commit']}, {made['machine']}"
    if several(content):
        return f"Last added to on {of}"
    return f"Level {content['level']}, {of}"


def levels(rows: Iterable[Data]) -> dict[str, int]:
    """How many rows have which level, in what decides them."""
    decisive = [found for row in rows if (found := first(row)) is not None]
    return {level: sum(one["level"] == level for one in decisive) for level in Level}


def drawn(figure: Data, rows: Sequence[Data]) -> str:
    """What a figure is drawn of, where that does not go without saying: a sentence, or ""."""
    words = [f"Without {', '.join(figure['lacks'])}"] if figure["lacks"] else []
    made = figure["made"]
    decisive = [first(row) for row in rows if row["id"] in figure["drawn_of"]]
    if made is not None and any(one is not None and one["made"] != made for one in decisive):
        words.append(
            f"{'d' if words else 'D'}rawn at {figure['level']} with commit {made['commit']} on "
            f"{when(made['date'])}; of these rows, some outcomes above are of other sittings"
        )
    return f"{'; '.join(words)}." if words else ""


def explained(
    rows: Iterable[Data], explanations: Mapping[str, Explanation]
) -> list[tuple[Data, Explanation]]:
    """Rows with what explains their outcomes; an explanation of another outcome is none."""
    found = [(row, explanations[row["id"]]) for row in rows if row["id"] in explanations]
    return [(row, one) for row, one in found if row["state"] in one.outcomes]


def unexplained(rows: Sequence[Data], explanations: Mapping[str, Explanation]) -> list[str]:
    """The rows that contradict their paper, and nothing says why."""
    known = {row["id"] for row, _ in explained(rows, explanations)}
    return [row["id"] for row in rows if row["state"] == "contradicted" and row["id"] not in known]


def stale(rows: Iterable[Data], repairs: Iterable[Repair]) -> list[tuple[Repair, list[str]]]:
    """The repairs that rows were not played with, each with the ids of these rows.

    Rows go by the reading that decides them.
    """
    own = [(row["id"], row, first(row)) for row in rows]
    found = [
        (one, [name for name, row, reading in own if reading and lacks(row, reading, [one])])
        for one in repairs
    ]
    return [(one, names) for one, names in found if names]


def before(repairs: Sequence[Repair]) -> str:
    """Tells how many defects were corrected after a reading was played, and when the last one was.

    Returns:
        The end of a sentence; "" if none was.
    """
    if not repairs:
        return ""
    last = day(max(one.at for one in repairs).isoformat())
    if len(repairs) == 1:
        return f"played before we corrected a defect of ours on {last}"
    return f"played before we corrected {len(repairs)} defects of ours, the last on {last}"


def absent(rows: Iterable[Data]) -> list[tuple[str, list[str]]]:
    """Rows that are not run, by why."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["why"] or "it was not asked for", []).append(row["id"])
    return sorted(found.items(), key=lambda entry: -len(entry[1]))


def first(row: Data) -> Data | None:
    """The reading that decides; None of a row that has not run."""
    return deciding(row["readings"])


def beside(row: Data) -> list[Data]:
    """The readings that are shown beside it."""
    decides = first(row)
    return [one for one in row["readings"] if one is not decides]


def groups(row: Data) -> list[list[Data]]:
    """The readings beside the one that decides. What one sitting played is a group."""
    found: dict[str, list[Data]] = {}
    for one in beside(row):
        played = (one["stage"], one["level"], one["made"], one["hash"])
        found.setdefault(json.dumps(played, sort_keys=True), []).append(one)
    return list(found.values())


def came_of(reading: Data) -> str:
    """A reading's outcome in a few words, or why it has none."""
    judged = reading["verdict"] != "not run" and verdict(reading["verdict"], reading["standing"])
    return judged or reading["why"] or "shown"


def brief(words: str) -> str:
    """The name of a reading. What it changes in the bands stands behind a semicolon."""
    return words.partition(";")[0]


def unplayed(row: Data, registered: Mapping[str, Rule]) -> list[str]:
    """Lists the other readings of a row's rule that have not been played yet, in the rule's words.

    A provisional row has none to play: the level study plays the first reading only.
    """
    rule = registered.get(row["id"])
    if rule is None or row["standing"] != "verdict":
        return []
    played = {one["reading"] for one in row["readings"] if one["stage"] == "virtual"}
    return [brief(one.words) for one in rule.readings if one.number not in played]


def shown(reading: Data) -> tuple[list[Data], int]:
    """The parts of a reading that say most of its verdict, and how many more there are."""
    parts = [part for part in reading["parts"] if part["count"]]
    judged = [part for part in parts if part["role"] != "shown"] or parts
    telling = sorted(
        judged,
        key=lambda part: (
            _WORST.index(part["verdict"]) if part["verdict"] in _WORST else len(_WORST)
        ),
    )
    chosen = telling[:_SHOWN_PARTS]
    return [part for part in parts if part in chosen], len(parts) - len(chosen)


def seeds(reading: Data) -> str:
    """Seeds in few characters: "1 to 20"."""
    numbers = reading["seeds"]
    if not numbers:
        return ""
    if len(numbers) == 1:
        return str(numbers[0])
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(map(str, run)) for run in runs)


def verdict(state: str | None, standing: str) -> str:
    """A verdict with what it is worth."""
    if state is None:
        return ""
    return f"{state}, provisional" if standing == "provisional" else state


def css(state: str | None) -> str:
    """Class of a verdict."""
    return {
        "reproduced": "good", "reproduced without MAC": "good", "consistent": "good",
        "held": "good", "contradicted": "bad", "not held": "bad", "undecided": "open",
    }.get(state or "", "none")  # fmt: skip


def outcomes(history: Sequence[Data]) -> list[dict[str, Any]]:
    """All outcomes of a row, each with whether it is that of before, of the same stage and level.

    What is kept of an outcome that is the same has other values, other parts or a note.
    """
    last: dict[tuple[str, str], Data] = {}
    found = []
    for one in history:
        before = last.get((one["stage"], one["level"]))
        same = before is not None and all(
            one[key] == before[key] for key in ("state", "standing", "hash")
        )
        found.append({**one, "same": same})
        last[one["stage"], one["level"]] = one
    return found


def number(value: float | None, unit: str = "") -> str:
    """A value in few characters, with its unit."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 0.001 or not size:
        text = f"{value:.4g}"
    else:
        text = f"{value:.2e}"
    return f"{text} {unit}".strip()


def interval(part: Data) -> str:
    """The ends of an interval; "" where there is none or it is the value."""
    low, high = part["low"], part["high"]
    if low is None or high is None or part["method"] in ("", "exact"):
        return ""
    return f"{number(low)} to {number(high)}"


def when(date: str) -> str:
    """A date and a time for people."""
    try:
        return datetime.fromisoformat(date).strftime("%d %B %Y, %H:%M").lstrip("0")
    except ValueError:
        return date


def day(date: str) -> str:
    """A date for people."""
    return when(date).split(",")[0]


def core_time(seconds: float) -> str:
    """Core-seconds for people."""
    from docsis_experiments.reproduction.costs.estimate import core_time as said

    return said(seconds)
