# SPDX-License-Identifier: Apache-2.0
"""Makes the story of a results.json: its text, and the pictures that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.part import Role
from docsis_experiments.reproduction.judge.verdict import Verdict
from docsis_experiments.reproduction.page import values
from docsis_experiments.reproduction.page.drawing import picture
from docsis_experiments.reproduction.story.counts import Counts
from docsis_testbed.errors import TestbedError

Data = Mapping[str, Any]

_DIGITS: Final = 3
"""Digits of a number in the text."""

_HOLDING: Final = (
    Verdict.REPRODUCED,
    Verdict.REPRODUCED_WITHOUT_MAC,
    Verdict.CONSISTENT,
    Verdict.HELD,
)
"""Outcomes of the rows and parts that a sentence under "What holds" may cite."""


@dataclass(frozen=True)
class Story:
    """A story that is told.

    Attributes:
        text: Markdown.
        pictures: PNG files by their names, which the text links to.
    """

    text: str
    pictures: Mapping[str, bytes]


@dataclass
class _Teller:
    """Answers the template's questions about the results."""

    rows: Mapping[str, Data]
    figures: Mapping[str, Data]
    shown: dict[str, bytes] = field(default_factory=dict)
    untrue: list[str] = field(default_factory=list)
    holding: bool = False

    def rests_on(self, row: str, *outcomes: str) -> str:
        """Notes that a statement is true only while a row has one of these outcomes."""
        state = self._row(row)["state"]
        if state not in outcomes:
            self.untrue.append(f"{row} is {state}, and the story needs it {' or '.join(outcomes)}")
        return ""

    def holds(self, *rests: str, caller: Callable[[], str]) -> str:
        """Tells a sentence of "What holds", and notes what it cites that does not hold.

        It cites the rows and parts that are named, and each part whose value it tells.

        Args:
            rests: Rows, "004-D1", and parts of rows, "002-E1c: jfi drr n9".
            caller: Makes the sentence.
        """
        for rest in rests:
            row, _, part = rest.partition(": ")
            self._has_to_hold(row, part)
        self.holding = True
        try:
            return caller()
        finally:
            self.holding = False

    def _has_to_hold(self, row: str, part: str = "") -> None:
        # A part that is only shown has no verdict; its row's stands for it.
        judged = bool(part) and self._part(row, part)["role"] != Role.SHOWN.value
        verdict = self._part(row, part)["verdict"] if judged else self._row(row)["state"]
        if verdict not in _HOLDING:
            name = f"{part!r} of {row}" if judged else row
            self.untrue.append(f"{name} is {verdict}, and stands under what holds")

    def asked(self, row: str, part: str) -> str:
        """A part's band and its verdict, such as "6 to 9: undecided"."""
        found = self._part(row, part)
        unit = f" {found['unit']}" if found["unit"] else ""
        band = found["reproduced"].replace("≥", "at least").replace("≤", "at most")
        return f"{band}{unit}: {found['verdict']}"

    def value(self, row: str, part: str) -> str:
        """The measured value of a part, with its unit, as exactly as a text needs it."""
        found = self._part(row, part)
        if self.holding:
            self._has_to_hold(row, part)
        measured = found["value"]
        if measured is None:
            raise TestbedError(f"the story names {part!r} of {row}, which was not measured")
        return values.number(float(f"{measured:.{_DIGITS}g}"), found["unit"]).replace(" %", "%")

    def within(self, row: str, part: str) -> str:
        """The interval of a part: "1.6 to 13.2"."""
        return values.interval(self._part(row, part))

    def quantile(self, figure: str, line: str, share: float) -> str:
        """Where a distribution that a figure has in milliseconds comes to a share: "27.7 ms"."""
        if figure not in self.figures:
            raise TestbedError(f"the story names figure {figure}, which the results do not have")
        lines = (one for panel in self.figures[figure]["panels"] for one in panel["lines"])
        drawn = next((one for one in lines if one["name"] == line), None)
        if drawn is None or not drawn["x"]:
            raise TestbedError(
                f"the story names {line!r} of figure {figure}, which it does not have"
            )
        found = float(np.interp(share, drawn["y"], drawn["x"]))
        return values.number(float(f"{found:.{_DIGITS}g}"), "ms")

    def outcome(self, row: str) -> str:
        """The outcome of a row in a table."""
        return values.verdict(self._row(row)["state"], self._row(row)["standing"])

    def told_of(self, row: str, part: str) -> str:
        """The outcome of a row, with a value of it where it has run."""
        found = self.rows.get(row)
        if found is None and row not in registered_rules():
            raise TestbedError(f"the story names {row}, which the catalogue does not have")
        if found is None or found["state"] == Verdict.NOT_RUN.value:
            return "Not run at this level yet."
        told = f"{values.verdict(found['state'], found['standing']).capitalize()}"
        return (
            f"{told}: {self.value(row, part)} ({self.within(row, part)})." if part else f"{told}."
        )

    def seeds(self, row: str) -> str:
        """How many seeds a row has."""
        decides = values.first(self._row(row))
        return "" if decides is None else f"{len(decides['seeds']):,}"

    def picture(self, figure: str, words: str) -> str:
        """A figure, as Markdown; its file belongs to the story."""
        if figure not in self.figures:
            self.untrue.append(f"there is no figure {figure}")
            return ""
        name = f"story-{figure}.png"
        self.shown[name] = picture(self.figures[figure])
        return f"![{words}]({name})"

    def _row(self, row: str) -> Data:
        if row not in self.rows:
            raise TestbedError(f"the story names {row}, which the results do not have")
        return self.rows[row]

    def _part(self, row: str, part: str) -> Data:
        decides = values.first(self._row(row))
        for one in decides["parts"] if decides is not None else ():
            if one["name"] == part:
                found: Data = one
                return found
        raise TestbedError(f"the story names {part!r} of {row}, which the results do not have")


def told(content: Data) -> Story:
    """The story of a results.json.

    Args:
        content: The content of results.json; validated.

    Raises:
        TestbedError: The results lack what the story names, or a statement is not true of them.
    """
    teller = _Teller(
        {row["id"]: row for row in content["rows"]},
        {figure["id"]: figure for figure in content["figures"]},
    )
    environment = Environment(
        loader=PackageLoader("docsis_experiments.reproduction.story", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markdown with numbers of ours; nothing of it comes from outside the repository.
        autoescape=False,
    )
    counts = Counts(teller.rows)
    text = environment.get_template("story.md.j2").render(
        rests_on=teller.rests_on,
        holds=teller.holds,
        asked=teller.asked,
        value=teller.value,
        told_of=teller.told_of,
        within=teller.within,
        quantile=teller.quantile,
        outcome=teller.outcome,
        seeds=teller.seeds,
        counts=counts,
        picture=teller.picture,
        papers=sorted(values.PAPERS.items()),
    )
    if teller.untrue:
        raise TestbedError(
            "the story is overtaken by the results and has to be written anew where it says "
            "otherwise: " + "; ".join(teller.untrue)
        )
    return Story(text.strip() + "\n", teller.shown)
