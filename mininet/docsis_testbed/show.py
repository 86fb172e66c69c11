# SPDX-License-Identifier: Apache-2.0
"""The controller's status for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from docsis_control.status.model import Classifier, Counters, Device, ServiceFlow, Status

_UNKNOWN: Final = "?"
"""Of a device that does not answer."""

_NONE: Final = "-"
"""What there cannot be."""

_STATE_STYLES: Final = {"INACTIVE": "dim", "QUIESCENT": "", "ACTIVE": "bold yellow"}

Row = Sequence[str | Text]


def render(status: Status) -> RenderableType:
    """Tables of service flows, frames, classifiers and devices."""
    flows = [(modem.name, flow) for modem in status.modems for flow in modem.service_flows]
    when = datetime.fromtimestamp(status.time_unix_s).strftime("%H:%M:%S")
    title = Text.assemble(
        (status.topology, "bold"),
        f", {status.tier}, {status.aqm}; ",
        f"controller {status.pid} up {status.uptime_s:.0f} s; {when}",
    )
    return Group(
        title,
        _table(
            "Service flows",
            "SFID|modem|dir|Mbit/s|queue KB|delay ms|token KB|drop_prob|AQM",
            (_flow(modem, flow) for modem, flow in flows),
            left=3,
        ),
        _table(
            "Frames and drops",
            "SFID|received|octets|forwarded|AQM|full|policed|other|silent",
            (_frames(flow) for _, flow in flows),
            left=1,
        ),
        _table(
            "Classifiers",
            "SFID|priority|match|packets|octets",
            (
                _classifier(flow, classifier)
                for _, flow in flows
                for classifier in flow.classifiers or ()
            ),
            left=3,
        ),
        _table(
            "Devices, times in ms",
            "device|state|cycles|missed|late p50/p99/max|cycle p50/p99/max|lost",
            (_device(device) for device in status.devices),
            left=2,
        ),
    )


def _table(title: str, columns: str, rows: Iterable[Row], *, left: int) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(columns.split("|")):
        table.add_column(column, justify="left" if number < left else "right", header_style="dim")
    for row in rows:
        table.add_row(*row)
    return table


def _flow(modem: str, flow: ServiceFlow) -> Row:
    queue, aqm = flow.queue, flow.aqm
    state: str | Text = _NONE
    if aqm is not None:
        state = Text(aqm.state, _STATE_STYLES[aqm.state])
    elif flow.provisioned.aqm_enabled:
        state = _UNKNOWN
    given = flow.provisioned
    sustained = given.maximum_sustained_traffic_rate_bps / 1e6
    return (
        str(flow.sfid),
        modem,
        "up" if flow.direction == "upstream" else "down",
        f"{sustained:g} ({given.peak_traffic_rate_bps / 1e6:g})",
        _UNKNOWN if queue is None else f"{queue.backlog_bytes / 1e3:.1f}",
        _UNKNOWN if queue is None else f"{queue.delay_ms:.1f}",
        _UNKNOWN if queue is None else f"{queue.msr_tokens_bytes / 1e3:.1f}",
        _NONE if aqm is None else f"{aqm.drop_prob:.6f}",
        state,
    )


def _frames(flow: ServiceFlow) -> Row:
    counters = flow.counters
    if counters is None:
        return (str(flow.sfid), *[_UNKNOWN] * 8)
    return (
        str(flow.sfid),
        str(counters.received.packets),
        str(counters.received.octets),
        str(counters.forwarded.packets),
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


def _classifier(flow: ServiceFlow, classifier: Classifier) -> Row:
    conditions = " ".join(f"{field}={value}" for field, value in classifier.match.items())
    matched = classifier.matched
    return (
        str(flow.sfid),
        _NONE if classifier.priority is None else str(classifier.priority),
        conditions or "all else",
        _UNKNOWN if matched is None else str(matched.packets),
        _UNKNOWN if matched is None else str(matched.octets),
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
