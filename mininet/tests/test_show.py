# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show`: a status of a modem under load beside a CMTS that does not answer."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import jsonschema
import pytest
from rich.console import Console

from docsis_control.status.model import Status, decode, json_schema
from docsis_control.status.server import serving
from docsis_testbed import show
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT

PROGRAM = Path(sys.executable).with_name("docsis-p4")
STATUS = decode((ROOT / "control_plane" / "tests" / "data" / "status.json").read_bytes())


def text_of(status: Status, width: int = 110) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(show.render(status))
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_the_tables_hold_every_figure() -> None:
    lines = text_of(STATUS)
    assert lines[0].startswith("residential, cable-20, docsis-pie; controller 4242 up 62 s; ")
    assert "1 cm1 up 20 (25) 36.3 14.5 1.2 0.062500 ACTIVE" in lines
    # 1 malformed frame is among the others.
    assert "1 1100 1650000 1000 70 3 2 1 5" in lines
    assert "1 20 ipv4_dst=10.0.0.101 l4_dst_port=5000-5010 100 21800" in lines
    assert "1 - all else 1000 1628200" in lines
    assert "cm1 registers 3700 2 0.10/0.50/3.25 0.90/1.50/4.75 0" in lines


def test_what_does_not_answer_is_told_from_nothing() -> None:
    lines = text_of(STATUS)
    assert "2 cm1 down 100 (150) ? ? ? - -" in lines
    assert "2 ? ? ? ? ? ? ? ?" in lines
    assert "cmts1 no answer - - - - 1" in lines


def test_everything_fits_a_usual_terminal() -> None:
    for line, wide in zip(text_of(STATUS, 80), text_of(STATUS, 200), strict=True):
        assert line == wide


def test_watching_ends_with_the_controller_or_the_user() -> None:
    seen: list[Status] = []
    answers = iter([STATUS, STATUS])

    def get() -> Status:
        try:
            return next(answers)
        except StopIteration:
            raise TestbedError("no controller runs") from None

    with pytest.raises(TestbedError):
        show.watch(get, seen.append, lambda: None)
    assert seen == [STATUS, STATUS]

    def interrupted() -> None:
        raise KeyboardInterrupt

    show.watch(lambda: STATUS, seen.append, interrupted)
    assert len(seen) == 3


@contextmanager
def controller(folder: Path) -> Iterator[None]:
    """Serves the status as a controller does."""
    ready, done = Event(), Event()

    async def make() -> Status:
        return STATUS

    async def serve() -> None:
        async with serving(make, folder):
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield
    finally:
        done.set()
        thread.join()


def docsis_p4(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAM), "show", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_json_is_the_document(tmp_path: Path) -> None:
    with controller(tmp_path):
        result = docsis_p4("--json", "--status-folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    document = json.loads(line)
    jsonschema.validate(document, json_schema())
    assert decode(line.encode()) == STATUS


def test_tables_come_out_of_the_command(tmp_path: Path) -> None:
    with controller(tmp_path):
        result = docsis_p4("--status-folder", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "ACTIVE" in result.stdout


def test_says_how_to_start_something(tmp_path: Path) -> None:
    result = docsis_p4("--status-folder", str(tmp_path))
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        f"docsis-p4: no controller runs (looked in {tmp_path}); start the system with "
        "`docsis-p4 run`, or a controller with `docsis-p4 controller`\n"
    )
