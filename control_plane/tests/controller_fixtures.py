# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the controller: fake switches, and a controller that runs two of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from channel_homes import TOPOLOGIES
from fake_switch import FakeSwitch

from docsis_control import reach
from docsis_control.controller import Controller
from docsis_control.options import Options
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.state import counters, packets, registers
from docsis_control.topology import Topology, load_topology

PATIENCE: Final = 60.0
"""Seconds that a fake switch may take for an answer. It shares a busy machine with others, and a
controller that gave it up would provision it anew, which is not what these tests are about."""


@pytest.fixture(scope="session")
def pipelines() -> dict[str, Pipeline]:
    return {name: load_pipeline(name) for name in ("cm", "cmts")}


@pytest.fixture
def topology() -> Topology:
    return load_topology(TOPOLOGIES / "residential.yaml")


@pytest.fixture
def until() -> Callable[[Callable[[], object], float], Any]:
    """Waits until a condition holds, and fails when it never does."""

    async def wait(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        give_up = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < give_up, "it never happened"
            await asyncio.sleep(0.005)

    return wait


@pytest.fixture
async def make_switch() -> AsyncIterator[Callable[..., Any]]:
    """Makes fake switches that serve until the test ends."""
    switches: list[FakeSwitch] = []

    async def make(pipeline: Pipeline, device_id: int, **options: bool) -> FakeSwitch:
        switch = FakeSwitch(pipeline, device_id, **options)
        switches.append(switch)
        await switch.start()
        return switch

    yield make
    for switch in switches:
        await switch.stop()


class Running:
    """A controller with its two fake switches."""

    def __init__(self, controller: Controller, task: Any, modem: Any, cmts: Any) -> None:
        self.controller = controller
        self.task = task
        self.modem = modem
        self.cmts = cmts

    @property
    def record(self) -> Any:
        return self.controller.records["cm1"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets controllers wait for answers as long as tests wait for anything."""
    for module, name in (
        (reach, "TICK_TIMEOUT"),
        (registers, "TICK_TIMEOUT"),
        (packets, "_TIMEOUT"),
        (counters, "_TIMEOUT"),
    ):
        monkeypatch.setattr(module, name, PATIENCE)


@pytest.fixture
def running(
    topology: Topology,
    pipelines: dict[str, Pipeline],
    make_switch: Callable[..., Any],
    patient: None,
) -> Callable[..., Any]:
    del patient

    @asynccontextmanager
    async def run(
        aqm: Preset = Preset.DOCSIS_PIE,
        of: Topology = topology,
        thrift: Mapping[str, str] | None = None,
        **options: bool,
    ) -> AsyncIterator[Running]:
        modem = await make_switch(pipelines["cm"], 1, **options)
        cmts = await make_switch(pipelines["cmts"], 2, **options)
        controller = Controller(
            deploy(of, aqm),
            Options(addresses={"cm1": modem.address, "cmts1": cmts.address}, thrift=thrift or {}),
        )
        task = asyncio.create_task(controller.run())
        try:
            ready = asyncio.create_task(controller.ready.wait())
            # Long for a busy machine; a test that went on without would fail for another reason.
            done, _ = await asyncio.wait((task, ready), timeout=60, return_when="FIRST_COMPLETED")
            ready.cancel()
            assert done, "the controller neither provisioned the devices nor failed in a minute"
            if task.done():
                task.result()
            yield Running(controller, task, modem, cmts)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return run
