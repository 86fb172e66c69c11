# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 3. Every number of frames below follows from rate and burst alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.numbered import Offer
from docsis_labs.exercises.token_bucket.bucket import (
    TOKENS_PER_BYTE,
    Policer,
    at_once,
    bytes_of,
    device,
    largest_burst,
    passed,
)
from docsis_labs.p4.program import Program

_START_US: Final = 3000
"""When the first frame comes, and so what a bucket that begins empty has earned by then."""

_TEN: Final = Policer(1_000_000, 10_000)
"""Ten frames of 1000 bytes fit; one is earned in 8 ms."""

_OVERLOAD: Final = Policer(800_000, 10_000)
_TIMES: Final = 10
"""How much more than the policer's rate is sent in an overload."""


def wire(program: Program) -> Verdict:
    """Both directions, no policer at all, and a policer at the other port."""
    for policers in ({}, {2: _TEN}):
        frames = [Offer(_START_US + n, 64 + 97 * n) for n in range(15)]
        if len(passed(device(program, policers), frames)) != len(frames):
            return Missed(
                "not-a-wire",
                "Frames from port 1 were lost, although the table policer has no entry for it: "
                "where the table does not hit, every frame passes to the other port.",
            )
    return Passed()


def first_burst(program: Program) -> Verdict:
    """A bucket that nobody has used is full, and a frame needs tokens for all of it."""
    small = device(program, {1: Policer(1_000_000, 1000)})
    too_long = len(passed(small, at_once(_START_US, 2, 1500)))
    if too_long == 1:
        return Missed(
            "part-of-it",
            "A frame of 1500 bytes passed a bucket that is 1000 bytes deep, and emptied it: a "
            "frame needs tokens for all of its bytes, not for the first of them.",
        )
    if too_long == 2:
        return Missed(
            "underflow",
            "Frames of 1500 bytes passed a bucket that is 1000 bytes deep. Tokens are unsigned: "
            "what is subtracted from fewer is no negative number but a huge one. Compare first.",
        )
    count = len(passed(device(program, {1: _TEN}), at_once(_START_US, 20, 1000)))
    if count == 10:
        return Passed("Of 20 frames of 1000 bytes at once 10 passed.")
    if count == 20:
        return Missed(
            "never-spends",
            "20 frames of 1000 bytes at once all passed a bucket of 10,000 bytes: a frame that "
            "passes has to pay, and what is left has to be there for the next one.",
        )
    if count == 9:
        return Missed(
            "strictly-more",
            "A bucket of 10,000 bytes let 9 frames of 1000 bytes pass and not 10: does a frame "
            "pass that takes the very last token?",
        )
    if count == 0:
        return Missed(
            "empty-at-first",
            f"A switch that started {_START_US // 1000} ms ago let nothing of its first burst "
            "pass: registers begin with 0, but a bucket that nobody has used yet is full.",
        )
    return Missed(
        "wrong-burst",
        f"A bucket of 10,000 bytes let {count} of 20 frames of 1000 bytes at once pass, not 10.",
    )


def frame_length(program: Program) -> Verdict:
    """A hundred frames of 64 bytes fit into 6400, with or without padding."""
    policer = Policer(1_000_000, 6400)
    count = len(passed(device(program, {1: policer}), at_once(_START_US, 200, 64)))
    if count == 106:
        return Missed(
            "no-fcs",
            "A bucket of 6400 bytes let 106 frames of 64 bytes pass and not 100: packet_length "
            "is without the four bytes of the FCS, which are on the wire as well.",
        )
    if count != 100:
        return Missed(
            "wrong-length",
            f"A bucket of 6400 bytes let {count} frames of 64 bytes pass and not 100.",
        )
    count = len(passed(device(program, {1: policer}), at_once(_START_US, 200, 50)))
    if count == 128:
        return Missed(
            "no-padding",
            "Frames that came with 46 bytes cost 50 each. A virtual interface hands over short "
            "frames as they are, but no frame on a wire is shorter than 64 bytes.",
        )
    if count != 100:
        return Missed(
            "wrong-length",
            f"A bucket of 6400 bytes let {count} frames pass that Ethernet pads to 64, not 100.",
        )
    return Passed()


def _overload() -> list[Offer]:
    """Frames of all lengths for a second, ten times as many bytes as the rate lets pass."""
    draws = random.Random(3)
    frames: list[Offer] = []
    at = float(_START_US)
    while at < _START_US + 1_000_000:
        length = draws.randint(64, 1518)
        frames.append(Offer(int(at), length))
        # Gaps are exponential: several frames in one microsecond, and pauses.
        at += draws.expovariate(1 / (length * 8e6 / (_TIMES * _OVERLOAD.rate)))
    return frames


