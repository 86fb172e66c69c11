# SPDX-License-Identifier: Apache-2.0
"""The strict comparison of what leaves, against a data plane that is a list of frames."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_ptf.egress import Egress, Unexpected, difference

A, B = bytes(range(64)), bytes(range(1, 65))
TIMEOUT, QUIET = 5.0, 0.1


@dataclass(frozen=True)
class Found:
    """Stands in for PTF's PollSuccess and PollFailure."""

    port: int | None = None
    packet: bytes | None = None


@dataclass
class FakeDataPlane:
    """Frames that leave at given seconds of a clock that only waiting moves on."""

    frames: deque[tuple[float, int, bytes]]
    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def poll(self, device_number: int = 0, *, timeout: float | None = None) -> Found:
        assert device_number == 0
        assert timeout is not None
        self.waits.append(timeout)
        if self.frames and self.frames[0][0] <= self.now + timeout:
            at, port, frame = self.frames.popleft()
            self.now = max(self.now, at)
            return Found(port, frame)
        self.now += timeout
        return Found()

    def clock(self) -> float:
        return self.now


def egress(*frames: tuple[float, int, bytes]) -> tuple[Egress, FakeDataPlane]:
    plane = FakeDataPlane(deque(frames))
    return Egress(plane, timeout=TIMEOUT, quiet=QUIET, clock=plane.clock), plane


def test_the_expected_frames_pass_whatever_the_order_of_the_ports() -> None:
    out, plane = egress((0.1, 2, A), (0.2, 1, A), (0.3, 1, B))
    out.expect({1: [A, B], 2: [A]})
    out.finish()
    assert not plane.frames


def test_a_frame_before_the_expected_one_fails() -> None:
    """PTF's poll would drop it."""
    out, _ = egress((0.0, 1, B), (0.1, 1, A))
    with pytest.raises(Unexpected, match="differ from byte 0 on"):
        out.expect({1: [A]})


def test_frames_in_another_order_fail() -> None:
    out, _ = egress((0.0, 1, B), (0.1, 1, A))
    with pytest.raises(Unexpected):
        out.expect({1: [A, B]})


@pytest.mark.parametrize("length", [14, 59])
@pytest.mark.parametrize("behind", [b"\0", b"x" * 40])
def test_bytes_behind_a_short_frame_fail(length: int, behind: bytes) -> None:
    """PTF would not compare them."""
    out, _ = egress((0.0, 1, A[:length] + behind))
    with pytest.raises(Unexpected, match=f"differ from byte {length} on: expected nothing"):
        out.expect({1: [A[:length]]})


def test_a_frame_cut_short_fails() -> None:
    out, _ = egress((0.0, 1, A[:-1]))
    with pytest.raises(Unexpected, match="63 bytes instead of 64"):
        out.expect({1: [A]})


def test_the_same_frame_twice_fails() -> None:
    out, _ = egress((0.0, 1, A), (0.0, 1, A))
    with pytest.raises(Unexpected, match="port 1 sent a frame of 64 bytes that nobody expected"):
        out.expect({1: [A]})


def test_a_copy_out_of_another_port_fails() -> None:
    out, _ = egress((0.0, 1, A), (0.0, 3, A))
    with pytest.raises(Unexpected, match="port 3"):
        out.expect({1: [A]})


def test_a_copy_that_comes_late_fails_the_next_expectation() -> None:
    out, _ = egress((0.0, 1, A), (0.02, 3, A), (0.03, 1, B))
    out.expect({1: [A]})
    with pytest.raises(Unexpected, match="port 3"):
        out.expect({1: [B]})


def test_a_copy_that_comes_late_fails_the_end() -> None:
    out, _ = egress((0.0, 1, A), (0.05, 3, A))
    out.expect({1: [A]})
    with pytest.raises(Unexpected, match="port 3"):
        out.finish()


def test_a_frame_that_never_leaves_fails_after_the_time_out() -> None:
    out, plane = egress((1.0, 1, A))
    with pytest.raises(Unexpected, match="did not leave within 5 s: 1 of port 1, 1 of port 2"):
        out.expect({1: [A, B], 2: [B]})
    assert plane.now == TIMEOUT


def test_a_frame_behind_the_time_out_fails() -> None:
    out, _ = egress((TIMEOUT + 0.5, 1, A))
    with pytest.raises(Unexpected, match="did not leave"):
        out.expect({1: [A]})


def test_silence_is_waited_for() -> None:
    out, plane = egress((0.09, 2, A))
    with pytest.raises(Unexpected, match="port 2"):
        out.expect_silence()
    out, plane = egress((0.2, 2, A))
    out.expect_silence()
    assert plane.now == QUIET


def test_no_expectation_waits_for_nothing() -> None:
    out, plane = egress((0.05, 1, A))
    out.finish()
    assert plane.waits == []
    out.expect({})
    assert plane.waits == [0.0]


def test_what_a_failed_case_left_is_thrown_away() -> None:
    out, plane = egress((0.0, 1, B), (0.05, 2, B), (1.0, 1, A))
    out.drain()
    assert plane.now == pytest.approx(0.05 + QUIET)
    out.expect({1: [A]})
    out, plane = egress(*((n * QUIET / 2, 1, A) for n in range(1000)))
    out.drain()
    assert plane.now == pytest.approx(TIMEOUT, abs=QUIET)


@given(st.binary(min_size=1, max_size=80), st.binary(min_size=1, max_size=80))
def test_exactly_equal_frames_pass(expected: bytes, found: bytes) -> None:
    out, _ = egress((0.0, 1, found))
    if expected == found:
        out.expect({1: [expected]})
        return
    with pytest.raises(Unexpected) as failure:
        out.expect({1: [expected]})
    assert str(failure.value) == difference(1, expected, found)


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([A, B])), max_size=6), st.data())
def test_one_frame_more_or_less_fails(sent: list[tuple[int, bytes]], data: st.DataObject) -> None:
    wanted: dict[int, list[bytes]] = {}
    for port, frame in sent:
        wanted.setdefault(port, []).append(frame)
    out, _ = egress(*((0.0, port, frame) for port, frame in sent))
    out.expect(wanted)
    out.finish()
    at = data.draw(st.integers(0, len(sent)))
    more = [*sent[:at], (data.draw(st.integers(1, 4)), A), *sent[at:]]
    out, _ = egress(*((0.0, port, frame) for port, frame in more))
    with pytest.raises(Unexpected):
        out.expect(wanted)
    if sent:
        less = sent[: len(sent) - 1]
        out, _ = egress(*((0.0, port, frame) for port, frame in less))
        with pytest.raises(Unexpected):
            out.expect(wanted)
