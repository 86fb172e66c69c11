# SPDX-License-Identifier: Apache-2.0
"""The controller's status for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from docsis_cli.conditions import short
from docsis_control.config.units import format_share
from docsis_control.queue_managers.names import QueueManager
from docsis_control.status.model import (
    Classifier,
    Counters,
    Device,
    Lateness,
    Link,
    Scheduling,
    ServiceFlow,
    Status,
)
from docsis_experiments.measurement.timing import MOST_P99_MS
from docsis_testbed.errors import TestbedError

_UNKNOWN: Final = "?"
"""Shown for a device that does not answer."""

_NONE: Final = "-"
"""Shown for a value that cannot exist."""

_STATE_STYLES: Final = {"INACTIVE": "dim", "QUIESCENT": "", "ACTIVE": "bold yellow"}

_MANY: Final = 4
"""More modems than this are summed up, a line each, unless some are named."""

Row = Sequence[str | Text]


def chosen(status: Status, names: Sequence[str]) -> Status:
    """The status of some of its modems, by name; of all of them where none is named.

    Raises:
        TestbedError: There is no such modem.
    """
    if not names:
        return status
    known = {modem.name: modem for modem in status.modems}
    for name in names:
        if name not in known:
            raise TestbedError(f'there is no modem "{name}"; there are {", ".join(known)}')
    return replace(status, modems=tuple(modem for modem in status.modems if modem.name in names))


def render(status: Status, *, in_detail: bool = False) -> RenderableType:
    """Tables of service flows, queues, frames, classifiers and devices.

    Args:
        status: Status with the modems that are to be shown.
        in_detail: However many they are; else many modems are summed up, a line each.
    """
    when = datetime.fromtimestamp(status.time_unix_s).strftime("%H:%M:%S")
    title = Text.assemble(
        (status.topology, "bold"),
        f", {status.tier}, {status.aqm}; ",
        f"controller {status.pid} up {status.uptime_s:.0f} s; {when}",
    )
    if status.channel is not None:
        up, down = status.channel.upstream_bps, status.channel.downstream_bps
        title.append(f"\nchannel {_mbps(up)} Mbit/s up, {_mbps(down)} Mbit/s down")
    many = len(status.modems) > _MANY and not in_detail
    tables = _summary(status) if many else _details(status)
    return Group(title, *tables, _devices(status), *_links(status), *_lateness(status))


def _summary(status: Status) -> Iterator[RenderableType]:
    yield table(
        f"{len(status.modems)} modems; drops are frames, delays the longest of a queue",
        "modem|flows|up received|drops|delay ms|down received|drops|delay ms",
        (
            *(_sum(modem.name, modem.service_flows) for modem in status.modems),
            *(
                _sum(f"({device.name})", device.service_flows)
                for device in status.devices
                if device.service_flows
            ),
        ),
        left=1,
    )
    yield Text(f"One in detail: docsis-p4 show --modem {status.modems[0].name}", style="italic dim")


def _sum(name: str, flows: Sequence[ServiceFlow]) -> Row:
    cells = []
    for direction in ("upstream", "downstream"):
        there = [flow for flow in flows if flow.direction == direction]
        counters = [flow.counters for flow in there if flow.counters is not None]
        delays = [flow.queue.delay_ms for flow in there if flow.queue is not None]
        if not there:
            cells += [_NONE] * 3
        elif not counters or not delays:
            cells += [_UNKNOWN] * 3
        else:
            cells += [
                str(sum(counted.received.packets for counted in counters)),
                str(sum(_dropped(counted) for counted in counters)),
                f"{max(delays):.1f}",
            ]
    return name, str(len(flows)), *cells


def _details(status: Status) -> Iterator[RenderableType]:
    flows = [(modem.name, flow) for modem in status.modems for flow in modem.service_flows]
    flows += [
        (f"({device.name})", flow) for device in status.devices for flow in device.service_flows
    ]
    yield table(
        "Service flows",
        "SFID|modem|dir|ref|name|prio|Mbit/s|min|burst KB|buffer KB|target ms",
        (_flow(modem, flow) for modem, flow in flows),
        left=3,
        also_left=("name",),
    )
    yield from _scheduled(flow for _, flow in flows)
    yield table(
        "Queues",
        "SFID|queue KB|delay ms|token KB|drop_prob|AQM",
        (_queue(flow) for _, flow in flows),
        left=1,
    )
    yield table(
        "Frames and drops",
        "SFID|received|octets|forwarded|delayed|AQM|full|policed|other|silent",
        (_frames(flow) for _, flow in flows),
        left=1,
    )
    yield from _suppressed(flow for _, flow in flows)
    yield from _lost_inside(flow for _, flow in flows)
    yield table(
        "Classifiers",
        "SFID|ref|prio|match|packets|octets",
        (
            _classifier(flow, classifier)
            for _, flow in flows
            for classifier in flow.classifiers or ()
        ),
        left=1,
        also_left=("match",),
    )


def _scheduled(flows: Iterable[ServiceFlow]) -> Iterator[RenderableType]:
    """The scheduling of upstream service flows that have more than best effort."""
    told = [(flow, flow.provisioned.scheduling) for flow in flows]
    scheduled = [(flow, scheduling) for flow, scheduling in told if scheduling is not None]
    channels = any(scheduling.upstream_channel for _, scheduling in scheduled)
    if not channels and all(_is_plain(scheduling) for _, scheduling in scheduled):
        return
    yield table(
        "Upstream scheduling, times in ms",
        "SFID|channel|service|policy|grants|polls|burst|backoff|unit",
        (_scheduling(flow, scheduling) for flow, scheduling in scheduled),
        left=3,
        also_left=("grants", "polls"),
    )
    if not channels:
        yield Text(
            "Not in force: the topology has no upstream channel with a request/grant MAC.",
            style="italic dim",
        )


def _is_plain(given: Scheduling) -> bool:
    return given.scheduling_type == "best-effort" and not given.request_transmission_policy


def _scheduling(flow: ServiceFlow, given: Scheduling) -> Row:
    grants = polls = _NONE
    if given.unsolicited_grant_size_bytes is not None:
        grants = (
            f"{given.grants_per_interval} x {given.unsolicited_grant_size_bytes} B every "
            f"{given.nominal_grant_interval_ms:g} + {given.tolerated_grant_jitter_ms:g}"
        )
    elif given.guaranteed_grant_rate_bps is not None:
        every = given.guaranteed_grant_interval_ms
        grants = f"{_mbps(given.guaranteed_grant_rate_bps)} Mbit/s every " + (
            f"{every:g}" if every else "MAP"
        )
        if given.activity_detection_disabled:
            grants += ", also while idle"
    if given.nominal_polling_interval_ms is not None:
        polls = f"{given.nominal_polling_interval_ms:g} + {given.tolerated_poll_jitter_ms:g}"
    elif (polled := given.guaranteed_request_interval_ms) is not None:
        # Anywhere in each interval.
        polls = f"{polled:g} + {polled:g}"
    return (
        str(flow.sfid),
        given.upstream_channel or _NONE,
        given.scheduling_type,
        f"{given.request_transmission_policy:#x}",
        grants,
        polls,
        str(given.maximum_concatenated_burst_bytes or _NONE),
        f"{given.backoff_window_multiplier_eighths}/8",
        str(given.bytes_requested_multiplier),
    )


def _suppressed(flows: Iterable[ServiceFlow]) -> Iterator[RenderableType]:
    """Service flows that are to do without some TCP acknowledgements."""
    rows = [_acks(flow) for flow in flows if flow.provisioned.ack_suppression != "none"]
    yield from _table_of_some("ACK suppression", "SFID|rule|ACKs|octets", rows, left=2)


def _acks(flow: ServiceFlow) -> Row:
    given, traffic = flow.provisioned, flow.suppressed
    rule = given.ack_suppression
    if not given.suppresses_acks:
        rule = f"{rule}, but flow queues have none"
    if traffic is None:
        return (str(flow.sfid), rule, _UNKNOWN, _UNKNOWN)
    return (str(flow.sfid), rule, str(traffic.packets), str(traffic.octets))


def _lost_inside(flows: Iterable[ServiceFlow]) -> Iterator[RenderableType]:
    """A line for each flow of which a switch lost frames between its pipeline's halves."""
    for flow in flows:
        if flow.resynchronized:
            yield Text(
                f"SFID {flow.sfid} lost frames inside the switch; "
                f"its backlog was made right {flow.resynchronized} times.",
                style="bold yellow",
            )


