# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docsis_cli.completion import sweeps
from docsis_cli.options import named_or_file
from docsis_cli.playing import (
    PlayedAtATimeOption,
    SchedulerOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    Where,
    player,
)
from docsis_testbed.errors import TestbedError
from docsis_testbed.terminal import terminal

_CONSOLE = terminal()


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="SWEEP.yaml",
            help="Sweep file, or the name of one that docsis-p4 list shows.",
            autocompletion=sweeps,
        ),
    ],
    jobs: PlayedAtATimeOption = None,
    scheduler: SchedulerOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Play an experiment under many conditions in virtual time.

    Conditions are queue managers, rates, buffers, round-trip times and numbers of flows.
    """
    play = player(Where(jobs, scheduler, tls_ca, tls_cert, tls_key), _CONSOLE)
    from docsis_control.config.errors import ConfigError
    from docsis_experiments.sweeps import job, loader

    try:
        loaded = loader.load(named_or_file(file, "sweeps"))
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    job.run(loaded, play=play, console=_CONSOLE)
