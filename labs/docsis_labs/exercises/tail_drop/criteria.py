# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 4: functions alone, then a buffer in front of an upload."""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from docsis_labs.comparing import Mistake, compared
from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.tail_drop import reference
from docsis_labs.submission import Submission

FILE: Final = "tail_drop.py"
BUFFER: Final = "buffer.yaml"

LONGEST_MS: Final = 60.0
"""The longest that a packet may be in the queue, as the exercise's page says."""

LEAST_SHARE: Final = 0.9
"""The least goodput, as a part of the rate, as the exercise's page says."""

_RATE: Final = 20_000_000
_OTHER_RATE: Final = 7_000_000


def admit(submission: Submission) -> Verdict:
    """TODO 1."""
    cases = [
        (backlog, length, limit)
        for limit in (10_000, 30_000)
        for backlog in (0, limit - 1518, limit - 1000, limit - 64, limit - 1, limit)
        for length in (64, 1000, 1518)
    ]
    mistakes = (
        Mistake(
            "length-ignored",
            lambda backlog, length, limit: backlog < limit,
            "The frame's own length is left out: with it the queue grows above the limit.",
        ),
        Mistake(
            "no-room-for-the-last-byte",
            lambda backlog, length, limit: backlog + length < limit,
            "A frame that fills the queue to the last byte is dropped: the queue may be as long as "
            "the limit, so <= and not <.",
        ),
        Mistake(
            "turned-around",
            lambda backlog, length, limit: backlog + length > limit,
            "Frames enter when there is no room, and are dropped when there is.",
        ),
        Mistake(
            "limit-fixed",
            lambda backlog, length, limit: backlog + length <= 10_000,
            "The limit is 10,000 bytes here whatever it is given: it is an argument.",
        ),
        Mistake("always", lambda backlog, length, limit: True, "No frame is ever dropped."),
    )
    return compared(submission, FILE, "admit", reference.admit, cases, mistakes)


def full_delay(submission: Submission) -> Verdict:
    """TODO 2."""
    cases = [(limit, rate) for limit in (25_000, 625_000) for rate in (_RATE, 5_000_000)]
    mistakes = (
        Mistake(
            "bits-and-bytes",
            lambda limit, rate: limit / rate,
            "The delay is eight times too short: the limit is in bytes, the rate in bit/s.",
        ),
        Mistake(
            "in-milliseconds",
            lambda limit, rate: limit * 8000 / rate,
            "The delay is a thousand times too long: it is asked for in seconds.",
        ),
        Mistake(
            "division-turned",
            lambda limit, rate: rate / (limit * 8),
            "The division is the wrong way round: a faster link empties the queue sooner.",
        ),
    )
    return compared(
        submission, FILE, "full_delay", lambda limit, rate: limit * 8 / rate, cases, mistakes
    )


def product(submission: Submission) -> Verdict:
    """TODO 3."""
    cases = [(rate, trip) for rate in (_RATE, 200_000_000) for trip in (0.02, 0.1)]
    mistakes = (
        Mistake(
            "product-in-bits",
            lambda rate, trip: rate * trip,
            "That is the product in bits: bytes are asked for.",
        ),
        Mistake(
            "one-way",
            lambda rate, trip: rate * trip / 16,
            "Half of it: a sender hears of a byte one whole round trip after it was sent.",
        ),
    )
    return compared(
        submission,
        FILE,
        "bandwidth_delay_product",
        lambda rate, trip: rate * trip / 8,
        cases,
        mistakes,
    )


def _traffic(seed: int) -> list[tuple[float, int]]:
    """Bursts that overflow the queue, and pauses in which it empties.

    No frame arrives when another one leaves: which is first would be a matter of rounding.
    """
    draws = random.Random(seed)
    frames, now = [], 0.0
    for _ in range(12):
        for _ in range(draws.randint(3, 20)):
            frames.append((round(now, 7), draws.choice((64, 590, 1000, 1518))))
            now += draws.choice((0.0, 0.0001003, 0.0004007))
        now += draws.choice((0.0010001, 0.0100009))
    return frames


def departures(submission: Submission) -> Verdict:
    """TODO 4."""
    cases = [
        (_traffic(seed), limit, rate)
        for rate in (_RATE, _OTHER_RATE)
        for seed in (1, 2, 3)
        for limit in (3036, 9000)
    ]
    wrong = partial(partial, reference.departures)
    mistakes = (
        Mistake(
            "never-drains",
            wrong(drains=False),
            "Frames that have left still count: the queue fills up once and for all.",
        ),
        Mistake(
            "link-never-busy",
            wrong(waits_for_link=False),
            "Frames leave at the same time: each has to wait until the one before it has left.",
        ),
        Mistake(
            "sent-before-it-came",
            wrong(waits_for_frame=False),
            "A frame leaves before it has come: after a pause it is sent from its arrival on.",
        ),
        Mistake(
            "frames-for-bytes",
            wrong(in_frames=True),
            "The backlog is counted in frames, and the limit is in bytes.",
        ),
        Mistake(
            "length-ignored",
            wrong(admitted=lambda backlog, length, limit: backlog < limit),
            "The frame's own length is left out: see TODO 1.",
        ),
        Mistake(
            "no-room-for-the-last-byte",
            wrong(admitted=lambda backlog, length, limit: backlog + length < limit),
            "A frame that fills the queue to the last byte is dropped: see TODO 1.",
        ),
        Mistake(
            "rate-fixed",
            lambda frames, limit, rate: reference.departures(frames, limit, _RATE),
            "The link has 20 Mbps here whatever it is given: its rate is an argument.",
        ),
        Mistake(
            "nothing-leaves",
            lambda frames, limit, rate: [None] * len(frames),
            "No frame ever leaves: TODO 4 is open.",
        ),
        Mistake(
            "dropped-left-out",
            lambda frames, limit, rate: [
                left for left in reference.departures(frames, limit, rate) if left is not None
            ],
            "Frames that are dropped are left out of the list: each of them is a None in it.",
        ),
    )
    return compared(submission, FILE, "departures", reference.departures, cases, mistakes)


def buffer(submission: Submission) -> Verdict:
    """TODO 5."""
    from docsis_labs.exercises.tail_drop import upload
    from docsis_labs.exercises.tail_drop.models import Choice

    seen = upload.play(submission.document(BUFFER, Choice).buffer)
    words = (
        f"The upload had {seen.goodput / 1e6:.1f} Mbps, and the longest wait was "
        f"{seen.longest_ms:.0f} ms."
    )
    if seen.longest_ms > LONGEST_MS:
        return Missed(
            "buffer-too-large",
            f"{words} More than {LONGEST_MS:.0f} ms: TCP fills the buffer, however large it is. "
            "How many bytes leave in that time?",
        )
    if seen.goodput < LEAST_SHARE * _RATE:
        return Missed(
            "buffer-too-small",
            f"{words} Less than {LEAST_SHARE:.0%} of the rate: after a loss TCP sends less, and "
            "the queue runs empty. Think of the bandwidth-delay product.",
        )
    return Passed(words)
