# SPDX-License-Identifier: Apache-2.0
"""A run under faults in Mininet, in real time."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
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
_SAMPLE_EVERY: Final = 0.2
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
        self._start_ns = round(start_seconds * SECOND)
        self.findings = Findings(plan)
        self._end_ns = plans.end_of(plan) + _TAIL + 2 * self._start_ns
        self._recovery = {
            one.name: Recovery(one.name, self._undisturbed(one.name), stale_ns=_STALE_NS)
            for one in deployment.devices
        }
        self._heartbeats: dict[str, tuple[int, int]] = {}
        self._active: set[int] = set()
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

    def _undisturbed(self, device: str) -> list[plans.Span]:
        # A program that is started has to be loaded first, which takes as long as it does here.
        stretched = [
            replace(fault, length_ns=fault.length_ns + 2 * self._start_ns)
            if fault.kind is Kind.KILL
            else fault
            for fault in self._plan
        ]
        targets = (CONTROLLER, Target(Part.SWITCH, device))
        return plans.undisturbed(stretched, targets, self._end_ns)

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
        schedule.every(_SAMPLE_EVERY, self._sample)
        schedule.every(_CHANGE_EVERY, self._change)
        schedule.every(_RENEW_EVERY, system.traffic.renew)
        schedule.run_until(self._end_ns / SECOND)
        for recovery in self._recovery.values():
            self.findings.check(self.now_ns, Invariant.RECOVERY, recovery.finish())
        if self._changing is not None:
            self._changing.join(_SETTLE_SECONDS)
        self._provisioned()
        system.traffic.stop()
        self._balance()
        self._latest_ns = self.now_ns

    def _plan_fault(self, injector: Injector, fault: Fault) -> None:
        schedule = self.system.schedule

        def begin() -> None:
            self._active.add(fault.number)
            end = injector.begin(fault)
            self._injected += 1
            self._progress(f"fault {fault.number} of {len(self._plan)}", schedule.now)

            def over() -> None:
                end()
                self._active.discard(fault.number)

            schedule.at(fault.end_ns / SECOND, over)

        schedule.at(fault.start_ns / SECOND, begin)

    def _suffers(self, target: Target) -> bool:
        """Whether one of a target's faults is under way."""
        return any(self._plan[number - 1].target == target for number in self._active)

    def _reachable(self, device: str) -> bool:
        return not self._suffers(Target(Part.SWITCH, device))

    def _look(self) -> None:
        for name, recovery in self._recovery.items():
            if self._reachable(name):
                beat = self.system.looked[name].heartbeat_us()
                last = self._heartbeats.get(name)
                if beat and (last is None or beat != last[0]):
                    self._heartbeats[name] = (beat, self.now_ns)
            updated = self._heartbeats.get(name)
            recovery.look(self.now_ns, updated[1] if updated else None)
            self.findings.check(self.now_ns, Invariant.RECOVERY, recovery.failures())
        if not self._active and (dead := self.system.dead()):
            words = [f"{who} has ended by itself" for who in dead]
            self.findings.check(self.now_ns, Invariant.RECOVERY, words)
            self.system.start_controller()
        now = self.now_ns
        settled = all(recovery.settled(now) for recovery in self._recovery.values())
        span = max(recovery.span_start for recovery in self._recovery.values())
        if settled and span != self._looked and not self._is_changing and not self._unsure:
            self._looked = span
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
        self.findings.check(self.now_ns, Invariant.PROVISIONING, said)

    def _sample(self) -> None:
        for name, looked in self.system.looked.items():
            if self._reachable(name):
                self.findings.check(self.now_ns, Invariant.BUCKETS, looked.sample())

    def _change(self) -> None:
        process = self.system.controller_process()
        if self._is_changing or self._suffers(CONTROLLER) or process is None or self._unsure:
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
                "start_ms": round(self._start_ns / 1e6, 3),
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
