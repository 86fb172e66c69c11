# SPDX-License-Identifier: Apache-2.0
"""A topology's downstream channel, and the settings of the CMTS's port that come of it."""

from pathlib import Path

import pytest

from docsis_control.config.errors import ConfigError
from docsis_control.framing import Framing
from docsis_control.plan import Deployment, Role
from docsis_control.ports import RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import load_topology

HEAD = """name: small
upstream_channel: docsis-1.1-004
"""
REST = """cable_modem: {name: cm, device_id: 1}
cmts: {name: cmts, device_id: 2}
modems:
  - name: home
    configuration: home.yaml
    hosts: [{name: h1, ip: 10.0.0.1/24, mac: 02:00:00:00:01:01}]
servers:
  - {name: s1, ip: 10.0.0.2/24, mac: 02:00:00:00:02:01}
"""
HOME = """upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7}
downstream_service_flows:
  - {service_flow_reference: 2, qos_parameter_set_type: 7}
  - service_flow_reference: 3
    qos_parameter_set_type: 7
    buffer_control: {target_buffer: 10 KB}
"""


def deployment(folder: Path, channel: str, head: str = HEAD) -> Deployment:
    (folder / "home.yaml").write_text(HOME)
    (folder / "small.yaml").write_text(f"{head}channel: {{{channel}}}\n{REST}")
    return deploy(load_topology(folder / "small.yaml"), Preset.DROP_TAIL)


def test_the_downstream_of_paper_004(tmp_path: Path) -> None:
    planned = deployment(
        tmp_path,
        "downstream: 30.34 Mbps, downstream_framing: {}, downstream_queue: 50 packets, "
        "map_traffic: {}",
    )
    cmts = planned.device(Role.CMTS)
    (port,) = (port for port in cmts.ports if port.port == RF_PORT)
    assert (port.rate, port.framing) == (30_340_000, Framing(188, 4, 6, False))
    modem = planned.device(Role.CABLE_MODEM)
    assert [port.framing for port in modem.ports] == [None] * len(modem.ports)
    sizes = {flow.reference: flow.buffer_size for flow in cmts.service_flows}
    assert (sizes[2], sizes[3]) == (50 * 1522, 10_000)
    channel = planned.topology.channel
    assert channel is not None
    assert channel.map_traffic is not None
    assert (channel.map_traffic.message, channel.map_traffic.element) == (46, 4)


def test_nothing_said_is_as_it_was(tmp_path: Path) -> None:
    planned = deployment(tmp_path, "downstream: 30.34 Mbps")
    cmts = planned.device(Role.CMTS)
    assert all(port.framing is None for port in cmts.ports)
    sizes = {flow.reference: flow.buffer_size for flow in cmts.service_flows}
    assert sizes[2] == 30_340_000 // 8 // 4


@pytest.mark.parametrize(
    ("keys", "place", "words"),
    [
        ("downstream_framing: {packet: 188 B, header: 188 B}", "downstream_framing.header",
         "188 B leave nothing of a packet of 188 B"),
        ("downstream_framing: {packet: 188}", "downstream_framing.packet", "188"),
        ("downstream_framing: {packet: 66 KB}", "downstream_framing.packet", "65535"),
        ("downstream_framing: {trailer: 4 B}", "downstream_framing.trailer", "trailer"),
        ("downstream_queue: 50", "downstream_queue", 'write "50 packets"'),
        ("downstream_queue: 0 packets", "downstream_queue", "is not within"),
        ("downstream_queue: fifty packets", "downstream_queue", "no number of packets"),
        ("map_traffic: {element: -4 B}", "map_traffic.element", "-4 B"),
    ],
)  # fmt: skip
def test_faults_are_told_with_file_line_and_key(
    tmp_path: Path, keys: str, place: str, words: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        deployment(tmp_path, f"downstream: 30 Mbps, {keys}")
    told = str(refused.value)
    assert "small.yaml:3: " in told
    assert f"channel.{place}" in told
    assert words in told


def test_maps_need_a_mac(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        deployment(
            tmp_path, "upstream: 5 Mbps, downstream: 30 Mbps, map_traffic: {}", "name: small\n"
        )
    assert "channel.map_traffic: stands without upstream channels" in str(refused.value)
