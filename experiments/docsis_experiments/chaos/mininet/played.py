# SPDX-License-Identifier: Apache-2.0
"""A plan of faults while it is played in Mininet, and what is checked meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.plan import Deployment
from docsis_experiments.chaos import faults as plans
from docsis_experiments.chaos.faults import CONTROLLER, SECOND, Fault, Kind, Part, Target
from docsis_experiments.chaos.findings import Findings, Invariant, Report, summary, tally
from docsis_experiments.chaos.mininet.changes import Changes, compared
from docsis_experiments.chaos.mininet.injector import Injector
from docsis_experiments.chaos.mininet.leftovers import THREADS
from docsis_experiments.chaos.mininet.system import System
from docsis_experiments.chaos.mininet.watch import Watch
from docsis_experiments.chaos.recovery import GRACE_NS, Recovery
from docsis_testbed.errors import TestbedError
from docsis_testbed.progress import Progress

_LOOK_EVERY: Final = 0.05
_CHANGE_EVERY: Final = 1.0
_RENEW_EVERY: Final = 1.0
_TAIL: Final = 3.0
"""Seconds without faults at the end, so that the last can be judged."""
_SETTLE_SECONDS: Final = 30.0
"""How long what was put off, an answer, or frames on their way may take at the end."""
_STALE_NS: Final = SECOND
"""A change of the plan may take some intervals, and the machine's share of them."""
_MOST_REVIVED: Final = 10
"""Deaths by themselves that are made good; with more of them there is nothing to test."""


