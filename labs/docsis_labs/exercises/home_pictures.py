# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of exercises 1, 2, 4 and 5 anew, from runs in virtual time.

python -m docsis_labs.exercises.home_pictures [EXERCISE...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from docsis_control.config.units import BufferLimit
from docsis_labs.exercises import exercise
from docsis_labs.exercises.drawing import drawing
from docsis_labs.plotting import round_trips

BLUE, GREY, RED, GREEN = "#0b5fa5", "#999999", "#c44e00", "#3a7d44"


def bufferbloat(images: Path) -> None:
    """A call's round trips before, under and after load."""
    from docsis_labs.exercises.bufferbloat import upload

    measured = upload.play(seed=1)
    sent, returned = np.array(measured.sent_ns), np.array(measured.returned_ns)
    came = returned >= 0
    with drawing(images / "round-trips.svg") as [axes]:
        axes.plot(
            sent[came] / 1e9, (returned - sent)[came] / 1e6, ".", color=BLUE, markersize=2,
            label="round trip of a packet, ms",
        )  # fmt: skip
        lost = sent[~came] / 1e9
        axes.plot(lost, np.full(len(lost), 4.0), "x", color=RED, markersize=4, label="lost")
        axes.axvspan(
            upload.BEGIN_NS / 1e9, upload.END_NS / 1e9, color=GREY, alpha=0.15, label="two uploads"
        )
        axes.set_xlabel("time, s")
        axes.set_ylim(0, 360)
        axes.legend(frameon=False, ncols=3, loc="upper left")


def classify(images: Path) -> None:
    """Classifiers choose among service flows."""
    with drawing(images / "classifiers.svg") as [axes]:
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        axes.set_ylim(0, 4.2)
        classifiers = ("priority 64: EF", "priority 32: UDP to 3074-3076", "priority 16: backup")
        flows = ("2  voice", "3  games", "4  backup", "1  primary: all else")
        for place, words in enumerate((*classifiers, "none matches")):
            height = 3.3 - place
            _box(axes, 2.2, height, 3.1, words, BLUE if place < 3 else GREY)
            _box(axes, 6.9, height, 2.9, flows[place], GREEN)
            axes.annotate(
                "", (6.85, height + 0.3), (5.35, height + 0.3), arrowprops={"arrowstyle": "->"}
            )
            if place:
                axes.annotate(
                    "", (3.7, height + 0.62), (3.7, height + 0.98), arrowprops={"arrowstyle": "->"}
                )
                axes.text(3.85, height + 0.8, "no", va="center", fontsize=8)
        axes.text(0.9, 3.6, "packet", ha="center", va="center")
        axes.annotate("", (2.15, 3.6), (1.4, 3.6), arrowprops={"arrowstyle": "->"})
        axes.text(6.1, 4.05, "match", ha="center", fontsize=8)
        axes.text(8.35, 4.05, "service flow: queue, rate", ha="center", fontsize=8)
    with drawing(images / "tos.svg") as [axes]:
        axes.set_axis_off()
        axes.set_xlim(0, 9.2)
        axes.set_ylim(0, 2.6)
        for bit, value in enumerate("10111000"):
            colour = BLUE if bit < 6 else GREY
            _box(axes, 0.4 + bit, 1.0, 0.86, value, colour)
        axes.text(3.4, 2.0, "DSCP: 46, EF", ha="center", color=BLUE)
        axes.text(7.4, 2.0, "ECN", ha="center", color=GREY)
        axes.text(4.4, 0.4, "the ToS byte: 0xb8 with mask 0xfc", ha="center")


def _box(axes: Axes, left: float, bottom: float, width: float, words: str, colour: str) -> None:
    shape = FancyBboxPatch(
        (left, bottom), width, 0.6, boxstyle="round,pad=0.02", facecolor="white", edgecolor=colour
    )
    axes.add_patch(shape)
    axes.text(left + width / 2, bottom + 0.3, words, ha="center", va="center", fontsize=9)


def tail_drop(images: Path) -> None:
    """A queue over time, and goodput and wait against its size."""
    from docsis_labs.exercises.tail_drop import upload

    sizes = (3, 6, 10, 15, 30, 60, 100, 150, 250, 400, 625)
    seen = [upload.play(BufferLimit(size=size * 1000)) for size in sizes]
    with drawing(images / "size.svg") as [axes]:
        axes.plot(sizes, [one.goodput / 1e6 for one in seen], "o-", color=BLUE)
        axes.set_xscale("log")
        axes.set_ylim(0, 21)
        axes.set_xlabel("buffer, KB")
        axes.set_ylabel("goodput, Mbps", color=BLUE)
        axes.axvline(125, color=GREY, linestyle="--")
        axes.text(120, 6, "bandwidth-delay product", rotation=90, ha="right", color=GREY)
        other = axes.twinx()
        other.plot(sizes, [one.longest_ms for one in seen], "s-", color=RED)
        other.set_ylabel("longest wait, ms", color=RED)
        other.set_ylim(0, 260)
    chosen = {f"{size} KB": seen[sizes.index(size)].run for size in (6, 100, 625)}
    round_trips(chosen, images / "round-trips.svg")


def docsis_pie(images: Path) -> None:
    """The loop, the scale, and what the law does."""
    from docsis_control.queue_managers.names import Preset
    from docsis_labs.exercises.docsis_pie import loop, reference

    with drawing(images / "scale.svg") as [axes]:
        probability = np.logspace(-7, 1.13, 600)
        axes.loglog(
            probability, [reference.scale(1.0, one) for one in probability], color=BLUE,
            label="what a step is multiplied by",
        )  # fmt: skip
        axes.set_xlabel("drop_prob")
        axes.legend(frameon=False)
    runs = {
        "drop tail, 250 ms": loop.play(None, Preset.DROP_TAIL_250MS).run,
        "RFC 8034": loop.play(None).run,
    }
    round_trips(runs, images / "round-trips.svg")


PICTURES: Final[dict[int, Callable[[Path], None]]] = {
    1: bufferbloat,
    2: classify,
    4: tail_drop,
    5: docsis_pie,
}


def main() -> None:
    """Draws for the exercises that the arguments name, or for all."""
    for number in map(int, sys.argv[1:]) if sys.argv[1:] else PICTURES:
        PICTURES[number](exercise(number).path / "images")


if __name__ == "__main__":
    main()
