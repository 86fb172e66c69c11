# SPDX-License-Identifier: Apache-2.0
"""PIE as 002 has it: its update against the slides' pseudocode, and what the law makes of readings.

The data path's half is held to the slides by switch/crates/device/tests/it/pie_002.rs.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_devices import Device, change

from docsis_control.law.docsis_pie import Status
from docsis_control.law.pie_002 import (
    RATE_ONE,
    RESETS,
    Parameters,
    State,
    packets_a_second,
    queue_delay,
    queue_length,
    updated,
)
from docsis_control.queue_managers.document import from_mapping
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.managers.pie import Pie
from docsis_control.queue_managers.managers.pie_002 import Pie002

ALPHA, BETA, TARGET = 0.25, 2.5, 0.015


@dataclass
class Slides:
    """The slides' update, in their order and with their names; Pdrop is kept a probability."""

    Pdrop: float = 0.0
    prev_delay: float = 0.0
    resets: int = 0
    seen: list[float] = field(default_factory=list)

    def update(self, cur_size: int, departure_rate: float) -> None:
        cur_delay = cur_size / departure_rate if departure_rate else 0.0
        self.Pdrop = (
            self.Pdrop + ALPHA * (cur_delay - TARGET) + BETA * (cur_delay - self.prev_delay)
        )
        self.Pdrop = min(1.0, max(0.0, self.Pdrop))
        if (
            cur_delay < (0.5 * TARGET)
            and self.prev_delay < (0.5 * TARGET)
            and self.Pdrop == 0
            and departure_rate
        ):
            self.resets += 1
        self.prev_delay = cur_delay
        self.seen.append(self.Pdrop)


def parameters(count: int = 1) -> Parameters:
    return Parameters(np.full(count, ALPHA), np.full(count, BETA), np.full(count, TARGET))


def state(drop_prob: float = 0.0, prev_delay: float = 0.0, resets: int = 0) -> State:
    return State(np.array([drop_prob]), np.array([prev_delay]), np.array([resets]))


def step(before: State, cur_delay: float, *, measured: bool = True) -> State:
    return updated(parameters(), before, np.array([cur_delay]), np.array([measured]))


QUEUES = st.tuples(st.integers(0, 2048), st.sampled_from((0.0, 100.0, 412.5, 3166.7, 100_000.0)))


@given(st.lists(QUEUES, min_size=1, max_size=200))
def test_follows_the_pseudocode(queues: list[tuple[int, float]]) -> None:
    slides, law = Slides(), state()
    for cur_size, rate in queues:
        slides.update(cur_size, rate)
        delay = queue_delay(np.array([cur_size]), np.array([rate]))
        law = updated(parameters(), law, delay, np.array([rate > 0]))
        assert law.drop_prob[0] == pytest.approx(slides.Pdrop, abs=1e-12)
        assert law.prev_delay[0] == pytest.approx(slides.prev_delay, abs=1e-15)
        # The law may call 0 what the slides call 1e-17.
        if slides.Pdrop == law.drop_prob[0]:
            assert law.resets[0] == slides.resets % RESETS


def test_golden_steps() -> None:
    # By hand: 0.25 * (0.035 - 0.015) + 2.5 * (0.035 - 0.025).
    assert step(state(0.1, 0.025), 0.035).drop_prob[0] == pytest.approx(0.13)
    # No table makes a small probability's step smaller, and no bound a great one's.
    assert step(state(0.0, 0.025), 0.035).drop_prob[0] == pytest.approx(0.03)
    assert step(state(0.5, 0.0), 0.115).drop_prob[0] == pytest.approx(0.5 + 0.025 + 0.2875)
    # And nothing decays but by the delay's distance from the target.
    assert step(state(0.5, 0.0), 0.0).drop_prob[0] == pytest.approx(0.5 - 0.00375)


def test_starts_afresh_only_when_all_is_quiet_and_something_was_measured() -> None:
    half = TARGET / 2
    for drop_prob, prev, cur, measured, quiet in (
        (0.0, 0.007, 0.007, True, True),
        (0.0, 0.007, 0.007, False, False),
        (0.0, half, 0.007, True, False),
        (0.0, 0.007, half, True, False),
        (0.1, 0.007, 0.007, True, False),
        (0.001, 0.007, 0.007, True, True),
    ):
        after = step(state(drop_prob, prev, 3), cur, measured=measured)
        assert after.resets[0] == (0 if quiet else 3), (drop_prob, prev, cur, measured)


@given(st.floats(0, 1), st.floats(0, 100), st.floats(0, 100), st.booleans())
def test_stays_in_bounds(drop_prob: float, prev: float, cur: float, measured: bool) -> None:
    after = step(state(drop_prob, prev, 2), cur, measured=measured)
    assert 0 <= after.drop_prob[0] <= 1
    assert after.prev_delay[0] == cur
    assert after.resets[0] in (2, 3)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_service_flows_do_not_mix(flows: list[tuple[float, float, float]]) -> None:
    drop_prob, prev, cur = (np.array(column) for column in zip(*flows, strict=True))
    count = len(flows)
    together = updated(
        parameters(count),
        State(drop_prob, prev, np.zeros(count, np.int64)),
        cur,
        np.ones(count, np.bool_),
    )
    for column, (p, before, now) in enumerate(flows):
        alone = step(state(p, before), now)
        assert together.drop_prob[column] == alone.drop_prob[0]
        assert together.resets[column] == alone.resets[0]


