# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: exit status, and one sentence for bad input."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import typer
from command_line import Start, called, docsis_p4, started

from docsis_cli import app as program
from docsis_cli.interruptible import Interruptible
from docsis_testbed.paths import TOPOLOGIES

RESIDENTIAL = """
name: bad
tier: cable-20
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
hosts:
  - {name: cpe1, ip: 10.0.0.11/24, mac: "02:00:00:00:01:01"}
servers:
  - {name: server1, ip: 10.0.0.101/24, mac: "02:00:00:00:02:01", round_trip_time: 20 ms}
"""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("hosts:\n", "hostz: []\nhosts:\n"), "hostz: unknown key"),
        (("20 ms", "20 parsec"), '"parsec" is not a unit'),
        (("cable-20", "cable-1"), 'no service tier "cable-1"'),
        ((RESIDENTIAL, "- 1\n"), "must be a mapping"),
    ],
)
def test_bad_topology_names_file_line_and_key(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    (tmp_path / "tiers").symlink_to(TOPOLOGIES / "tiers")
    path = tmp_path / "bad.yaml"
    path.write_text(RESIDENTIAL.replace(*change))
    result = docsis_p4("demo", "--topology", str(path))
    assert result.returncode == 1
    assert result.stdout == ""
    assert f"{path}:" in result.stderr
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("start", [called, started])
def test_missing_topology(start: Start) -> None:
    result = docsis_p4("demo", "--topology", "/nonexistent/x.yaml", start=start)
    assert result.returncode == 1
    assert result.stderr == "docsis-p4: /nonexistent/x.yaml: there is no such file\n"


def test_missing_bmv2() -> None:
    result = docsis_p4("demo", "--target", "bmv2", PATH="/usr/bin:/bin:/usr/sbin:/sbin")
    assert result.returncode == 1
    assert "simple_switch_grpc and simple_switch_CLI are not on PATH" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("start", [called, started])
def test_unknown_option_is_a_usage_error(start: Start) -> None:
    assert docsis_p4("demo", "--aqm", "red", start=start).returncode == 2


def test_a_file_that_cannot_be_used_is_told_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "[file]"
    file.write_text("")
    for command, name in (("schema", file / "x"), ("schema", file), ("report", file)):
        result = docsis_p4(command, str(name))
        assert result.returncode == 1
        assert result.stderr.startswith(f"docsis-p4: {name}")
        assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr == (
        f"docsis-p4: {file}/summary.json: cannot be read (Not a directory); give the folder of a "
        "finished run under results/\n"
    )


def test_an_interrupt_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer(cls=Interruptible)

    @app.command()
    def long() -> None:
        raise KeyboardInterrupt

    @app.command()
    def other() -> None:
        pass

    with pytest.raises(SystemExit) as ended:
        app(["long"])
    assert ended.value.code == 130
    assert capfd.readouterr().err == "docsis-p4: interrupted; nothing of it is left running\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_is_said(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer(cls=Interruptible)
    ended_in_order = []

    @app.command()
    def long() -> None:
        try:
            signal.raise_signal(number)
        finally:
            ended_in_order.append(True)

    @app.command()
    def other() -> None:
        pass

    with pytest.raises(SystemExit) as ended:
        app(["long"])
    assert (ended.value.code, ended_in_order) == (128 + number, [True])
    said = f"docsis-p4: ended by {number.name}; nothing of it is left running\n"
    assert capfd.readouterr().err == said


def test_interrupts_of_the_program_are_said() -> None:
    assert isinstance(typer.main.get_command(program), Interruptible)


def test_help_lists_every_command() -> None:
    result = docsis_p4("--help")
    for command in (
        *("demo", "run", "stop", "clean", "ptf", "bench", "p4", "schema", "controller", "report"),
        *("accept", "config", "compare", "export", "list", "show", "shares", "sf", "sweep"),
        "completion",
    ):
        assert f"  {command} " in result.stdout


def test_schemas_are_written(tmp_path: Path) -> None:
    result = docsis_p4("schema", str(tmp_path))
    assert result.returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "closed-loop.schema.json",
        "commands.schema.json",
        "comparison.schema.json",
        "figures.schema.json",
        "modem.schema.json",
        "population-summary.schema.json",
        "population.schema.json",
        "queue-manager.schema.json",
        "referee-results.schema.json",
        "referee.schema.json",
        "repeated-summary.schema.json",
        "reproduction.schema.json",
        "scenario-summary.schema.json",
        "scenario.schema.json",
        "service-classes.schema.json",
        "status.schema.json",
        "sweep-summary.schema.json",
        "sweep.schema.json",
        "tier.schema.json",
        "topology.schema.json",
        "traffic.schema.json",
    ]
    assert json.loads((tmp_path / "topology.schema.json").read_text())["type"] == "object"


@pytest.mark.parametrize("start", [called, started])
def test_controller_has_its_own_help(start: Start) -> None:
    result = docsis_p4("controller", "--help", start=start)
    assert result.returncode == 0
    assert "--election-id" in result.stdout
