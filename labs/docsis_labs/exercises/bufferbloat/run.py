# SPDX-License-Identifier: Apache-2.0
"""`lab run 1`: measures, writes the columns into a file, and shows what the analysis says."""

from __future__ import annotations

import csv
from functools import partial

from docsis_labs.exercise import RunContext


def run(context: RunContext) -> None:
    """Plays the run, writes run/round-trips.csv and draws it."""
    if context.mininet:
        from docsis_labs import in_mininet

        in_mininet.run(context.folder / "topology.yaml", "drop-tail-250ms")
        return
    from docsis_labs.exercises.bufferbloat import upload
    from docsis_labs.plotting import round_trips

    measured = upload.play(seed=1)
    folder = context.folder / "run"
    folder.mkdir(exist_ok=True)
    with (folder / "round-trips.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sent_ns", "returned_ns"))
        writer.writerows(zip(measured.sent_ns, measured.returned_ns, strict=True))
    round_trips({"drop tail, 250 ms": measured}, folder / "round-trips.svg")
    tell = partial(context.console.print, soft_wrap=True)
    tell(f"{len(measured.sent_ns)} packets of a call are in {folder}/round-trips.csv and .svg.")
    tell(f"The load was on from {upload.BEGIN_NS} ns to {upload.END_NS} ns.")
    student = context.submission.python("bufferbloat.py")
    times = (measured.sent_ns, measured.returned_ns)
    lost = student.number("loss", measured.returned_ns)
    delay = student.number("added_delay", *times, upload.BEGIN_NS, upload.END_NS)
    size = student.number("buffer_size", delay, upload.MSR)
    tell(f"Your analysis: {lost:.2%} lost, {delay:.1f} ms added by load, {size / 1000:.0f} KB.")
