# SPDX-License-Identifier: Apache-2.0
"""The pipeline's copy of a token bucket follows the traffic manager's through changes."""

import asyncio
from random import Random
from typing import Any

import grpc
import pytest
from docsis_world import Stream, World
from world_support import SECOND, Residential, arbitrate

from docsis_control.dynamic.change import Action, Change, Kind, changed
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.http2 import Failed
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.p4rt.device import WRITE, LocalDevice, completed
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import TOKENS_PER_BYTE, Deployment, DevicePlan, Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.running import RunningPlan, push
from docsis_control.state.registers import RegisterAccess
from docsis_control.tm.client import TrafficManager
from docsis_control.topology import Topology

UP = Kind.UPSTREAM_SERVICE_FLOW
FRAME = 1_000
"""Bytes of the load's frames, with the FCS."""


class Way:
    """An entrance to a device of a world."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name
        # Whether it refuses one Write.
        self.refuses = False

    def call(self, method: str, request: bytes) -> list[bytes]:
        if self.refuses and method == WRITE:
            self.refuses = False
            raise Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, "the table is full", [])
        return self._world.call(self._name, method, request)


class Home(Residential):
    """The residential testbed, pushed and changed by the controller's code, without its ticks."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.running: dict[str, RunningPlan] = {}
        self.ways: dict[str, Way] = {}
        self.devices: dict[str, LocalDevice] = {}
        super().__init__(lateness=(0, 0))

    def now(self) -> int:
        """The switches' clock, microseconds."""
        return max(1, self.world.now_ns // 1000)

    def _provision(self, plan: DevicePlan) -> Stream:
        stream = arbitrate(self.world, plan.name, plan.device_id)
        self.ways[plan.name] = way = Way(self.world, plan.name)
        device = LocalDevice(way, plan.name, plan.device_id)
        pipeline = load_pipeline(plan.role.value)
        completed(device.set_pipeline(pipeline, 1))
        access = RegisterAccess(device, pipeline, self, plan.service_flows)
        self.running[plan.name] = completed(push(device, pipeline, plan, access))
        self.devices[plan.name] = device
        return stream

    def set(self, **values: str) -> None:
        """Changes the modem's upstream service flow, as `docsis-p4 sf set` does."""
        before = self.deployment
        (modem,) = before.modems
        wanted = changed(modem.configuration, [Change(Action.SET, UP, 1, values)])
        self.deployment = deploy(
            before.topology, before.upstream, changed={modem.name: wanted}, before=before
        )
        for role in Role:
            plan = self.deployment.device(role)
            asyncio.run(self.running[plan.name].change(plan))

    def upload(self, rate: int, seconds: int) -> None:
        """Sends at so many bit/s from now on, and lets the time pass."""
        now, interval = self.world.now_ns, FRAME * 8 * SECOND // rate
        self.world.udp_stream(
            "cpe1", "server1", 6000, frame_length=FRAME, interval_ns=interval,
            start_ns=now + 1, stop_ns=now + seconds * SECOND,
        )  # fmt: skip
        self.world.run_until(now + seconds * SECOND)

    def buckets(self) -> tuple[float, float]:
        """Tokens of the upstream service flow, bytes: the traffic manager's and the copy's."""
        running = self.running["cm1"]
        state: Any = completed(TrafficManager(self.devices["cm1"]).state())
        (real,) = (flow.sustained_tokens for flow in state.service_flows)
        seen = DeviceLaw(running.flows).observe(completed(running.access.read()))
        return real / TOKENS_PER_BYTE, float(seen.msr_tokens[0])

    def agreed(self) -> float:
        """The tokens, in bytes, on which both agree within a frame."""
        real, copy = self.buckets()
        assert abs(real - copy) <= FRAME, (real, copy)
        return real


@pytest.fixture
def home(topology: Topology) -> Home:
    return Home(deploy(topology, Preset.DOCSIS_PIE))


def test_a_deeper_bucket_is_not_full_for_the_time_before_it(home: Home) -> None:
    home.world.run_until(60 * SECOND)
    depth = home.agreed()
    home.set(maximum_traffic_burst="30 MB")
    assert home.agreed() == depth
    home.upload(rate=40_000_000, seconds=10)
    # It is spent, and what the law would take for tokens is, too.
    assert home.agreed() < 2 * FRAME


def test_another_rate_earns_from_the_change_on(home: Home) -> None:
    home.set(maximum_traffic_burst="30 MB")
    home.upload(rate=40_000_000, seconds=2)
    left = home.agreed()
    home.world.run_until(home.world.now_ns + 4 * SECOND)
    # Four seconds at 20 Mbit/s, and what waited has left.
    assert left + 9e6 < home.agreed() < left + 10e6
    home.set(maximum_sustained_traffic_rate="2 Mbps")
    home.agreed()
    home.world.run_until(home.world.now_ns + 4 * SECOND)
    home.agreed()


@pytest.mark.parametrize("seed", range(4))
def test_both_agree_whatever_changes_while_frames_pass(home: Home, seed: int) -> None:
    random = Random(seed)
    for _ in range(8):
        home.upload(rate=random.choice((1_000_000, 15_000_000, 60_000_000)), seconds=1)
        home.agreed()
        rate = random.choice(("1 Mbps", "5 Mbps", "20 Mbps"))
        burst = random.choice(("3044 B", "500 KB", "10 MB"))
        home.set(maximum_sustained_traffic_rate=rate, maximum_traffic_burst=burst)
        home.agreed()
        home.world.run_until(home.world.now_ns + random.randrange(5 * SECOND))
        home.agreed()


def test_a_change_that_is_undone_leaves_both_in_agreement(home: Home) -> None:
    home.ways["cm1"].refuses = True
    with pytest.raises(NotApplied, match="the table is full; it has what it had before"):
        home.set(maximum_traffic_burst="3044 B")
    # For a moment it was as small as that.
    assert home.agreed() < 4_000
    home.world.run_until(home.world.now_ns + 60 * SECOND)
    assert home.agreed() == 500_000
