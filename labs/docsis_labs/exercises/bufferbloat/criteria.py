# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 1: each function alone, then all of them on a run of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from statistics import fmean, median
from typing import Final

from docsis_labs.comparing import Mistake, compared
from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.bufferbloat import reference
from docsis_labs.submission import Submission

FILE: Final = "bufferbloat.py"

_SECOND: Final = 1_000_000_000
_BEGIN, _END = 2 * _SECOND, 5 * _SECOND


def _call(seed: int) -> tuple[list[int], list[int]]:
    """A call with losses, whose round trips grow under load and stay long for a while after it."""
    draws = random.Random(seed)
    sent = [number * 50_000_000 for number in range(140)]
    returned = []
    for at in sent:
        loaded = _BEGIN <= at < _END + _SECOND
        trip = draws.randint(90, 300) if loaded else draws.randint(18, 26)
        lost = draws.random() < (0.2 if loaded else 0.04)
        returned.append(-1 if lost else at + trip * 1_000_000 + draws.randint(0, 999_999))
    return sent, returned


_CALLS: Final = tuple(_call(seed) for seed in (1, 2, 3))


def _with_lost(sent: Sequence[int], returned: Sequence[int]) -> list[float]:
    return [(back - left) / 1e6 for left, back in zip(sent, returned, strict=True)]


def _lost_as_zero(sent: Sequence[int], returned: Sequence[int]) -> list[float]:
    return [max(0.0, trip) for trip in _with_lost(sent, returned)]


def round_trips(submission: Submission) -> Verdict:
    """TODO 1."""
    cases = [([0, 5_000_000], [20_000_000, 30_500_000]), ([7], [-1]), *_CALLS]
    mistakes = (
        Mistake(
            "lost-as-delay",
            _with_lost,
            "Lost packets become negative round trips: a packet that never came back has none.",
        ),
        Mistake(
            "lost-as-zero",
            _lost_as_zero,
            "Lost packets become round trips of 0 ms, as if they had been the fastest.",
        ),
        Mistake(
            "wrong-unit",
            lambda sent, returned: [trip * 1000 for trip in reference.round_trips(sent, returned)],
            "Those are microseconds: a millisecond has 1,000,000 nanoseconds.",
        ),
        Mistake(
            "in-nanoseconds",
            lambda sent, returned: [trip * 1e6 for trip in reference.round_trips(sent, returned)],
            "Those are nanoseconds: a millisecond has 1,000,000 of them.",
        ),
        Mistake(
            "rounded",
            lambda sent, returned: [int(trip) for trip in reference.round_trips(sent, returned)],
            "The fractions of a millisecond are cut off: divide with / and not with //.",
        ),
    )
    return compared(submission, FILE, "round_trips", reference.round_trips, cases, mistakes)


def loss(submission: Submission) -> Verdict:
    """TODO 2."""
    cases = [([],), ([-1],), ([5, -1, 7, 9],), *((returned,) for _, returned in _CALLS)]
    mistakes = (
        Mistake(
            "count-of-lost",
            lambda returned: sum(back < 0 for back in returned),
            "That is how many packets were lost, and not which share of all.",
        ),
        Mistake(
            "share-of-returned",
            lambda returned: (
                sum(back < 0 for back in returned) / sum(back >= 0 for back in returned)
            ),
            "The share is of all packets that were sent, and not of those that came back.",
        ),
        Mistake(
            "in-percent",
            lambda returned: 100 * reference.loss(returned),
            "That is in per cent: a share from 0 to 1 is asked for.",
        ),
    )
    return compared(submission, FILE, "loss", reference.loss, cases, mistakes)


