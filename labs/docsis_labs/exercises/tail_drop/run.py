# SPDX-License-Identifier: Apache-2.0
"""`lab run 4`: the student's buffer beside others."""

from __future__ import annotations

from docsis_labs.exercise import RunContext


def run(context: RunContext) -> None:
    """Plays four buffers, prints a table and draws the round trips."""
    from docsis_labs.exercises.tail_drop.models import Choice

    choice = context.submission.document("buffer.yaml", Choice).buffer
    if context.mininet:
        from docsis_labs import in_mininet

        file = context.folder / "run" / "queue-manager.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"algorithm: drop-tail\nbuffer: {choice}\n")
        in_mininet.run(context.folder / "topology.yaml", str(file))
        return
    from rich.table import Table

    from docsis_control.config.units import BufferLimit
    from docsis_labs.exercises.tail_drop import upload
    from docsis_labs.plotting import round_trips

    choices = {
        "5 KB": BufferLimit(size=5_000),
        "625 KB": BufferLimit(size=625_000),
        "yours": choice,
    }
    runs = {name: upload.play(buffer) for name, buffer in choices.items()}
    table = Table(box=None, header_style="bold")
    for title in ("buffer", "longest wait, ms", "goodput, Mbps"):
        table.add_column(title, justify="left" if title == "buffer" else "right")
    for name, seen in runs.items():
        table.add_row(name, f"{seen.longest_ms:.0f}", f"{seen.goodput / 1e6:.1f}")
    context.console.print(table)
    file = context.folder / "run" / "round-trips.svg"
    round_trips({name: seen.run for name, seen in runs.items()}, file)
    context.console.print(f"Each packet's round trip is in {file}.", soft_wrap=True)
