# SPDX-License-Identifier: Apache-2.0
"""Shows a flow that sends too much, one that sends a lot, and a call, for `lab run 8`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from rich.table import Table

from docsis_labs.exercise import RunContext
from docsis_labs.exercises.flow_queues import PROGRAM
from docsis_labs.exercises.flow_queues.flows import RATE, Flow, Sent, device, play
from docsis_labs.p4.program import Program

_SECONDS: Final = 2


@dataclass(frozen=True)
class Sender:
    """A flow that sends at a constant rate.

    Attributes:
        name: What it stands for.
        flow: Its 5-tuple.
        length: Length of its frames.
        every_us: From frame to frame.
    """

    name: str
    flow: Flow
    length: int
    every_us: int


SENDERS: Final = (
    Sender("16 Mbit/s, long frames", Flow(40_000), 1500, 750),
    Sender("8 Mbit/s, short frames", Flow(40_001), 400, 400),
    Sender("a call, 87 kbit/s", Flow(40_002), 218, 20_000),
)


@dataclass(frozen=True)
class Fared:
    """How a flow fared."""

    sender: Sender
    rate: float
    lost: float
    sent_ms: list[float]
    delay_ms: list[float]


def fared(program: Program) -> list[Fared]:
    """Plays the three for two seconds."""
    sent = [
        Sent(10_000 + number * one.every_us + 37 * index, one.flow, one.length)
        for index, one in enumerate(SENDERS)
        for number in range(_SECONDS * 1_000_000 // one.every_us)
    ]
    sent.sort(key=lambda one: one.at_us)
    came = play(device(program), sent)
    found: list[Fared] = []
    for sender in SENDERS:
        own = [one for one in came if sent[one.number].flow == sender.flow]
        in_time = [one for one in own if one.at_us < _SECONDS * 1e6]
        count = sum(1 for one in sent if one.flow == sender.flow)
        found.append(
            Fared(
                sender,
                len(in_time) * sender.length * 8 / _SECONDS,
                1 - len(own) / count,
                [sent[one.number].at_us / 1000 for one in own],
                [(one.at_us - sent[one.number].at_us) / 1000 for one in own],
            )
        )
    return found


def run(context: RunContext) -> None:
    """Plays it, in virtual time or in Mininet."""
    program = context.submission.program(PROGRAM)
    if context.mininet:
        from docsis_labs.switch_network import run as run_in_mininet

        run_in_mininet(context, program)
        return
    flows = fared(program)
    table = Table(box=None, header_style="bold")
    for title in ("flow", "got, Mbit/s", "lost", "delay, median", "delay, most"):
        table.add_column(title, justify="left" if title == "flow" else "right")
    for one in flows:
        delays = one.delay_ms or [0.0]
        table.add_row(
            one.sender.name,
            f"{one.rate / 1e6:.2f}",
            f"{one.lost:.1%}",
            f"{median(delays):.1f} ms",
            f"{max(delays):.1f} ms",
        )
    context.console.print(
        f"A line of {RATE // 10**6} Mbit/s for {_SECONDS} seconds:", highlight=False
    )
    context.console.print(table)
    path = context.folder / "run" / "delays.svg"
    draw(path, [("your program", flows)])
    context.console.print(f"The same as a picture: {path}", soft_wrap=True)


def draw(path: Path, results: Sequence[tuple[str, Sequence[Fared]]]) -> None:
    """How long each frame waited, by flow; axes for each program."""
    from docsis_labs.exercises.drawing import drawing

    colours = ("#999999", "#0b5fa5", "#c44e00")
    with drawing(path, rows=len(results), height=2.6) as all_axes:
        for axes, (title, flows) in zip(all_axes, results, strict=True):
            for one, colour in zip(flows, colours, strict=True):
                axes.plot(
                    one.sent_ms, one.delay_ms, ".", markersize=2.5, color=colour,
                    label=one.sender.name,
                )  # fmt: skip
            axes.set_title(title, loc="left")
            axes.set_xlabel("sent, ms")
            axes.set_ylabel("delay of a frame, ms")
            axes.set_ylim(bottom=0)
            axes.legend(framealpha=1, markerscale=3, loc="center right")