def percentile(submission: Submission) -> Verdict:
    """TODO 3."""
    draws = random.Random(9)
    lists = [[5.0], [3.0, 1.0, 2.0], [float(draws.randint(0, 500)) for _ in range(100)]]
    lists.append([draws.random() * 300 for _ in range(37)])
    cases = [(values, percent) for values in lists for percent in (1, 50, 75, 90, 99, 100)]
    mistakes = (
        Mistake(
            "not-sorted",
            lambda values, percent: values[-(-percent * len(values) // 100) - 1],
            "The values are not sorted: the rank counts from the smallest.",
        ),
        Mistake(
            "rank-from-zero",
            lambda values, percent: sorted(values)[
                min(len(values) - 1, -(-percent * len(values) // 100))
            ],
            "The value is one rank too high: the first value has rank 1, and index 0.",
        ),
        Mistake(
            "rank-rounded-down",
            lambda values, percent: sorted(values)[max(0, int(percent * len(values) / 100) - 1)],
            "The rank is rounded down: so fewer values than percent % are not above it. Round up.",
        ),
        Mistake(
            "largest-first",
            lambda values, percent: sorted(values, reverse=True)[
                -(-percent * len(values) // 100) - 1
            ],
            "The values are sorted with the largest first.",
        ),
        Mistake(
            "mean",
            lambda values, percent: fmean(values),
            "That is the mean: it says nothing of how many values are below it.",
        ),
    )
    return compared(submission, FILE, "percentile", reference.percentile, cases, mistakes)


def added_delay(submission: Submission) -> Verdict:
    """TODO 4."""
    edges = [0, _BEGIN, _END]
    trips_ms = (20, 200, 100)
    at_the_edges = [at + trip * 1_000_000 for at, trip in zip(edges, trips_ms, strict=True)]
    calls = [*_CALLS, (edges, at_the_edges)]
    cases = [(sent, returned, _BEGIN, _END) for sent, returned in calls]
    wrong = partial(partial, reference.added_delay)
    mistakes = (
        Mistake(
            "baseline-left-in",
            wrong(baseline="none"),
            "That is the whole round trip: the path's own, without a queue, is not the buffer's.",
        ),
        Mistake(
            "baseline-of-all",
            wrong(baseline="all"),
            "The median before the load is taken of all packets, also of those under load.",
        ),
        Mistake(
            "after-the-load-too",
            wrong(baseline="outside"),
            "Packets that were sent after the load count as idle: the queue is still full then.",
        ),
        Mistake(
            "load-does-not-end",
            wrong(tail=True),
            "Packets that were sent after the load count as loaded.",
        ),
        Mistake(
            "mean-for-median",
            wrong(centre=fmean),
            "Those are means: a few long round trips move a mean, and hardly a median.",
        ),
        Mistake(
            "average-of-two",
            wrong(centre=median),
            "Of an even number of values this median is the average of the two in the middle: the "
            "nearest-rank one is percentile(values, 50).",
        ),
        Mistake(
            "load-end-included",
            wrong(end_included=True),
            "A packet that is sent at load_end counts as loaded: the load is on *before* load_end.",
        ),
        Mistake(
            "lost-as-delay",
            wrong(trips=_with_lost),
            "Lost packets become negative round trips: see TODO 1.",
        ),
        Mistake(
            "lost-as-zero",
            wrong(trips=_lost_as_zero),
            "Lost packets become round trips of 0 ms: see TODO 1.",
        ),
    )
    return compared(submission, FILE, "added_delay", reference.added_delay, cases, mistakes)


def buffer_size(submission: Submission) -> Verdict:
    """TODO 5."""
    cases = [(delay, rate) for delay in (0.0, 10.0, 230.5) for rate in (5_000_000, 20_000_000)]
    mistakes = (
        Mistake(
            "bits-for-bytes",
            lambda delay, rate: delay / 1000 * rate,
            "Those are bits: a byte has eight.",
        ),
        Mistake(
            "milliseconds-for-seconds",
            lambda delay, rate: delay * rate / 8,
            "The delay is in milliseconds, and the rate in bits per second.",
        ),
    )
    return compared(
        submission,
        FILE,
        "buffer_size",
        lambda delay, rate: delay / 1000 * rate / 8,
        cases,
        mistakes,
    )


def measured(submission: Submission) -> Verdict:
    """The whole analysis, of a run that the student has not seen."""
    from docsis_labs.exercises.bufferbloat import upload

    run = upload.play(seed=11)
    student = submission.python(FILE)
    times = (run.sent_ns, run.returned_ns, upload.BEGIN_NS, upload.END_NS)
    delay = student.number("added_delay", *times)
    expected = reference.added_delay(*times)
    if abs(delay - expected) > 0.001:
        return Missed(
            "wrong-on-a-run",
            f"Of a run in virtual time added_delay() says {delay:.3f} ms, where "
            f"{expected:.3f} ms is right.",
        )
    size = student.number("buffer_size", delay, upload.MSR)
    return Passed(
        f"Load added {delay:.0f} ms: {size / 1000:.0f} KB waited, of the {upload.BUFFER_KB} KB "
        "that the modem has room for."
    )
