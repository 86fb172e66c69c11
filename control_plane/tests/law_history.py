# SPDX-License-Identifier: Apache-2.0
"""Hashes the decisions of every law over some hundred ticks of random input, bit by bit.

A program, too: it prints the hashes as JSON.
"""

import hashlib
import json
import random
from collections.abc import Sequence

from law_devices import EVERY, TICK_US, flow, readings

from docsis_control.law.service_flows import DeviceLaw
from docsis_control.queue_managers.management import QueueManagement

TICKS = 400
LONG_QUEUE = 400_000
COUNTER = 1 << 32
SINCE = ("msr_bucket",)
"""Fields of an observation that are younger than the recorded hashes, which leave them out."""


class Queue:
    """A service flow that is busy, idle or restless for a while, and then something else."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._left = 0
        self._most = 0
        self._rate = 0
        self.sent = draw.randrange(COUNTER)
        self.backlog = 0
        self.packets = 0
        self.met = 0
        self.sequence = 0
        self.state = 0

    def step(self) -> dict[str, int]:
        draw = self._draw
        if not self._left:
            self._left = draw.randrange(1, 90)
            self._most = draw.choice((0, 0, 3_000, 40_000, LONG_QUEUE))
            self._rate = draw.choice((0, 10_000, 40_000))
        self._left -= 1
        self.sent = (self.sent + draw.randrange(self._rate + 1)) % COUNTER
        self.backlog = min(self._most, max(0, self.backlog + draw.randrange(-30_000, 40_000)))
        self.packets += draw.randrange(20)
        self.met += draw.randrange(3) // 2
        if draw.random() < 0.02:
            self.sequence += 1
            self.state = draw.choice((0, 2, 2))
        return {
            "dequeued_bytes": self.sent,
            "enqueued_bytes": (self.sent + self.backlog) % COUNTER,
            "msr_tokens": draw.randrange(500_000 * 8_000_000),
            "data_state": self.sequence << 2 | self.state,
            "avg_dq_time": draw.choice((0, draw.randrange(1, 5_000_000))),
            "requests_met": self.met,
            "red_avg": draw.randrange(self.backlog + 1) << 16,
            "arrivals": self.packets % COUNTER,
            "dequeued_packets": self.packets % COUNTER,
            "enqueued_packets": (self.packets + self.backlog // 1_000) % COUNTER,
            "departure_rate": draw.randrange(3) << 40 | draw.randrange(3_000) << 16,
        }


def history(managements: Sequence[QueueManagement], seed: int) -> str:
    """The hash of all that the laws of such service flows decide and see."""
    draw = random.Random(seed)
    law = DeviceLaw(
        [
            flow(
                number,
                management,
                max_sustained_rate=draw.choice((0, 2_000_000, 20_000_000, 999_999_937)),
                peak_rate=draw.choice((0, 25_000_000, 1_000_000_007)),
            )
            for number, management in enumerate(managements, 1)
        ]
    )
    queues = [Queue(draw) for _ in managements]
    found = hashlib.sha256()
    tick = 0
    for _ in range(TICKS):
        # Some ticks are missed, and once in a while there is a gap.
        tick += draw.choice((1,) * 40 + (2, 3, 7, 100))
        steps = [queue.step() for queue in queues]
        registers = {name: [step[name] for step in steps] for name in steps[0]}
        late_us = draw.randrange(TICK_US)
        given = readings(tick + late_us / TICK_US, **registers)
        settings, seen = law.update(given, tick)
        for part in (settings, seen):
            for name, values in zip(part._fields, part, strict=True):
                if name in SINCE:
                    continue
                for array in values if isinstance(values, tuple) else (values,):
                    found.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()


def hashes() -> dict[str, str]:
    """Hashes each law's results with one service flow and with several, and all laws' together."""
    found = {}
    every: tuple[QueueManagement, ...] = EVERY
    for number, management in enumerate(every):
        for count in (1, 9):
            name = f"{number} {type(management).__name__} {count}"
            found[name] = history([management] * count, 7 * number + count)
    # NumPy computes more than some hundred elements in other ways than a few.
    found["all together"] = history(every * 30, 1)
    return found


if __name__ == "__main__":
    print(json.dumps(hashes(), indent=4))
