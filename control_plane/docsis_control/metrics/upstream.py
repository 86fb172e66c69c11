# SPDX-License-Identifier: Apache-2.0
"""Metrics of upstream channels with a request/grant MAC. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from docsis_control.priority import paced
from docsis_control.status.upstream import ChannelCounters, ChannelFlow, UpstreamChannel

_CHANNEL: Final = ("channel",)
_FLOW: Final = ("channel", "modem", "sfid", "sid")
"""The modem and the sfid are "" where they are not known."""

_NAMES: Final = ("sid", "modem", "sfid", "name")
"""Fields of a flow that are not counters."""


def upstream_families(channels: Sequence[UpstreamChannel]) -> Iterator[Metric]:
    """All metrics of upstream channels: a counter for each that the status has."""
    counters = _counters("docsis_upstream_channel", ChannelCounters, _CHANNEL)
    of_flows = _counters("docsis_upstream_flow", ChannelFlow, _FLOW)
    delays = SummaryMetricFamily(
        "docsis_upstream_channel_request_to_grant_seconds",
        "From the start of a request to that of its first grant.",
        labels=_CHANNEL,
    )
    quantiles = GaugeMetricFamily(
        "docsis_upstream_channel_request_to_grant_quantile_seconds",
        "The same since the channel's start, within 1/32.",
        labels=(*_CHANNEL, "statistic"),
    )
    for channel in channels:
        labels = (channel.name,)
        for name, family in counters.items():
            family.add_metric(labels, getattr(channel.counters, name))
        took = channel.request_to_grant
        delays.add_metric(labels, count_value=took.count, sum_value=took.sum_ms / 1e3)
        for statistic in ("p50", "p90", "p99", "max"):
            value = getattr(took, f"{statistic}_ms")
            if value is not None:
                quantiles.add_metric((*labels, statistic), value / 1e3)
        for flow in paced(channel.service_flows):
            sfid = "" if flow.sfid is None else str(flow.sfid)
            for name, family in of_flows.items():
                family.add_metric(
                    (channel.name, flow.modem, sfid, str(flow.sid)), getattr(flow, name)
                )
    yield from counters.values()
    yield delays
    yield quantiles
    yield from of_flows.values()


def _counters(
    prefix: str, of: type[ChannelCounters] | type[ChannelFlow], labels: Sequence[str]
) -> dict[str, CounterMetricFamily]:
    fields = of.__pydantic_fields__  # type: ignore[union-attr]
    return {
        name: CounterMetricFamily(f"{prefix}_{name}", str(field.description), labels=labels)
        for name, field in fields.items()
        if name not in _NAMES
    }
