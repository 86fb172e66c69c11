# SPDX-License-Identifier: Apache-2.0
"""Upstream channels over docsis.mac.v1: what a plan asks for, and a change."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from channel_homes import HOME

from docsis_control.dynamic.change import Action, Change, Kind
from docsis_control.dynamic.change import changed as with_changes
from docsis_control.mac.client import UpstreamChannels
from docsis_control.mac.plan import UpstreamChannelPlan
from docsis_control.mac.profile import Number
from docsis_control.mac.requests import (
    capacity_request,
    change_between,
    change_request,
    complete_request,
    flow_settings,
    messages,
)
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.plan import Deployment, DevicePlan, Role
from docsis_control.ports import RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import load_topology

STREET = """\
name: street
upstream_channels:
  - docsis-3.0
  - {name: fast, profile: docsis-3.1, map_time: 945 us, capacity: {rate: 100 Mbps}}
channel: {downstream: 300 Mbps}
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
modems:
  - {name: home, count: 2, configuration: home.yaml}
servers:
  - {name: server1, ip: 10.0.0.101/16, mac: "02:00:00:00:02:01"}
"""


@pytest.fixture
def street(tmp_path: Path) -> Deployment:
    (tmp_path / "home.yaml").write_text(HOME)
    file = tmp_path / "street.yaml"
    file.write_text(STREET)
    return deploy(load_topology(file), Preset.DOCSIS_PIE)


def modems(deployment: Deployment) -> DevicePlan:
    return deployment.device(Role.CABLE_MODEM)


def changed(before: Deployment, *changes: Change) -> Deployment:
    home1 = before.modems[0].configuration
    configurations = {"home1": with_changes(home1, changes)}
    return deploy(before.topology, Preset.DOCSIS_PIE, changed=configurations, before=before)


def test_the_modems_device_has_the_channels(street: Deployment) -> None:
    assert [channel.name for channel in modems(street).channels] == ["us1", "fast"]
    assert street.device(Role.CMTS).channels == ()


def test_a_plan_is_one_complete_request(street: Deployment) -> None:
    plan = modems(street)
    request = complete_request(plan.device_id, plan.channels)
    assert request.complete
    assert not request.removed
    assert [(c.name, c.number, c.profile) for c in request.channels] == [
        ("us1", 1, "docsis-3.0"),
        ("fast", 2, "docsis-3.1"),
    ]
    # What is different, and nothing else.
    assert not request.channels[0].settings
    settings = {
        key: value.number if value.HasField("number") else value.word
        for key, value in request.channels[1].settings.items()
    }
    assert settings == dict(plan.channels[1].overrides)
    assert settings["capacity.rate"] == 100_000_000
    (granted,) = request.granted_ports
    first = min(flow.index for flow in plan.service_flows)
    assert (granted.device_id, granted.port, granted.primary_queue_id) == (1, RF_PORT, first)
    # Both homes' flows, each in the queue with its SID's number.
    assert {flow.sid for flow in request.service_flows} == {f.index for f in plan.service_flows}
    assert all(flow.sid == flow.queue_id for flow in request.service_flows)
    best, call = request.service_flows[:2]
    assert best.scheduling_type == "best-effort"
    assert dict(best.settings) == dict(flow_settings(plan.channels[0].flows[0]))
    assert best.settings["min_reserved_rate"] == 2_000_000
    assert call.scheduling_type == "ugs"
    assert (call.settings["grant_size"], call.settings["grant_interval_ns"]) == (214, 20_000_000)
    assert (call.settings["policy"], best.settings["policy"]) == (0x17F, 0)
    assert messages().ConfigureRequest.FromString(request.SerializeToString()) == request


def test_maps_take_nothing_unless_told(street: Deployment) -> None:
    request = complete_request(1, modems(street).channels)
    assert not any(one.HasField("map_traffic") for one in request.channels)


def test_a_channel_that_others_leave_whole_is_said_to_be(street: Deployment) -> None:
    (channel, _) = modems(street).channels
    request = complete_request(1, [_with(channel, {"capacity": None, "stretch": 1})])
    assert request.channels[0].settings["capacity"].absent
    assert request.channels[0].settings["stretch"].number == 1


def _with(channel: UpstreamChannelPlan, overrides: dict[str, Number]) -> UpstreamChannelPlan:
    return replace(channel, overrides=overrides)


def test_maps_take_of_the_downstream_where_the_topology_says_so(tmp_path: Path) -> None:
    (tmp_path / "home.yaml").write_text(HOME)
    file = tmp_path / "street.yaml"
    file.write_text(
        STREET.replace("300 Mbps}", "300 Mbps, map_traffic: {message: 50 B, element: 0 B}}")
    )
    device = modems(deploy(load_topology(file), Preset.DOCSIS_PIE))
    request = complete_request(1, device.channels)
    assert [(one.map_traffic.message, one.map_traffic.element) for one in request.channels] == [
        (50, 0),
        (50, 0),
    ]
    assert all(one.HasField("map_traffic") for one in request.channels)


def test_a_change_is_what_is_different(street: Deployment) -> None:
    faster = {"minimum_reserved_traffic_rate": "3 Mbps"}
    new = {"service_flow_reference": 9, "maximum_sustained_traffic_rate": "5 Mbps"}
    after = changed(
        street,
        Change(Action.SET, Kind.UPSTREAM_SERVICE_FLOW, 1, faster),
        Change(Action.DELETE, Kind.UPSTREAM_SERVICE_FLOW, 2),
        Change(Action.ADD, Kind.UPSTREAM_SERVICE_FLOW, values=new),
    )
    change = change_between(modems(street).channels, modems(after).channels)
    assert [flow.reference for _, flow in change.gone] == [2]
    (((_, was), (_, now)),) = change.changed
    assert (was.min_reserved_rate, now.min_reserved_rate) == (2_000_000, 3_000_000)
    ((channel, added),) = change.new
    assert (channel.name, added.max_sustained_rate) == ("us1", 5_000_000)
    request = change_request(1, change.new, change.gone)
    assert not request.complete
    assert not request.channels
    assert [(one.channel, one.sid) for one in request.removed] == [("us1", was.sid + 1)]
    nothing = change_between(modems(street).channels, modems(street).channels)
    assert (nothing.new, nothing.changed, nothing.gone) == ((), (), ())


def test_other_users_leave_less() -> None:
    request = capacity_request(["us1", "fast"], 5_000_000, 20)
    found = [(one.channel, one.rate, one.variation_percent) for one in request.capacities]
    assert found == [("us1", 5_000_000, 20), ("fast", 5_000_000, 20)]
    assert not request.complete


class Told(P4Device):
    """A device that takes calls down, and fails as it is told."""

    def __init__(self, fails: grpc.StatusCode | None = None) -> None:
        super().__init__(1)
        self.requests: list[Any] = []
        self._fails = fails

    @property
    def place(self) -> str:
        return "cm1"

    async def unary(self, method: str, request: bytes, seconds: float) -> list[bytes]:
        assert method == "/docsis.mac.v1.UpstreamChannels/Configure"
        self.requests.append(messages().ConfigureRequest.FromString(request))
        if self._fails is not None:
            raise Failed(self._fails)
        return [b""]


class Failed(grpc.RpcError):
    """A status."""

    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__()
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return 'channel "us1", SID 5: reserves more than there is'


def run(action: Callable[[UpstreamChannels], Any], device: P4Device) -> None:
    asyncio.run(action(UpstreamChannels(device)))


def test_without_channels_nothing_is_asked(street: Deployment) -> None:
    device = Told()
    run(lambda channels: channels.configure(street.device(Role.CMTS)), device)
    run(lambda channels: channels.change(()), device)
    assert device.requests == []


def test_what_refuses_is_told_in_its_words(street: Deployment) -> None:
    for code, words in (
        (grpc.StatusCode.FAILED_PRECONDITION, "SID 5: reserves more than there is"),
        (grpc.StatusCode.UNIMPLEMENTED, "cm1 has no request/grant MAC"),
    ):
        device = Told(code)
        with pytest.raises(P4RuntimeError, match=words):
            run(lambda channels: channels.configure(modems(street)), device)
