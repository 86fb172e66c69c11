# SPDX-License-Identifier: Apache-2.0
"""The SNMP agent as Net-SNMP's programs see it: snmpget, snmpwalk, snmpbulkwalk, snmpset."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from snmp_tools import QOS, STATUS, many, numbers, run

from docsis_control.snmp.agent import serving_snmp
from docsis_control.snmp.objects import OBJECTS
from docsis_control.status import Status, StatusError, fetch
from docsis_control.status.collect import Collector
from docsis_control.status.server import serving

# What a manager is to see of data/status.json, in this order.
WALK = {
    "1.3.6.1.2.1.1.1.0": ("STRING", '"docsis-p4: residential, cable-20, docsis-pie"'),
    "1.3.6.1.2.1.1.3.0": ("Timeticks", "(6150) 0:01:01.50"),
    "1.3.6.1.2.1.2.2.1.1.2": ("INTEGER", "2"),
    "1.3.6.1.2.1.2.2.1.2.2": ("STRING", '"cm1"'),
    "1.3.6.1.2.1.2.2.1.3.2": ("INTEGER", "127"),
    f"{QOS}.1.1.2.2.1.3": ("INTEGER", "2"),
    f"{QOS}.1.1.2.2.1.4": ("INTEGER", "2"),
    f"{QOS}.1.1.3.2.1.3": ("Gauge32", "20"),
    f"{QOS}.1.1.3.2.1.4": ("Gauge32", "10"),
    f"{QOS}.1.1.25.2.1.3": ("INTEGER", "1"),
    f"{QOS}.1.1.25.2.1.4": ("INTEGER", "2"),
    f"{QOS}.1.1.26.2.1.3": ("Counter64", "100"),
    f"{QOS}.2.1.4.2.1.1": ("STRING", '""'),
    f"{QOS}.2.1.4.2.1.2": ("STRING", '"home-down"'),
    f"{QOS}.2.1.5.2.1.1": ("Gauge32", "0"),
    f"{QOS}.2.1.5.2.1.2": ("Gauge32", "3"),
    f"{QOS}.2.1.6.2.1.1": ("Gauge32", "20000000"),
    f"{QOS}.2.1.6.2.1.2": ("Gauge32", "100000000"),
    f"{QOS}.2.1.7.2.1.1": ("Gauge32", "500000"),
    f"{QOS}.2.1.7.2.1.2": ("Gauge32", "33000000"),
    f"{QOS}.2.1.8.2.1.1": ("Gauge32", "2000000"),
    f"{QOS}.2.1.8.2.1.2": ("Gauge32", "0"),
    f"{QOS}.2.1.9.2.1.1": ("Gauge32", "128"),
    f"{QOS}.2.1.9.2.1.2": ("Gauge32", "0"),
    f"{QOS}.2.1.20.2.1.1": ("Hex-STRING", "03 "),
    f"{QOS}.2.1.20.2.1.2": ("Hex-STRING", "FF "),
    f"{QOS}.2.1.21.2.1.1": ("STRING", '" "'),
    f"{QOS}.2.1.21.2.1.2": ("Hex-STRING", "00 "),
    f"{QOS}.2.1.37.2.1.1": ("Gauge32", "25000000"),
    f"{QOS}.2.1.37.2.1.2": ("Gauge32", "0"),
    f"{QOS}.2.1.39.2.1.1": ("Gauge32", "0"),
    f"{QOS}.2.1.39.2.1.2": ("Gauge32", "100000"),
    f"{QOS}.2.1.40.2.1.1": ("Gauge32", "0"),
    f"{QOS}.2.1.40.2.1.2": ("Gauge32", "250000"),
    f"{QOS}.2.1.41.2.1.1": ("Gauge32", "4294967295"),
    f"{QOS}.2.1.41.2.1.2": ("Gauge32", "500000"),
    f"{QOS}.2.1.42.2.1.1": ("INTEGER", "2"),
    f"{QOS}.2.1.42.2.1.2": ("INTEGER", "1"),
    f"{QOS}.2.1.43.2.1.1": ("Gauge32", "10"),
    f"{QOS}.2.1.47.2.1.1": ("INTEGER", "3"),
    f"{QOS}.3.1.7.2.1": ("INTEGER", "2"),
    f"{QOS}.3.1.7.2.2": ("INTEGER", "1"),
    f"{QOS}.3.1.8.2.1": ("INTEGER", "1"),
    f"{QOS}.3.1.8.2.2": ("INTEGER", "1"),
    f"{QOS}.3.1.17.2.1": ("Gauge32", "625000"),
    f"{QOS}.3.1.17.2.2": ("Gauge32", "250000"),
    f"{QOS}.4.1.1.2.1": ("Counter64", "1000"),
    f"{QOS}.4.1.2.2.1": ("Counter64", "1500000"),
    f"{QOS}.4.1.6.2.1": ("Counter32", "5"),
    f"{QOS}.4.1.7.2.1": ("Counter32", "900"),
    f"{QOS}.4.1.8.2.1": ("Counter64", "70"),
}


def fixed() -> Status:
    return STATUS


@pytest.mark.parametrize(
    ("program", "options"),
    [("snmpwalk", ()), ("snmpbulkwalk", ("-Cr3",)), ("snmpbulkwalk", ("-Cr50",))],
)
async def test_a_manager_walks_it(program: str, options: tuple[str, ...]) -> None:
    async with serving_snmp(fixed, 0, "public") as port:
        seen = await run(program, port, *options, ".1")
    assert seen.returncode == 0
    assert list(seen.values.items()) == list(WALK.items())
    # Each object has an instance.
    for item in OBJECTS:
        assert any(numbers(oid)[: len(item.oid)] == item.oid for oid in seen.values)


async def test_a_manager_walks_many_modems() -> None:
    status = many(64)
    async with serving_snmp(lambda: status, 0, "public") as port:
        walked, bulked = await asyncio.gather(
            run("snmpwalk", port, QOS), run("snmpbulkwalk", port, QOS)
        )
    assert walked.returncode == bulked.returncode == 0
    assert walked.values == bulked.values
    order = [numbers(oid) for oid in walked.values]
    assert order == sorted(order)
    # 23 columns, and four of each of two classifiers, of which one has no counter.
    assert len(order) == 64 * (23 + 7)


async def test_a_manager_may_not_write() -> None:
    async with serving_snmp(fixed, 0, "public") as port:
        seen = await run("snmpset", port, "1.3.6.1.2.1.1.1.0", "s", "mine")
        assert seen.returncode != 0
        assert "notWritable" in seen.text


async def test_who_does_not_know_the_community_gets_nothing() -> None:
    fetched: list[int] = []

    def get() -> Status:
        fetched.append(1)
        return STATUS

    async with serving_snmp(get, 0, "operator") as port:
        seen = await run("snmpget", port, "-t", "0.2", "-r", "0", "1.3.6.1.2.1.1.1.0")
        assert seen.returncode != 0
        assert "Timeout" in seen.text
        # Nor is the controller asked for strangers.
        assert not fetched
        seen = await run("snmpget", port, "1.3.6.1.2.1.1.1.0", community="operator")
        assert seen.returncode == 0


async def test_values_are_the_pipelines_counters(running: Any, tmp_path: Path) -> None:
    """A switch's counters come over P4Runtime, the status's socket and UDP to snmpget."""

    def get() -> Status:
        return fetch(None, tmp_path)

    async with running() as system:
        collector = Collector(system.controller)
        async with (
            serving(collector.status, tmp_path),
            serving_snmp(get, 0, "public", keep=0.0) as port,
        ):
            for factor in (1, 3_000_000):
                system.modem.counters["sf_forwarded", 1] = (90 * factor, 90_000 * factor)
                system.modem.counters["sf_drop_aqm", 1] = (7 * factor, 7_000 * factor)
                system.modem.counters["sf_drop_buffer_full", 1] = (2 * factor, 3_000 * factor)
                system.modem.counters["sf_drop_policed", 1] = (1 * factor, 1_600 * factor)
                system.cmts.counters["sf_forwarded", 1] = (11 * factor, 12_000 * factor)
                seen = await run("snmpwalk", port, f"{QOS}.4")
                assert {oid.removeprefix(f"{QOS}.4.1."): v for oid, v in seen.values.items()} == {
                    "1.2.1": ("Counter64", str(90 * factor)),
                    "1.2.2": ("Counter64", str(11 * factor)),
                    "2.2.1": ("Counter64", str(90_360 * factor)),
                    "2.2.2": ("Counter64", str(12_044 * factor)),
                    "6.2.1": ("Counter32", str(3 * factor)),
                    "6.2.2": ("Counter32", "0"),
                    "8.2.1": ("Counter64", str(7 * factor)),
                    "8.2.2": ("Counter64", "0"),
                }


async def test_goes_on_without_a_controller(tmp_path: Path, caplog: Any) -> None:
    def get() -> Status:
        return fetch(None, tmp_path)

    async def status() -> Status:
        return STATUS

    async with serving_snmp(get, 0, "public", keep=0.0) as port:
        for _ in range(2):
            seen = await run("snmpget", port, "1.3.6.1.2.1.1.1.0")
            assert "genError" in seen.text
        async with serving(status, tmp_path):
            assert (await run("snmpget", port, "1.3.6.1.2.1.1.1.0")).returncode == 0
    # Told once, not for each request.
    assert [record.message[:22] for record in caplog.records] == [
        "no controller runs (lo",
        "the controller answers",
    ]


async def test_a_walk_asks_the_controller_seldom() -> None:
    fetched: list[int] = []

    def get() -> Status:
        fetched.append(1)
        return STATUS

    async with serving_snmp(get, 0, "public", keep=3600.0) as port:
        await run("snmpwalk", port, ".1")
        await run("snmpbulkwalk", port, ".1")
    assert len(fetched) == 1


@pytest.mark.parametrize("trouble", [StatusError("gone"), RuntimeError("a defect")])
async def test_trouble_is_not_the_end(trouble: Exception) -> None:
    answers: list[Callable[[], Status]] = []

    def fail() -> Status:
        raise trouble

    answers += [fixed, fail]

    def get() -> Status:
        return answers.pop()()

    async with serving_snmp(get, 0, "public", keep=0.0) as port:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rude:
            for datagram in (b"", b"\x30\x80", b"\xff" * 60_000):
                rude.sendto(datagram, ("127.0.0.1", port))
        await run("snmpget", port, "-t", "0.2", "-r", "0", "1.3.6.1.2.1.1.1.0")
        assert (await run("snmpget", port, "1.3.6.1.2.1.1.1.0")).returncode == 0


async def test_a_port_that_is_taken_is_told() -> None:
    async with serving_snmp(fixed, 0, "public") as port:
        with pytest.raises(RuntimeError, match=rf"127\.0\.0\.1:{port}: .*in use.*--port"):
            async with serving_snmp(fixed, port, "public"):
                pass
