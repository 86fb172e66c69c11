# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 7.

Times follow from RFC 8289 alone. Decisions are made when a frame comes to the head of the queue,
so a drop is late by up to the time of one frame, and whole microseconds are rounded down at each
drop: that is all that is tolerated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.codel.line import (
    INTERVAL_US,
    LENGTH,
    SERVICE_US,
    TARGET_US,
    device,
    drops,
    play,
    standing,
)
from docsis_labs.exercises.codel.uploads import MOST_QDELAY_MS, SHARE, upload
from docsis_labs.exercises.numbered import Offer
from docsis_labs.p4.program import Program

_START_US: Final = 10_000
_FRAMES: Final = 60
"""Frames of a queue that stands: 60 ms, and 55 drops above the target."""


def bursts(program: Program) -> Verdict:
    """Five bursts of 60 ms, 200 ms apart: above the target for 55 ms, and then not at all."""
    starts = [_START_US + 200_000 * number for number in range(5)]
    fates = play(device(program), [Offer(at, LENGTH) for at in starts for _ in range(_FRAMES)])
    first = next((number for number, fate in enumerate(fates) if fate.dropped), None)
    if first is None:
        if max(fate.sojourn_us for fate in fates) < (_FRAMES - 2) * SERVICE_US:
            return Missed(
                "not-queued",
                "Frames of a burst did not wait for the line: meta.queue_id has to name queue 1 "
                "in ingress, as the skeleton does.",
            )
        return Passed("Five bursts of 60 frames passed.")
    if first < _FRAMES:
        return Missed(
            "no-interval",
            f"Frame {first + 1} of a burst of 60 ms was dropped: a drop has to wait until the "
            "sojourn time has been above the target for a whole interval, 100 ms.",
        )
    return Missed(
        "above-never-forgotten",
        "The first burst of 60 ms passed, but a later one lost frames, although the queue had been "
        "empty in between: a sojourn time below the target sets first_above_time to 0.",
    )


def first_drop(program: Program) -> Verdict:
    """A queue that stands at 60 ms from its beginning."""
    fates = play(device(program), standing(_START_US, _FRAMES, 300_000))
    above = next(fate.at_us for fate in fates if fate.sojourn_us >= TARGET_US)
    due = above + INTERVAL_US
    dropped = drops(fates)
    if not dropped:
        return Missed(
            "never-drops",
            "In 300 ms with a sojourn time of 60 ms nothing was dropped.",
        )
    if not due <= dropped[0] <= due + SERVICE_US:
        return Missed(
            "wrong-first-drop",
            f"The sojourn time was above the target from {above / 1000:.1f} ms; the first drop "
            f"came at {dropped[0] / 1000:.1f} ms and not an interval later, {due / 1000:.1f} ms.",
        )
    return Passed(
        f"Above the target from {above / 1000:.1f} ms, a drop at {dropped[0] / 1000:.1f} ms."
    )


def control_law(program: Program) -> Verdict:
    """The drops of a queue that stands for a second and a half and does not give way."""
    dropped = drops(
        play(device(program), standing(_START_US, _FRAMES, 1_500_000)), end_us=1_500_000
    )
    if len(dropped) < 3:
        return Missed(
            "hardly-drops",
            f"A queue that stood for 1.5 s lost {len(dropped)} frames: drop_next has to come after "
            "each drop.",
        )
    second, third = dropped[1] - dropped[0], dropped[2] - dropped[1]
    if second <= SERVICE_US:
        return Missed(
            "drops-every-frame",
            "In the dropping state frame after frame was dropped: one is dropped when drop_next "
            "has come, and then interval / sqrt(count) has to pass.",
        )
    if abs(second - INTERVAL_US / 2) <= SERVICE_US:
        return Missed(
            "fixed-point",
            "The second drop came 50 ms after the first and not 100: in Q1.31 the number 1 is "
            "1 << 31, so how far is the product shifted?",
        )
    if abs(third - INTERVAL_US) <= SERVICE_US:
        return Missed(
            "count-stays",
            "The third drop came another 100 ms after the second, and not 71: each drop within the "
            "dropping state increments count.",
        )
    if abs(third - INTERVAL_US / 2) <= SERVICE_US:
        return Missed(
            "no-square-root",
            "The third drop came 50 ms after the second, and not 71: the interval is divided by "
            "the square root of count, not by count.",
        )
    due = float(dropped[0])
    for number, at in enumerate(dropped[1:], start=1):
        due += INTERVAL_US / sqrt(number)
        # Rounded down at each drop, and at the head of the queue once in SERVICE_US.
        if not due - number - 1 <= at <= due + SERVICE_US + 1:
            if at > due:
                return Missed(
                    "law-from-now",
                    f"Drop {number + 1} came {(at - due) / 1000:.1f} ms late, the ones before a "
                    "little less: within the dropping state the next time counts from drop_next, "
                    "and not from the moment at which a frame came to be dropped.",
                )
            return Missed(
                "wrong-law",
                f"Drop {number + 1} came {(due - at) / 1000:.1f} ms before interval / sqrt(count).",
            )
    return Passed(f"{len(dropped)} drops in 1.4 s, each when it was due.")


def end(program: Program) -> Verdict:
    """Frames that find an empty queue, half a second after a queue that stood."""
    stood = standing(_START_US, _FRAMES, 400_000)
    later = [Offer(_START_US + 1_000_000 + 20_000 * number, LENGTH) for number in range(10)]
    fates = play(device(program), stood + later)
    dropped = drops(fates[len(stood) :])
    if dropped:
        return Missed(
            "never-leaves",
            f"{len(dropped)} of 10 frames were dropped that found an empty queue, half a second "
            "after another one had stood: a frame that is not ok to drop ends the dropping state.",
        )
    return Passed()


