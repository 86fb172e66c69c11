# SPDX-License-Identifier: Apache-2.0
"""Watches one switch while faults happen: whether it is under control, and what leaves it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Final

from docsis_experiments.chaos.findings import Findings, Invariant
from docsis_experiments.chaos.mininet.devices import Looked
from docsis_experiments.chaos.mininet.leftovers import THREADS
from docsis_experiments.chaos.mininet.waiting import Waiting
from docsis_experiments.chaos.recovery import Recovery

_LOOK_EVERY: Final = 0.05
_SAMPLE_EVERY: Final = 4
"""Looks."""
_END_SECONDS: Final = 10.0


class Watch:
    """A thread that asks a switch again and again.

    Attributes:
        recovery: What it follows.
    """

    def __init__(
        self,
        looked: Looked,
        recovery: Recovery,
        findings: Findings,
        *,
        now_ns: Callable[[], int],
        plan_ns: Callable[[int], int],
        pids: Callable[[], Iterable[int]],
        looped: Callable[[], bool],
        lock: threading.Lock,
    ) -> None:
        """For a switch that runs.

        Args:
            looked: Asks it.
            recovery: Follows its control.
            findings: Gets what does not hold.
            now_ns: Nanoseconds since the plan's beginning.
            plan_ns: The same of a time of CLOCK_MONOTONIC.
            pids: Processes that take part in its control.
            looped: Whether it has a control loop now, as far as is known.
            lock: Guards recovery and findings.
        """
        self.recovery = recovery
        self._looked = looked
        self._findings = findings
        self._now_ns = now_ns
        self._plan_ns = plan_ns
        self._pids = pids
        self._looped = looped
        self._lock = lock
        self._over = threading.Event()
        self._waiting = self._wait_from_now()
        self._updated: int | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"{THREADS}watch {looked.name}", daemon=True
        )

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def end(self) -> None:
        """Ends, and returns when it has; one that does not end in time is a finding."""
        self._over.set()
        self._thread.join(_END_SECONDS)
        if self._thread.is_alive():
            self._failed(f"did not end within {_END_SECONDS:g} s")

    def began(self) -> None:
        """A fault began that interrupts control."""
        with self._lock:
            self.recovery.began()

    def ended(self) -> None:
        """One ended."""
        waiting = self._wait_from_now()
        with self._lock:
            self._waiting = waiting
            self.recovery.ended(self._now_ns())

    def settled(self) -> bool:
        """Whether control is back, and has had its time for that."""
        with self._lock:
            return self.recovery.settled(self._now_ns())

    def _wait_from_now(self) -> Waiting:
        # This process has the way between the two, and the thread that looks.
        return Waiting.since_now((os.getpid(), *self._pids()))

    def _run(self) -> None:
        try:
            self._watch()
        except Exception as error:  # a defect here may not look like control that holds
            self._failed(f"ended with {type(error).__name__}: {error}")

    def _failed(self, words: str) -> None:
        said = f"{self._looked.name}: the watch {words}; nothing is known of it since"
        with self._lock:
            self._findings.check(self._now_ns(), Invariant.RECOVERY, [said])

    def _watch(self) -> None:
        turn = 0
        while not self._over.wait(_LOOK_EVERY):
            turn += 1
            with self._lock:
                quiet = self.recovery.interrupted
            if quiet:
                # It is stopped or dead, or nobody may control it: nothing is judged.
                continue
            self._look()
            if turn % _SAMPLE_EVERY == 0:
                self._sample()

    def _look(self) -> None:
        monotonic_ns = self._looked.updated_ns(looped=self._looped())
        updated = None if monotonic_ns is None else self._plan_ns(monotonic_ns)
        went_on = updated is not None and updated != self._updated
        self._updated = updated
        fresh = self._wait_from_now() if went_on else None
        with self._lock:
            now, waiting = self._now_ns(), self._waiting
            self.recovery.look(now, updated, waiting.ns())
            self._findings.check(now, Invariant.RECOVERY, self.recovery.failures())
            if fresh is not None and self.recovery.back and waiting is self._waiting:
                self._waiting = fresh

    def _sample(self) -> None:
        said = self._looked.sample()
        if said is not None:
            with self._lock:
                self._findings.check(self._now_ns(), Invariant.BUCKETS, said)