def _devices(status: Status) -> RenderableType:
    return table(
        "Devices, times in ms",
        "device|state|cycles|missed|late p50/p99/max|cycle p50/p99/max|lost",
        (_device(device) for device in status.devices),
        left=2,
    )


def _links(status: Status) -> Iterator[RenderableType]:
    """Links of hosts and servers with loss or jitter, where there are any."""
    rows = [_link(device.name, link) for device in status.devices for link in device.links]
    columns = "host|device|loss|jitter ms|lost from host|octets|lost to host|octets"
    yield from _table_of_some("Links with loss or jitter", columns, rows, left=2)


def _link(device: str, link: Link) -> Row:
    lost = (
        cell
        for traffic in (link.lost_from_host, link.lost_to_host)
        for cell in (
            (_UNKNOWN, _UNKNOWN) if traffic is None else (str(traffic.packets), str(traffic.octets))
        )
    )
    return link.name, device, format_share(link.loss_ppm), f"{link.jitter_ms:g}", *lost


def _lateness(status: Status) -> Iterator[RenderableType]:
    """Lateness of the switches that tell it."""
    rows = [_late(each.name, each.lateness) for each in status.devices if each.lateness]
    columns = "device|events|p50|p99|max|time jumped|"
    yield from _table_of_some("Lateness in the switches, ms", columns, rows, left=1)