class Played:
    """A run that goes on. One thread injects and checks; `Watch` and `Changes` have their own.

    Attributes:
        findings: What did not hold.
    """

    def __init__(
        self,
        system: System,
        deployment: Deployment,
        plan: list[Fault],
        seed: int,
        progress: Progress,
    ) -> None:
        """Args: what runs and is provisioned, with what, the faults, the seed, and who is told."""
        self.findings = Findings(plan)
        self._system = system
        self._plan = plan
        self._seed = seed
        self._progress = progress
        self._changes = Changes(deployment, seed)
        system.anew = self._changes.begin_anew
        self._injector = Injector(system)
        self._lock = threading.Lock()
        self._watches = {
            name: Watch(
                looked,
                Recovery(name, stale_ns=_STALE_NS),
                self.findings,
                now_ns=lambda: self.now_ns,
                plan_ns=self._plan_ns,
                pids=self._controlling(name),
                looped=self._looping(name),
                lock=self._lock,
            )
            for name, looked in system.looked.items()
        }
        # Targets that have a fault, or are being started again.
        self._busy: set[Target] = set()
        self._checked = -1
        self._injected = 0
        self._revived = 0
        self._end_ns = 0

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the plan's beginning, or when the run had ended."""
        return self._end_ns or round(self._system.schedule.now * SECOND)

    def _plan_ns(self, monotonic_ns: int) -> int:
        return monotonic_ns - round(self._system.schedule.began * SECOND)

    def _controlling(self, name: str) -> Callable[[], Iterable[int]]:
        targets = (CONTROLLER, Target(Part.SWITCH, name))
        return lambda: [self._system.process(target).pid for target in targets]

    def _looping(self, name: str) -> Callable[[], bool]:
        """Whether a switch is known to have a control loop: there may be nothing to manage."""

        def looped() -> bool:
            plans_of = (one for each in self._changes.possible() for one in each.devices)
            return not self._changes.going_on and all(
                one.looped for one in plans_of if one.name == name
            )

        return looped

    def _interrupted(self, target: Target) -> list[Watch]:
        """Switches whose control a fault of a target interrupts."""
        return [
            watch
            for name, watch in self._watches.items()
            if target in (CONTROLLER, Target(Part.SWITCH, name))
        ]

    def _check(self, invariant: Invariant, said: Iterable[str]) -> None:
        with self._lock:
            self.findings.check(self.now_ns, invariant, said)

    # --- the run ---------------------------------------------------------------------------

    def play(self) -> None:
        """All faults, and what is checked meanwhile.

        Raises:
            TestbedError: A program ends by itself again and again.
        """
        system, schedule = self._system, self._system.schedule
        schedule.began = time.monotonic()
        for fault in self._plan:
            schedule.at(fault.start_ns / SECOND, self._beginning(fault))
        schedule.every(_RENEW_EVERY, system.traffic.renew)
        schedule.every(_LOOK_EVERY, self._look)
        schedule.every(_CHANGE_EVERY, self._change)
        for watch in self._watches.values():
            watch.start()
        try:
            schedule.run_until(plans.end_of(self._plan) / SECOND)
            self._wait(lambda: self._injected == len(self._plan) and not self._busy)
            schedule.run_until(schedule.now + _TAIL)
            self._wait(lambda: all(watch.settled() for watch in self._watches.values()))
            self._changes.wait(_SETTLE_SECONDS)
        finally:
            for watch in self._watches.values():
                watch.end()
        self._check_all()
        system.traffic.stop()
        self._balance()
        self._end_ns = self.now_ns

    def _wait(self, done: Callable[[], bool]) -> None:
        """Goes on until something is done; what takes too long is told by other checks."""
        schedule = self._system.schedule
        deadline, injected = schedule.now + _SETTLE_SECONDS, self._injected
        while not done() and schedule.now < deadline:
            schedule.run_until(schedule.now + _LOOK_EVERY)
            if self._injected > injected:
                deadline, injected = schedule.now + _SETTLE_SECONDS, self._injected

    # --- faults ----------------------------------------------------------------------------

    def _beginning(self, fault: Fault) -> Callable[[], None]:
        schedule = self._system.schedule
        # A link is as well as the switch that makes it slow: neither has a fault meanwhile.
        involved = {fault.target, self._injector.needs(fault) or fault.target}

        def begin() -> None:
            if involved & self._busy:
                # Such as what was killed and is still being started.
                schedule.at(schedule.now + _LOOK_EVERY, begin)
                return
            self._busy |= involved
            for watch in self._interrupted(fault.target):
                watch.began()
            try:
                end = self._injector.begin(fault)
            except (ConnectionLost, P4RuntimeError) as error:
                self._check(Invariant.RECOVERY, [f"{fault.target} cannot be made slow: {error}"])
                end = _nothing
            self._injected += 1
            self._progress(f"fault {fault.number} of {len(self._plan)}", schedule.now)
            schedule.at(schedule.now + fault.length_ns / SECOND, self._ending(fault, end, involved))

        return begin

    def _ending(
        self, fault: Fault, end: Callable[[], None], involved: set[Target]
    ) -> Callable[[], None]:
        def over() -> None:
            try:
                end()
            except (ConnectionLost, P4RuntimeError) as error:
                self._check(Invariant.RECOVERY, [f"{fault.target} stays slow: {error}"])
            if fault.kind is Kind.KILL and fault.target.has_control:
                self._serve(fault.target)
            else:
                self._ended(fault.target, involved)

        return over

    def _serve(self, target: Target) -> None:
        """A fault that killed is over when what was started again serves: that is the machine's."""

        def wait() -> None:
            try:
                self._system.wait_serving(target)
            except TestbedError as error:
                self._check(Invariant.RECOVERY, [str(error)])
            self._ended(target, {target})

        threading.Thread(target=wait, name=f"{THREADS}start of {target}", daemon=True).start()

    def _ended(self, target: Target, involved: set[Target]) -> None:
        for watch in self._interrupted(target):
            watch.ended()
        self._busy -= involved

    def _revive(self, target: Target) -> None:
        """Starts what has ended by itself, as whoever watches over it does."""
        words = self._system.ending(target)
        self._check(Invariant.RECOVERY, [f"by itself, {words}"])
        self._revived += 1
        if self._revived > _MOST_REVIVED:
            raise TestbedError(f"programs end by themselves again and again: {words}")
        self._busy.add(target)
        for watch in self._interrupted(target):
            watch.began()
        self._system.restart(target)
        self._serve(target)

    # --- what goes on beside faults ----------------------------------------------------------

    def _change(self) -> None:
        process = self._system.process(CONTROLLER)
        # One that is stopped or cut off is asked, too.
        if process.poll() is None:
            self._changes.ask(process.pid)
        else:
            self._changes.nobody_there()

    def _look(self) -> None:
        """Looks after the programs, and at everything when control has settled."""
        for target in self._system.dead():
            if target not in self._busy:
                self._revive(target)
        settled = all(watch.settled() for watch in self._watches.values())
        since = max((watch.recovery.since_ns for watch in self._watches.values()), default=-1)
        due = since != self._checked or self._changes.unsure
        # No fault begins meanwhile: this thread begins them all.
        if settled and due and not self._changes.going_on:
            self._checked = since
            self._check_all()

    # --- what must hold ----------------------------------------------------------------------

    def _check_all(self) -> None:
        """Compares the switches with what may be deployed, and counts frames."""
        looked = self._system.looked

        def differences(deployment: Deployment) -> list[str]:
            return [
                words for one in deployment.devices for words in looked[one.name].differences(one)
            ]

        self._check(Invariant.PROVISIONING, compared(self._changes, differences))
        self._check(Invariant.PACKETS, self._books())

    def _books(self) -> list[str]:
        deployment, looked = self._changes.possible()[0], self._system.looked
        return [words for one in deployment.devices for words in looked[one.name].books(one)]

    def _balance(self) -> None:
        """Until all that is on its way has arrived; then the books have to be exact."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (said := self._books()) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        self._check(Invariant.PACKETS, said)

    def report(self) -> Report:
        """What came of it."""
        recoveries = {name: watch.recovery for name, watch in self._watches.items()}
        looked = self._system.looked.values()
        return Report(
            stage="mininet",
            topology=self._system.topology.name,
            seed=self._seed,
            seconds=self.now_ns / SECOND,
            faults=tally(self._plan),
            injected=self._injected,
            findings=self.findings,
            recoveries_ms={
                name: [time_ns / 1e6 for time_ns in recovery.times_ns]
                for name, recovery in recoveries.items()
            },
            changes=dict(sorted(self._changes.outcomes.items())),
            packets={
                "departed": sum(one.departed for one in looked),
                "bucket_samples": sum(one.samples for one in looked),
            },
            notes={
                "controllers": self._changes.lives,
                "grace_ms": GRACE_NS / 1e6,
                "machine_late_ms": {
                    name: summary([late_ns / 1e6 for late_ns in recovery.late_ns])
                    for name, recovery in recoveries.items()
                },
                "injector_late_ms": round(self._system.schedule.latest * 1e3, 3),
            },
        )


def _nothing() -> None:
    """Ends a fault that did not begin."""
