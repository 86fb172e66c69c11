# SPDX-License-Identifier: Apache-2.0
"""A wrong switch fails a test: no loop of the suite waits for it for ever."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from finsy.proto import p4r

from docsis_ptf import catalogue, notification_test, p4runtime_test
from docsis_ptf.docsis_test import Fates
from docsis_ptf.params import TestParams
from docsis_ptf.timing import Timing

catalogue.load()
suite = {name: sys.modules[name] for name in ("balance", "failsafe", "shaping")}


@pytest.fixture(autouse=True)
def _fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes a second."""
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))


def case(kind: type[p4runtime_test.P4RuntimeTest], **client: Any) -> Any:
    """A test whose switch answers so, and whose frames arrive nowhere."""
    test: Any = kind()
    test.params = TestParams()
    test.client = SimpleNamespace(**client)

    @contextmanager
    def recording(stream: Any, capacity: int) -> Iterator[tuple[Any, Any]]:
        yield SimpleNamespace(count=lambda: 0), SimpleNamespace(send=lambda frames: None)

    @contextmanager
    def timed() -> Iterator[list[Timing]]:
        yield []

    test.recording, test.timed = recording, timed
    test.upstream = lambda length: SimpleNamespace(frames=lambda count, first: None)
    test.fates = lambda index: Fates()
    for name in ("block", "release", "await_received", "look", "arm", "run_stream", "control"):
        setattr(test, name, lambda *args, **kwargs: SimpleNamespace(heartbeat=0))
    for name in ("shaped_flow", "aqm_flow"):
        setattr(test, name, lambda **config: 1)
    return test


def fails(test: Any, waited_for: str) -> None:
    with pytest.raises(AssertionError, match=f"waited in vain: {waited_for}"):
        test.doRunTest()


def test_frames_that_never_leave() -> None:
    stuck = case(
        suite["shaping"].PeakBucketOfTheSchedule,
        register=lambda name, index: 0,
        registers=lambda cells: [0, 0],
    )
    fails(stuck, "the frames behind the shaper")


def test_registers_that_never_change() -> None:
    idle = case(suite["shaping"].PeakBucketOfTheSchedule)
    idle.readings = lambda index: ([], 0)
    fails(idle, "readings while frames leave")


def test_a_backlog_that_stays() -> None:
    full = case(suite["balance"].Queued, state=lambda index: SimpleNamespace(backlog=1))
    fails(full, "an empty queue in the books")


def test_a_clock_that_stands_still() -> None:
    still = case(suite["failsafe"].Timeout, state=lambda index: SimpleNamespace(timestamp=0))
    fails(still, "a frame that finds the controller silent")


class Listening(notification_test.NotificationTest):
    """Hears the lists that it is given."""

    # pytest's own run of it would have no target.
    __test__ = False

    def __init__(self, *lists: tuple[int, ...]) -> None:
        super().__init__()
        self.near = 2
        self.params = TestParams()
        self.lists = iter(lists)

    def runTest(self) -> None:
        """A test case has to have one."""

    def digest_key(self) -> Any:
        return p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=7))

    def heard(self, seconds: float) -> Any:
        """The next list, while there is one."""
        addresses = next(self.lists, None)
        if addresses is None:
            return None
        message = p4r.StreamMessageResponse()
        message.digest.digest_id = 7
        message.digest.timestamp = 1
        for address in addresses:
            members = message.digest.data.add().struct.members
            members.add(bitstring=bytes([address]))
            members.add(bitstring=bytes([self.near]))
        return message


@pytest.mark.parametrize("lists", [((1, 2),), ((2, 1),), ((2,), (1,))], ids=str)
def test_a_target_may_send_digests_early_and_in_any_order(lists: tuple[tuple[int, ...]]) -> None:
    assert len(Listening(*lists).expect_learnt((1, 2), longest=2)) == len(lists)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (((1,),), "instead of a digest list nothing came"),
        (((1, 2, 3),), "digests in a list"),
        (((1, 1),), "a list tells one twice"),
        (((1,), (1, 2)), "told, and not due"),
        (((3,),), "told, and not due"),
        (((),), "a list of no digest"),
    ],
    ids=str,
)
def test_wrong_lists_fail(lists: tuple[tuple[int, ...]], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        Listening(*lists).expect_learnt((1, 2), longest=2)
