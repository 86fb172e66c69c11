# SPDX-License-Identifier: Apache-2.0
"""Refuses options and files that a command cannot use, before the command begins its work."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from docsis_testbed.errors import TestbedError


def refuse(context: typer.Context, *names: str, because: str) -> None:
    """Refuses options that would have no effect.

    Args:
        context: The command's.
        names: Names of parameters that have no effect here; it is fine if nobody gave them.
        because: The reason, for the message.

    Raises:
        TestbedError: One of them was given.
    """
    for name, option in given(context):
        if name in names:
            raise TestbedError(f"{option} has no place here: {because}")


def given(context: typer.Context) -> list[tuple[str, str]]:
    """Parameters that the command line gives, each with its option, such as "--live-port"."""
    found = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            found.append((name, parameter.opts[0]))
    return found


def check_writable(option: str, file: Path | None) -> None:
    """Refuses, before a long run, a file that could not be written after it.

    Args:
        option: The option that names it, such as "--json".
        file: The file; None is in order.

    Raises:
        TestbedError: It is a folder, or in none, or may not be written.
    """
    if file is None:
        return
    if file.is_dir():
        raise TestbedError(f"{option} {file}: is a folder; give a file")
    if not file.parent.is_dir():
        raise TestbedError(f"{option} {file}: there is no folder {file.parent}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise TestbedError(f"{option} {file}: this user may not write there")
