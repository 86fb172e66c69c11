# SPDX-License-Identifier: Apache-2.0
"""A record as tables in Markdown: the numbers, and the mutants that survived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from docsis_mutants.areas import Area
from docsis_mutants.draw import RULE
from docsis_mutants.record import Outcome, Tried
from docsis_mutants.site import Operator


def table(tried: Sequence[Tried]) -> str:
    """Numbers by area: drawn, caught by which step, survived, not compiled."""
    lines = [
        "| area | drawn | does not compile | tried | caught | survived | caught, % |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(area, [each for each in tried if each.area is area]) for area in Area]
    return "\n".join([*lines, _row("all", tried)])


def _row(name: str, tried: Sequence[Tried]) -> str:
    number = Counter(each.outcome for each in tried)
    compiled = len(tried) - number[Outcome.NOT_COMPILED]
    part = f"{100 * number[Outcome.CAUGHT] / compiled:.1f}" if compiled else ""
    cells = (
        *(name, len(tried), number[Outcome.NOT_COMPILED], compiled),
        *(number[Outcome.CAUGHT], compiled - number[Outcome.CAUGHT], part),
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def by_operator(tried: Sequence[Tried]) -> str:
    """Numbers by operator."""
    lines = ["| operator | tried | caught | survived |", "|---|---|---|---|"]
    for operator in Operator:
        number = Counter(each.outcome for each in tried if each.site.operator is operator)
        caught = number[Outcome.CAUGHT]
        survived = number[Outcome.SURVIVED] + number[Outcome.WAITING]
        if caught + survived:
            lines.append(f"| {operator} | {caught + survived} | {caught} | {survived} |")
    return "\n".join(lines)


def by_step(tried: Sequence[Tried]) -> str:
    """Numbers by the step that caught them."""
    number = Counter((each.area, each.step) for each in tried if each.step)
    rows = [f"| {area} | {step} | {count} |" for (area, step), count in number.items()]
    return "\n".join(["| area | caught by | mutants |", "|---|---|---|", *rows])


def mutants(tried: Sequence[Tried], outcome: Outcome) -> str:
    """The mutants with an outcome."""
    lines = ["| mutant | operator | before | after |", "|---|---|---|---|"]
    for each in tried:
        if each.outcome is outcome:
            site = each.site
            place = f"`{site.file}:{site.line}:{site.column}`"
            lines.append(
                f"| {place} | {site.operator} | {_code(site.before)} | {_code(site.after)} |"
            )
    return "\n".join(lines)


def _code(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|")
    return f"`{flat}`" if flat else "nothing"


def verdict(tried: Sequence[Tried]) -> str:
    """The rule's verdict in a sentence."""
    compiled = [each for each in tried if each.outcome is not Outcome.NOT_COMPILED]
    number = sum(each.outcome is Outcome.CAUGHT for each in compiled)
    if not compiled:
        return "No mutant was tried."
    part = number / len(compiled)
    kept = "as the rule asks" if part >= RULE else f"fewer than the {RULE:.0%} that the rule asks"
    return f"{number} of {len(compiled)} mutants were caught ({part:.1%}), {kept}."
