# SPDX-License-Identifier: Apache-2.0
"""The two inequalities of the dual token bucket, on the wire; P4's msr_tokens beside it.

design.md, "The traffic manager": over all t1 < t2
TxBytes <= (t2-t1) R/8 + B and TxBytes <= (t2-t1) P/8 + 1522.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, ClassVar

from docsis_ptf import load_test, sharing_test
from docsis_ptf.buckets import worst_lack
from docsis_ptf.docsis_test import MAX_FRAME
from docsis_ptf.sharing_test import Load
from docsis_ptf.wire import Capture

TOKENS_PER_BYTE = 8_000_000


class Inequalities(load_test.LoadTest):
    """Both inequalities over every window: a burst at the peak rate, then the sustained rate."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"sustained": 20, "peak": 25, "burst": 100_000, "tokens": 100_000, "length": 1500},
            {"sustained": 20, "peak": 25, "burst": 100_000, "tokens": 0, "length": 300},
            {"sustained": 5, "peak": 50, "burst": MAX_FRAME, "tokens": MAX_FRAME, "length": 1500},
            {"sustained": 10, "peak": 100, "burst": 50_000, "tokens": 50_000, "length": 64},
            {"sustained": 200, "peak": 250, "burst": 500_000, "tokens": 0, "length": 1500},
            {"sustained": 50, "peak": 50, "burst": 10_000, "tokens": 10_000, "length": 300},
        ]

    def doRunTest(self, sustained: int, peak: int, burst: int, tokens: int, length: int) -> None:
        rate, peak_rate = sustained * 1_000_000, peak * 1_000_000
        index = self.shaped_flow(
            max_sustained_rate=rate,
            max_burst=burst,
            peak_rate=peak_rate,
            initial_tokens=tokens,
            buffer_size=100_000_000,
        )
        # Three quarters of a second beyond the burst, so that the sustained rate decides.
        count = min((burst + rate // 8 * 3 // 4) // length, 6_000)
        measured = self.work_off(index, count, length)
        self.assert_conforms(measured, rate, burst, "Maximum Sustained Traffic Rate")
        self.assert_conforms(measured, peak_rate, MAX_FRAME, "Peak Traffic Rate")
        # As fast as the buckets allow, too: the time that both together need.
        total = int(measured.arrivals.length.sum())
        needed_ns = max((total - tokens) / rate, (total - MAX_FRAME) / peak_rate) * 8e9
        self.assert_no_later(measured.lasted_ns, needed_ns, measured.timing)


class PeakBucket(load_test.LoadTest):
    """The peak rate's bucket at 250 Mbit/s, where the sustained rate never decides.

    Every window of the wire has what the rate is worth, within two frames and the time by which
    things were late: no more, and no less.
    """

    RATE: ClassVar[int] = 250_000_000

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"length": length} for length in (MAX_FRAME, 300)]

    def doRunTest(self, length: int) -> None:
        count, burst = 4_000, 10_000_000
        index = self.shaped_flow(
            max_sustained_rate=self.RATE // 2,
            max_burst=burst,
            peak_rate=self.RATE,
            initial_tokens=burst,
            buffer_size=100_000_000,
        )
        measured = self.work_off(index, count, length)
        # The depth is one frame of the largest size, and not one of these.
        self.assert_conforms(measured, self.RATE, MAX_FRAME, "Peak Traffic Rate")
        lack = worst_lack(
            measured.arrivals.time_ns, measured.arrivals.length, self.RATE, 2 * length
        )
        allowed = self.RATE / 8e9 * measured.timing.longer_ns + load_test.ROUNDING_BYTES
        self.assertLessEqual(lack, allowed, f"bytes too few in the worst window; {measured.timing}")


