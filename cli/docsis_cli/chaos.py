# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 chaos`: random faults of the whole system, and the invariants that must hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docsis_cli.completion import topologies
from docsis_cli.options import DEFAULT_TOPOLOGY, TOPOLOGY, StageName, TierOption, load
from docsis_cli.refusals import check_writable
from docsis_testbed.errors import TestbedError
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_control.topology.models import Topology
    from docsis_experiments.chaos.findings import Report

_CONSOLE = terminal()
_SHOWN = 20
"""Findings that are printed on the terminal; the file has up to a thousand."""


def chaos(
    topology: Annotated[
        Path,
        typer.Argument(
            metavar=TOPOLOGY,
            help="Topology: a file, or a name that docsis-p4 list shows. The default is "
            f"{DEFAULT_TOPOLOGY.stem}.",
            show_default=False,
            autocompletion=topologies,
        ),
    ] = DEFAULT_TOPOLOGY,
    faults: Annotated[
        int, typer.Option("--faults", min=1, max=100_000, help="Number of faults.")
    ] = 50,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, help="Seed of everything random: equal seeds give equal faults."
        ),
    ] = 1,
    stage: Annotated[
        StageName, typer.Option("--stage", help="Stage on which the faults happen.")
    ] = StageName.VIRTUAL,
    tier: TierOption = None,
    file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the report to this file, as JSON."),
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option(
            "--logs",
            metavar="FOLDER",
            help="Keep the output of switches, controllers and hosts in this folder; with --stage "
            "mininet.",
        ),
    ] = None,
) -> None:
    """Put faults into the whole system, and check invariants.

    Controllers, switches, hosts and links are killed, stopped, cut off and slowed at random.
    Traffic, dynamic service and changes of queue managers go on meanwhile. It checks that every
    packet is counted once, that no service flow is above its buckets, that devices have their
    configuration, that control is back within a second of a fault's end, and that nothing is left
    behind. The exit status is 1 if something did not hold, or if the run could not be made.
    """
    if logs is not None and stage is not StageName.MININET:
        raise TestbedError("--logs: in virtual time no program prints; leave it out")
    check_writable("--json", file)
    loaded = load(topology, tier)
    if stage is StageName.MININET:
        report = _in_mininet(loaded, faults, seed, logs)
    else:
        report = _in_virtual_time(loaded, faults, seed)
    if file is not None:
        try:
            file.write_text(json.dumps(report.document(), indent=2) + "\n")
        except OSError as error:
            raise TestbedError(f"--json {file}: {error.strerror}") from None
    _tell(report)
    if not report.holds:
        raise typer.Exit(1)


def _in_virtual_time(topology: Topology, faults: int, seed: int) -> Report:
    from docsis_experiments.chaos.virtual.run import run
    from docsis_experiments.stages.virtual.module import check_built, check_seed

    check_seed(seed)
    check_built()
    with _progress("s of virtual time") as progress:
        return run(topology, faults, seed, progress=progress)


def _in_mininet(topology: Topology, faults: int, seed: int, logs: Path | None) -> Report:
    from docsis_experiments.chaos.mininet.run import run

    with _progress("s") as progress:
        return run(topology, faults, seed, progress=progress, logs=logs)


@contextmanager
def _progress(unit: str) -> Iterator[Callable[[str, float], None]]:
    """Yields a function that shows a phase and its time, in words that end with the unit."""
    with _CONSOLE.status("starting") as status:
        yield lambda phase, at: status.update(f"{phase}, {at:.0f} {unit}")


def _tell(report: Report) -> None:
    document = report.document()
    told = ", ".join(f"{kind} {count}" for kind, count in report.faults.items())
    lines = [
        f"{report.topology}, {report.stage}, seed {report.seed}: {report.injected} faults in "
        f"{report.seconds:.0f} s",
        f"  {told}",
        f"  changes: {', '.join(f'{what} {count}' for what, count in report.changes.items())}",
    ]
    late = document["notes"].get("machine_late_ms", {})
    for device, times in document["recoveries_ms"].items():
        if times["count"]:
            told = (
                f"  control of {device} back after {times['count']} faults: median "
                f"{times['p50']:.0f} ms, 99% {times['p99']:.0f} ms, at most {times['max']:.0f} ms"
            )
            if (machine := late.get(device, {})).get("count"):
                told += (
                    f"; the machine's own lateness meanwhile: median {machine['p50']:.0f} ms, "
                    f"at most {machine['max']:.0f} ms"
                )
            lines.append(told)
    for name, one in document["invariants"].items():
        held = "holds" if one["checks"] else "NOT CHECKED"
        verdict = held if not one["failures"] else f"FAILED {one['failures']} times"
        lines.append(f"{name:<13} {verdict:<16} {one['checks']:>7} checks  {one['words']}")
    lines += [f"  {found}" for found in report.findings.found[:_SHOWN]]
    if (left_out := sum(report.findings.counted.values()) - _SHOWN) > 0:
        lines.append(f"  and {left_out} more")
    if report.digest:
        lines.append(f"digest {report.digest}")
    for line in lines:
        _CONSOLE.print(line, highlight=False, soft_wrap=True)
