# SPDX-License-Identifier: Apache-2.0
"""Homes on upstream channels, for tests."""

from pathlib import Path

from docsis_control.topology import Topology, load_topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"

HOME = """\
upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7, minimum_reserved_traffic_rate: 2 Mbps}
  - {service_flow_reference: 2, qos_parameter_set_type: 7, scheduling_type: ugs,
     unsolicited_grant_size: 214 B, nominal_grant_interval: 20 ms, tolerated_grant_jitter: 1 ms,
     grants_per_interval: 1, maximum_sustained_traffic_rate: 1 Mbps}
downstream_service_flows:
  - {service_flow_reference: 3, qos_parameter_set_type: 7,
     maximum_sustained_traffic_rate: 100 Mbps}
"""
"""A modem's configuration: best effort with a reserved rate, and a call with unsolicited grants."""


def residential(folder: Path, channel: str) -> Topology:
    """topologies/residential.yaml on an upstream channel, written into a folder."""
    text = (TOPOLOGIES / "residential.yaml").read_text()
    (folder / "tiers").symlink_to(TOPOLOGIES / "tiers")
    path = folder / "residential.yaml"
    path.write_text(f"{text}\nupstream_channel: {channel}\n")
    return load_topology(path)
