# SPDX-License-Identifier: Apache-2.0
"""Upstream channels: what a switch tells of them, as the status has it."""

import math

import pytest
from channel_states import answer, state
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.gen.docsis.mac.v1 import channel_state_pb2 as mac
from docsis_control.mac.channel_state import (
    FlowName,
    channel_from,
    channels_from,
    quantile_ns,
    request,
)
from docsis_control.status.upstream import (
    Asked,
    Burst,
    Delays,
    MapElement,
    MapRequest,
    UpstreamChannel,
    decode_channels,
    encode_channels,
)

NAMED = FlowName("cm1", 1, "primary upstream")


def names(device_id: int, queue_id: int) -> FlowName | None:
    return NAMED if (device_id, queue_id) == (1, 1) else None


def read() -> UpstreamChannel:
    return channel_from(state().SerializeToString(), names)


def test_a_request_says_how_many_maps() -> None:
    assert mac.GetRequest.FromString(request(7)).maps == 7


def test_counters_flows_and_delays_are_those_of_the_message() -> None:
    channel = read()
    assert (channel.name, channel.profile, channel.number) == ("us1", "docsis-1.1-004", 1)
    counted = channel.counters
    assert (counted.maps, counted.opportunities_collided) == (30600, 1000)
    assert counted.minislots_wasted == 40_000
    (flow,) = channel.service_flows
    assert (flow.sid, flow.modem, flow.sfid, flow.name) == (1, "cm1", 1, "primary upstream")
    assert (flow.requests_lost, flow.frames, flow.given_up) == (2100, 10_990, 3)
    # The longest is known exactly, and no quantile is longer.
    assert channel.request_to_grant == Delays(
        count=4, sum_ms=20.0, mean_ms=5.0, p50_ms=4.0, p90_ms=9.0, p99_ms=9.0, max_ms=9.0
    )


def test_maps_say_who_got_what_and_what_became_of_it() -> None:
    first, last = read().last_maps
    assert first.elements == (
        MapElement(usage="contention", sid=None, first=0, minislots=12),
        MapElement(
            usage="grant",
            sid=1,
            first=12,
            minislots=50,
            burst=Burst(
                minislots=48,
                bytes=750,
                requested_minislots=96,
                asked=Asked(how="contention", sent_ns=7),
            ),
        ),
        MapElement(usage="maintenance", sid=None, first=77, minislots=3),
    )
    assert (first.used, first.wasted, first.sum_of("grant")) == (48, 2, 50)
    assert first.requests[1] == MapRequest(
        sid=2, first=4, how="contention", collided=True, minislots=96
    )
    # The time of the second one's grant has not come.
    assert (last.used, last.wasted, last.sum_of("grant")) == (0, 0, 50)
    assert last.pending == (2,)
    assert first.end_ns == last.start_ns == 2_000_000


def test_a_flow_that_is_not_known_is_called_by_its_sid() -> None:
    (flow,) = channel_from(state(device_id=9).SerializeToString(), names).service_flows
    assert (flow.modem, flow.sfid, flow.name) == ("", None, "SID 1")


def test_all_channels_of_a_switch_are_read_and_come_back_from_json() -> None:
    told = answer(state("us1"), state("us2")).SerializeToString()
    channels = channels_from(told, names)
    assert [channel.name for channel in channels] == ["us1", "us2"]
    assert decode_channels(encode_channels(channels)) == channels


def test_a_channel_that_has_done_nothing_has_no_delays() -> None:
    message = mac.ChannelState(name="new", profile="docsis-3.1", number=2)
    message.shape.CopyFrom(state().shape)
    channel = channel_from(message.SerializeToString(), names)
    assert channel.request_to_grant.mean_ms is channel.request_to_grant.p99_ms is None
    assert not channel.last_maps
    assert not channel.service_flows


def test_what_is_no_channel_is_refused() -> None:
    with pytest.raises(ValueError, match="minislots_per_frame"):
        channel_from(mac.ChannelState(name="broken").SerializeToString(), names)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50), st.floats(0.01, 1.0))
def test_a_quantile_is_of_the_place_that_has_it(times: list[int], share: float) -> None:
    times.sort()
    places = [(time, times.count(time)) for time in sorted(set(times))]
    rank = math.ceil(share * len(times)) - 1
    assert quantile_ns(places, share, times[-1]) == times[max(rank, 0)]
    assert quantile_ns([], share, 0) is None
