# SPDX-License-Identifier: Apache-2.0
"""The help of each command shows whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from documentation import ROOT
from typer.main import get_command
from typer.testing import CliRunner

from docsis_cli import app

TERMINAL = {"COLUMNS": "80"}


def _commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the words of each command and group."""
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from _commands(one, (*path, name))


def _groups(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the words of each command that has commands.

    Typer has a click of its own, which gives its commands no public type.
    """
    below = getattr(command, "commands", {})
    if below:
        yield path
    for name, one in below.items():
        yield from _groups(one, (*path, name))


@pytest.mark.parametrize("group", list(_groups(get_command(app))), ids=" ".join)
def test_the_line_of_each_command_is_a_whole_sentence(group: tuple[str, ...]) -> None:
    """On a terminal of 80 columns none ends in "...": who looks for a command reads only these."""
    shown = CliRunner().invoke(app, [*group, "--help"], env=TERMINAL)
    assert shown.exit_code == 0
    lines = shown.output.partition("\nCommands:\n")[2].splitlines()
    commands = [line for line in lines if re.match(r"  [a-z]", line)]
    assert len(commands) > 0
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


# The controller has a command line of its own.
COMMANDS = [words for words in _commands(get_command(app)) if words != ("controller",)]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_neither_this_machines_paths_nor_brackets_in_brackets(
    words: tuple[str, ...],
) -> None:
    """Whoever reads a help text has the project elsewhere."""
    shown = CliRunner().invoke(app, [*words, "--help"], env=TERMINAL)
    assert shown.exit_code == 0
    assert str(ROOT) not in "".join(shown.output.split())
    usage = shown.output.partition("\n\n")[0]
    assert not re.search(r"\[\[|\.{3}[\]}]|\]\]", usage), usage


def test_the_line_for_bash_can_be_copied() -> None:
    shown = CliRunner().invoke(app, ["completion", "--help"], env=TERMINAL)
    line = "docsis-p4 completion bash > ~/.local/share/bash-completion/completions/docsis-p4"
    assert line in [each.strip() for each in shown.output.splitlines()]
