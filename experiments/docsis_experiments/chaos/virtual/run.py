# SPDX-License-Identifier: Apache-2.0
"""A run under faults in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_experiments.chaos import faults as plans
from docsis_experiments.chaos.changing import Expected, Wish, Wishes
from docsis_experiments.chaos.faults import SECOND, Fault, Part, Rhythm, Target
from docsis_experiments.chaos.findings import Findings, Invariant, Report, tally
from docsis_experiments.chaos.recovery import GRACE_NS, Recovery
from docsis_experiments.chaos.virtual import traffic
from docsis_experiments.chaos.virtual.event_loop import WorldLoop
from docsis_experiments.chaos.virtual.injector import Injector, possible
from docsis_experiments.chaos.virtual.system import System
from docsis_experiments.stages.virtual.building import build
from docsis_experiments.stages.virtual.machine import MEASURED, Machine
from docsis_experiments.stages.virtual.module import in_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.progress import Progress

_BUCKETS_EVERY: Final = 0.5
_LOOK_EVERY: Final = 0.02
_CHANGE_EVERY: Final = 0.6
_CHANGE_SECONDS: Final = 30.0
"""A change that is not answered for so long is lost."""
_TAIL: Final = 3 * SECOND
"""Without faults at the end, so that the last can be judged."""
_DRAIN: Final = 20.0
"""Seconds in which what has been sent arrives."""


def run(
    topology: Topology,
    count: int,
    seed: int,
    *,
    progress: Progress,
    machine: Machine = MEASURED,
    rhythm: Rhythm | None = None,
) -> Report:
    """Draws a plan of faults and plays it.

    Args:
        topology: What to build; without upstream channels.
        count: How many faults.
        seed: The seed of all that is random.
        progress: Told how far the run is.
        machine: How late hosts, switches and controller are without faults.
        rhythm: How often faults begin, and how long they last.

    Raises:
        TestbedError: The world cannot be built, or cannot go on.
    """
    plan = plans.drawn(possible(topology), count, seed, rhythm)
    return play(topology, plan, seed, progress=progress, machine=machine)


def play(
    topology: Topology,
    plan: list[Fault],
    seed: int,
    *,
    progress: Progress,
    machine: Machine = MEASURED,
) -> Report:
    """Plays a plan of faults, with traffic, dynamic service and manager changes going on.

    Args:
        topology: What to build; without upstream channels.
        plan: The faults, in the order of their starts.
        seed: The seed of all else that is random.
        progress: Told how far the run is.
        machine: How late hosts, switches and controller are without faults.

    Raises:
        TestbedError: The world cannot be built, or cannot go on.
    """
    if topology.upstream_channels:
        raise TestbedError(
            f"topology {topology.name} has upstream channels, whose switches cannot be stopped or "
            "killed in virtual time yet; take a topology without"
        )
    with in_words(), _quietly():
        played = _Played(topology, plan, seed, machine, progress)
        with asyncio.Runner(loop_factory=lambda: WorldLoop(played.system.world)) as runner:
            runner.run(played.play())
        return played.report()


@contextmanager
def _quietly() -> Iterator[None]:
    """What a controller says of lost switches is what is expected here."""
    logger = logging.getLogger("docsis_control")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@dataclass
class _Played:
    """A run that goes on."""

    topology: Topology
    plan: list[Fault]
    seed: int
    machine: Machine
    progress: Progress
    system: System = field(init=False)
    outcomes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        try:
            deployment = deploy(self.topology, Preset.DOCSIS_PIE, Preset.DOCSIS_PIE)
        except KeyedError as error:
            raise TestbedError(f"topology {self.topology.name}: {error.key}: {error}") from None
        world = build(self.topology, self.seed, self.machine)
        self.expected = Expected.of(deployment)
        self.findings = Findings(self.plan)
        self.system = System(
            world, self.topology, deployment, self.machine, self.findings, world.now_ns
        )
        self.injected = 0
        self.end_ns = plans.end_of(self.plan) + _TAIL
        self.recovery = {name: Recovery(name) for name in self.system.ways}
        self._changing: Wish | None = None
        self._ends = False

    def _interrupted(self, fault: Fault) -> list[Recovery]:
        """Devices whose control a fault interrupts."""
        return [
            recovery
            for name, recovery in self.recovery.items()
            if fault.target in (plans.CONTROLLER, Target(Part.SWITCH, name))
        ]

    async def play(self) -> None:
        """Plays the run, from provisioning to the last packet."""
        system = self.system
        system.anew = self.expected.begin_anew
        system.start_controller()
        await system.controller.ready.wait()
        programs = traffic.start(system.world, self.topology, self.plan, self.end_ns)
        assert programs, "a topology has hosts"
        injector = Injector(system, self.machine)
        tasks = [
            asyncio.create_task(self._inject(injector, fault), name=str(fault))
            for fault in self.plan
        ]
        going = [
            asyncio.create_task(self._change_for_ever(), name="changes"),
            asyncio.create_task(self._look_for_ever(), name="looks"),
            asyncio.create_task(self._buckets_for_ever(), name="buckets"),
        ]
        await asyncio.gather(*tasks)
        await asyncio.sleep((self.end_ns - system.now_ns) / SECOND)
        self._ends = True
        await asyncio.gather(*going)
        await self._end()

    async def _inject(self, injector: Injector, fault: Fault) -> None:
        system = self.system
        await asyncio.sleep((fault.start_ns - system.now_ns) / SECOND)
        interrupted = self._interrupted(fault)
        for recovery in interrupted:
            recovery.began()
        end = injector.begin(fault)
        self.injected += 1
        self.progress(f"fault {fault.number} of {len(self.plan)}", fault.start_ns / SECOND)
        await asyncio.sleep((fault.end_ns - system.now_ns) / SECOND)
        end()
        for recovery in interrupted:
            recovery.ended(system.now_ns)

    async def _change_for_ever(self) -> None:
        wishes = Wishes(self.seed)
        while not self._ends:
            await asyncio.sleep(wishes.pause(_CHANGE_EVERY))
            controller, life = self.system.controller, self.system.life
            if not life.alive or not controller.ready.is_set():
                self.outcomes["nobody there"] += 1
                continue
            wish = wishes.next(controller.deployment)
            self._changing = wish
            change = asyncio.create_task(
                controller.change(wish.modem, wish.changes, wish.managed), name=str(wish)
            )
            # A controller that dies never answers.
            died = asyncio.create_task(life.died.wait(), name="waiting for a death")
            done, _ = await asyncio.wait(
                (change, died), timeout=_CHANGE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            died.cancel()
            await asyncio.gather(died, return_exceptions=True)
            self._changing = None
            if not life.alive:
                self.outcomes["killed"] += 1
                change.cancel()
                await asyncio.gather(change, return_exceptions=True)
                continue
            if change not in done:
                self.outcomes["no answer"] += 1
                words = f"no answer within {_CHANGE_SECONDS:g} s to: {wish}"
                self.findings.check(self.system.now_ns, Invariant.RECOVERY, [words])
                change.cancel()
                await asyncio.gather(change, return_exceptions=True)
                continue
            self._changed(wish, change)

    def _changed(self, wish: Wish, change: asyncio.Task[object]) -> None:
        error = change.exception()
        if error is None:
            self.outcomes["made"] += 1
            self.expected.made(wish)
        elif isinstance(error, NotApplied):
            self.outcomes["not applied"] += 1
        elif isinstance(error, KeyedError):
            self.outcomes["refused"] += 1
        else:
            self.outcomes["failed"] += 1
            words = f"{wish}: {type(error).__name__}: {error}"
            self.findings.check(self.system.now_ns, Invariant.PROVISIONING, [words])

    async def _buckets_for_ever(self) -> None:
        while not self._ends:
            await asyncio.sleep(_BUCKETS_EVERY)
            self.system.check_buckets()
            self.system.check_books()

    async def _look_for_ever(self) -> None:
        """Follows recoveries, and looks at everything when control has settled."""
        system = self.system
        looked = -1
        while not self._ends:
            await asyncio.sleep(_LOOK_EVERY)
            now = system.now_ns
            for name, recovery in self.recovery.items():
                recovery.look(now, system.controlled_ns(name))
                self.findings.check(now, Invariant.RECOVERY, recovery.failures())
            settled = all(recovery.settled(now) for recovery in self.recovery.values())
            since = max(recovery.since_ns for recovery in self.recovery.values())
            if settled and since != looked and self._changing is None and system.provisioned:
                looked = since
                await self._check_all()

    async def _check_all(self) -> None:
        # Nothing here lets the world go on.
        system = self.system
        await system.check_provisioned()
        await system.check_service_flows()
        system.check_books()
        self.findings.check(
            system.now_ns,
            Invariant.PROVISIONING,
            self.expected.differences(system.controller.deployment),
        )

    async def _end(self) -> None:
        system = self.system
        await self._check_all()
        await asyncio.sleep(_DRAIN)
        system.check_buckets()
        system.check_books()
        await system.end()
        await asyncio.sleep(0.1)
        self.findings.check(system.now_ns, Invariant.LEFTOVERS, system.left_behind())

    def report(self) -> Report:
        """What came of it."""
        system = self.system
        return Report(
            stage="virtual",
            topology=self.topology.name,
            seed=self.seed,
            seconds=system.now_ns / SECOND,
            faults=tally(self.plan),
            injected=self.injected,
            findings=self.findings,
            recoveries_ms={
                name: [time / 1e6 for time in recovery.times_ns]
                for name, recovery in self.recovery.items()
            },
            changes=dict(sorted(self.outcomes.items())),
            packets={**system.totals(), "compared_with_buckets": system.departures},
            digest=system.world.digest(),
            notes={"controllers": system.starts, "grace_ms": GRACE_NS / 1e6},
        )
