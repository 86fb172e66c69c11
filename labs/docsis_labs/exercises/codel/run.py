# SPDX-License-Identifier: Apache-2.0
"""Shows four uploads and a queue that does not give way, for `lab run 7`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from docsis_labs.exercise import RunContext
from docsis_labs.exercises.codel import PROGRAM

if TYPE_CHECKING:
    from docsis_labs.exercises.codel.uploads import Uploads


def run(context: RunContext) -> None:
    """Plays it, in virtual time or in Mininet."""
    program = context.submission.program(PROGRAM)
    if context.mininet:
        from docsis_labs.switch_network import run as run_in_mininet

        run_in_mininet(context, program)
        return
    from docsis_labs.exercises.codel.line import device, drops, play, standing
    from docsis_labs.exercises.codel.uploads import upload

    fates = play(device(program), standing(0, 60, 1_000_000))
    times = drops(fates, end_us=1_000_000)
    gaps = [(later - earlier) / 1000 for earlier, later in pairwise(times)]
    result = upload(program)
    lines = [
        "A queue of 60 ms that does not give way, for one second:",
        f"  {len(times)} drops, the first after {times[0] / 1000:.1f} ms" if times else "  no drop",
        "  then, ms: "
        + " ".join(f"{gap:.0f}" for gap in gaps[:12])
        + (" ..." if gaps[12:] else ""),
        "Four uploads of TCP on 10 Mbit/s, from 5 s to 20 s:",
        f"  queue delay {result.median_qdelay_ms:.1f} ms at the median, "
        f"{result.p99_qdelay_ms:.1f} ms at the 99th percentile",
        f"  {result.share:.0%} of the line had payload; probes lost: {result.lost}",
    ]
    for line in lines:
        context.console.print(line, highlight=False, soft_wrap=True)
    path = context.folder / "run" / "qdelay.svg"
    draw(path, {"your program": result})
    context.console.print(f"The same as a picture: {path}", soft_wrap=True)


def draw(path: Path, results: dict[str, Uploads]) -> None:
    """Queue delay over time, and the target."""
    from docsis_labs.exercises.codel.line import TARGET_US
    from docsis_labs.exercises.drawing import drawing

    colours: Sequence[str] = ("#0b5fa5", "#999999")
    with drawing(path) as [axes]:
        for (name, result), colour in zip(results.items(), colours, strict=False):
            seconds = [ms / 1000 for ms in result.sent_ms]
            axes.plot(seconds, result.qdelay_ms, ".", markersize=2.5, color=colour, label=name)
        axes.axhline(TARGET_US / 1000, color="#c44e00", linestyle="--", label="target")
        axes.set_xlabel("time, s")
        axes.set_ylabel("queue delay of a probe, ms")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
