# SPDX-License-Identifier: Apache-2.0
"""The command-line program `docsis-p4`.

Heavy libraries are imported inside the commands, so that `docsis-p4 --help`
and the P4 build answer at once.
"""

from __future__ import annotations

import errno
import sys
from typing import Annotated, Final

import typer

from docsis_cli import (
    accept,
    chaos,
    compare,
    completion,
    config,
    export,
    lab,
    live,
    measure,
    p4,
    population,
    reproduce,
    sf,
    show,
    snmp,
    sweep,
    testbed,
)
from docsis_cli import list as listing
from docsis_cli.interruptible import Interruptible
from docsis_testbed.errors import TestbedError
from docsis_testbed.readable import readable
from docsis_testbed.terminal import terminal

_MENDABLE: Final = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR),
    *(errno.ENOSPC, errno.EDQUOT),
}
"""Errors about files that users can mend. Any other error of the system is a defect of ours."""

app = typer.Typer(
    name="docsis-p4",
    cls=Interruptible,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Run a DOCSIS cable modem and a CMTS as P4 switches.",
)


def _print_version(asked: bool) -> None:
    if asked:
        from docsis_testbed import versions

        typer.echo(versions.program())
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_version,
            help="Print the version, with the commit where there is one, and exit.",
        ),
    ] = False,
) -> None:
    """Takes the options that stand before a command."""
    del version


for command in (testbed.demo, testbed.run, testbed.stop, testbed.clean, testbed.report):
    app.command()(command)
app.command()(sweep.sweep)
app.command()(population.population)
app.command()(compare.compare)
app.command()(export.export)
app.command()(chaos.chaos)
app.command()(reproduce.reproduce)
app.command("list")(listing.shipped)
app.command()(snmp.snmp)
app.command()(live.live)
app.command()(testbed.schema)
app.command()(testbed.shares)
app.command()(measure.figures)
app.command()(measure.bench)
app.command()(measure.ptf)
app.command()(completion.completion)
# The controller has a command line of its own.
app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(testbed.controller)
app.add_typer(accept.app, name="accept")
app.add_typer(lab.app, name="lab")
app.add_typer(p4.app, name="p4")
app.add_typer(config.app, name="config")
app.add_typer(sf.app, name="sf")
app.add_typer(show.app, name="show")


def main() -> None:
    """Runs the program; an error that the user can mend is one sentence and exit status 1.

    The exit status is 3 where a run was made but nothing can be said of it.
    """
    completion.prepare()
    try:
        app()
    except TestbedError as error:
        _tell(str(error))
        sys.exit(error.exit_status)
    except OSError as error:
        if error.errno not in _MENDABLE or error.filename is None:
            raise
        _tell(
            f"{readable(str(error.filename))}: cannot be used ({error.strerror}); give "
            "another path, or mend this one"
        )
        sys.exit(TestbedError.exit_status)


def _tell(sentence: str) -> None:
    terminal(stderr=True).print(
        f"docsis-p4: {sentence}", style="bold red", highlight=False, soft_wrap=True
    )
