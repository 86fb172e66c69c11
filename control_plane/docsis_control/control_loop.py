# SPDX-License-Identifier: Apache-2.0
"""The control loop of a device in real time: it waits, reads, ticks and writes.

It has a thread of its own, which does the waiting itself: at the clock for the interval's
deadline, and at the socket for the switch's two answers. Those are all the times that a processor
has to be found for it in an update; an event loop that is told by grpcio's threads needs some
twenty (docs/performance.md). What the update computes is the law's, a function of the interval
and of what was read.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from docsis_control.law.service_flows import Observation
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.plan import CONTROL_INTERVAL_US, ServiceFlow
from docsis_control.priority import raise_thread
from docsis_control.recording import DeviceRecord
from docsis_control.running import Controlled
from docsis_control.turn import Turn

INTERVAL_NS: Final = CONTROL_INTERVAL_US * 1000


class AtTimes(Protocol):
    """A switch's clock; see `state.control_header.SwitchClock`."""

    def at(self, monotonic_ns: int) -> int:
        """The switch's time at a CLOCK_MONOTONIC time: microseconds, at least 1."""


class ControlLoop:
    """One update an interval, on a grid of absolute deadlines.

    An interval is missed when no update was acknowledged in it. An update that
    takes longer than its interval counts for the one it ends in, and the loop
    goes on with the next: late updates never pile up. The law makes up for what was missed.

    Attributes:
        controlled: The device's part that it controls. The holder of the turn may replace it.
        ended: Done when the loop has ended, with the exception that ended it, if one did.
    """

    def __init__(
        self, controlled: Controlled, turn: Turn, clock: AtTimes, record: DeviceRecord
    ) -> None:
        """Args: what it controls, whose turn it is, the switch's clock, and where it reports to."""
        self.controlled = controlled
        self._turn = turn
        self._clock = clock
        self._record = record
        self._stopping = False
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        # Whoever waits sees the exception; asyncio is not to complain if nobody does.
        self.ended.add_done_callback(lambda future: future.cancelled() or future.exception())
        # Only the event loop changes this list; the thread just checks whether it is empty.
        self._watching: list[asyncio.Future[tuple[tuple[ServiceFlow, ...], Observation]]] = []

    def start(self, name: str) -> None:
        """Starts the thread, by that name."""
        threading.Thread(target=self._run, name=name, daemon=True).start()

    async def stop(self) -> None:
        """Returns when the thread has ended: within an interval, or when its call does.

        That holds for a task that is cancelled meanwhile, too: no thread is left behind.
        """
        self._stopping = True
        cancelled = False
        while not self.ended.done():
            try:
                await asyncio.wait((self.ended,))
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    async def seen(self) -> tuple[tuple[ServiceFlow, ...], Observation]:
        """Returns the service flows of the next update, and what it sees and decides.

        Raises:
            ConnectionLost: The loop was stopped before that; or whatever else ended it.
        """
        mine: asyncio.Future[tuple[tuple[ServiceFlow, ...], Observation]]
        mine = self._loop.create_future()
        self._watching.append(mine)
        await asyncio.wait((mine, self.ended), return_when=asyncio.FIRST_COMPLETED)
        if mine.done():
            return mine.result()
        self._watching.remove(mine)
        self.ended.result()
        raise ConnectionLost("the control loop was stopped")

    def _run(self) -> None:
        raise_thread()
        try:
            self._update_for_ever()
        except BaseException as error:
            self._loop.call_soon_threadsafe(self._end, error)
        else:
            self._loop.call_soon_threadsafe(self._end, None)

    def _end(self, error: BaseException | None) -> None:
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    def _update_for_ever(self) -> None:
        first = deadline = time.monotonic_ns() + INTERVAL_NS
        while not self._stopping:
            sleep_until(deadline)
            with self._turn:
                if self._stopping:
                    return
                missed = self._update(first, deadline)
            deadline += (missed + 1) * INTERVAL_NS

    def _update(self, first: int, deadline: int) -> int:
        """Returns the intervals that passed as a whole before it was done."""
        controlled, record = self.controlled, self._record
        start = time.monotonic_ns()
        # By when it was made and not by when it was due: a late one is of a later interval.
        seen = controlled.tick((start - first) // INTERVAL_NS)
        done = time.monotonic_ns()
        missed = (done - deadline) // INTERVAL_NS
        record.tick(deadline, start, done, missed)
        record.sample(start, self._clock.at(start), seen)
        if self._watching:
            self._loop.call_soon_threadsafe(self._tell, controlled.flows, seen)
        return missed

    def _tell(self, flows: Sequence[ServiceFlow], seen: Observation) -> None:
        watching, self._watching = self._watching, []
        for each in watching:
            if not each.done():
                each.set_result((tuple(flows), seen))


def sleep_until(monotonic_ns: int) -> None:
    """Sleeps until that time of time.monotonic_ns()."""
    # Python sleeps until a time and not for one, so that nothing in between makes it later.
    while (left := monotonic_ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
