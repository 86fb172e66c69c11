# SPDX-License-Identifier: Apache-2.0
"""Plans of upstream channels as requests of docsis.mac.v1. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docsis_control.mac.plan import ChannelFlow, UpstreamChannelPlan
from docsis_control.mac.profile import Number


def messages() -> Any:
    """The messages of docsis.mac.v1.

    Raises:
        RuntimeError: Set-up has not made them.
    """
    try:
        from docsis_control.gen.docsis.mac.v1 import upstream_channels_pb2
    except ImportError as error:
        raise RuntimeError(
            f"the messages of docsis.mac.v1 are not there ({error}); run make setup"
        ) from None
    return upstream_channels_pb2


def flow_settings(flow: ChannelFlow) -> Mapping[str, int]:
    """The settings of a service flow for scheduler and modem, beside SID and scheduling type.

    The names are those of docsis.mac.v1's ServiceFlow.settings, and of the virtual world's.
    """
    scheduling = flow.scheduling
    given = {
        "policy": int(scheduling.policy),
        "polling_interval_ns": scheduling.polling_interval,
        "poll_jitter_ns": scheduling.poll_jitter,
        "grant_size": scheduling.grant_size,
        "grant_interval_ns": scheduling.grant_interval,
        "grant_jitter_ns": scheduling.grant_jitter,
        "grants_per_interval": scheduling.grants_per_interval,
        "guaranteed_grant_interval_ns": scheduling.guaranteed_grant_interval,
        "guaranteed_grant_rate": scheduling.guaranteed_grant_rate,
        "guaranteed_request_interval_ns": scheduling.guaranteed_request_interval,
        "activity_detection_disable": int(scheduling.activity_detection_disable),
        "max_concatenated_burst": scheduling.max_concatenated_burst,
        "backoff_eighths": scheduling.backoff_eighths,
        "request_unit": scheduling.request_unit,
        "traffic_priority": flow.priority,
        "max_sustained_rate": flow.max_sustained_rate,
        "max_burst": flow.max_burst,
        "peak_rate": flow.peak_rate,
        "min_reserved_rate": flow.min_reserved_rate,
        "assumed_packet_size": flow.assumed_packet_size,
    }
    # A plan has 0 for settings that a scheduling type does not use. A policy of 0 has a meaning.
    return {key: value for key, value in given.items() if value or key == "policy"}


def primary_queues(channels: Sequence[UpstreamChannelPlan]) -> Mapping[tuple[str, int], int]:
    """Maps device and port to the queue of frames that the pipeline gives no service flow.

    It is the first, the primary service flow of the first modem: there is no other way upstream.
    """
    primary: dict[tuple[str, int], int] = {}
    for channel in channels:
        for flow in channel.flows:
            place = (channel.device, channel.port)
            primary[place] = min(flow.sid, primary.get(place, flow.sid))
    return primary


@dataclass(frozen=True)
class ChannelChange:
    """Service flows that differ between two plans of a device's upstream channels.

    Attributes:
        new: Service flows that come, each with its channel.
        changed: Service flows that stay with other numbers, before and after.
        gone: Service flows that go.
    """

    new: tuple[tuple[UpstreamChannelPlan, ChannelFlow], ...]
    changed: tuple[tuple[tuple[UpstreamChannelPlan, ChannelFlow], ...], ...]
    gone: tuple[tuple[UpstreamChannelPlan, ChannelFlow], ...]


def change_between(
    before: Sequence[UpstreamChannelPlan], after: Sequence[UpstreamChannelPlan]
) -> ChannelChange:
    """Finds the differences; the channels are the same, and a SID stays on its channel."""

    def by_sid(
        channels: Sequence[UpstreamChannelPlan],
    ) -> dict[int, tuple[UpstreamChannelPlan, ChannelFlow]]:
        return {flow.sid: (channel, flow) for channel in channels for flow in channel.flows}

    old, new = by_sid(before), by_sid(after)
    return ChannelChange(
        tuple(place for sid, place in new.items() if sid not in old),
        tuple(
            (old[sid], place)
            for sid, place in new.items()
            if sid in old and old[sid][1] != place[1]
        ),
        tuple(place for sid, place in old.items() if sid not in new),
    )


def complete_request(device_id: int, channels: Sequence[UpstreamChannelPlan]) -> Any:
    """A ConfigureRequest for all channels of a device; others that it has go."""
    request = messages().ConfigureRequest(complete=True)
    for channel in channels:
        message = request.channels.add(
            name=channel.name, number=channel.number, profile=channel.profile.name
        )
        for key, value in channel.overrides.items():
            _set(message.settings[key], value)
        if (maps := channel.map_traffic) is not None:
            message.map_traffic.message = maps.message
            message.map_traffic.element = maps.element
    for (_, port), queue in primary_queues(channels).items():
        request.granted_ports.add(device_id=device_id, port=port, primary_queue_id=queue)
    _add_flows(
        request, device_id, ((channel, flow) for channel in channels for flow in channel.flows)
    )
    return request


def change_request(
    device_id: int,
    settings: Iterable[tuple[UpstreamChannelPlan, ChannelFlow]],
    removed: Iterable[tuple[UpstreamChannelPlan, ChannelFlow]] = (),
) -> Any:
    """A ConfigureRequest that sets some service flows and removes others."""
    request = messages().ConfigureRequest()
    _add_flows(request, device_id, settings)
    for channel, flow in removed:
        request.removed.add(channel=channel.name, sid=flow.sid)
    return request


def capacity_request(channels: Iterable[str], rate: int, variation_percent: int) -> Any:
    """A ConfigureRequest: what other users leave of these channels, from their next MAPs on.

    Args:
        channels: Their names.
        rate: bit/s, the mean of each.
        variation_percent: How far each MAP's draw may lie from it.
    """
    request = messages().ConfigureRequest()
    for channel in channels:
        request.capacities.add(channel=channel, rate=rate, variation_percent=variation_percent)
    return request


def _add_flows(
    request: Any, device_id: int, flows: Iterable[tuple[UpstreamChannelPlan, ChannelFlow]]
) -> None:
    for channel, flow in flows:
        request.service_flows.add(
            channel=channel.name,
            device_id=device_id,
            port=channel.port,
            queue_id=flow.sid,
            sid=flow.sid,
            scheduling_type=flow.scheduling.type.value,
            settings=flow_settings(flow),
        )


def _set(setting: Any, value: Number) -> None:
    if value is None:
        setting.absent = True
    elif isinstance(value, str):
        setting.word = value
    else:
        setting.number = value
