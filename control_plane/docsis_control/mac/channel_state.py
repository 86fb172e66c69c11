# SPDX-License-Identifier: Apache-2.0
"""Reads docsis.mac.v1.ChannelState: the state of upstream channels, of a switch or of a world."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from docsis_control.priority import paced
from docsis_control.status.upstream import (
    Asked,
    Burst,
    ChannelCounters,
    ChannelFlow,
    Delays,
    How,
    MapElement,
    MapRequest,
    UpstreamChannel,
    UpstreamMap,
    Usage,
)

METHOD: Final = "/docsis.mac.v1.UpstreamChannels/Get"

_HOW: Final[dict[int, How]] = {1: "contention", 2: "poll", 3: "burst"}
_USAGE: Final[dict[int, Usage]] = {1: "contention", 2: "poll", 3: "maintenance", 4: "grant"}
_SAME: Final = tuple(
    name for name in ChannelCounters.__dataclass_fields__ if name != "minislots_wasted"
)
"""Counters that the message has by the same names."""
_SAME_OF_FLOWS: Final = tuple(
    name
    for name in ChannelFlow.__dataclass_fields__
    if name not in {"sid", "modem", "sfid", "name"}
)


class FlowName(NamedTuple):
    """Names of a service flow in tables and pictures.

    Attributes:
        modem: Name of its modem.
        sfid: Service Flow Identifier.
        name: Name for people.
    """

    modem: str
    sfid: int
    name: str


Names = Callable[[int, int], FlowName | None]
"""The service flow of a device (P4Runtime's device_id) and of its queue."""


def request(maps: int) -> bytes:
    """The request for all channels of a switch, with so many of their last MAPs."""
    encoded: bytes = _messages().GetRequest(maps=maps).SerializeToString()
    return encoded


def channels_from(answer: bytes, names: Names) -> tuple[UpstreamChannel, ...]:
    """The channels in a serialized docsis.mac.v1.GetResponse."""
    message = _messages().GetResponse.FromString(answer)
    return tuple(_channel(channel, names) for channel in message.channels)


def channel_from(state: bytes, names: Names) -> UpstreamChannel:
    """The channel in a serialized docsis.mac.v1.ChannelState."""
    return _channel(_messages().ChannelState.FromString(state), names)


def quantile_ns(places: Sequence[tuple[int, int]], share: float, most_ns: int) -> int | None:
    """A time that a share of all does not exceed, too great by at most 1/32.

    Args:
        places: The last time of each place and how many it has, ascending.
        share: A share from 0 to 1.
        most_ns: The longest of them.

    Returns:
        None where there are none.
    """
    rank = max(1.0, share * sum(count for _, count in places))
    reached = 0
    for upto, count in places:
        reached += count
        if reached >= rank:
            return min(upto, most_ns)
    return None


def _channel(message: Any, names: Names) -> UpstreamChannel:
    counters = message.counters
    counted = {name: getattr(counters, name) for name in _SAME}
    return UpstreamChannel(
        name=message.name,
        number=message.number,
        profile=message.profile,
        time_ns=message.now_ns,
        minislots_per_frame=message.shape.minislots_per_frame,
        frame_ps=message.shape.frame_ps,
        map_minislots=message.shape.map_minislots,
        request_minislots=message.shape.request_minislots,
        counters=ChannelCounters(
            minislots_wasted=counters.minislots_granted - counters.minislots_used, **counted
        ),
        request_to_grant=_delays(message.request_to_grant),
        maps_late=_delays(message.maps_late),
        service_flows=tuple(_flow(flow, names) for flow in paced(message.flows)),
        last_maps=tuple(_map(one) for one in paced(message.maps)),
    )


def _delays(message: Any) -> Delays:
    places = [(place.upto_ns, place.count) for place in message.places]

    def quantile(share: float) -> float | None:
        found = quantile_ns(places, share, message.most_ns)
        return None if found is None else found / 1e6

    count = message.count
    return Delays(
        count=count,
        sum_ms=message.sum_ns / 1e6,
        mean_ms=message.sum_ns / count / 1e6 if count else None,
        p50_ms=quantile(0.5),
        p90_ms=quantile(0.9),
        p99_ms=quantile(0.99),
        max_ms=message.most_ns / 1e6 if count else None,
    )


def _flow(message: Any, names: Names) -> ChannelFlow:
    named = names(message.device_id, message.queue_id)
    return ChannelFlow(
        sid=message.sid,
        modem="" if named is None else named.modem,
        sfid=None if named is None else named.sfid,
        name=f"SID {message.sid}" if named is None else named.name,
        **{name: getattr(message, name) for name in _SAME_OF_FLOWS},
    )


def _map(message: Any) -> UpstreamMap:
    return UpstreamMap(
        number=message.number,
        made_ns=message.made_ns,
        start_ns=message.start_ns,
        end_ns=message.end_ns,
        first_minislot=message.first_minislot,
        minislots=message.minislots,
        ack_minislot=message.ack_minislot,
        backoff_start=message.backoff_start,
        backoff_end=message.backoff_end,
        bytes=message.bytes,
        elements=tuple(_element(one) for one in message.elements if one.usage in _USAGE),
        pending=tuple(message.pending_sids),
        requests=tuple(_request(one) for one in message.requests if one.how in _HOW),
        requests_sent=message.requests_sent,
        requests_collided=message.requests_collided,
    )


def _element(message: Any) -> MapElement:
    return MapElement(
        usage=_USAGE[message.usage],
        sid=message.sid or None,
        first=message.offset,
        minislots=message.minislots,
        burst=_burst(message.burst) if message.HasField("burst") else None,
    )


def _burst(message: Any) -> Burst:
    requested = message.WhichOneof("requested")
    # Values that only a newer switch knows are left out, as are elements of another usage.
    asked = message.asked if message.asked.how in _HOW else None
    return Burst(
        minislots=message.minislots,
        bytes=message.bytes,
        requested_bytes=message.requested_bytes if requested == "requested_bytes" else None,
        requested_minislots=(
            message.requested_minislots if requested == "requested_minislots" else None
        ),
        asked=None if asked is None else Asked(how=_HOW[asked.how], sent_ns=asked.sent_ns),
    )


def _request(message: Any) -> MapRequest:
    amount = message.WhichOneof("amount")
    return MapRequest(
        sid=message.sid,
        first=message.offset,
        how=_HOW[message.how],
        collided=message.collided,
        bytes=message.bytes if amount == "bytes" else None,
        minislots=message.minislots if amount == "minislots" else None,
    )


def _messages() -> Any:
    try:
        from docsis_control.gen.docsis.mac.v1 import channel_state_pb2
    except ImportError as error:
        raise RuntimeError(
            f"the messages of docsis.mac.v1 are not there ({error}); run make setup"
        ) from None
    return channel_state_pb2
