# SPDX-License-Identifier: Apache-2.0
"""A run under faults in Mininet, in real time."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.change import changed
from docsis_control.dynamic.client import ChangeError, apply
from docsis_control.plan import Deployment
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Topology
from docsis_experiments.chaos import faults as plans
from docsis_experiments.chaos.changing import Wish, Wishes
from docsis_experiments.chaos.faults import CONTROLLER, SECOND, Fault, Kind, Part, Rhythm, Target
from docsis_experiments.chaos.findings import Findings, Invariant, Report, tally
from docsis_experiments.chaos.mininet.injector import Injector, possible
from docsis_experiments.chaos.mininet.system import System
from docsis_experiments.chaos.recovery import GRACE_NS, Recovery
from docsis_testbed import preflight
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RUN_STATE
from docsis_testbed.progress import Progress
from docsis_testbed.runfiles import LOCK
from docsis_testbed.runstate import recorded_run
from docsis_testbed.session import ControllerProgram
from docsis_testbed.testbed import root_interfaces, running_testbed

_LOOK_EVERY: Final = 0.05
_SAMPLE_EVERY: Final = 4
"""Looks."""
_CHANGE_EVERY: Final = 1.0
_RENEW_EVERY: Final = 1.0
_TAIL: Final = 3 * SECOND
_SETTLE_SECONDS: Final = 10.0
_STALE_NS: Final = SECOND
_AMBIGUOUS: Final = (
    "before it had answered",
    "does not answer",
    "ended or refuses",
    "no controller",
)


def run(topology: Topology, count: int, seed: int, *, progress: Progress) -> Report:
    """Draws a plan of faults and plays it in Mininet.

    Args:
        topology: What to build.
        count: How many faults.
        seed: Of all that is drawn; what comes of it depends on the machine, too.
        progress: Told how far the run is.

    Raises:
        TestbedError: Something is missing or did not work; nothing is left behind.
    """
    if topology.upstream_channels:
        raise TestbedError(
            f"topology {topology.name} has upstream channels, which put both switches into one "
            "process; take one without"
        )
    preflight.check_target("embedded")
    preflight.check_root()
    try:
        deployment = deploy(topology, Preset.DOCSIS_PIE, Preset.DOCSIS_PIE)
    except KeyedError as error:
        raise TestbedError(f"topology {topology.name}: {error.key}: {error}") from None
    plan = plans.drawn(possible(topology), count, seed, Rhythm())
    with tempfile.TemporaryDirectory(prefix="docsis-p4-chaos-") as scratch:
        folder = Path(scratch)
        with recorded_run("chaos") as state:
            preflight.check_all(topology, "embedded")
            topology_file = folder / "topology.yaml"
            write_topology(topology, topology_file)
            progress("building", 0.0)
            with running_testbed(
                topology, target="embedded", run=state, logs=folder, static_arp=True
            ) as testbed:
                controller = ControllerProgram(
                    testbed,
                    topology_file,
                    folder / "controller",
                    upstream=Preset.DOCSIS_PIE,
                    downstream=Preset.DOCSIS_PIE,
                )
                began = time.monotonic()
                controller.start()
                controller.wait_ready()
                played = _Played(
                    deployment, plan, seed, progress, start_seconds=time.monotonic() - began
                )
                played.system = System(testbed, controller, deployment, folder, played.anew)
                played.play()
        played.findings.check(played.now_ns, Invariant.LEFTOVERS, _left(topology))
    return played.report()


def _left(topology: Topology) -> list[str]:
    """What is still there of a run."""
    present = {name for _, name in socket.if_nameindex()}
    found = [f"interface {name}" for name in root_interfaces(topology) if name in present]
    if RUN_STATE.is_dir():
        found += [str(path) for path in RUN_STATE.iterdir() if path.name != LOCK]
    return found


class _Played:
    """A run that goes on.

    Attributes:
        system: What faults happen to.
        findings: What did not hold.
    """

    system: System

    def __init__(
        self,
        deployment: Deployment,
        plan: list[Fault],
        seed: int,
        progress: Progress,
        *,
        start_seconds: float,
    ) -> None:
        self._first = self._deployment = deployment
        self._plan = plan
        self._seed = seed
        self._progress = progress
        self._start_seconds = start_seconds
        self.findings = Findings(plan)
        self._end_ns = plans.end_of(plan) + _TAIL
        self._recovery = {
            one.name: Recovery(one.name, stale_ns=_STALE_NS) for one in deployment.devices
        }
        self._busy: dict[Target, int] = {}
        self._over = threading.Event()
        self._outcomes: Counter[str] = Counter()
        self._wishes = Wishes(seed)
        self._changing: threading.Thread | None = None
        self._lock = threading.Lock()
        # Nobody knows what became of a change.
        self._unsure = False
        self._looked = -1
        self._injected = 0
        self._controllers = 1
        self._latest_ns = 0

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the plan's beginning."""
        return round(self.system.schedule.now * SECOND)

    def _interrupted(self, fault: Fault) -> list[Recovery]:
        """Devices whose control a fault interrupts."""
        return [
            recovery
            for name, recovery in self._recovery.items()
            if fault.target in (CONTROLLER, Target(Part.SWITCH, name))
        ]

    def anew(self) -> None:
        """Another controller has begun, which knows the topology alone."""
        with self._lock:
            self._controllers += 1
            self._deployment = self._first
            self._unsure = False

    def play(self) -> None:
        """All faults, and what is checked meanwhile."""
        system, schedule = self.system, self.system.schedule
        schedule.began = time.monotonic()
        injector = Injector(system)
        system.traffic.start_all()
        for fault in self._plan:
            self._plan_fault(injector, fault)
        schedule.every(_LOOK_EVERY, self._look)
        schedule.every(_CHANGE_EVERY, self._change)
        schedule.every(_RENEW_EVERY, system.traffic.renew)
        watchers = [
            threading.Thread(target=self._watch, args=(name,), daemon=True)
            for name in self._recovery
        ]
        for watcher in watchers:
            watcher.start()
        schedule.run_until(self._end_ns / SECOND)
        # Whatever was put off or takes long to start.
        deadline = schedule.now + _SETTLE_SECONDS
        while (self._injected < len(self._plan) or self._busy) and schedule.now < deadline:
            schedule.run_until(schedule.now + _LOOK_EVERY)
        schedule.run_until(schedule.now + _TAIL / SECOND)
        if self._changing is not None:
            self._changing.join(_SETTLE_SECONDS)
        self._over.set()
        for watcher in watchers:
            watcher.join(_SETTLE_SECONDS)
        self._provisioned()
        system.traffic.stop()
        self._balance()
        self._latest_ns = self.now_ns

    def _plan_fault(self, injector: Injector, fault: Fault) -> None:
        schedule = self.system.schedule

        def begin() -> None:
            if fault.target in self._busy:
                # What was killed is still being started.
                schedule.at(schedule.now + _LOOK_EVERY, begin)
                return
            with self._lock:
                self._busy[fault.target] = fault.number
                for recovery in self._interrupted(fault):
                    recovery.began()
            end = injector.begin(fault)
            self._injected += 1
            self._progress(f"fault {fault.number} of {len(self._plan)}", schedule.now)

            def over() -> None:
                end()
                if fault.kind is Kind.KILL and fault.target.has_control:
                    # The fault is over when what was started again serves.
                    waiting = threading.Thread(target=self._serve, args=(fault,), daemon=True)
                    waiting.start()
                else:
                    self._ended(fault)

            schedule.at(schedule.now + fault.length_ns / SECOND, over)

        schedule.at(fault.start_ns / SECOND, begin)

    def _serve(self, fault: Fault) -> None:
        try:
            self.system.wait_ready(fault.target)
        except TestbedError as error:
            with self._lock:
                self.findings.check(self.now_ns, Invariant.RECOVERY, [str(error)])
        self._ended(fault)

    def _ended(self, fault: Fault) -> None:
        with self._lock:
            for recovery in self._interrupted(fault):
                recovery.ended(self.now_ns)
            del self._busy[fault.target]

    def _watch(self, name: str) -> None:
        """Asks a switch again and again when the controller wrote last, and what has left."""
        looked, recovery = self.system.looked[name], self._recovery[name]
        before_ns, turn = 0, 0
        while not self._over.wait(_LOOK_EVERY):
            if Target(Part.SWITCH, name) in self._busy:
                continue
            turn += 1
            silence = looked.silence_us()
            said = list(looked.sample()) if turn % _SAMPLE_EVERY == 0 else None
            now = self.now_ns
            with self._lock:
                updated = None
                if silence is not None:
                    updated = now - silence * 1000
                    if updated > recovery.since_ns:
                        # It wrote between two looks, of which the second may have been late.
                        updated = max(recovery.since_ns + 1, min(before_ns, updated))
                recovery.look(now, updated)
                self.findings.check(now, Invariant.RECOVERY, recovery.failures())
                if said is not None:
                    self.findings.check(now, Invariant.BUCKETS, said)
            before_ns = now

    def _look(self) -> None:
        if not self._busy and (dead := self.system.dead()):
            words = [f"{who} has ended by itself" for who in dead]
            with self._lock:
                self.findings.check(self.now_ns, Invariant.RECOVERY, words)
            self.system.start_controller()
        now = self.now_ns
        with self._lock:
            settled = all(recovery.settled(now) for recovery in self._recovery.values())
            since = max(recovery.since_ns for recovery in self._recovery.values())
        if settled and since != self._looked and not self._is_changing:
            self._looked = since
            self._provisioned()

    @property
    def _is_changing(self) -> bool:
        return self._changing is not None and self._changing.is_alive()

    def _provisioned(self) -> None:
        with self._lock:
            deployment, unsure = self._deployment, self._unsure
        if unsure:
            return
        said: list[str] = []
        for plan in deployment.devices:
            said += self.system.looked[plan.name].differences(plan)
        with self._lock:
            self.findings.check(self.now_ns, Invariant.PROVISIONING, said)

    def _change(self) -> None:
        process = self.system.controller_process()
        if self._is_changing or CONTROLLER in self._busy or process is None or self._unsure:
            self._outcomes["nobody there"] += 1
            return
        with self._lock:
            before = self._deployment
        wish = self._wishes.next(before)
        self._changing = threading.Thread(
            target=self._ask, args=(wish, before, process.pid), daemon=True
        )
        self._changing.start()

    def _ask(self, wish: Wish, before: Deployment, pid: int) -> None:
        try:
            apply(wish.modem, wish.changes, pid, managed=wish.managed)
        except ChangeError as error:
            ambiguous = any(words in str(error) for words in _AMBIGUOUS)
            with self._lock:
                self._outcomes["nobody knows" if ambiguous else "not applied"] += 1
                if ambiguous and self._deployment is before:
                    self._unsure = True
            return
        after = _after(before, wish)
        with self._lock:
            self._outcomes["made"] += 1
            # Unless there is another controller by now.
            if self._deployment is before:
                self._deployment = after

    def _balance(self) -> None:
        """Until all that is on its way has arrived; then the books have to be right."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            said: list[str] = []
            with self._lock:
                deployment = self._deployment
            for plan in deployment.devices:
                said += self.system.looked[plan.name].books(plan)
            if not said or time.monotonic() > deadline:
                break
            time.sleep(_LOOK_EVERY)
        self.findings.check(self.now_ns, Invariant.PACKETS, said)

    def report(self) -> Report:
        """What came of it."""
        return Report(
            stage="mininet",
            topology=self._first.topology.name,
            seed=self._seed,
            seconds=self._latest_ns / SECOND,
            faults=tally(self._plan),
            injected=self._injected,
            findings=self.findings,
            recoveries_ms={
                name: [time_ns / 1e6 for time_ns in recovery.times_ns]
                for name, recovery in self._recovery.items()
            },
            changes=dict(sorted(self._outcomes.items())),
            packets={"bucket_samples": sum(one.samples for one in self.system.looked.values())},
            notes={
                "controllers": self._controllers,
                "grace_ms": GRACE_NS / 1e6,
                "start_ms": round(self._start_seconds * 1e3, 3),
                "latest_ms": round(self.system.schedule.latest * 1e3, 3),
            },
        )


def _after(before: Deployment, wish: Wish) -> Deployment:
    """What a controller has deployed after a wish."""
    modem = next(one for one in before.modems if one.name == wish.modem)
    configurations = {one.name: one.configuration for one in before.modems}
    configurations[wish.modem] = changed(modem.configuration, wish.changes)
    managers = {
        (modem.number, one.direction, one.reference): one.management for one in wish.managed
    }
    return deploy(
        before.topology,
        before.upstream,
        before.downstream,
        changed=configurations,
        managers=managers,
        before=before,
    )
