# SPDX-License-Identifier: Apache-2.0
"""Tools for the tests of the SNMP agent: statuses, and Net-SNMP's programs."""

import asyncio
import dataclasses
import os
import re
from dataclasses import dataclass
from pathlib import Path

from docsis_control.status.model import Modem, Status, decode

STATUS = decode((Path(__file__).parent / "data" / "status.json").read_bytes())
QOS = "1.3.6.1.4.1.4491.2.1.21.1"

# An empty string has no type.
_LINE = re.compile(r"\.(?P<oid>[0-9.]+) = (?:(?P<type>[A-Za-z0-9-]+): )?(?P<value>.*)")
_ENDS = "No more variables"


@dataclass(frozen=True)
class Seen:
    """The output of a program.

    Attributes:
        returncode: Its exit code.
        values: Type and text by object identifier, in the order of its answers.
        text: All of its output.
    """

    returncode: int
    values: dict[str, tuple[str, str]]
    text: str


async def run(program: str, port: int, *arguments: str, community: str = "public") -> Seen:
    """Runs snmpget, snmpwalk and their like against an agent on the loopback interface."""
    process = await asyncio.create_subprocess_exec(
        program,
        *("-v2c", "-c", community, "-One", "-t", "20", "-r", "1"),
        f"127.0.0.1:{port}",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Neither this user's configuration nor MIB modules that may be installed.
        env={**os.environ, "SNMPCONFPATH": "/nonexistent", "MIBS": ""},
    )
    output, _ = await process.communicate()
    text = output.decode()
    values: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found and not found["value"].startswith(_ENDS):
            assert found["oid"] not in values, "an object twice"
            values[found["oid"]] = (found["type"] or "STRING", found["value"])
    assert process.returncode is not None
    return Seen(process.returncode, values, text)


def numbers(oid: str) -> tuple[int, ...]:
    """An object identifier as it is ordered."""
    return tuple(map(int, oid.split(".")))


def many(modems: int) -> Status:
    """A status of several modems, each like the first's upstream flow with an SFID of its own."""
    flow = STATUS.modems[0].service_flows[0]
    return dataclasses.replace(
        STATUS,
        modems=tuple(
            Modem(
                name=f"cm{number}",
                number=number,
                service_flows=(dataclasses.replace(flow, sfid=number),),
            )
            for number in range(1, modems + 1)
        ),
    )
