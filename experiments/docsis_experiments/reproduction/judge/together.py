# SPDX-License-Identifier: Apache-2.0
"""The verdict of several parts: reproduced if all are, contradicted if one is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docsis_experiments.reproduction.judge.verdict import PartJudged, Verdict


def all_of(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The verdict of parts that all have to be reproduced; None without parts.

    What is not run makes no row undecided: it is "not run", unless a part contradicts.
    """
    found = set(verdicts)
    if not found:
        return None
    for worst in (Verdict.CONTRADICTED, Verdict.NOT_RUN, Verdict.UNDECIDED):
        if worst in found:
            return worst
    return Verdict.REPRODUCED


def one_of(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The verdict of alternatives: one is enough, all must fail to contradict; None without any."""
    found = set(verdicts)
    if not found:
        return None
    for best in (Verdict.REPRODUCED, Verdict.UNDECIDED, Verdict.NOT_RUN):
        if best in found:
            return best
    return Verdict.CONTRADICTED


def together(parts: Sequence[PartJudged]) -> Verdict | None:
    """The verdict of a row's judged parts; alternatives among them count as one part."""
    plain: list[Verdict] = []
    alternatives: dict[str, list[Verdict]] = {}
    for judged in parts:
        if judged.verdict is None:
            continue
        if judged.part.alternative is None:
            plain.append(judged.verdict)
        else:
            alternatives.setdefault(judged.part.alternative, []).append(judged.verdict)
    one = one_of(v for v in map(all_of, alternatives.values()) if v is not None)
    return all_of([*plain, *([] if one is None else [one])])


def definitions(parts: Iterable[PartJudged]) -> Verdict | None:
    """Whether all definitions among the parts hold; None of none."""
    found = {judged.verdict for judged in parts}
    for worst in (Verdict.NOT_HELD, Verdict.NOT_RUN, Verdict.HELD):
        if worst in found:
            return worst
    return None
