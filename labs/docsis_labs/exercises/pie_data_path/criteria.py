# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 6. Bands are RFC 8034's bounds, or of chance with `law.CONFIDENCE`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.pie_data_path import law
from docsis_labs.exercises.pie_data_path.bench import MEAN, TARGET_US, Bench, q4_28
from docsis_labs.p4.program import Program

_OFTEN: Final = 0.06
"""A drop_prob with which the first coin falls at the 15th frame, and PROB_HIGH is at the 142nd."""

_LONG: Final = 2 * TARGET_US
_SHORT: Final = 4_000
"""Queue delays: above the target, and below half of it."""

_COINS: Final = 2000

_SOON: Final = 11
"""Half of all drops come within this many coins of the drop before."""
_SOON_COINS: Final = 800
"""How many of these coins are looked at. A right program throws 1342 of them for 5000 frames, with
a standard deviation of 45."""

_ROUNDS: Final = 100
"""A wrong coin of 32 bits falls with 0.05, so in 99.4 % of cases it falls in one of the rounds."""

_BEHIND: Final = 12
"""Frames of which each is dropped with a probability of 0.85: one is, but for 1e-10."""


def nothing(program: Program) -> Verdict:
    """No probability, a queue that stands, and both directions."""
    bench = Bench(program)
    gone = bench.drops(bench.offer(300))
    if any(gone):
        return Missed(
            "drops-at-zero", f"With a drop_prob of 0 {sum(gone)} of 300 frames were dropped."
        )
    return Passed()


def burst(program: Program) -> Verdict:
    """While there is an allowance nothing is dropped, and behind it everything begins anew."""
    bench = Bench(program)
    bench.control(drop_prob=0.1, qdelay_old_us=_LONG, burst_allowance_us=142_000)
    during = bench.offer(300)
    bench.control(drop_prob=0.1, qdelay_old_us=_LONG)
    behind = bench.offer(law.first_coin(q4_28(0.1)) - 1)
    gone = bench.dropped()
    dropped = len(gone.intersection(during))
    if dropped:
        return Missed(
            "burst-not-allowed",
            f"{dropped} of 300 frames were dropped while burst_allowance_ was 142 ms: as long as "
            "it is not 0 every frame is queued.",
        )
    if gone.intersection(behind):
        return Missed(
            "accumulates-in-burst",
            "A frame was dropped right behind the burst allowance, at which accu_prob had to be "
            "near 0: during the allowance RFC 8034 returns before it accumulates.",
        )
    if _dropped_beside_a_burst(program, bursts=False) and not _dropped_beside_a_burst(
        program, bursts=True
    ):
        return Missed(
            "burst-resets",
            f"{_ROUNDS} times a frame came with a drop_prob of 0.8, one while burst_allowance_ was "
            "not 0, and one with 0.8 again. None of the last was dropped, but without the one in "
            "between some were: during the allowance accu_prob_ stays as it is.",
        )
    return Passed("300 frames passed in a burst, and the first ones behind it.")


def _dropped_beside_a_burst(program: Program, *, bursts: bool) -> int:
    """How many frames are dropped of those at which 1.6 have accumulated, 0.8 at one before.

    For each a coin is thrown that falls with 0.8: of _ROUNDS frames one is dropped, but for
    1e-70. That is so with a frame in a burst between the two, too, because it changes nothing.
    """
    bench = Bench(program)
    second = []
    for _ in range(_ROUNDS):
        bench.control(drop_prob=0.8, qdelay_old_us=_LONG)
        bench.offer(1)
        if bursts:
            bench.control(drop_prob=0.8, qdelay_old_us=_LONG, burst_allowance_us=16_000)
            bench.offer(1)
            bench.control(drop_prob=0.8, qdelay_old_us=_LONG)
        second.append(bench.offer(1).start)
        # Whatever accu_prob is now, the next round begins at 0.
        bench.control(drop_prob=0.0, qdelay_old_us=_LONG)
        bench.offer(1)
    return len(bench.dropped().intersection(second))


def _drops(program: Program, count: int, drop_prob: float, length: int = MEAN) -> list[bool]:
    bench = Bench(program)
    bench.control(drop_prob=drop_prob, qdelay_old_us=_LONG)
    return bench.drops(bench.offer(count, length))


def gaps(program: Program) -> Verdict:
    """Between two drops accu_prob has to come to PROB_LOW again."""
    drops = _drops(program, 2000, _OFTEN)
    if not any(drops):
        return Missed(
            "never-drops",
            f"Of 2000 frames of 1024 bytes none was dropped with a drop_prob of {_OFTEN}.",
        )
    least = law.first_coin(q4_28(_OFTEN))
    found = law.gaps(drops)
    if min(found) >= least:
        return Passed(f"{len(found)} drops, {min(found)} to {max(found)} frames apart.")
    if all(drops[-100:]):
        return Missed(
            "never-reset",
            "In the end every frame was dropped: a drop sets accu_prob to 0, or it stays above "
            "PROB_HIGH for ever.",
        )
    return Missed(
        "no-lower-bound",
        f"Two drops were {min(found)} frames apart. With a drop_prob of {_OFTEN} accu_prob is "
        f"below PROB_LOW, 0.85, for the first {least - 1} frames behind a drop, and no drop comes.",
    )