def _late(name: str, late: Lateness) -> Row:
    jumped: str | Text = "never"
    verdict: str | Text = "valid"
    if late.jumps:
        jumped = Text(f"{late.jumps} times, {late.jumped_ms:.1f} ms", "bold red")
        verdict = Text("not valid", "bold red")
    elif late.p99_ms > MOST_P99_MS:
        verdict = Text("too late for a verdict", "bold yellow")
    times = (f"{time:.3f}" for time in (late.p50_ms, late.p99_ms, late.max_ms))
    return name, str(late.events), *times, jumped, verdict


def _table_of_some(
    title: str, columns: str, rows: Sequence[Row], *, left: int
) -> Iterator[RenderableType]:
    """Yields a table, unless it has no rows; see `table`."""
    if rows:
        yield table(title, columns, rows, left=left)


def table(
    title: str,
    columns: str,
    rows: Iterable[Row],
    *,
    left: int,
    also_left: Sequence[str] = (),
) -> Table:
    """A table of this program's look.

    Args:
        title: The table's title.
        columns: Their names, with | between them.
        rows: A cell for each column.
        left: So many columns, from the first on, are text; the others are numbers.
        also_left: Names of further columns that are text.
    """
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(columns.split("|")):
        text = number < left or column in also_left
        made.add_column(column, justify="left" if text else "right", header_style="dim")
    for row in rows:
        made.add_row(*row)
    return made


def _mbps(rate: int) -> str:
    return f"{rate / 1e6:g}"


def _flow(modem: str, flow: ServiceFlow) -> Row:
    given = flow.provisioned
    sustained, peak = given.maximum_sustained_traffic_rate_bps, given.peak_traffic_rate_bps
    rates = _NONE if sustained is None else _mbps(sustained)
    if peak is not None:
        rates += f" ({_mbps(peak)})"
    reserved = given.minimum_reserved_traffic_rate_bps
    return (
        str(flow.sfid),
        modem,
        "up" if flow.direction == "upstream" else "down",
        str(flow.service_flow_reference or _NONE),
        flow.name.removesuffix(f" {flow.direction}"),
        str(given.traffic_priority),
        rates,
        _mbps(reserved) if reserved else _NONE,
        f"{given.maximum_traffic_burst_bytes / 1e3:.1f}" if sustained is not None else _NONE,
        f"{given.buffer_bytes / 1e3:.1f}",
        _NONE if given.latency_target_ms is None else f"{given.latency_target_ms:g}",
    )


