# SPDX-License-Identifier: Apache-2.0
"""Shows how far apart drops are, and how far a coin alone would have them, for `lab run 6`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from docsis_labs.exercise import RunContext
from docsis_labs.exercises.pie_data_path import PROGRAM, law
from docsis_labs.exercises.pie_data_path.bench import ONE, TARGET_US, Bench, q4_28
from docsis_labs.p4.program import Program

PROBABILITY: Final = 0.06
_FRAMES: Final = 20_000


def play(program: Program) -> list[bool]:
    """Offers 20,000 frames of 1024 bytes to a standing queue; tells whether each was dropped."""
    bench = Bench(program, seed=6)
    bench.control(drop_prob=PROBABILITY, qdelay_old_us=2 * TARGET_US)
    return bench.drops(bench.offer(_FRAMES))


def run(context: RunContext) -> None:
    """Plays it, in virtual time or in Mininet."""
    if context.mininet:
        from docsis_labs.switch_network import run as run_in_mininet

        run_in_mininet(context, context.submission.program(PROGRAM))
        return
    drops = play(context.submission.program(PROGRAM))
    found = law.gaps(drops)
    tell = [
        f"{_FRAMES} frames of 1024 bytes, drop_prob {PROBABILITY}: {sum(drops)} were dropped, one "
        f"in {_FRAMES / max(1, sum(drops)):.1f}.",
    ]
    if found:
        tell.append(
            f"From a drop to the next: {min(found)} to {max(found)} frames, with a median of "
            f"{median(found):g}. RFC 8034 has {law.first_coin(q4_28(PROBABILITY))} at the least "
            f"and {-(-law.PROB_HIGH // q4_28(PROBABILITY))} at the most, and one in "
            f"{mean_gap(q4_28(PROBABILITY)):.1f} on average."
        )
    for line in tell:
        context.console.print(line, highlight=False, soft_wrap=True)
    path = context.folder / "run" / "gaps.svg"
    draw(path, found)
    context.console.print(f"The same as a picture: {path}", soft_wrap=True)


def gap_odds(p1: int) -> list[float]:
    """The probability of each gap between two drops, by RFC 8034; first that of a gap of 0."""
    first, last = law.first_coin(p1), -(-law.PROB_HIGH // p1)
    p = p1 / ONE
    odds = [0.0] * first + [p * (1 - p) ** number for number in range(last - first)]
    return [*odds, 1 - sum(odds)]


def mean_gap(p1: int) -> float:
    """Frames from a drop to the next, on average."""
    return sum(gap * odds for gap, odds in enumerate(gap_odds(p1)))


def draw(path: Path, found: Sequence[int]) -> None:
    """How often each gap occurred, RFC 8034's law, and that of a coin for each frame."""
    from docsis_labs.exercises.drawing import drawing

    p1 = q4_28(PROBABILITY)
    odds = gap_odds(p1)
    counts = Counter(found)
    longest = 110
    with drawing(path) as [axes]:
        gaps = range(1, longest)
        total = max(1, len(found))
        axes.bar(gaps, [counts[gap] / total for gap in gaps], color="#9ecae1", label="seen")
        axes.plot(gaps, odds[1:longest], color="#0b5fa5", label="RFC 8034")
        axes.plot(
            gaps, [PROBABILITY * (1 - PROBABILITY) ** (gap - 1) for gap in gaps], "--",
            color="#c44e00", label="a coin for each frame",
        )  # fmt: skip
        axes.set_xlabel("frames from a drop to the next")
        axes.set_ylabel("share of drops")
        axes.legend(frameon=False)
