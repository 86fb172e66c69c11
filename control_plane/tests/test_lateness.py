# SPDX-License-Identifier: Apache-2.0
"""Quantiles of a switch's lateness, and what lies between two of its answers."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2
from docsis_control.tm.lateness import Lateness, lateness_from, request


def bucket_of(ns: int) -> int:
    """The upper end of the switch's bucket, of which there are eight in each doubling."""
    if ns < 8:
        return ns
    step = 1 << (ns.bit_length() - 4)
    return ns // step * step + step - 1


def counted(late_ns: list[int], jumps: int = 0, bound_ns: int = 20_000_000) -> Lateness:
    """Makes the answer of a switch after such lateness."""
    buckets = Counter(map(bucket_of, late_ns))
    return Lateness(
        tuple(sorted(buckets.items())), max(late_ns, default=0), bound_ns, jumps, jumps * 1000
    )


LATE = st.lists(st.integers(0, 10**9), max_size=60)


@given(LATE.filter(bool), st.floats(0.01, 1))
def test_quantile_is_within_an_eighth_of_the_samples(late_ns: list[int], share: float) -> None:
    exact = sorted(late_ns)[math.ceil(len(late_ns) * share) - 1]
    assert exact <= counted(late_ns).quantile_ns(share) <= exact * 9 / 8


@given(LATE, LATE, st.integers(0, 3), st.integers(0, 3))
def test_difference_is_what_came_in_between(
    first: list[int], then: list[int], jumps: int, more: int
) -> None:
    between = counted(first + then, jumps + more).since(counted(first, jumps))
    alone = counted(then, more)
    assert between.buckets == alone.buckets
    assert (between.jumps, between.jumped_ns) == (more, 1000 * more)
    assert between.events == len(then)
    for share in (0.5, 0.99, 1.0):
        told, known = between.quantile_ns(share), alone.quantile_ns(share)
        assert known <= told <= max(known, bucket_of(known))
    assert alone.most_ns <= between.most_ns <= bucket_of(alone.most_ns)


def test_nothing_that_was_due_is_not_late() -> None:
    nothing = counted([])
    assert (nothing.events, nothing.quantile_ns(0.99), nothing.most_ns) == (0, 0, 0)
    some = counted([5, 70])
    assert some.since(some).quantile_ns(0.99) == 0
    assert some.since(some).most_ns == 0


@pytest.mark.parametrize("later", [counted([5]), counted([900, 70]), counted([5, 70, 70], jumps=0)])
def test_switch_that_was_started_again_is_refused(later: Lateness) -> None:
    with pytest.raises(ValueError, match="started again"):
        later.since(counted([5, 70], jumps=1))


def test_answer_is_read_from_the_wire() -> None:
    message = traffic_manager_pb2.GetLatenessResponse(
        now_ns=9, most_ns=80, bound_ns=20_000_000, jumps=2, jumped_ns=500
    )
    message.buckets.add(upto_ns=7, count=3)
    message.buckets.add(upto_ns=87, count=1)
    assert lateness_from(message.SerializeToString()) == Lateness(
        ((7, 3), (87, 1)), 80, 20_000_000, 2, 500
    )
    asked = traffic_manager_pb2.GetLatenessRequest.FromString(request(4))
    assert asked.device_id == 4