def coin(program: Program) -> Verdict:
    """The first coins that are thrown are independent of what they decide: a binomial interval."""
    p1 = q4_28(_OFTEN)
    drops = _drops(program, 5000, _OFTEN)
    reading = law.read(drops, p1)
    coins = reading.coins[:_COINS]
    low, high = law.binomial_interval(len(coins), p1)
    fell = sum(coins)
    if low <= fell <= high and len(coins) == _COINS:
        soon = [
            drop
            for drop, before in zip(reading.coins, reading.before, strict=True)
            if before < _SOON
        ][:_SOON_COINS]
        low_soon, high_soon = law.binomial_interval(len(soon), p1)
        if not low_soon <= sum(soon) <= high_soon:
            found = law.gaps(drops)
            return Missed(
                "not-random",
                f"As many frames were dropped as {_COINS} coins say, but not at random: they are "
                f"{min(found)} to {max(found)} frames apart, and of {len(soon)} frames that were "
                f"among the first {_SOON} above PROB_LOW behind a drop {sum(soon)} were dropped; "
                f"by chance it is {low_soon} to {high_soon}. Each coin is thrown anew.",
            )
        return Passed(
            f"Of the first {_COINS} frames at which the coin decides {fell} were dropped; by "
            f"chance it is {low} to {high}."
        )
    if fell > high:
        if fell > len(coins) * 0.8:
            return Missed(
                "coin-of-accu-prob",
                f"As soon as accu_prob was above PROB_LOW, {fell} of {len(coins)} frames were "
                f"dropped: the coin is to fall with p1, {_OFTEN}, and not with accu_prob.",
            )
        return Missed(
            "wrong-coin", f"{fell} of {len(coins)} coins said drop; by chance {low} to {high} do."
        )
    found = law.gaps(drops)
    small = (p1 * MEAN & 0xFFFF_FFFF) >> 10
    if found and min(found) >= law.first_coin(small):
        return Missed(
            "product-overflows",
            f"The drops are {min(found)} frames apart at the least, as with a drop_prob of "
            f"{small / (1 << 28):.4f} in the place of {_OFTEN}: drop_prob * packet_size needs 42 "
            "bits, and 32 bits keep the lower ones.",
        )
    return Missed(
        "coin-of-32-bits",
        f"{fell} of {len(coins)} coins said drop; by chance {low} to {high} do. In Q4.28 a "
        "probability of 1 is 1 << 28: from where to where does random() draw?",
    )


def size(program: Program) -> Verdict:
    """A sixteenth of the size, a sixteenth of the probability; and no p1 above PROB_LOW."""
    p1 = q4_28(0.16) * 64 // MEAN
    drops = _drops(program, 2000, 0.16, length=64)
    found = law.gaps(drops)
    if found and min(found) < law.first_coin(p1):
        return Missed(
            "size-ignored",
            f"Two frames of 64 bytes were dropped {min(found)} frames apart with a drop_prob of "
            f"0.16. That is of frames of 1024 bytes: of 64 bytes p1 is 0.01, and "
            f"{law.first_coin(p1) - 1} frames pass behind a drop.",
        )
    if not found:
        return Missed(
            "never-drops", "Of 2000 frames of 64 bytes none was dropped with a drop_prob of 0.16."
        )
    count = 600
    low, high = law.binomial_interval(count, law.PROB_LOW)
    fell = sum(_drops(program, count, 2.0, length=1500))
    if not low <= fell <= high:
        return Missed(
            "no-cap-of-p1",
            f"With a drop_prob of 2 {fell} of {count} frames of 1500 bytes were dropped; with p1 "
            f"at PROB_LOW, 0.85, it is {low} to {high}: p1 is never more than PROB_LOW.",
        )
    return Passed()


def forced(program: Program) -> Verdict:
    """accu_prob goes on while the AQM is still, and at PROB_HIGH the next frame is dropped."""
    rounds = []
    for frames in (150, 268):
        bench = Bench(program)
        groups = []
        for _ in range(12):
            bench.control(drop_prob=_OFTEN, qdelay_old_us=_SHORT)
            bench.offer(frames)
            bench.control(drop_prob=_OFTEN, qdelay_old_us=_LONG)
            groups.append(bench.offer(law.first_coin(q4_28(_OFTEN)) - 1))
            # Whatever accu_prob is now, the next round begins at 0.
            bench.control(drop_prob=0.0, qdelay_old_us=_LONG)
            bench.offer(1)
        gone = bench.dropped()
        rounds.append((groups, gone))
    (groups, gone), (long_groups, long_gone) = rounds
    if all(group[0] in gone for group in groups):
        # No chance is in it: those behind the first come with less than 0.85 accumulated.
        again = sum(len(gone.intersection(group[1:])) for group in groups)
        if again:
            return Missed(
                "forced-not-reset",
                "The AQM kept still for 150 frames, by which 9 accumulate. The next frame was "
                f"dropped, as it has to be, and so were {again} of the "
                f"{len(groups) * (len(groups[0]) - 1)} frames right behind such a drop: a drop "
                "that was forced sets accu_prob to 0 like any other.",
            )
        if all(group[0] in long_gone for group in long_groups):
            return Passed()
        return Missed(
            "accu-prob-wraps",
            "The AQM kept still for 268 frames, by which 16.08 accumulate, and then let the next "
            "frame pass: 16 does not fit into Q4.28. Stop at PROB_HIGH: more changes nothing.",
        )
    if not any(gone.intersection(group) for group in groups):
        return Missed(
            "still-does-not-accumulate",
            "The AQM kept still for 150 frames because of a low qdelay_old, and then let as many "
            "pass as behind a drop: RFC 8034 accumulates first, and only then returns.",
        )
    return Missed(
        "no-upper-bound",
        "The AQM kept still for 150 frames, by which 9 accumulate, and then let the next frame "
        "pass: from PROB_HIGH, 8.5, on a frame is dropped whatever the coin says.",
    )


