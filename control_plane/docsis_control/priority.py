# SPDX-License-Identifier: Apache-2.0
"""Priorities: the control loop runs before the load that it controls and before its observers."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_TICK_PRIORITY: Final = 7
"""Above the testbed's switches: at 200 Mbps they leave a lower one waiting for
tens of milliseconds, and a queue whose controller is late is longer than one
whose frames wait for the controller's millisecond."""

_TASK_PRIORITY: Final = 6
"""Priority of the event loop, which provisions and changes. It is below that of the control loops,
which could not ask for the interpreter's lock beside a thread of their own priority on the same
processor."""

_VIEW_PRIORITY: Final = 1
"""Below both; above the load, or whoever has the interpreter's lock may wait for it."""

_NICE: Final = -15
_SWITCH_SECONDS: Final = 0.0001
"""How soon a thread gives way to another that asks for the interpreter's lock; Python's own is
fifty times this.

NumPy gives the lock back in each operation on more than 500 elements, and a system call does, so an
update of hundreds of service flows asks for it some twenty times. While a change is derived, each
time may cost as much as this. Switching costs far less: some 10 us."""


_SLICE_SECONDS: Final = 0.0004
_PAUSE_SECONDS: Final = 0.0003
"""A view works and pauses in turns of about these. The control loop asks for the interpreter's
lock many times in an update; beside a thread that always wants it, too, each time takes up to
`_SWITCH_SECONDS`, and what a view of hundreds of service flows adds to an update would be long."""

_Item = TypeVar("_Item")


def paced(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, with pauses, for a thread that makes a view of many of them."""
    since = time.monotonic()
    for item in items:
        yield item
        if time.monotonic() - since > _SLICE_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            since = time.monotonic()


def raise_priority() -> None:
    """Puts the process before the load that it controls, as far as the system lets it.

    A niced process still waits for a time slice of those that run, which is 3 to 4
    ms: a real-time one does not. It needs a millisecond or two of its 16.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_TASK_PRIORITY))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _NICE)


def raise_thread() -> None:
    """Lets this thread, which runs a control loop, go before all others of the process."""
    if os.sched_getscheduler(0) == os.SCHED_RR:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_TICK_PRIORITY))


def lower_thread() -> None:
    """Lets the control loop go before this thread; call it in a thread that makes a view."""
    if os.sched_getscheduler(0) == os.SCHED_RR:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_VIEW_PRIORITY))


def lower_helpers() -> None:
    """The running loop's asyncio.to_thread goes to threads behind the loop."""
    executor = ThreadPoolExecutor(2, thread_name_prefix="view", initializer=lower_thread)
    asyncio.get_running_loop().set_default_executor(executor)
