# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 snmp` as a process, beside a status that is served here."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from docsis_control.status.model import Status, decode
from docsis_control.status.server import serving

STATUS = decode((Path(__file__).parents[2] / "control_plane/tests/data/status.json").read_bytes())


async def start(folder: Path, *options: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from docsis_cli import main; main()"),
        *("snmp", "--port", "0", "--status-folder", str(folder), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
async def test_serves_until_it_is_told_to_end(tmp_path: Path, end: signal.Signals) -> None:
    async def get() -> Status:
        return STATUS

    async with serving(get, tmp_path):
        process = await start(tmp_path, "--community", "operator")
        assert process.stdout is not None
        try:
            line = (await process.stdout.readline()).decode()
            assert line.startswith("ready: SNMPv2c at 127.0.0.1:")
            snmpget = await asyncio.create_subprocess_exec(
                *("snmpget", "-v2c", "-c", "operator", "-Oqv", line.split()[-1]),
                "1.3.6.1.4.1.4491.2.1.21.1.4.1.8.2.1",
                stdout=asyncio.subprocess.PIPE,
            )
            output, _ = await snmpget.communicate()
            assert output.decode().strip() == "70"
        finally:
            process.send_signal(end)
            _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")


async def test_tells_that_no_controller_runs(tmp_path: Path) -> None:
    process = await start(tmp_path)
    output, errors = await process.communicate()
    assert (process.returncode, output) == (1, b"")
    assert b"docsis-p4: no controller runs" in errors
    assert b"Traceback" not in errors
