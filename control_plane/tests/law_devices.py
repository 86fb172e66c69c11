# SPDX-License-Identifier: Apache-2.0
"""Service flows under any law, and what a device's registers hold of them, for the tests."""

from dataclasses import replace
from typing import Any

import numpy as np

from docsis_control.law.readings import Readings, Settings
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.codel_002 import Codel002
from docsis_control.queue_managers.managers.codel_dt import CodelDt
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.docsis_pie_2014 import DocsisPie2014
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.managers.lred import Lred
from docsis_control.queue_managers.managers.pie import Pie
from docsis_control.queue_managers.managers.pie_002 import Pie002

EVERY = (
    DocsisPie(),
    DropTail(),
    Pie(),
    AdaptiveRed(),
    DocsisPie(rate_tracking=True),
    Codel(),
    CodelDt(),
    Lred(),
    Pie002(),
    Codel002(),
)
FIELDS = ("enqueued_bytes", "dequeued_bytes", "msr_tokens", "msr_updated", "data_state")
NEEDED = (
    "avg_dq_time",
    "requests_met",
    "red_avg",
    "arrivals",
    "dequeued_packets",
    "enqueued_packets",
    "departure_rate",
    "granted_bytes",
    "acked_req_bytes",
)
TICK_US = 16_000
PACKET_RATE = (1 << 40) | (1_000 << 16)  # Packets a second, since the first reset.
DQ_TIME = int(6553.6 * 256)  # 2^14 bytes at 20 Mbit/s.


def flow(sfid: int, management: QueueManagement, **changes: Any) -> ServiceFlow:
    made = ServiceFlow(
        index=sfid,
        port=1,
        direction="upstream",
        modem=1,
        modem_name="cm1",
        reference=sfid,
        sfid=sfid,
        class_name="",
        primary=False,
        traffic_priority=0,
        max_sustained_rate=20_000_000,
        peak_rate=25_000_000,
        max_burst=500_000,
        min_reserved_rate=0,
        assumed_packet_size=64,
        channel_rate=100_000_000,
        initial_tokens=500_000,
        buffer_size=625_000,
        max_frame=1522,
        management=management,
        latency_target_us=15_000
        if isinstance(management, Pie | Pie002 | DocsisPie2014)
        else 10_000,
        tos_and=255,
        tos_or=0,
    )
    return replace(made, **changes)


def readings(tick: float, **registers: list[int]) -> Readings:
    """At a tick; registers that are not given are 0."""
    count = len(next(iter(registers.values())))
    now_us = int(10**9 + tick * TICK_US)
    registers = {"msr_updated": [now_us] * count, **registers}
    values: list[Any] = [
        np.array(registers.get(name, [0] * count), np.int64) for name in FIELDS + NEEDED
    ]
    return Readings(now_us, *values)


class Device:
    """Some service flows with the same backlog, tick by tick."""

    def __init__(self, *managements: QueueManagement, **changes: Any) -> None:
        self.law = DeviceLaw([flow(i + 1, each, **changes) for i, each in enumerate(managements)])
        self.count = len(managements)
        self.now = 0.0

    def tick(self, backlog: int = 0, ticks: float = 1.0, **registers: int) -> tuple[Settings, Any]:
        self.now += ticks
        given = {name: [value] * self.count for name, value in registers.items()}
        seen = readings(self.now, enqueued_bytes=[backlog] * self.count, **given)
        return self.law.update(seen, round(self.now))


def change(device: Device, *managements: QueueManagement, **changes: Any) -> None:
    law = DeviceLaw([flow(i + 1, each, **changes) for i, each in enumerate(managements)])
    law.follow(device.law)
    device.law, device.count = law, len(managements)


def loaded(*managements: QueueManagement) -> tuple[Device, Observation]:
    """After so many ticks that each law has a probability of its own."""
    device, sent = Device(*managements), 0
    for tick in range(60):
        sent += 20_000
        _, seen = device.tick(
            sent + 3_000 * tick,
            dequeued_bytes=sent,
            avg_dq_time=DQ_TIME,
            red_avg=1 << 36,
            arrivals=tick,
            enqueued_packets=20 + tick,
            departure_rate=PACKET_RATE if tick else 0,
        )
    return device, seen


LAWS = (
    DocsisPie(),
    DocsisPie(rate_tracking=True),
    Pie(),
    AdaptiveRed(),
    Pie002(),
    DocsisPie2014(),
)
