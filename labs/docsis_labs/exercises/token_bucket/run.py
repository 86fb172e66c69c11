# SPDX-License-Identifier: Apache-2.0
"""Shows a sender that never stops, a silence, and bursts, for `lab run 3`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from docsis_labs.exercise import RunContext
from docsis_labs.exercises.numbered import Offer
from docsis_labs.exercises.token_bucket import PROGRAM
from docsis_labs.exercises.token_bucket.bucket import (
    TOKENS_PER_BYTE,
    Policer,
    at_once,
    bytes_of,
    device,
    largest_burst,
    passed,
)
from docsis_labs.p4.program import Program

POLICER: Final = Policer(1_000_000, 10_000)
_START_US: Final = 10_000
_SLICE_US: Final = 250_000
_SLICES: Final = 12


def offered() -> list[Offer]:
    """A second of twice the rate, a second of nothing, and five bursts of 30 frames."""
    steady = [Offer(_START_US + 4000 * number, 1000) for number in range(250)]
    bursts = [
        frame for n in range(5) for frame in at_once(_START_US + 2_000_000 + 200_000 * n, 30, 1000)
    ]
    return steady + bursts


def play(program: Program) -> tuple[list[Offer], list[Offer]]:
    """Plays the frames; gives those that were offered, and those of them that passed."""
    frames = offered()
    return frames, [frames[number] for number in passed(device(program, {1: POLICER}), frames)]


def run(context: RunContext) -> None:
    """Plays it, in virtual time or in Mininet."""
    if context.mininet:
        from docsis_labs.switch_network import run as run_in_mininet

        run_in_mininet(context, context.submission.program(PROGRAM))
        return
    frames, through = play(context.submission.program(PROGRAM))
    show(context.console, frames, through)
    path = context.folder / "run" / "passed.svg"
    draw(path, frames, through)
    context.console.print(f"The same as a picture: {path}", soft_wrap=True)


def show(console: Console, frames: Sequence[Offer], through: Sequence[Offer]) -> None:
    """A line for each quarter of a second, and the two sums that matter."""
    table = Table(box=None, header_style="bold")
    for title in ("ms", "offered, bytes", "passed, bytes", "the rate alone"):
        table.add_column(title, justify="right")
    for number in range(_SLICES):
        begin = _START_US + number * _SLICE_US
        sums = [
            bytes_of([one for one in some if begin <= one.at_us < begin + _SLICE_US])
            for some in (frames, through)
        ]
        alone = POLICER.rate * _SLICE_US // TOKENS_PER_BYTE
        table.add_row(f"{(begin - _START_US) // 1000}", *map(str, sums), str(alone))
    console.print(table)
    needed = largest_burst(through, POLICER.rate) / TOKENS_PER_BYTE
    console.print(
        f"Policed to {POLICER.rate / 1e6:g} Mbit/s with a burst of {POLICER.burst} bytes. What "
        f"passed needs a burst of {needed:.0f} bytes.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def draw(path: Path, frames: Sequence[Offer], through: Sequence[Offer]) -> None:
    """Bytes so far: offered, passed, and the most that may have passed since the start."""
    from docsis_labs.exercises.drawing import drawing

    with drawing(path) as [axes]:
        end_ms = _SLICES * _SLICE_US / 1000
        for some, name, colour in ((frames, "offered", "#999999"), (through, "passed", "#0b5fa5")):
            at = [0.0]
            total = [0.0]
            for frame in some:
                at.append((frame.at_us - _START_US) / 1000)
                total.append(total[-1] + frame.length / 1000)
            axes.step([*at, end_ms], [*total, total[-1]], where="post", label=name, color=colour)
        bound = [(POLICER.burst + POLICER.rate * ms / 8000) / 1000 for ms in (0.0, end_ms)]
        axes.plot(
            (0, end_ms), bound, "--", color="#c44e00", label="rate * t / 8 + burst, from 0 on"
        )
        axes.set_xlabel("time, ms")
        axes.set_ylabel("bytes so far, kB")
        axes.set_ylim(0, 450)
        axes.legend(loc="upper left", frameon=False)
