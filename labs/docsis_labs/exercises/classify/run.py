# SPDX-License-Identifier: Apache-2.0
"""`lab run 2`: where each packet of the home goes."""

from __future__ import annotations

from docsis_labs.exercise import RunContext


def run(context: RunContext) -> None:
    """Sends the packets through the modem and prints a table."""
    if context.mininet:
        from docsis_labs import in_mininet

        in_mininet.run(context.folder / "topology.yaml", "drop-tail-250ms")
        return
    from rich.table import Table

    from docsis_labs.exercises.classify import modem
    from docsis_labs.exercises.classify.packets import PACKETS

    flows = modem.classified(context.submission.text("modem.yaml"))
    table = Table(box=None, header_style="bold")
    for title in ("packet", "went into", "belongs into"):
        table.add_column(title)
    for name, packet in PACKETS.items():
        style = None if flows[name] == packet.flow else "red"
        table.add_row(packet.words, str(flows[name]), str(packet.flow), style=style)
    context.console.print(table)
