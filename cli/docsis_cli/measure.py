# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 figures|bench|ptf`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from docsis_cli.refusals import check_writable, refuse
from docsis_testbed.terminal import terminal


def figures(
    frames: Annotated[
        int, typer.Option("--frames", min=10_000, help="Frames for each drop probability.")
    ] = 1_000_000,
    trials: Annotated[
        int, typer.Option("--trials", min=100, help="Trials for each number of sessions.")
    ] = 50_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")] = 1,
) -> None:
    """Draw the papers' figures about single decisions.

    The compiled pipeline makes the decisions. The exit status is 1 when a value is outside the
    bounds within which a correct pipeline's value lies.
    """
    from docsis_experiments.figures import job

    _, passed = job.run(frames=frames, trials=trials, seed=seed, console=terminal())
    raise typer.Exit(0 if passed else 1)


def bench(
    context: typer.Context,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="Length of each measurement.")
    ] = 5.0,
    repetitions: Annotated[
        int,
        typer.Option(
            "--repetitions",
            min=1,
            help="Measure each switch this often, in turn, and take the medians.",
        ),
    ] = 3,
    soak: Annotated[
        float | None,
        typer.Option(
            "--soak",
            metavar="SECONDS",
            min=20,
            help="Instead, send traffic and requests for so long, and fail if memory grows.",
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the JSON to this file instead of into results/."),
    ] = None,
    virtual: Annotated[
        float | None,
        typer.Option(
            "--virtual",
            metavar="SECONDS",
            min=1,
            help="Instead, measure the processor time that this much virtual time takes.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Measure all figures of docs/performance.md in one sitting: also the demo, the"
            " control loops and virtual time.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FOLDER",
            help="With --all: new folder for the figures. The default is results/TIME-figures.",
        ),
    ] = None,
) -> None:
    """Measure the switch beside a bare forwarder and BMv2.

    BMv2 is measured where it is installed. Measure on a machine that does nothing else.
    """
    check_writable("--json", json_file)
    if everything:
        refuse(context, "soak", "json_file", "virtual", because="--all measures everything")
        from docsis_experiments.bench import everything as sitting

        sitting.run(seconds, repetitions, output, terminal())
        return
    refuse(context, "output", because="only --all writes a folder")
    if virtual is not None:
        because = "--virtual measures virtual time alone, once"
        refuse(context, "soak", "seconds", "repetitions", because=because)
        from docsis_experiments.stages.virtual import speed
        from docsis_experiments.stages.virtual.speed_cases import CASES

        figures = speed.run(list(CASES), virtual, terminal())
        if json_file is not None:
            json_file.write_text(json.dumps(figures, indent=2) + "\n")
        return
    from docsis_experiments.bench import report
    from docsis_experiments.bench import soak as soaking

    if soak is not None:
        because = "--soak only looks whether memory grows"
        refuse(context, "json_file", "seconds", "repetitions", because=because)
        soaking.run(soak, terminal())
    else:
        report.run(seconds, repetitions, json_file, terminal())


def ptf(
    tests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEST",
            help="Run only these: tests (module.Class), modules, profiles (shaping) or requirements"
            " (CF-1, CF). A ^ in front leaves them out.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="Switch to test: embedded, bmv2, or HOST:PORT of a P4Runtime server.",
        ),
    ] = "embedded",
    port: Annotated[
        list[str] | None,
        typer.Option(
            "--port",
            metavar="NUMBER=INTERFACE",
            help="With HOST:PORT: a port of the switch, and the interface at the other end of its"
            " cable. Give three, the RF port first.",
        ),
    ] = None,
    device_id: Annotated[
        int,
        typer.Option("--device-id", min=0, max=2**64 - 1, help="P4Runtime device id."),
    ] = 1,
    election_id: Annotated[
        int,
        typer.Option(
            "--election-id",
            min=1,
            help="The suite's election id, which must be above any other client's.",
        ),
    ] = 1,
    programs: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            metavar="FOLDER",
            help="Folder with cm and cmts compiled for the target, instead of p4src/build.",
        ),
    ] = None,
    shaper: Annotated[
        str | None,
        typer.Option(
            "--shaper",
            metavar="SHAPER",
            help="Way to configure the traffic manager: docsis.tm.v1, bmv2-thrift=HOST:PORT, or"
            " MODULE:CLASS=ARGUMENT of your own. By default docsis.tm.v1, and with --target bmv2"
            " its Thrift server.",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="Longest time for an expected event."),
    ] = 5.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of what tests draw at random.")] = 1,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Write results there. The default is results/ptf/embedded, results/ptf/bmv2, or "
            "results/ptf/target for HOST:PORT.",
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="Only print the tests that are selected.")
    ] = False,
) -> None:
    """Run the PTF conformance suite: a verdict for each requirement.

    docs/test-plan.md has the requirements, and docs/how-to/test-your-switch.md shows how to test a
    switch of your own. The exit status is 1 when a test failed, and 2 when the suite could not run.
    """
    # Before gRPC is there: processes are started beside it, and it goes on in none of them.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from docsis_ptf.runner import main

    arguments = [
        *("--target", target, "--device-id", str(device_id), "--election-id", str(election_id)),
        *("--timeout", str(timeout), "--seed", str(seed)),
    ]
    if shaper is not None:
        arguments += ["--shaper", shaper]
    for item in port or []:
        arguments += ["--port", item]
    if programs is not None:
        arguments += ["--programs", str(programs)]
    if results is not None:
        arguments += ["--results", str(results)]
    if show:
        arguments.append("--list")
    raise typer.Exit(main([*arguments, "--", *(tests or [])]))