class PeakBucketOfTheSchedule(load_test.LoadTest):
    """The same by the switch's own clock, which is as exact as its schedule is.

    The time at which the last frame left and the bytes that have left, read in one request while a
    backlog is worked off: any two of these are as far apart as the rate makes them, within two
    frames.
    """

    needs: ClassVar[tuple[str, ...]] = ("shaping", "registers")

    RATE: ClassVar[int] = 250_000_000
    LENGTH: ClassVar[int] = 1000
    FRAMES: ClassVar[int] = 6_000
    PAIRS: ClassVar[int] = 10

    def doRunTest(self) -> None:
        burst = 10_000_000
        index = self.shaped_flow(
            max_sustained_rate=self.RATE // 2,
            max_burst=burst,
            peak_rate=self.RATE,
            initial_tokens=burst,
            buffer_size=100_000_000,
        )
        compared = 0
        # A busy machine reads seldom: a backlog more, and what it says counts with the others.
        assert_time_left = self.time_limit("readings while frames leave", seconds=60)
        while compared < self.PAIRS:
            assert_time_left()
            seen, jumped_ns = self.readings(index)
            for (octets, at_us), (later_octets, later_us) in combinations(seen, 2):
                worth = (later_us - at_us) * self.RATE / 8e6
                lost = jumped_ns * self.RATE / 8e9
                found, frames = later_octets - octets, 2 * self.LENGTH
                said = f"bytes in {later_us - at_us} us"
                self.assertLessEqual(found, worth + frames, said)
                self.assertGreaterEqual(found, worth - lost - frames, said)
                compared += 1

    def readings(self, index: int) -> tuple[list[tuple[int, int]], int]:
        """Bytes that have left, and when the last frame did, while one backlog is worked off.

        Also how much time the switch jumped over meanwhile, nanoseconds.
        """
        stream, count = self.upstream(self.LENGTH), self.FRAMES
        cells = [(name, index) for name in ("sf_dequeued_bytes", "msr_updated")]
        seen: set[tuple[int, int]] = set()
        with self.recording(stream, count) as (capture, injector):
            self.block()
            before = self.fates(index).received
            begun = self.client.register("sf_dequeued_bytes", index)
            for first in range(0, count, self.params.batch):
                size = min(self.params.batch, count - first)
                injector.send(stream.frames(size, first))
                self.await_received(index, before + first + size)
            with self.timed() as timing:
                self.release()
                assert_time_left = self.time_limit("the frames behind the shaper", seconds=60)
                while capture.count() < count:
                    assert_time_left()
                    octets, at_us = self.client.registers(cells)
                    if begun < octets < begun + count * self.LENGTH:
                        seen.add((octets, at_us))
        return sorted(seen), timing[0].jumped_ns


