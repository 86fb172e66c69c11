# SPDX-License-Identifier: Apache-2.0
"""The scenarios that docsis-ns3 is held beside: they play what docs/explanation/referee.md says.

docsis-ns3's figures were measured with these settings, so a change here would compare two loads.
"""

from __future__ import annotations

from typing import Final

import pytest

from docsis_control.mac.profiles import named
from docsis_experiments.experiment.loader import load
from docsis_experiments.experiment.plan import plan_for
from docsis_testbed.paths import TOPOLOGIES

CASES: Final = {
    "referee-idle": (2, 50, 0),
    "referee-loaded": (14, 50, 1),
    "referee-udp": (14, 50, 1),
    "referee-load-2": (0, 120, 2),
    "referee-load-3": (0, 120, 6),
    "referee-load-2-2014": (0, 120, 2),
    "referee-load-3-2014": (0, 120, 6),
}
"""Seconds of ramp-up, seconds that are measured, flows beside the game and the pages."""


@pytest.mark.parametrize("name", CASES)
def test_it_plays_what_docsis_ns3_played(name: str) -> None:
    loaded = load(TOPOLOGIES / "scenarios" / f"{name}.yaml")
    scenario, topology = loaded.scenario, loaded.topology
    ramp_up, measured, others = CASES[name]
    assert (scenario.ramp_up, scenario.measured) == (ramp_up * 10**9, measured * 10**9)
    assert len(plan_for(scenario, topology).flows) == others
    assert scenario.traffic[0].name == "game"

    tcp = scenario.tcp
    assert (tcp.profile, tcp.congestion_control, tcp.initial_window) == ("rfc", "reno", 4)
    assert (tcp.acknowledgements, tcp.least_timeout) == ("every-segment", 200_000_000)

    assert topology.tier is not None
    upstream = topology.tier.upstream
    assert upstream.maximum_sustained_traffic_rate == 20_000_000
    assert upstream.peak_traffic_rate == 25_000_000
    assert upstream.maximum_traffic_burst == 3_000_000

    (channel,) = topology.upstream_channels or ()
    if name.endswith("2014"):
        assert channel.profile == "cablelabs-2014"
    else:
        # docsis-ns3's defaults, nothing of them changed.
        assert channel.numbers == named("docsis-3.1")
