# SPDX-License-Identifier: Apache-2.0
"""`lab run 5`: the student's law beside drop tail and the controller's own."""

from __future__ import annotations

from docsis_labs.exercise import RunContext


def run(context: RunContext) -> None:
    """Plays all three, prints a table and draws the round trips."""
    if context.mininet:
        from docsis_labs import in_mininet

        # The product's own law: a student's is called in virtual time only.
        in_mininet.run(context.folder / "topology.yaml", "docsis-pie")
        return
    from rich.table import Table

    from docsis_control.queue_managers.names import Preset
    from docsis_labs.exercises.docsis_pie import loop
    from docsis_labs.plotting import round_trips

    student = context.submission.python("law.py")
    runs = {
        "drop tail, 250 ms": loop.play(None, Preset.DROP_TAIL_250MS),
        "your law": loop.play(student),
        "RFC 8034": loop.play(None),
    }
    table = Table(box=None, header_style="bold")
    for title in ("queue manager", "median delay, ms", "p99, ms", "goodput, Mbps"):
        table.add_column(title, justify="left" if title == "queue manager" else "right")
    for name, seen in runs.items():
        figures = (seen.median_ms, seen.p99_ms, seen.goodput / 1e6)
        table.add_row(name, *(f"{figure:.1f}" for figure in figures))
    context.console.print(table)
    file = context.folder / "run" / "round-trips.svg"
    round_trips({name: seen.run for name, seen in runs.items()}, file)
    context.console.print(f"Each packet's round trip is in {file}.", soft_wrap=True)