def not_more(program: Program) -> Verdict:
    """Bytes of every interval, and not only of the whole."""
    frames = _overload()
    through = [frames[n] for n in passed(device(program, {1: _OVERLOAD}), frames)]
    needed = largest_burst(through, _OVERLOAD.rate)
    if needed <= _OVERLOAD.burst * TOKENS_PER_BYTE:
        return Passed(f"Of {len(frames)} frames of all lengths {len(through)} passed.")
    seconds = (frames[-1].at_us - frames[0].at_us) / 1e6
    ratio = (bytes_of(through) - _OVERLOAD.burst) * 8 / seconds / _OVERLOAD.rate
    if 7 < ratio < 9:
        return Missed(
            "bits-for-bytes",
            f"{ratio:.1f} times the rate passed: a byte has eight bits, and the rate is in bit/s.",
        )
    if ratio > 1.2:
        return Missed(
            "refilled-twice",
            f"Under an overload {ratio:.1f} times the rate passed. Is the time of the last refill "
            "written down for dropped frames, too? Otherwise the next one refills it again.",
        )
    return Missed(
        "too-much",
        f"An interval had {needed / TOKENS_PER_BYTE - _OVERLOAD.burst:.0f} bytes more than "
        "rate * t / 8 + burst. Does a frame need tokens for all of its bytes?",
    )


def not_less(program: Program) -> Verdict:
    """At each drop the bucket held less than the longest frame: so much was passed by then."""
    # 2000 bytes of tokens and no refill: 1500 pass, 1000 do not, and 400 still do.
    slow = device(program, {1: Policer(8, 2000)})
    three = [Offer(_START_US, length) for length in (1500, 1000, 400)]
    if passed(slow, three) == [0]:
        return Missed(
            "drops-pay",
            "Of 1500, 1000 and 400 bytes in a bucket of 2000 the last was dropped: a frame that "
            "is dropped takes no tokens along.",
        )
    # A byte takes 8 us: 625 bytes are earned, and 625 more.
    switch = device(program, {1: Policer(1_000_000, 1000)})
    if passed(switch, [Offer(_START_US + at, 1000) for at in (0, 5000, 10_000)]) == [0]:
        return Missed(
            "refill-lost",
            "With a bucket of 1000 bytes at 1 Mbit/s, frames of 1000 bytes 5 ms apart: the first "
            "passed, the second was dropped, but the third was, too. What the second one's time "
            "had earned was not written down, but that time was.",
        )
    frames = _overload()
    through = set(passed(device(program, {1: _OVERLOAD}), frames))
    if len(through) == len(frames):
        return _often(program)
    # Up to the last frame that was dropped.
    last = max(n for n in range(len(frames)) if n not in through)
    until = bytes_of([frames[n] for n in range(last) if n in through])
    earned = (frames[last].at_us - frames[0].at_us) * _OVERLOAD.rate // TOKENS_PER_BYTE
    if until < earned + _OVERLOAD.burst - 1518:
        ratio = (until - _OVERLOAD.burst) / max(1, earned)
        if 0.94 < ratio < 0.965:
            return Missed(
                "power-of-two",
                f"{ratio:.3f} of the rate passed. 8,000,000 is not 2^23: a shift in the place of "
                "a division costs 4.6 %.",
            )
        return Missed("too-little", f"Under an overload {ratio:.2f} of the rate passed.")
    return _often(program)


def _often(program: Program) -> Verdict:
    """Frames that come so often that each of them finds a fraction of a byte more."""
    policer = Policer(1_500_000, 640)
    frames = [Offer(_START_US + 7 * n, 64) for n in range(5000)]
    bytes_passed = 64 * len(passed(device(program, {1: policer}), frames))
    earned = 7 * 4999 * policer.rate // TOKENS_PER_BYTE + policer.burst
    if bytes_passed < earned - 64:
        return Missed(
            "whole-bytes",
            f"With a frame every 7 us only {bytes_passed} of {earned} bytes passed. 7 us earn 1.31 "
            "bytes at this rate: what is rounded off for each frame is lost for good.",
        )
    return Passed("The rate and the burst were used up, with frames often and seldom.")


def idle(program: Program) -> Verdict:
    """A pause earns tokens, up to the depth."""
    switch = device(program, {1: _TEN})
    passed(switch, at_once(_START_US, 20, 1000))
    at = _START_US + 44_000
    count = len(passed(switch, at_once(at, 20, 1000)))
    if count != 5:
        return Missed(
            "wrong-refill",
            f"44 ms at 1 Mbit/s earn 5500 bytes; {count} frames of 1000 bytes passed and not 5.",
        )
    count = len(passed(switch, at_once(at + 10_000_000, 30, 1000)))
    if count > 10:
        return Missed(
            "no-cap",
            f"After ten seconds of silence {count} frames of 1000 bytes passed at once: however "
            "long it is filled, the bucket holds no more than its depth.",
        )
    if count < 10:
        return Missed(
            "wrong-refill", f"After ten seconds of silence {count} frames passed and not 10."
        )
    return Passed("44 ms earned 5 frames, 10 s a full bucket.")


