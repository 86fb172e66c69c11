# SPDX-License-Identifier: Apache-2.0
"""A channel's state as a switch tells it, for tests."""

from typing import Any

from docsis_world import World

from docsis_control.gen.docsis.mac.v1 import channel_state_pb2 as mac


def state(name: str = "us1", device_id: int = 1, queue_id: int = 1) -> Any:
    """A channel with one flow and two MAPs: a collision, and the grant of the request after it.

    Minislots are 25 us long; the flow's second grant is still to come.
    """
    message = mac.ChannelState(
        name=name,
        profile="docsis-1.1-004",
        number=1,
        now_ns=61_200_000_000,
        shape=mac.ChannelShape(
            minislots_per_frame=1, frame_ps=25_000_000, map_minislots=80, request_minislots=1
        ),
        counters=mac.ChannelCounters(
            maps=30600,
            map_bytes=918_000,
            maps_stretched=12,
            minislots=2_448_192,
            minislots_contention=367_200,
            minislots_maintenance=91_800,
            minislots_granted=1_000_000,
            minislots_used=960_000,
            opportunities=367_200,
            opportunities_used=9_000,
            opportunities_collided=1_000,
            requests=10_100,
            requests_collided=2_100,
            requests_piggybacked=3_000,
            grants=11_000,
            pending_marks=40,
            frames=10_990,
            bytes_granted=16_000_000,
            bytes_used=15_400_000,
        ),
        request_to_grant=mac.Distribution(
            count=4, sum_ns=20_000_000, least_ns=3_000_000, most_ns=9_000_000
        ),
        flows=[
            mac.FlowState(
                sid=1, device_id=device_id, port=2, queue_id=queue_id,
                requests_contention=10_100, requests_lost=2_100, requests_piggybacked=3_000,
                grants=11_000, grants_unused=7, minislots_granted=1_000_000,
                minislots_used=960_000, bytes_granted=16_000_000, bytes_used=15_400_000,
                frames=10_990, given_up=3,
            )
        ],
    )  # fmt: skip
    for upto_ns, count in ((3_100_000, 1), (4_000_000, 2), (9_200_000, 1)):
        message.request_to_grant.places.add(upto_ns=upto_ns, count=count)
    for number in range(2):
        start = number * 80
        added = message.maps.add(
            number=30_598 + number, made_ns=1_000_000 * number, start_ns=start * 25_000,
            end_ns=(start + 80) * 25_000, first_minislot=start, minislots=80, ack_minislot=start,
            backoff_start=3, backoff_end=7, bytes=36, requests_sent=2 - number,
            requests_collided=2 - 2 * number,
        )  # fmt: skip
        added.elements.add(usage=mac.USAGE_CONTENTION, offset=0, minislots=12)
        grant = added.elements.add(usage=mac.USAGE_GRANT, sid=1, offset=12, minislots=50)
        if number == 0:
            grant.burst.CopyFrom(mac.BurstState(minislots=48, bytes=750, requested_minislots=96))
            grant.burst.asked.CopyFrom(
                mac.AskedState(how=mac.HOW_CONTENTION, sent_ns=7, minislot=0)
            )
        added.elements.add(usage=mac.USAGE_MAINTENANCE, offset=77, minislots=3)
        # What a switch of another day may say besides.
        added.elements.add(usage=99, offset=62, minislots=3)
        for sid in (1, 2)[: 2 - number]:
            added.requests.add(
                sid=sid, offset=4, how=mac.HOW_CONTENTION, collided=number == 0, minislots=96
            )
        added.pending_sids.extend([2] * number)
    return message


def told(world: World, name: str = "us1") -> Any:
    """Reads the state of a channel of a world, docsis.mac.v1.ChannelState."""
    return mac.ChannelState.FromString(world.channel_state(name))


def answer(*states: Any) -> Any:
    """Makes the answer of a switch with these channels."""
    return mac.GetResponse(now_ns=61_200_000_000, channels=states)
