# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of exercises 3, 6, 7 and 8 anew, from the committed programs.

python -m docsis_labs.exercises.pictures [EXERCISE...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docsis_labs.exercises import exercise
from docsis_labs.exercises.drawing import drawing
from docsis_labs.p4.compiling import committed
from docsis_labs.p4.program import Program

BLUE, GREY, RED = "#0b5fa5", "#999999", "#c44e00"


def program(number: int, which: str) -> Program:
    """The committed program of an exercise's skeleton, or its solution."""
    one = exercise(number)
    name = one.files[0].name
    source = one.path / ("solution" if which == "solution" else "") / name
    found = committed(one.path / "compiled", name, source.read_text())
    if found is None:
        raise SystemExit(f"{source} has changed since it was compiled")
    return found


def token_bucket(images: Path) -> None:
    """The level of a bucket, and what passed a policer."""
    from docsis_labs.exercises.token_bucket import run

    rate, burst, length = 1_000_000, 10_000, 1000
    arrivals = [(2.0, 6), (20.0, 6), (60.0, 14), (72.0, 2), (90.0, 1)]
    now, level = 0.0, float(burst)
    times, levels = [0.0], [level]
    marks: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for at, count in arrivals:
        full = now + (burst - level) * 8000 / rate
        if full < at:
            times.append(full)
            levels.append(burst)
        level = min(burst, level + (at - now) * rate / 8000)
        now = at
        times.append(now)
        levels.append(level)
        for place in range(count):
            passes = level >= length
            marks[passes].append((now + place * 0.35, -900))
            level -= length * passes
        times.append(now)
        levels.append(level)
    times += [now + (burst - level) * 8000 / rate, 170.0]
    levels += [burst, burst]
    with drawing(images / "level.svg") as [axes]:
        axes.plot(times, levels, color=BLUE, label="tokens, bytes")
        axes.axhline(burst, color=GREY, linestyle="--", label="burst")
        for passes, marker, name in ((True, "^", "frame passes"), (False, "x", "frame is dropped")):
            at_ms = [when for when, _ in marks[passes]]
            height = [where for _, where in marks[passes]]
            axes.plot(
                at_ms, height, marker, color=BLUE if passes else RED, markersize=4, label=name
            )
        axes.set_ylim(-1500, 13500)
        axes.set_xlabel("time, ms")
        axes.legend(frameon=False, ncols=4, loc="upper center")
    frames, through = run.play(program(3, "solution"))
    run.draw(images / "passed.svg", frames, through)


def pie_data_path(images: Path) -> None:
    """Draws accu_prob, and how far apart drops are."""
    from docsis_labs.exercises.pie_data_path import law, run
    from docsis_labs.exercises.pie_data_path.bench import ONE, q4_28

    drops = run.play(program(6, "solution"))
    p1 = q4_28(run.PROBABILITY)
    accu = 0
    levels: list[float] = []
    for drop in drops[:260]:
        accu = min(law.PROB_HIGH, accu + p1)
        levels.append(accu / ONE)
        accu = 0 if drop else accu
    with drawing(images / "accu-prob.svg") as [axes]:
        axes.plot(range(1, 261), levels, color=BLUE, label="accu_prob")
        axes.axhline(
            0.85, color=GREY, linestyle="--", label="PROB_LOW: below it no frame is dropped"
        )
        at = [number + 1 for number, drop in enumerate(drops[:260]) if drop]
        axes.plot(at, [levels[one - 1] for one in at], "x", color=RED, label="dropped")
        axes.set_xlabel("frame")
        axes.set_ylim(0, 4.6)
        axes.legend(frameon=False)
    run.draw(images / "gaps.svg", law.gaps(drops))


def codel(images: Path) -> None:
    """The drops of a queue that does not give way, and the delay under uploads."""
    from docsis_labs.exercises.codel import run
    from docsis_labs.exercises.codel.line import TARGET_US, device, play, standing
    from docsis_labs.exercises.codel.uploads import plain_queue, upload

    solution = program(7, "solution")
    fates = play(device(solution), standing(0, 60, 1_500_000))
    with drawing(images / "drops.svg") as [axes]:
        times = [fate.at_us / 1000 for fate in fates]
        axes.plot(
            times, [fate.sojourn_us / 1000 for fate in fates], color=BLUE, label="sojourn time, ms"
        )
        axes.axhline(TARGET_US / 1000, color=GREY, linestyle="--", label="target")
        gone = [fate for fate in fates if fate.dropped]
        axes.plot(
            [fate.at_us / 1000 for fate in gone], [fate.sojourn_us / 1000 for fate in gone], "x",
            color=RED, markersize=5, label="dropped",
        )  # fmt: skip
        axes.set_xlabel("time, ms")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
    run.draw(
        images / "qdelay.svg",
        {
            "CoDel": upload(solution),
            "a buffer of 256 kB alone": plain_queue(program(6, "solution")),
        },
    )


def flow_queues(images: Path) -> None:
    """One queue, and one for each flow."""
    from docsis_labs.exercises.flow_queues import run

    run.draw(
        images / "delays.svg",
        [
            ("one queue for all (the skeleton)", run.fared(program(8, "skeleton"))),
            ("a queue for each flow (the solution)", run.fared(program(8, "solution"))),
        ],
    )


PICTURES: Final[dict[int, Callable[[Path], None]]] = {
    3: token_bucket, 6: pie_data_path, 7: codel, 8: flow_queues
}  # fmt: skip


def main() -> None:
    """Draws for the exercises that the arguments name, or for all."""
    for number in map(int, sys.argv[1:]) if sys.argv[1:] else PICTURES:
        PICTURES[number](exercise(number).path / "images")


if __name__ == "__main__":
    main()
