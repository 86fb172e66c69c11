# SPDX-License-Identifier: Apache-2.0
"""All runs N times in Mininet, one after the other.

A run that is not valid (time jumped, a switch was too late, the measuring went wrong) is told and
kept, does not count, and is made again at once. After N such runs without a valid one between them
the machine is not one to measure on, and nothing is made again any more.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.models import Run
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.repetition.making import Made, Order
from docsis_experiments.runs.outcome import Outcome, of_record
from docsis_experiments.runs.sources import unchanged
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError

MOST_REPETITIONS: Final = 1000


class Repetitions:
    """See `making.Maker`.

    Outcomes are kept until the result is written, so that one that was stopped goes on; another
    result has runs of its own.
    """

    words = "repetitions"

    def __init__(self, stage: Stage, store: Store) -> None:
        """Args: where runs are played, and where outcomes are kept meanwhile.

        Raises:
            TestbedError: The stage's target does not tell how late it was.
        """
        if stage.target == "bmv2":
            raise TestbedError(
                "--repeat has no place beside --target bmv2: BMv2 does not tell how late it was, "
                "so that none of its runs counts; leave one of the two out"
            )
        self.stage = stage
        self._store = store

    @staticmethod
    def numbers(count: int) -> range:
        """The numbers of the repetitions, from 1 up.

        Raises:
            TestbedError: There are too few or too many.
        """
        if not 1 <= count <= MOST_REPETITIONS:
            raise TestbedError(f"--repeat {count}: must be a number from 1 to {MOST_REPETITIONS}")
        return range(1, count + 1)

    @property
    def marks(self) -> dict[str, Any]:
        """See `Maker`."""
        return {"stage": "mininet"}

    def opened(self, what: str, topology: Topology) -> AbstractContextManager[None]:
        """See `Maker`."""
        return self.stage.opened(what, topology)

    def make(self, order: Order, made: Made) -> Generator[Outcome, None, None]:
        """See `Maker`."""
        there, told = self._store.there(
            self._key(order, run, number) for number in order.numbers for run in order.runs
        )
        made.kept = len(there)
        made.told += told
        topology_file = order.folder / "inputs" / "topology.yaml"
        again, done = len(order.numbers), 0
        for number in order.numbers:
            for run in order.runs:
                outcome = there.get(self._key(order, run, number))
                tries = 0
                while outcome is None:
                    tries += 1
                    found = self._play(order, run, number, tries, done, topology_file)
                    if not found.withheld:
                        self._store.keep(found)
                        outcome = found
                        # A machine that was given up stays given up.
                        again = len(order.numbers) if again else 0
                        continue
                    made.told.append(f"{run.label}, repetition {number}: {found.withheld}")
                    if again == 0:
                        made.told[-1] += "; it is not made again"
                        outcome = found
                        continue
                    again -= 1
                    made.told[-1] += "; it is made again"
                    yield found
                yield outcome
                done += 1

    def finish(self, order: Order) -> None:
        """See `Maker`; the outcomes are in the result now."""
        for number in order.numbers:
            for run in order.runs:
                self._store.release(self._key(order, run, number))

    def _play(
        self,
        order: Order,
        run: Run,
        number: int,
        tries: int,
        done: int,
        topology_file: Path,
    ) -> Outcome:
        name = str(number) if tries == 1 else f"{number}-again-{tries - 1}"
        folder = order.folder / "runs" / run.folder / name
        folder.mkdir(parents=True)
        loaded = order.loaded
        scenario = loaded.scenario.played(run)
        plan = plan_for(scenario, loaded.topology)
        each = plan.seconds + self.stage.build_seconds

        def show(phase: str, passed: float) -> None:
            part = min(passed / each, 0.99) if each else 0.0
            words = f"{done} of {order.count} runs; {run.label}, {number} of {len(order.numbers)}"
            order.show(f"{words}: {phase}", done + part)

        with unchanged("mininet"):
            record = self.stage.measure(
                scenario,
                run,
                plan,
                loaded.topology,
                topology_file,
                number=number,
                folder=folder,
                progress=show,
            )
        record.write(folder)
        unit = Unit.of(loaded, run, number)
        return of_record(
            record,
            loaded.scenario,
            unit.measured.values(),
            key=self._key(order, run, number),
            number=number,
        )

    @staticmethod
    def _key(order: Order, run: Run, number: int) -> str:
        return key(Unit.of(order.loaded, run, number), "mininet")
