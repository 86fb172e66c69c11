# SPDX-License-Identifier: Apache-2.0
"""The random states of DOCSIS-PIE's data path: they come by every branch of RFC 8034 A.3."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from docsis_ptf import pie_states
from docsis_ptf.drop_early import ONE, Pie, Status, enqueue
from docsis_ptf.renewal import PROB_HIGH, PROB_LOW

PIE = Pie(
    drop_prob=ONE // 2,
    accu_prob=0,
    qdelay_old=20_000,
    burst_allowance=0,
    status=Status.ACTIVE,
    latency_target=10_000,
    buffer_size=30_000,
)


def branch(pie: Pie, size: int, queued: int) -> str:
    """The way that a packet takes through the RFC's pseudocode."""
    decision = enqueue(pie, size, queued)
    if decision.full:
        return "full"
    if pie.burst_allowance:
        return "burst"
    if decision.enqueued.status is Status.INACTIVE:
        return "inactive"
    if decision.chance == 1:
        return "certain"
    if decision.chance:
        return f"random in {decision.enqueued.status.name}"
    suppressed = decision.enqueued.accu_prob >= PROB_LOW
    return "suppressed" if suppressed else "not yet"


def test_every_branch_is_taken_often() -> None:
    """As often as the suite's test takes them, with its seeds and numbers."""
    ways: Counter[str] = Counter()
    chances: Counter[int] = Counter()
    for seed in (1, 2, 3, 4):
        draw = Random(seed)
        configs = [pie_states.config(draw) for _ in range(48)]
        for _ in range(20):
            sizes = [draw.choice(pie_states.LENGTHS) for _ in configs]
            for given, size in zip(configs, sizes, strict=True):
                state = pie_states.state(draw, given, size)
                pie = state.pie(given)
                ways[branch(pie, size, state.backlog)] += 1
                chance = float(enqueue(pie, size, state.backlog).chance)
                chances[sum(chance >= edge for edge in (1e-9, 0.15, 0.5, 1))] += 1
    assert set(ways) == {
        "full", "burst", "inactive", "certain", "suppressed", "not yet",
        "random in QUIESCENT", "random in ACTIVE",
    }  # fmt: skip
    assert min(ways.values()) >= 100, ways
    assert min(chances[n] for n in (1, 2, 3)) >= 100, chances


@pytest.mark.parametrize(
    ("changes", "size", "queued", "chance", "accu_prob", "status"),
    [
        # Half of PROB_LOW and more to go.
        ({}, 1024, 9_000, 0.0, ONE // 2, Status.ACTIVE),
        ({"accu_prob": PROB_LOW - ONE // 2}, 1024, 9_000, 0.5, PROB_LOW, Status.ACTIVE),
        ({"accu_prob": PROB_LOW - ONE // 2 - 1}, 1024, 9_000, 0.0, PROB_LOW - 1, Status.ACTIVE),
        ({"accu_prob": PROB_HIGH - ONE // 2}, 1024, 9_000, 1.0, PROB_HIGH, Status.ACTIVE),
        # By size, and no more than PROB_LOW.
        ({"accu_prob": PROB_LOW}, 64, 9_000, 1 / 32, PROB_LOW + ONE // 32, Status.ACTIVE),
        ({"accu_prob": PROB_LOW, "drop_prob": 13 * ONE}, 1522, 9_000, PROB_LOW / ONE, 2 * PROB_LOW,
         Status.ACTIVE),
        # Suppressed, and accumulated all the same.
        ({"accu_prob": PROB_HIGH}, 1024, 2_048, 0.0, PROB_HIGH + ONE // 2, Status.ACTIVE),
        ({"accu_prob": PROB_HIGH, "drop_prob": ONE // 8, "qdelay_old": 4_999}, 1024, 9_000, 0.0,
         PROB_HIGH + ONE // 8, Status.ACTIVE),
        ({"accu_prob": PROB_HIGH, "drop_prob": ONE // 8, "qdelay_old": 5_000}, 1024, 9_000, 1.0,
         PROB_HIGH + ONE // 8, Status.ACTIVE),
        # A burst, and no probability.
        ({"accu_prob": PROB_HIGH, "burst_allowance": 1}, 1024, 9_000, 0.0, PROB_HIGH,
         Status.ACTIVE),
        ({"accu_prob": PROB_HIGH, "drop_prob": 0}, 1024, 9_000, 0.0, 0, Status.ACTIVE),
        # A third of the buffer.
        ({"accu_prob": PROB_HIGH, "status": Status.INACTIVE}, 1024, 9_999, 0.0, PROB_HIGH,
         Status.INACTIVE),
        ({"accu_prob": PROB_HIGH, "status": Status.INACTIVE}, 1024, 10_000, 1.0,
         PROB_HIGH + ONE // 2, Status.QUIESCENT),
    ],
)  # fmt: skip
def test_the_reading_of_the_rfc(
    changes: dict[str, int],
    size: int,
    queued: int,
    chance: float,
    accu_prob: int,
    status: Status,
) -> None:
    pie = Pie(**{**vars(PIE), **changes})
    decision = enqueue(pie, size, queued)
    assert float(decision.chance) == pytest.approx(chance)
    assert (decision.enqueued.accu_prob, decision.enqueued.status) == (accu_prob, status)
    if chance:
        assert decision.dropped.accu_prob == 0
        assert decision.dropped.status is Status.ACTIVE
        burst = 142_000 if status is Status.QUIESCENT else pie.burst_allowance
        assert decision.dropped.burst_allowance == burst


def test_a_full_buffer() -> None:
    for queued, full in ((29_000, False), (29_001, True)):
        decision = enqueue(Pie(**{**vars(PIE), "accu_prob": 77}), 1_000, queued)
        assert decision.full is full
        assert decision.chance == 0
        if full:
            assert (decision.enqueued.accu_prob, decision.enqueued.status) == (0, Status.ACTIVE)