def last_frames(program: Program) -> Verdict:
    """A slow line, 10 ms a frame: above the target with one frame behind each, and with two."""
    dropped = drops(play(device(program, rate=1_000_000), _followed(1)))
    if dropped:
        return Missed(
            "last-frame-dropped",
            f"On a line of 1 Mbit/s, where a frame takes 10 ms, {len(dropped)} frames were dropped "
            "with only one frame behind them: with no more than one largest frame in the queue "
            "nothing is dropped, however long the sojourn time, or the line has nothing to send.",
        )
    if not drops(play(device(program, rate=1_000_000), _followed(2))):
        return Missed(
            "two-frames-kept",
            "On a line of 1 Mbit/s, where a frame takes 10 ms, nothing was dropped in 2 s with two "
            "frames behind each and a sojourn time of 28 ms: only with one largest frame or none "
            "behind it, deq_qdepth <= 1, a frame is never ok to drop.",
        )
    # One more frame comes after 2 s, so that for 50 ms two are behind each: half an interval.
    one = _followed(1)
    two = [Offer(one[-1].at_us + 10_000 * n, LENGTH) for n in range(6)]
    if drops(play(device(program, rate=1_000_000), one + two)):
        return Missed(
            "short-not-reset",
            "On a line of 1 Mbit/s one frame had been behind each for 2 s, and then two were: "
            "frames were dropped within 50 ms. With only one largest frame or none behind it "
            "first_above_time_ is set to 0, so that an interval has to pass from then on.",
        )
    return Passed()


def _followed(frames: int) -> list[Offer]:
    """Frames of a line of 1 Mbit/s, behind each of which as many others wait."""
    # The first one leaves at once, the second before the next one comes.
    at_once = [Offer(_START_US, LENGTH)] * (2 + frames)
    return at_once + [Offer(_START_US + 10_000 * number, LENGTH) for number in range(1, 200)]


_EPISODES: Final = (
    (0, 1000, False),
    (1300, 600, True),
    (2300, 500, True),
    (4150, 600, True),
    (6600, 600, False),
    (12_200, 400, False),
)
"""Queues that stand: when each begins and how long it lasts, in milliseconds, and whether it goes
on with the count of the one before. Its first drop comes 0.1 s after its beginning; drop_next of
the one before is up to 0.16 s after that one's end. So drop_next is 1.29 to 1.46 s old in the last
queue that goes on, and 1.79 to 1.96 s in the next: on both sides of 16 intervals, 1.6 s."""


def again(program: Program) -> Verdict:
    """Queues that stand soon after others, and long after."""
    offers = [
        offer
        for start, duration, _ in _EPISODES
        for offer in standing(_START_US + start * 1000, _FRAMES, duration * 1000)
    ]
    fates = play(device(program), offers)
    count = lastcount = 1
    ended = 0
    for start, duration, goes_on in _EPISODES:
        begin = _START_US + start * 1000
        dropped = drops(fates, begin, begin + (duration + _FRAMES) * 1000)
        if len(dropped) < 3:
            return Missed("hardly-drops", f"A queue that stood for {duration} ms lost few frames.")
        delta = count - lastcount
        first = delta if goes_on and delta > 1 else 1
        gap = dropped[1] - dropped[0]
        if not -2 <= gap - INTERVAL_US / sqrt(first) <= SERVICE_US:
            return _wrong_start(start - ended, gap / 1000, first, goes_on=goes_on)
        lastcount, count = first, first + len(dropped) - 1
        ended = start + duration
    return Passed("Three queues that came again soon were met with the count of the one before.")


def _wrong_start(silence_ms: int, gap_ms: float, count: int, *, goes_on: bool) -> Missed:
    expected = INTERVAL_US / sqrt(count) / 1000
    seen = (
        f"A queue stood about {silence_ms / 1000:.1f} s after the one before, and the second drop "
        f"came {gap_ms:.1f} ms after the first and not {expected:.1f}:"
    )
    if not goes_on:
        return Missed(
            "count-never-forgotten",
            f"{seen} what is more than 16 intervals ago counts no longer, and count begins with 1.",
        )
    if gap_ms > 99:
        return Missed(
            "count-starts-anew",
            f"{seen} where the dropping state begins again within 16 intervals, it goes on with "
            f"the {count} that count had gained.",
        )
    return Missed(
        "whole-count-kept",
        f"{seen} it goes on with what count had gained since the last dropping state began, "
        f"count - lastcount, which is {count}.",
    )


def tcp(program: Program) -> Verdict:
    """Four uploads of CUBIC for 20 s: the band is in `uploads`, and from before any run."""
    result = upload(program)
    if result.median_qdelay_ms > MOST_QDELAY_MS:
        return Missed(
            "delay-stays",
            f"Under four uploads half of the probes waited for more than "
            f"{result.median_qdelay_ms:.1f} ms; it is to be {MOST_QDELAY_MS:.0f} at the most.",
        )
    if result.share < SHARE:
        return Missed(
            "link-not-full",
            f"Four uploads got {result.share:.0%} of the line, and not {SHARE:.0%}.",
        )
    return Passed(
        f"Median queue delay {result.median_qdelay_ms:.1f} ms, {result.share:.0%} of the line used."
    )


JUDGES: Final[Mapping[str, Callable[[Program], Verdict]]] = {
    judge.__name__: judge
    for judge in (bursts, first_drop, control_law, end, last_frames, again, tcp)
}
