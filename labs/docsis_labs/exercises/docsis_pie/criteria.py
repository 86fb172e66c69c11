# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 5: each function alone, then the law in a closed loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from docsis_labs.comparing import Mistake, compared
from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.submission import Submission

FILE: Final = "law.py"

_MSR, _PEAK = 2_500_000, 3_125_000
_TARGET: Final = 0.01

MEDIAN_MS: Final = 20.0
"""Twice LATENCY_TARGET (RFC 8034, 4.1): what the median queueing delay may be."""

LEAST_GOODPUT: Final = 0.8
"""The least goodput, as a part of the Maximum Sustained Traffic Rate."""


def queue_delay(submission: Submission) -> Verdict:
    """TODO 1."""
    from docsis_labs.exercises.docsis_pie import reference

    cases = [
        (queue, tokens, _MSR, _PEAK)
        for queue in (0, 1500, 25_000, 100_000, 625_000)
        for tokens in (0, 3044, 25_000, 500_000)
    ]
    mistakes = (
        Mistake(
            "tokens-ignored",
            lambda queue, tokens, msr, peak: queue / msr,
            "The whole queue leaves at the sustained rate here: where are the tokens, which let "
            "bytes leave at the peak rate?",
        ),
        Mistake(
            "all-at-peak-rate",
            lambda queue, tokens, msr, peak: queue / peak,
            "The whole queue leaves at the peak rate here, also those bytes for which there are "
            "no tokens.",
        ),
        Mistake(
            "more-tokens-than-bytes",
            lambda queue, tokens, msr, peak: (queue - tokens) / msr + tokens / peak,
            "There may be more tokens than bytes in the queue: no more bytes leave at the peak "
            "rate than there are.",
        ),
        Mistake(
            "rates-swapped",
            lambda queue, tokens, msr, peak: (
                min(queue, tokens) / msr + (queue - min(queue, tokens)) / peak
            ),
            "The two rates have changed places: bytes with tokens leave at the peak rate.",
        ),
        Mistake(
            "bits-and-bytes",
            lambda queue, tokens, msr, peak: (
                8 * (queue - min(queue, tokens)) / msr + 8 * min(queue, tokens) / peak
            ),
            "The delay is eight times too long: rates are in bytes per second here.",
        ),
    )
    return compared(submission, FILE, "queue_delay", reference.queue_delay, cases, mistakes)


def scale(submission: Submission) -> Verdict:
    """TODO 2."""
    from docsis_labs.exercises.docsis_pie import reference

    bounds = [10.0**power for power in range(-6, 2)]
    probabilities = [0.0, *(bound * part for bound in bounds for part in (0.5, 1.0, 1.5)), 13.6]
    cases = [(p, drop_prob) for drop_prob in probabilities for p in (0.004, -0.002)]
    mistakes = (
        Mistake(
            "not-scaled",
            lambda p, drop_prob: p,
            "The step is the same at every probability: RFC 8034's table makes it small while the "
            "probability is small.",
        ),
        Mistake(
            "bound-included",
            lambda p, drop_prob: reference.scale(p, drop_prob * (1 - 1e-12)),
            "At the bounds themselves the next column holds: it says *below*, so < and not <=.",
        ),
        Mistake(
            "scaled-backwards",
            lambda p, drop_prob: p * p / reference.scale(p, drop_prob),
            "The step is divided where it should be multiplied.",
        ),
        Mistake(
            "last-column-missing",
            lambda p, drop_prob: p if drop_prob >= 10 else reference.scale(p, drop_prob),
            "From a probability of 10 on the last column holds: 32.",
        ),
    )
    return compared(submission, FILE, "scale", reference.scale, cases, mistakes)


def _states(
    probabilities: Sequence[float],
    delays: Sequence[tuple[float, float]],
    *,
    target: float = _TARGET,
    bursting: bool = False,
) -> list[tuple[dict[str, float], float, float, bool]]:
    return [
        ({"drop_prob": probability, "qdelay_old": old}, now, target, bursting)
        for probability in probabilities
        for old, now in delays
    ]


_MIDDLE: Final = ((0.012, 0.015), (0.016, 0.012), (0.008, 0.006), (0.006, 0.190), (0.1, 0.1))
"""Delays before and now, in seconds, at which nothing decays and nothing grows."""


_RISING: Final = ((0.012, 0.015), (0.006, 0.190), (0.1, 0.1))
"""Those of them at which the probability rises, with a target of 20 ms as well."""


def _mistakes() -> list[Mistake]:
    """The mistakes that update() may have, the most telling first."""
    from docsis_labs.exercises.docsis_pie.reference import Wrong

    return [Mistake(name, Wrong(*flags), hint) for name, hint, *flags in _WRONG]