def still(program: Program) -> Verdict:
    """The three numbers that keep the AQM still: qdelay_old, drop_prob, the queue's length."""
    empty = Bench(program, standing=False)
    empty.control(drop_prob=0.5, qdelay_old_us=_LONG)
    frames = empty.offer(1)
    for _ in range(200):
        empty.wait(10)
        frames = range(frames.start, empty.offer(1).stop)
    dropped = sum(empty.drops(frames))
    if dropped:
        return Missed(
            "short-queue-drops",
            f"{dropped} of {len(frames)} frames were dropped that came to an empty queue: with two "
            "mean packets waiting, 2048 bytes, or less nothing is dropped.",
        )
    if _dropped_behind(program, 2 * MEAN):
        return Missed(
            "queue-bound-too-low",
            "Frames were dropped with exactly 2048 bytes waiting: with two mean packets or less "
            "nothing is dropped.",
        )
    if not _dropped_behind(program, 2 * MEAN + 1):
        return Missed(
            "queue-bound-too-high",
            "With 2049 bytes waiting nothing was dropped: the AQM keeps still up to 2048 bytes, "
            "without the frame that comes, and not beyond.",
        )
    for qdelay_old, drop_prob, drops, missed in (
        (4_900, 0.19, False, Missed(
            "low-delay-drops",
            "Frames were dropped with a qdelay_old of 4.9 ms and a drop_prob of 0.19: below half "
            "of the target, 5 ms, and below 0.2 the AQM keeps still.",
        )),
        (_SHORT, 0.3, True, Missed(
            "low-delay-always-still",
            "Nothing was dropped with a qdelay_old of 4 ms and a drop_prob of 0.3: the AQM keeps "
            "still when the delay is low *and* drop_prob is below 0.2.",
        )),
        (_SHORT, 0.21, True, Missed(
            "prob-bound-too-high",
            "Nothing was dropped with a qdelay_old of 4 ms and a drop_prob of 0.21: the AQM keeps "
            "still while drop_prob is below 0.2, and no longer.",
        )),
        (5_100, 0.1, True, Missed(
            "whole-target",
            "Nothing was dropped with a qdelay_old of 5.1 ms and a drop_prob of 0.1: the bound is "
            "half of the target of 10 ms.",
        )),
    ):  # fmt: skip
        bench = Bench(program)
        bench.control(drop_prob=drop_prob, qdelay_old_us=qdelay_old)
        if any(bench.drops(bench.offer(300))) != drops:
            return missed
    return Passed()


def _dropped_behind(program: Program, waiting: int) -> int:
    """How many of _BEHIND frames are dropped that come while some bytes wait, and no more."""
    bench = Bench(program)
    gone = []
    for _ in range(_BEHIND):
        bench.stand(waiting)
        # p1 is PROB_LOW, and so is what accumulates: the coin is thrown for the very first frame.
        bench.control(drop_prob=2.0, qdelay_old_us=_LONG)
        gone.append(bench.offer(1).start)
    return len(bench.dropped().intersection(gone))


def reset(program: Program) -> Verdict:
    """A drop_prob of 0 forgets what has accumulated."""
    bench = Bench(program)
    most = law.first_coin(q4_28(_OFTEN)) - 1
    groups = []
    for _ in range(12):
        for drop_prob, count in ((_OFTEN, most), (0.0, 1)):
            bench.control(drop_prob=drop_prob, qdelay_old_us=_LONG)
            groups.append(bench.offer(count))
    gone = bench.dropped()
    if any(gone.intersection(group) for group in groups):
        return Missed(
            "zero-not-reset",
            f"{most} frames came with a drop_prob of {_OFTEN}, one with 0, and again: a frame was "
            "dropped with less than 0.85 accumulated since. Where drop_prob is 0, accu_prob is "
            "set to 0.",
        )
    return Passed()


JUDGES: Final[Mapping[str, Callable[[Program], Verdict]]] = {
    judge.__name__: judge for judge in (nothing, burst, gaps, coin, size, forced, still, reset)
}