def _queue(flow: ServiceFlow) -> Row:
    queue, aqm = flow.queue, flow.aqm
    state: str | Text = _NONE
    if flow.provisioned.queue_manager == QueueManager.DOCSIS_PIE.label:
        state = _UNKNOWN if aqm is None else Text(aqm.state, _STATE_STYLES[aqm.state])
    elif flow.provisioned.aqm_enabled:
        state = flow.provisioned.queue_manager
    sub_queues = flow.provisioned.queue_management.get("flow_queues")
    if sub_queues is not None:
        turns = " by packets" if sub_queues.get("round_robin") == "packets" else ""
        state = f"{state}, {sub_queues['queues']} queues{turns}".removeprefix(f"{_NONE}, ")
    return (
        str(flow.sfid),
        _UNKNOWN if queue is None else f"{queue.backlog_bytes / 1e3:.1f}",
        _UNKNOWN if queue is None else f"{queue.delay_ms:.1f}",
        _UNKNOWN if queue is None else f"{queue.msr_tokens_bytes / 1e3:.1f}",
        _NONE if aqm is None else f"{aqm.drop_prob:.6f}",
        state,
    )


def _frames(flow: ServiceFlow) -> Row:
    counters = flow.counters
    if counters is None:
        return (str(flow.sfid), *[_UNKNOWN] * 9)
    return (
        str(flow.sfid),
        str(counters.received.packets),
        str(counters.received.octets),
        str(counters.forwarded.packets),
        _UNKNOWN if flow.delayed is None else str(flow.delayed.packets),
        str(counters.dropped_aqm.packets),
        str(counters.dropped_buffer_full.packets),
        str(counters.dropped_policed.packets),
        str(_others(counters)),
        str(counters.controller_silent.packets),
    )


def _others(counters: Counters) -> int:
    return (
        counters.flooded.packets
        + counters.dropped_no_classifier.packets
        + counters.dropped_malformed.packets
        + counters.dropped_unroutable.packets
    )


def _dropped(counters: Counters) -> int:
    return (
        counters.dropped_aqm.packets
        + counters.dropped_buffer_full.packets
        + counters.dropped_policed.packets
        + counters.dropped_no_classifier.packets
        + counters.dropped_malformed.packets
        + counters.dropped_unroutable.packets
    )


def _classifier(flow: ServiceFlow, classifier: Classifier) -> Row:
    matched = classifier.matched
    conditions = "all else" if classifier.reference is None else short(classifier.match)
    unknown = _UNKNOWN
    if not classifier.active:
        conditions, unknown = f"{conditions} (inactive)", _NONE
    return (
        str(flow.sfid),
        _NONE if classifier.reference is None else str(classifier.reference),
        _NONE if classifier.rule_priority is None else str(classifier.rule_priority),
        conditions,
        unknown if matched is None else str(matched.packets),
        unknown if matched is None else str(matched.octets),
    )


def _device(device: Device) -> Row:
    loop = device.loop
    access: str | Text = device.state_access
    if not device.connected:
        access = Text("no answer", "bold red")
    if loop is None:
        times: Row = (_NONE,) * 4
    else:
        times = (
            str(loop.cycles),
            Text(str(loop.missed), "bold red" if loop.missed else ""),
            *(f"{t.p50:.2f}/{t.p99:.2f}/{t.max:.2f}" for t in (loop.lateness_ms, loop.cycle_ms)),
        )
    return (device.name, access, *times, str(device.reconnects))


def watch(
    get: Callable[[], Status], show: Callable[[Status], None], wait: Callable[[], None]
) -> None:
    """Shows the status again and again until `get` raises, or the user interrupts."""
    try:
        while True:
            show(get())
            wait()
    except KeyboardInterrupt:
        return