_WRONG: Final = (
    (
        "old-delay-kept",
        "The new state has the old qdelay_old: the next interval needs this one's delay.",
        "keeps_old",
    ),
    (
        "sign",
        "The probability falls when the delay is above the target: it is qdelay - target.",
        "sign",
    ),
    (
        "no-trend",
        "The trend is missing: B weighs how much the delay has changed since the last interval.",
        "no_trend",
    ),
    (
        "trend-backwards",
        "The trend has the wrong sign: a delay that grows makes the probability grow.",
        "trend_backwards",
    ),
    ("weights-swapped", "A and B have changed places.", "swapped"),
    ("step-not-scaled", "update() does not scale the step.", "not_scaled"),
    (
        "target-fixed",
        "The target is 10 ms here whatever it is given: latency_target is an argument, since "
        "another service flow may have another one.",
        "target_fixed",
    ),
    (
        "short-table",
        "update() scales as if RFC 8034's table began at 0.001 and ended at 1: call scale(), "
        "which has all of its columns.",
        "short_table",
    ),
    (
        "no-cap",
        "The step is not limited: where drop_prob is 0.1 or more it is 0.02 at the most.",
        "no_cap",
    ),
    (
        "cap-above-the-bound",
        "At a drop_prob of 0.1 itself the step is limited, too: >= and not >.",
        "cap_above",
    ),
    (
        "step-replaces",
        "The step is the new probability here: it has to be added to the old one.",
        "replaced",
    ),
    (
        "no-decay",
        "The probability does not decay: where both delays are below 5 ms it shrinks to 98%.",
        "no_decay",
    ),
    (
        "either-delay",
        "The probability decays when one of the two delays is low: both have to be.",
        "either_low",
    ),
    (
        "decays-at-once",
        "The probability shrinks by 98% here: it should shrink *to* 98% of itself.",
        "decays_at_once",
    ),
    (
        "no-growth",
        "At delays above 200 ms the probability has to grow by another 0.02.",
        "no_growth",
    ),
    (
        "no-decay-nor-growth",
        "TODO 5 is missing: nothing happens at low and at very high delays.",
        "no_decay",
        "no_growth",
    ),
    (
        "no-bounds",
        "TODO 6 is missing: the probability leaves its bounds.",
        "no_floor",
        "no_ceiling",
        "no_burst",
    ),
    (
        "negative-probability",
        "The probability falls below 0, and would have to climb back first.",
        "no_floor",
    ),
    ("no-upper-bound", "The probability grows above MAX_PROB.", "no_ceiling"),
    (
        "bounded-at-one",
        "The probability ends at 1 here: drop_prob is scaled by a frame's length later, so it "
        "goes up to MAX_PROB, 13.6.",
        "at_one",
    ),
    (
        "burst-keeps",
        "While a burst is allowed the probability stays as it was: it has to be 0.",
        "burst_keeps",
    ),
    ("burst-ignored", "While a burst is allowed the probability has to be 0.", "no_burst"),
)


def step(submission: Submission) -> Verdict:
    """TODO 3 and 4: probabilities that do not come to either end of the range, and two targets."""
    from docsis_labs.exercises.docsis_pie import reference

    cases = [
        case
        for target in (_TARGET, 2 * _TARGET)
        for case in (
            *_states((0.02, 0.05, 0.09, 0.1, 0.12, 0.4), _MIDDLE, target=target),
            *_states((3e-5,), _RISING, target=target),
            # It falls from 2 to less than 0.1.
            *_states((2.0,), ((0.15, 0.05),), target=target),
        )
    ]
    return compared(submission, FILE, "update", reference.update, cases, _mistakes())


def decay(submission: Submission) -> Verdict:
    """TODO 5."""
    from docsis_labs.exercises.docsis_pie import reference

    delays = (
        (0.0, 0.0),
        (0.004, 0.0049),
        (0.005, 0.004),
        (0.004, 0.005),
        (0.004, 0.02),
        (0.2, 0.2),
        (0.2, 0.21),
        (0.3, 0.25),
    )
    cases = _states((0.03, 0.05), delays)
    return _probabilities(submission, reference.update, cases)


def bounds(submission: Submission) -> Verdict:
    """TODO 6; and whether the old state is kept, which here makes no other criterion wait."""
    from docsis_labs.exercises.docsis_pie import reference

    low = _states((0.0, 1e-4), ((0.2, 0.006), (0.05, 0.006)))
    high = _states((13.59, 13.6), ((0.25, 0.25),))
    bursts = _states((0.0, 0.02, 0.3), _MIDDLE, bursting=True)
    cases = [*low, *high, *bursts]
    return _probabilities(submission, reference.update, cases, unchanged=True)


def _probabilities(
    submission: Submission,
    right: Callable[..., Any],
    cases: Sequence[tuple[Any, ...]],
    *,
    unchanged: bool = False,
) -> Verdict:
    """The probability alone: what else update() returns is a matter of `step`."""
    return compared(
        submission, FILE, "update", right, cases, _mistakes(), part="drop_prob", unchanged=unchanged
    )


def closed_loop(submission: Submission) -> Verdict:
    """The law, in place of the controller's."""
    from docsis_labs.exercises.docsis_pie import loop

    seen = loop.play(submission.python(FILE))
    words = (
        f"The median queueing delay was {seen.median_ms:.1f} ms, the goodput "
        f"{seen.goodput / 1e6:.1f} Mbps."
    )
    if seen.median_ms > MEDIAN_MS:
        return Missed(
            "delay-above-target",
            f"{words} The law has to keep it below {MEDIAN_MS:.0f} ms: does the probability reach "
            "what is needed, a few per cent?",
        )
    if seen.goodput < LEAST_GOODPUT * loop.MSR:
        return Missed(
            "drops-too-much",
            f"{words} The link could carry {loop.MSR / 1e6:.0f} Mbps: does the probability fall "
            "again when the queue is empty?",
        )
    return Passed(words)
