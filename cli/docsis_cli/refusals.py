# SPDX-License-Identifier: Apache-2.0
"""Refuses options and files that a command cannot use, before the command begins its work."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at, nearest_there


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
    named = f"{option} {file}"
    if looked_at(file, Path.is_dir, named):
        raise TestbedError(f"{named}: is a folder; give a file")
    if not looked_at(file.parent, Path.is_dir, named):
        raise TestbedError(f"{named}: there is no folder {file.parent}")
    if not os.access(file if looked_at(file, Path.exists, named) else file.parent, os.W_OK):
        raise TestbedError(f"{named}: this user may not write there")


def check_folder(option: str, folder: Path | None) -> None:
    """Refuses, before a long run, a folder that could not be made or written during it.

    Args:
        option: The option that names it, such as "--trace".
        folder: The folder, which need not be there; None is in order.

    Raises:
        TestbedError: It is a file or in one, its name is too long, or it may not be written.
    """
    if folder is None:
        return
    named = f"{option} {folder}"
    there = nearest_there(folder, named)
    if not looked_at(there, Path.is_dir, named):
        raise TestbedError(f"{named}: {there} is no folder; give another folder")
    for part in folder.absolute().relative_to(there).parts:
        # The system says of each name to come whether it is too long.
        looked_at(there / part, Path.exists, named)
    if not os.access(there, os.W_OK | os.X_OK):
        raise TestbedError(f"{named}: this user may not write there")


def searchable(folder: Path | None) -> Path | None:
    """Takes the value of an option that names a folder to look in, which need not be there.

    Raises:
        TestbedError: This user may not look there, or its name is too long.
    """
    if folder is not None:
        looked_at(folder, Path.exists)
    return folder
