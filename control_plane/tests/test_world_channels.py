# SPDX-License-Identifier: Apache-2.0
"""Upstream channels of the virtual world as Python has them."""

import numpy as np
import pytest
from channel_states import told
from docsis_world import CHANNEL_PROFILES, World, channel_profile
from hypothesis import given
from hypothesis import strategies as st
from world_support import SECOND, Residential

from docsis_control.mac.profile import numbers
from docsis_control.mac.profiles import CABLELABS_2014, NAMES, cablelabs_2014, named
from docsis_control.plan import PRIMARY_SERVICE_FLOW
from docsis_control.ports import RF_PORT

MODEM = "cm1"


def with_channel(profile: str, **settings: int | str | None) -> World:
    """The residential testbed, whose modem's service flow is on a channel."""
    world = Residential(lateness=(0, 0)).world
    world.add_channel("us1", profile, **settings)
    world.grant_port(MODEM, RF_PORT, PRIMARY_SERVICE_FLOW)
    world.add_upstream_flow("us1", MODEM, RF_PORT, PRIMARY_SERVICE_FLOW, sid=1)
    return world


def upstream_delays(world: World, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Microseconds that probes take from cpe1 to server1, one after the other."""
    # No multiple of a MAP, so that each comes at another moment of one.
    probes = world.probes("cpe1", "server1", count=count, interval_ns=20_137_000)
    world.run_until(count * 20_137_000 + SECOND)
    sent, reached, _ = (np.frombuffer(c, dtype=np.int64) for c in world.probe_records(probes))
    assert np.all(reached > 0)
    return (reached - sent) / 1000


def test_a_frame_asks_and_waits_for_its_grant() -> None:
    world = with_channel("docsis-3.1")
    count = 500
    delays = upstream_delays(world, count)
    # mac.md, vector B, of a short frame: the least and the greatest are those of a long one but for
    # minislots beside each other; its mean is 5030.8. Links from and to hosts are 1 Gbit/s.
    links = 2 * (218 + 20) * 8 / 1000
    assert delays.min() > 1930 + links - 1
    assert delays.max() < 8275 + links + 1
    error = delays.std() / np.sqrt(count)
    assert abs(delays.mean() - links - 5030.8) < 4 * error
    state = told(world)
    counters = state.counters
    assert counters.frames == count
    assert counters.requests == state.request_to_grant.count == count
    assert counters.requests_collided == counters.maps_lost == 0
    assert counters.minislots_used <= counters.minislots_granted


def test_shorter_maps_are_a_setting_and_the_same_seed_is_the_same_world() -> None:
    def said(**settings: int | str | None) -> tuple[float, str]:
        world = with_channel("docsis-3.1", **settings)
        return float(upstream_delays(world, 50).mean()), world.digest()

    assert said(map_frames=7) == said(map_minislots=7 * 235)
    assert said(map_frames=7)[0] < said()[0]


def test_unsolicited_grants_ask_nobody() -> None:
    world = Residential(lateness=(0, 0)).world
    world.add_channel("us1", "docsis-3.1")
    world.grant_port(MODEM, RF_PORT, PRIMARY_SERVICE_FLOW)
    interval = 10_000_000
    world.add_upstream_flow(
        "us1",
        MODEM,
        RF_PORT,
        PRIMARY_SERVICE_FLOW,
        sid=9,
        scheduling_type="ugs",
        grant_size=300,
        grant_interval_ns=interval,
        grant_jitter_ns=2_000_000,
    )
    delays = upstream_delays(world, 100)
    # A grant each interval, and at most the jitter later; then burst and propagation (mac.md, B).
    assert delays.max() < (interval + 2_000_000) / 1000 + 445 + 10
    assert told(world).counters.requests == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_named_profile_is_that_of_the_switch(name: str) -> None:
    assert set(CHANNEL_PROFILES) == set(NAMES)
    assert channel_profile(name) == numbers(named(name))


@given(st.integers(1, 2600).map(lambda count: 400_000 * count))
def test_the_line_of_k1_is_that_of_the_switch(rate: int) -> None:
    assert channel_profile(CABLELABS_2014, line_rate=rate) == numbers(cablelabs_2014(rate))


def test_other_users_leave_less_of_a_channel() -> None:
    world = with_channel("cablelabs-2014")
    world.set_channel_capacity("us1", 10_000_000, 20)
    upload = world.tcp_transfer("cpe1", "server1", 5201)
    world.run_until(10 * SECOND)
    before = world.received(upload)
    world.run_until(20 * SECOND)
    # The tier has 20 Mbit/s.
    slow = (world.received(upload) - before) * 8 / 10
    assert 8_500_000 < slow < 9_600_000
    world.set_channel_capacity("us1", None)
    world.run_until(30 * SECOND)
    before = world.received(upload)
    world.run_until(40 * SECOND)
    assert (world.received(upload) - before) * 8 / 10 > 1.5 * slow
    with pytest.raises(ValueError, match=r"^capacity\.rate is 0; it has to be 1 to"):
        world.set_channel_capacity("us1", 0)
    with pytest.raises(ValueError, match=r'^there is no channel "us2"'):
        world.set_channel_capacity("us2", 1_000_000)


def test_what_is_not_possible_is_said() -> None:
    world = Residential(lateness=(0, 0)).world
    assert CHANNEL_PROFILES == ("cablelabs-2014", "docsis-1.1-004", "docsis-3.0", "docsis-3.1")
    with pytest.raises(ValueError, match=r'^there is no channel profile "docsis-4"; there are'):
        world.add_channel("us1", "docsis-4")
    with pytest.raises(ValueError, match=r'^phase is no key of the channel profile "docsis-3.0"'):
        world.add_channel("us1", "docsis-3.0", phase=1)
    with pytest.raises(ValueError, match=r"^tries has to be a whole number, not true"):
        world.add_channel("us1", "docsis-3.0", tries=True)
    with pytest.raises(TypeError, match=r"^tries is a whole number, not float"):
        world.add_channel("us1", "docsis-3.0", tries=1.5)  # type: ignore[arg-type]
    world.add_channel("us1", "docsis-3.0", **{"timing.delivery": 50_000})
    with pytest.raises(ValueError, match="sends by itself: grant it first"):
        world.add_upstream_flow("us1", MODEM, RF_PORT, PRIMARY_SERVICE_FLOW, 1)
    world.grant_port(MODEM, RF_PORT, PRIMARY_SERVICE_FLOW)
    with pytest.raises(ValueError, match=r'^scheduling_type is "best", which is none of'):
        world.add_upstream_flow("us1", MODEM, RF_PORT, 1, 1, "best")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"^a service flow of scheduling type best-effort has no grant_size"
    ):
        world.add_upstream_flow("us1", MODEM, RF_PORT, 1, 1, grant_size=200)
    with pytest.raises(ValueError, match=r"^traffic_priority is 300, which is not within 0 to 255"):
        world.add_upstream_flow("us1", MODEM, RF_PORT, 1, 1, traffic_priority=300)
    with pytest.raises(ValueError, match='^there is no channel "us2"'):
        world.channel_state("us2")
    with pytest.raises(ValueError, match='^channel "us1" has no SID 1'):
        world.remove_upstream_flow("us1", 1)
