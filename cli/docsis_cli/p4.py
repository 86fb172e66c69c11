# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 p4`: compile the P4 programs, and check the committed output."""

from __future__ import annotations

import typer

from docsis_control.project_files import INSTALLED
from docsis_testbed import p4build, p4programs
from docsis_testbed.errors import TestbedError


def _need_clone() -> None:
    """Refuse to go on where there are no sources that could be compiled or compared.

    Raises:
        TestbedError: pip installed this.
    """
    if INSTALLED:
        raise TestbedError(
            "the P4 sources that this command is about are in a clone of the project; clone the "
            "project's repository, and run it there"
        )


app = typer.Typer(
    no_args_is_help=True, help="Compile the P4 programs, or check the committed output."
)


@app.command()
def build() -> None:
    """Compile p4src/ and the switch's test programs.

    This needs p4c on PATH. Manifests record its version and the hashes of sources and outputs.
    """
    _need_clone()
    manifest = p4build.build()
    for name in manifest["outputs_sha256"]:
        typer.echo(f"p4src/build/{name}")
    typer.echo(f"{len(p4programs.build())} files of the switch's test programs")
    typer.echo(f"compiled with p4c {manifest['p4c']}")


@app.command()
def check() -> None:
    """Fail when a compiled program does not match its source.

    It looks at p4src/build/ and at the switch's test programs.
    """
    _need_clone()
    typer.echo(p4build.check())
    typer.echo(p4programs.check())