def long_silence(program: Program) -> Verdict:
    """Silences after which a time or a rate of 32 bits, or a product of 64, is small; a bound."""
    switch = device(program, {1: _TEN})
    passed(switch, at_once(_START_US, 20, 1000))
    count = len(passed(switch, at_once(_START_US + (1 << 32) + 8, 20, 1000)))
    if count < 10:
        return Missed(
            "clock-of-32-bits",
            f"After 71.6 minutes of silence {count} frames passed and not 10: 2^32 us are over "
            "then. The switch's clock has 48 bits; keep them all.",
        )
    switch = device(program, {1: Policer(1 << 33, 10_000)})
    passed(switch, at_once(_START_US, 20, 1000))
    count = len(passed(switch, at_once(_START_US + 60_000_000, 20, 1000)))
    if count < 10:
        return Missed(
            "rate-of-32-bits",
            f"After a minute of silence at 8.6 Gbit/s {count} frames passed and not 10: this rate "
            "is 2^33, which is 0 in 32 bits. A rate has 40 bits; keep them all.",
        )
    fast = Policer(1 << 30, 10_000)
    switch = device(program, {1: fast})
    passed(switch, at_once(_START_US, 20, 1000))
    count = len(passed(switch, at_once(_START_US + (1 << 34), 20, 1000)))
    if count < 10:
        return Missed(
            "product-overflows",
            f"After 4.8 hours of silence at 1.07 Gbit/s {count} frames passed and not 10: "
            "2^34 us times 2^30 bit/s are 2^64, which is 0 in 64 bits. Bound the time first.",
        )
    return _slow(program)


def _slow(program: Program) -> Verdict:
    """Silences of five minutes and of LONGEST_REFILL, neither of which fills a slow, deep bucket.

    They earn 24.6 and 44.3 frames. Whole frames are counted, so that a program that leaves out the
    FCS, which another criterion looks at, has the same numbers.
    """
    slow = Policer(990, 90_000)
    for silence_us, duration in ((298_000_000, "298 s"), ((1 << 29) + 8, "537 s")):
        switch = device(program, {1: slow})
        passed(switch, at_once(_START_US, 70, 1500))
        count = len(passed(switch, at_once(_START_US + silence_us, 70, 1500)))
        earned = silence_us * slow.rate // TOKENS_PER_BYTE
        words = (
            f"{duration} of silence at {slow.rate} bit/s earn {earned} bytes, but {count} frames "
            f"of 1500 bytes passed and not {earned // 1500}"
        )
        if count > earned // 1500:
            return Missed(
                "full-after-bound",
                f"{words}: a slow bucket is not full after any time. Where the time is beyond its "
                "bound, the bound takes its place in the product.",
            )
        # A program that shifts where it should divide is 4.6 % off, and has lost points for that.
        if count < 0.9 * earned / 1500:
            return Missed(
                "bound-too-short",
                f"{words}: a bound on the time may not be shorter than it has to be. Rates are "
                "below 2^34 bit/s, so that 2^29 us of them fit into 64 bits.",
            )
    return Passed()


def wrap(program: Program) -> Verdict:
    """2^48 us, nine years, after the start."""
    policer = Policer(8_000_000, 20_000)
    switch = device(program, {1: policer})
    before = (1 << 48) - 4000
    switch.run_until((before - 1) * 1000)
    passed(switch, at_once(before, 30, 1000))
    count = len(passed(switch, at_once(before + 10_500, 30, 1000)))
    if count == 10:
        return Passed("Nine years after the start 10.5 ms earned 10 frames.")
    if count == 20:
        return Missed(
            "difference-too-wide",
            "10.5 ms that include the clock's wrap filled the bucket, 20 frames in the place of "
            "10: subtract the two times in 48 bits, and only then make the result wider.",
        )
    return Missed(
        "clock-goes-back",
        f"10.5 ms that include the clock's wrap earned {count} frames and not 10. `now` is smaller "
        "than the time before then: do not compare the two, subtract them, modulo 2^48.",
    )


def own_bucket(program: Program) -> Verdict:
    """Each port has a bucket of its own: port 1 cannot spend port 2's tokens."""
    switch = device(program, {1: _TEN, 2: _TEN})
    passed(switch, at_once(_START_US, 20, 1000))
    count = len(passed(switch, at_once(_START_US + 10, 20, 1000), port=2))
    if count != 10:
        return Missed(
            "one-bucket",
            f"Port 1 had used up its burst, and then {count} of port 2's frames passed and not "
            "10: at which index is the port's bucket?",
        )
    return Passed()


JUDGES: Final[Mapping[str, Callable[[Program], Verdict]]] = {
    judge.__name__: judge
    for judge in (
        wire,
        first_burst,
        frame_length,
        not_more,
        not_less,
        idle,
        long_silence,
        wrap,
        own_bucket,
    )
}
