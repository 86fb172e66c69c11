# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 completion`: words of the command line that a shell completes.

Typer does the work. The script that is printed makes the shell call `docsis-p4` with
`_DOCSIS_P4_COMPLETE` in its environment, and the program then prints what may come next.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Final

import typer

from docsis_control.queue_managers.names import Preset
from docsis_testbed.paths import TOPOLOGIES

PROGRAM: Final = "docsis-p4"
VARIABLE: Final = "_DOCSIS_P4_COMPLETE"
"""Environment variable that Typer derives from the program's name."""


class Shell(StrEnum):
    """Shells that have a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that you use.")],
) -> None:
    """Print the script with which a shell completes words.

    It completes commands, options, names of what is shipped, and files.

    For bash:

    \b
    docsis-p4 completion bash > ~/.local/share/bash-completion/completions/docsis-p4
    """
    # Typer does not declare that its modules pass these on.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value)
    typer.echo(script)


def prepare() -> None:
    """Registers Typer's shells when a shell asks what may come next, and does nothing otherwise."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def scenarios(incomplete: str) -> list[str]:
    """Returns the names of shipped experiments that begin like that."""
    return _shipped("scenarios", incomplete)


def sweeps(incomplete: str) -> list[str]:
    """Returns the names of shipped sweeps that begin like that."""
    return _shipped("sweeps", incomplete)


def populations(incomplete: str) -> list[str]:
    """Returns the names of shipped populations that begin like that."""
    return _shipped("populations", incomplete)


def topologies(incomplete: str) -> list[str]:
    """Returns the names of shipped topologies that begin like that."""
    return _shipped("", incomplete)


def tiers(incomplete: str) -> list[str]:
    """Returns the names of shipped service tiers that begin like that."""
    return _shipped("tiers", incomplete)


def queue_managers(incomplete: str) -> list[str]:
    """Returns the names of queue managers that begin like that."""
    return [preset.value for preset in Preset if preset.value.startswith(incomplete)]


def _shipped(sort: str, incomplete: str) -> list[str]:
    # If no name begins like that, the shell completes names of files.
    stems = (file.stem for file in (TOPOLOGIES / sort).glob("*.yaml"))
    return sorted(stem for stem in stems if stem.startswith(incomplete))