def test_a_rate_is_of_one_reset() -> None:
    register = np.array([(2 << 40) | (3 * RATE_ONE // 2)])
    assert packets_a_second(register, np.array([2])).tolist() == [1.5]
    assert packets_a_second(register, np.array([3])).tolist() == [0]


def test_a_queue_is_never_negative() -> None:
    enqueued, dequeued = np.array([7, 5, 3]), np.array([5, 7, 2**32 - 1])
    assert queue_length(enqueued, dequeued).tolist() == [2, 0, 4]
    assert queue_delay(np.array([100, 100]), np.array([50.0, 0.0])).tolist() == [2, 0]


def rate(resets: int, packets: int = 1000) -> int:
    return (resets << 40) | (packets << 16)


def test_the_update_waits_for_a_packet_that_finds_others() -> None:
    device = Device(Pie002())
    device.tick(arrivals=5, departure_rate=rate(3))
    # Modulo 4: the data path is told to start afresh, and what it had is no rate.
    settings, seen = device.tick(arrivals=5, enqueued_packets=50, departure_rate=rate(3))
    assert settings.control_state[0] & 3 == 0
    assert seen.qdelay[0] == 0
    # It has. The delay is seen, and nothing decided on before the next packet.
    for _ in range(3):
        settings, seen = device.tick(arrivals=5, enqueued_packets=50, departure_rate=rate(0))
        assert seen.qdelay[0] == 0.05
        assert seen.state.drop_prob[0] == 0
    settings, seen = device.tick(arrivals=6, enqueued_packets=50, departure_rate=rate(0))
    assert seen.state.drop_prob[0] == pytest.approx(0.25 * 0.035 + 2.5 * 0.05)
    assert settings.qdelay_old[0] == 50_000
    # Pdrop rests while nothing comes, for as long as that may be.
    probability = seen.state.drop_prob[0]
    for _ in range(100):
        settings, seen = device.tick(arrivals=6, departure_rate=rate(0))
    assert seen.state.drop_prob[0] == probability
    settings, seen = device.tick(arrivals=7, departure_rate=rate(0))
    assert seen.state.drop_prob[0] == pytest.approx(
        max(0, probability - 0.25 * 0.015 - 2.5 * 0.05), abs=1e-12
    )


def test_an_interval_of_its_own() -> None:
    device = Device(from_mapping({"algorithm": "pie-002", "update_interval": "48 ms"}))
    found = []
    for tick in range(12):
        _, seen = device.tick(
            arrivals=tick, enqueued_packets=100, departure_rate=rate(1 if tick else 0)
        )
        found.append(seen.state.drop_prob[0])
    steps = [tick for tick, (a, b) in enumerate(pairwise(found), 1) if a != b]
    assert steps == [2, 5, 8, 11]


def test_a_reset_is_decided_on_once() -> None:
    """A quiet queue: each measurement is started afresh, and nothing is asked twice."""
    device, numbers = Device(Pie002()), []
    for tick, measured in enumerate((0, rate(1), rate(1), rate(1), rate(2), rate(2))):
        settings, _ = device.tick(arrivals=tick, departure_rate=measured)
        numbers.append(int(settings.control_state[0]) & 3)
    # The data path did 1 and measured; told 2, it had none for two intervals; then it had.
    assert numbers == [1, 2, 2, 2, 3, 3]


def test_other_laws_come_and_go() -> None:
    device = Device(Pie002(), Pie(), DropTail())
    for tick in range(4):
        _, seen = device.tick(
            arrivals=tick, enqueued_packets=100, departure_rate=rate(1 if tick else 0)
        )
    probability = seen.state.drop_prob[0]
    assert probability > 0
    assert np.isnan(seen.rate_estimate[0])
    # Whatever the number of resets is: the operator sees a law that is active.
    assert seen.state.status.tolist() == [Status.ACTIVE, Status.ACTIVE, Status.INACTIVE]
    # It goes on where it was, also when another comes to its law's arrays.
    change(device, Pie002(), Pie002(), Codel())
    _, seen = device.tick(arrivals=3, enqueued_packets=100, departure_rate=rate(1))
    assert seen.state.drop_prob.tolist() == [probability, 0, 0]
    settings, seen = device.tick(arrivals=4, enqueued_packets=100, departure_rate=rate(1))
    assert seen.state.drop_prob[0] > probability
    # The newcomer starts the data path afresh: its number is another than the register's.
    assert (settings.control_state & 3).tolist()[:2] == [1, 2]