class OneRate(load_test.LoadTest):
    """A flow with one rate has no limit but that one: a burst at once, or none at all."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"sustained": 10_000_000, "peak": 0, "burst": 60_000},
            {"sustained": 10_000_000, "peak": 0, "burst": MAX_FRAME},
            {"sustained": 0, "peak": 10_000_000, "burst": 0},
        ]

    def doRunTest(self, sustained: int, peak: int, burst: int) -> None:
        index = self.shaped_flow(
            max_sustained_rate=sustained,
            max_burst=burst,
            peak_rate=peak,
            initial_tokens=burst,
            buffer_size=100_000_000,
        )
        length, rate = 1000, sustained or peak
        depth = burst or MAX_FRAME
        measured = self.work_off(index, 500, length)
        self.assert_conforms(measured, rate, depth, "the one rate")
        # All tokens there are leave at once, and then the rate is used.
        elapsed = measured.arrivals.time_ns - measured.arrivals.time_ns[0]
        expected = depth // length
        within_ns = measured.timing.longer_ns + self.cable_ns(expected, length)
        self.assertGreaterEqual(int((elapsed <= within_ns).sum()), expected)
        needed_ns = (int(measured.arrivals.length.sum()) - depth) * 8e9 / rate
        self.assert_no_later(measured.lasted_ns, needed_ns, measured.timing)


class Unlimited(load_test.LoadTest):
    """Without a rate (TLV 24/25.8 and .27 left out or 0) nothing is held back."""

    def doRunTest(self) -> None:
        index = self.shaped_flow(
            max_sustained_rate=0,
            max_burst=0,
            peak_rate=0,
            initial_tokens=0,
            buffer_size=100_000_000,
        )
        self.work_off(index, 1000, 1500, waiting=False)
        # The switch counts the frames that a rate made wait.
        queue = self.queue_state(index)
        self.assertEqual((queue.delayed.frames, queue.dequeued.frames), (0, 1000))
        # And none is left of what it was before: all that waited is due at once.
        count, length = 100, 1500
        measured = self.work_off(index, count, length)
        self.assert_no_later(measured.lasted_ns, self.cable_ns(count, length), measured.timing)


class Independent(sharing_test.SharingTest):
    """Two service flows at one port have their rates each, at the same time."""

    def doRunTest(self) -> None:
        rates = (2_000_000, 6_000_000)
        length = 1000
        # A second of each, at a port without a rate.
        both = self.share(
            0,
            [
                Load(
                    rate // 8 // length,
                    length,
                    max_sustained_rate=rate,
                    max_burst=3044,
                    peak_rate=rate,
                )
                for rate in rates
            ],
        )
        flows = self.flows_of(both)
        for n, rate in enumerate(rates):
            measured = both.only(flows == n)
            self.assert_conforms(measured, rate, MAX_FRAME, f"the flow of {rate} bit/s")
            self.assert_used(measured, rate)


class SustainedRate(load_test.LoadTest):
    """Under load the Maximum Sustained Traffic Rate is met, to the frame."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"rate": 20_000_000, "length": 1500}, {"rate": 20_000_000, "length": 218}]

    def doRunTest(self, rate: int, length: int) -> None:
        index = self.shaped_flow(
            max_sustained_rate=rate,
            max_burst=10_000,
            peak_rate=rate * 5 // 4,
            initial_tokens=0,
            buffer_size=100_000_000,
        )
        self.assert_used(self.work_off(index, rate // 8 * 2 // length, length), rate)


class RefilledBurst(load_test.LoadTest):
    """After a pause the bucket is full, and no fuller: a second burst is as long as the first."""

    def doRunTest(self) -> None:
        rate, peak, burst, length = 10_000_000, 100_000_000, 100_000, 1000
        index = self.shaped_flow(
            max_sustained_rate=rate,
            max_burst=burst,
            peak_rate=peak,
            initial_tokens=burst,
            buffer_size=1_000_000,
        )
        first = self.work_off(index, 200, length, waiting=False)

        def full() -> bool:
            queue = self.queue_state(index)
            return int(queue.sustained_tokens) == burst * TOKENS_PER_BYTE

        self.poll("a full bucket", full)
        second = self.work_off(index, 200, length, waiting=False)
        for measured in (first, second):
            self.assert_conforms(measured, rate, burst, "Maximum Sustained Traffic Rate")
            self.assert_conforms(measured, peak, MAX_FRAME, "Peak Traffic Rate")
            # With a full bucket the rest takes no longer, since all of it was there.
            total = int(measured.arrivals.length.sum())
            needed_ns = max((total - burst) / rate, (total - MAX_FRAME) / peak) * 8e9
            took_ns = int(measured.arrivals.time_ns[-1]) - measured.offered_ns
            self.assert_no_later(took_ns, needed_ns, measured.timing)


class TokensAgree(load_test.LoadTest):
    """P4's msr_tokens is within one packet of the traffic manager's state, idle and under load.

    Where the switch is late, what was due meanwhile leaves at once, and may do so between the two
    readings: that much more they may differ by.
    """

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"length": 64}, {"length": 1500}]

    def doRunTest(self, length: int) -> None:
        rate, peak, burst = 4_000_000, 8_000_000, 50_000
        index = self.shaped_flow(
            max_sustained_rate=rate,
            max_burst=burst,
            peak_rate=peak,
            initial_tokens=burst,
            buffer_size=10_000_000,
        )
        found: list[tuple[float, str]] = []

        def compare(when: str) -> None:
            found.append((self.difference(index, rate, burst), when))

        count = (burst + rate // 8) // length
        stream = self.upstream(length)
        with self.timed() as timed:
            compare("before any frame")
            with self.recording(stream, count) as (capture, injector):
                for first in range(0, count, self.params.batch):
                    injector.send(stream.frames(min(self.params.batch, count - first), first))
                    compare(f"after {first} frames")
                while capture.count() < count:
                    before = capture.count()
                    compare(f"{before} frames sent")
                    self.await_count(capture, min(before + 20, count))
                self.assertEqual(capture.count(), count)
            compare("after the last frame")
        (timing,) = timed
        difference, when = max(found)
        most = MAX_FRAME + peak * timing.longer_ns / 8e9
        self.assertLessEqual(difference, most, f"bytes of difference {when}; {timing}")

    def await_count(self, capture: Capture, count: int) -> None:
        self.poll(f"{count} frames", lambda: capture.count() >= count)

    def difference(self, index: int, rate: int, burst: int) -> float:
        """Brings the pipeline's tokens to the traffic manager's moment; bytes between the two."""
        state = self.client.state(index)
        states = self.client.shaper.states()
        now_ns, queue = states.now_ns, states.queues[self.rf, index]
        earned = max(now_ns - state.msr_updated * 1000, 0) * rate // 1000
        # Frames that left between the two readings are in the later one only.
        left = (int(queue.dequeued.bytes) - state.dequeued_bytes) % (1 << 32)
        # Whether it left before or after the tokens were earned, which matters to a
        # bucket that is nearly full, is not known.
        depth = burst * TOKENS_PER_BYTE
        least = min(depth, state.msr_tokens + earned) - left * TOKENS_PER_BYTE
        most = min(depth, state.msr_tokens + earned - left * TOKENS_PER_BYTE)
        tokens = int(queue.sustained_tokens)
        return max(least - tokens, tokens - most) / TOKENS_PER_BYTE
