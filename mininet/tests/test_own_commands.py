# SPDX-License-Identifier: Apache-2.0
"""Commands of users in hosts: how they are written, and which are refused."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from docsis_control.topology.loader import load_topology
from docsis_testbed.command_files import json_schema, load_commands
from docsis_testbed.errors import TestbedError
from docsis_testbed.own_commands import Done, OwnCommand, check, from_argument
from docsis_testbed.paths import TOPOLOGIES

HOME = load_topology(TOPOLOGIES / "residential.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpe1=ping -c 3 server1", ("ping", "-c", "3", "server1")),
        ("cpe1=sh -c 'echo a; echo $HOME'", ("sh", "-c", "echo a; echo $HOME")),
        ("cpe1=env A=b true", ("env", "A=b", "true")),
        ("cpe1=", ()),
    ],
)
def test_words_are_told_apart_as_a_shell_does_and_no_shell_reads_them(
    text: str, words: tuple[str, ...]
) -> None:
    assert from_argument(text) == OwnCommand("cpe1", words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ping server1", "^--command ping server1: name the host first"),
        ("=ping", "^--command =ping: name the host first"),
        ("cpe1=echo 'a", "the words cannot be told apart"),
    ],
)
def test_what_is_no_command_is_refused(text: str, message: str) -> None:
    with pytest.raises(TestbedError, match=message):
        from_argument(text)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (OwnCommand("nobody", ("true",)), "^--command nobody: topology residential has no host or"),
        (OwnCommand("cm1", ("true",)), "no host or server of that name"),
        (OwnCommand("cpe1", ()), "^--command cpe1: there is no program to start"),
        (OwnCommand("cpe1", ("no-such-program",)), 'there is no program "no-such-program" on PATH'),
        (OwnCommand("cpe1", ("true", *["x"] * 256)), "the command is too long"),
        (OwnCommand("cpe1", ("true", "x" * 9000)), "the command is too long"),
        (OwnCommand("cpe1", ("true", "a\0b")), "null character"),
    ],
)
def test_a_command_that_cannot_start_is_refused(command: OwnCommand, message: str) -> None:
    check([OwnCommand("server2", ("true",))], HOME)
    with pytest.raises(TestbedError, match=message):
        check([command], HOME)


def test_there_are_not_too_many() -> None:
    with pytest.raises(TestbedError, match="there are 33 commands, and there may be 32"):
        check([OwnCommand("cpe1", ("true",))] * 33, HOME)


def test_a_command_is_told_without_what_would_not_show() -> None:
    assert OwnCommand("cpe1", ("echo", "a b", "\x1b[2J")).told == "cpe1: echo 'a b' '\\x1b[2J'"


def test_a_log_that_was_cut_is_told() -> None:
    command = OwnCommand("cpe1", ("yes",))
    assert Done(command, Path("1"), "ended with exit status 0", False).words.endswith("status 0")
    cut = Done(command, Path("1"), "was ended with the run", True)
    assert cut.words == "was ended with the run; the log has 16 MiB of it"


def test_a_file_has_lists_of_words(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "commands:\n"
        "  - {host: server1, run: [iperf3, -s, -p, 5300]}\n"
        "  - {host: cpe1, run: [ping, -i, 0.2, server1], start: 500 ms}\n"
    )
    assert load_commands(file) == [
        OwnCommand("server1", ("iperf3", "-s", "-p", "5300")),
        OwnCommand("cpe1", ("ping", "-i", "0.2", "server1"), 0.5),
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{host: cpe1, run: ping server1}", r"mine\.yaml:2: commands\.0\.run: is not a list of w"),
        ("{host: cpe1, run: [ping, yes]}", r"commands\.0\.run: "),
        ("{host: cpe1, run: [[a]]}", r"commands\.0\.run: "),
        ("{host: cpe1}", r"commands\.0\.run: "),
        ("{host: cpe1, run: [a], start: 5}", r"commands\.0\.start: 5 has no unit"),
        (
            "{host: cpe1, run: [a], start: 86401 s}",
            r"commands\.0\.start: a command must start within",
        ),
        ("{host: cpe1, run: [a], shell: true}", r"commands\.0\.shell: unknown key"),
    ],
)
def test_a_file_names_the_place_of_a_mistake(entry: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"commands:\n  - {entry.replace('yes', 'true')}\n")
    with pytest.raises(TestbedError, match=message):
        load_commands(file)


def test_files_have_a_schema() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"commands": [{"host": "cpe1", "run": ["ping", 1]}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"commands": [{"host": "cpe1", "run": "ping"}]}, schema)
