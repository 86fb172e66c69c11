# SPDX-License-Identifier: Apache-2.0
"""Sixth rung: CoDel's control law, t + interval / sqrt(count), as its registers tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from typing import ClassVar, Final

from docsis_ptf import codel_tables
from docsis_ptf.manager_test import ManagerTest

FREE: Final = 0
DROPPING: Final = 1
FIRST: Final = 2
NEXT: Final = 3
PAST: Final = 1
AHEAD: Final = (1 << 47) - 1
HELD: Final = 5_000
LENGTH: Final = 100
MOST: Final = 400
"""The largest count of drops that is looked at."""
_Q31: Final = 1 << 31


def step(interval: int, count: int) -> float:
    """Microseconds from one drop to the next (RFC 8289, 5.6: control_law)."""
    return interval / sqrt(count)


def rounding(interval: int) -> float:
    """Microseconds by which 1 / sqrt(count), rounded to the nearest of Q1.31, moves a drop."""
    return interval / 2 / _Q31


class PairTest(ManagerTest):
    """Frames by twos, of which the first is dropped and the second comes out."""

    @contextmanager
    def pairs(self, most: int) -> Iterator[Callable[[], None]]:
        """A call that sends two frames and waits for the second, so many times at the most.

        At the end each first one, and no other, has to be missing.
        """
        stream, sent = self.upstream(LENGTH), 0
        with self.recording(stream, 2 * most) as (capture, injector):

            def pair() -> None:
                nonlocal sent
                injector.send(stream.frames(2, 2 * sent))
                sent += 1
                self.poll("the second of two frames", lambda: capture.count() >= sent)

            yield pair
            found = capture.arrivals().sequence.tolist()
        self.assertEqual(found, list(range(1, 2 * sent, 2)), "the second of each two frames")


class CodelLawTest(PairTest):
    """Service flows of which every frame has waited for too long: the target is 0.

    Frames are held in the books, so that there is always something queued.

    Attributes:
        codel: The control that has the tables and the registers.
    """

    needs: ClassVar[tuple[str, ...]] = ("registers",)
    codel: ClassVar[str]

    def codel_flow(self, interval: int) -> int:
        """A service flow with this interval, microseconds."""
        index = self.managed_flow(HELD)
        self.insert(codel_tables.parameters(self.codel, index, 0, interval))
        return index

    def force(self, index: int, **values: int) -> None:
        """Sets the state, all at one moment where the target's writes are."""
        cells = [(f"{self.codel}.{name}_", index, value) for name, value in values.items()]
        self.client.set_registers(cells)

    def told(self, index: int, *names: str) -> list[int]:
        """The state, all of one moment where the target's reads are."""
        return self.client.registers([(f"{self.codel}.{name}_", index) for name in names])

    def assert_step(self, found: float, interval: int, count: int) -> None:
        """A time between drops is the law's, rounded down to a microsecond."""
        wanted, off = step(interval, count), rounding(interval)
        self.assertTrue(
            wanted - 1 - off <= found <= wanted + off,
            f"count {count}: {found} us instead of {wanted:.1f} = {interval} / sqrt({count})",
        )
