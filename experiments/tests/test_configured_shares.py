# SPDX-License-Identifier: Apache-2.0
"""Configured shares: examples worked out by hand, and what holds for any configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.plan import Role, ServiceFlow
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.measurement.configured_shares import configured_shares, water_filled
from docsis_testbed.paths import TOPOLOGIES

MBPS = 1e6
FRAME = 1514
TWO_TIERS = deploy(load_topology(TOPOLOGIES / "two-tiers.yaml"), Preset.DOCSIS_PIE)
ANY = TWO_TIERS.device(Role.CABLE_MODEM).service_flows[0]


def flow(
    priority: int = 0, maximum: float = 0, minimum: float = 0, assumed: int = 0
) -> ServiceFlow:
    return replace(
        ANY, traffic_priority=priority, max_sustained_rate=int(maximum), peak_rate=0,
        min_reserved_rate=int(minimum), assumed_packet_size=assumed, channel_rate=10**9,
    )  # fmt: skip


def test_two_tiers_by_hand() -> None:
    # 8 of 20 Mbit/s are reserved, 3 go by priority; of the 9 left gold takes 4 and is at its
    # maximum of 10, silver the other 5.
    flows = TWO_TIERS.device(Role.CABLE_MODEM).service_flows
    shares = configured_shares(flows, 20 * MBPS, [30 * MBPS] * len(flows), FRAME)
    by_name = {(f.modem_name, f.primary): s / MBPS for f, s in zip(flows, shares, strict=True)}
    assert by_name == pytest.approx(
        {("gold", True): 10, ("gold", False): 1.5, ("silver", True): 7, ("silver", False): 1.5}
    )


def test_what_is_reserved_goes_before_priority() -> None:
    flows = [flow(priority=7), flow(minimum=4 * MBPS)]
    assert configured_shares(flows, 10 * MBPS, [20 * MBPS] * 2, FRAME) == [6 * MBPS, 4 * MBPS]


def test_what_one_does_not_use_the_others_share() -> None:
    flows = [flow(minimum=5 * MBPS), flow(), flow(maximum=2 * MBPS)]
    shares = configured_shares(flows, 10 * MBPS, [1 * MBPS, 20 * MBPS, 20 * MBPS], FRAME)
    assert shares == [1 * MBPS, 7 * MBPS, 2 * MBPS]


def test_short_frames_pay_the_assumed_size() -> None:
    flows = [flow(minimum=4 * MBPS, assumed=200), flow(priority=1)]
    shares = configured_shares(flows, 10 * MBPS, [20 * MBPS] * 2, 100)
    assert shares == [2 * MBPS, 8 * MBPS]


def test_more_reserved_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="minimum reserved rates"):
        configured_shares([flow(minimum=2 * MBPS)] * 2, 3 * MBPS, [9 * MBPS] * 2, FRAME)


def test_water_filling() -> None:
    assert water_filled(9, [1, 10, 10]) == [1, 4, 4]
    assert water_filled(9, [10, 2, 3]) == [4, 2, 3]
    assert water_filled(0, [1, 2]) == [0, 0]
    assert water_filled(5, []) == []


RATES = st.integers(0, 50).map(lambda mbps: mbps * MBPS)
FLOWS = st.lists(
    st.tuples(st.integers(0, 7), RATES, st.integers(0, 5).map(lambda m: m * MBPS), RATES),
    min_size=1, max_size=8,
)  # fmt: skip


@given(FLOWS, st.integers(40, 100).map(lambda mbps: mbps * MBPS))
def test_what_holds_for_any_configuration(
    drawn: list[tuple[int, float, float, float]], channel: float
) -> None:
    flows = [flow(p, top and max(top, low), low) for p, top, low, _ in drawn]
    offered = [offer for *_, offer in drawn]
    shares = configured_shares(flows, channel, offered, FRAME)
    limits = [
        min(o, channel, f.max_sustained_rate or channel)
        for f, o in zip(flows, offered, strict=True)
    ]
    # All of the channel is used, or everyone has all that it wants.
    assert sum(shares) == pytest.approx(min(channel, sum(limits)), abs=1)
    for f, share, limit in zip(flows, shares, limits, strict=True):
        assert -1 <= share <= limit + 1
        assert share >= min(f.min_reserved_rate, limit) - 1
    for f, share, limit in zip(flows, shares, limits, strict=True):
        if share < limit - 1:
            # Whoever wants more leaves nothing above its minimum to those of lower priority,
            # and its equals have no more above theirs.
            extra = share - min(f.min_reserved_rate, limit)
            for g, other, most in zip(flows, shares, limits, strict=True):
                above = other - min(g.min_reserved_rate, most)
                if g.traffic_priority < f.traffic_priority:
                    assert above <= 1
                elif g.traffic_priority == f.traffic_priority:
                    assert above <= extra + 1


@given(FLOWS, st.integers(40, 100).map(lambda mbps: mbps * MBPS), st.integers(0, 7))
def test_a_higher_priority_never_gets_less(
    drawn: list[tuple[int, float, float, float]], channel: float, priority: int
) -> None:
    flows = [flow(p, top and max(top, low), low) for p, top, low, _ in drawn]
    offered = [offer for *_, offer in drawn]
    before = configured_shares(flows, channel, offered, FRAME)
    raised = max(priority, flows[0].traffic_priority)
    flows[0] = replace(flows[0], traffic_priority=raised)
    assert configured_shares(flows, channel, offered, FRAME)[0] >= before[0] - 1
