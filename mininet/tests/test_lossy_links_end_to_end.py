# SPDX-License-Identifier: Apache-2.0
"""Loss and jitter on the links of a system under way: as asked for, and told by the controller."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from running_system import running_system

from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Link, Topology
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

PACKETS = 500


def lossy() -> Topology:
    """A home whose first server loses a tenth of the frames each way, at 20 ms and up to 4 more."""
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    first, *others = topology.servers
    link = Link.model_validate({"loss": "10 %", "jitter": "4 ms"})
    servers = (first.model_copy(update={"link": link}), *others)
    return topology.model_copy(update={"servers": servers})


def test_links_lose_and_jitter_as_asked_for(tmp_path: Path) -> None:
    topology = lossy()
    host, server = topology.hosts[0].name, topology.servers[0]
    with running_system(topology, tmp_path, static_arp=True) as running:
        # Further apart than the jitter, so that no packet waits for the one before it.
        ping = ["ping", "-q", "-c", str(PACKETS), "-i", "0.01", "-W", "2", str(server.ip.ip)]
        said, _, _ = running.testbed.node(host).pexec(ping)
        _, cmts = running.show()["devices"]
        shown = running.command("show")
    received = re.search(r"(\d+) received", said)
    average = re.search(r"= [\d.]+/([\d.]+)/", said)
    assert received is not None, said
    assert average is not None, said
    replies = int(received[1])
    # 81% of 500 come back; the deviation is 8.8, and six of it are left to chance once in 1e9 runs.
    assert abs(replies - 0.81 * PACKETS) <= 6 * 8.8
    # The link adds 2 ms each way on average; how much the machine adds is not known.
    assert float(average[1]) >= server.round_trip_time / 1e6 + 4 - 0.5
    [link] = cmts["links"]
    assert (link["name"], link["loss_ppm"], link["jitter_ms"]) == (server.name, 100_000, 4.0)
    lost = [link[way]["packets"] for way in ("lost_to_host", "lost_from_host")]
    assert min(lost) > 0
    assert sum(lost) == PACKETS - replies
    assert re.search(rf"{server.name} +{topology.cmts.name} +10 % +4 +{lost[1]} ", shown)
